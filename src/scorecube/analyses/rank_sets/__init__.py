"""Rank sets and leaderboards: what a place in the table of systems is worth."""
