"""Rescoring of runs after documents become unjudged, from the relevant entries of lists instead of whole lists."""
