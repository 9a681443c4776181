"""The method: rank correlation between metrics and gain settings."""
