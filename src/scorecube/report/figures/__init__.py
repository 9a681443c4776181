"""Figures of results, as in the papers: functions that draw on a canvas, one file an analysis."""
