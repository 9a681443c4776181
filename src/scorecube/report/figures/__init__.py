"""Figures of results, as in the papers: functions that return a matplotlib Figure, one file an analysis."""
