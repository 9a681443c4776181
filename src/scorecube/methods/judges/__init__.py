"""The method: judges against a truth."""
