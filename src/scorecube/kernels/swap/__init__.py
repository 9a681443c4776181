"""Swap and stability counts."""
