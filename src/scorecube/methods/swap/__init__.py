"""The method: the swap method."""
