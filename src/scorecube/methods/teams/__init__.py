"""The method: leaving teams out."""
