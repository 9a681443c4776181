"""Resampling tests of pairs of runs."""
