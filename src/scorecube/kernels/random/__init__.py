"""Addressed random words and what is drawn from them."""
