"""Tests of all pairs of runs."""
