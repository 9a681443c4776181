"""Metrics of runs after documents become unjudged, without scoring whole lists again."""
