"""Friedman's test of mean ranks, over topics or collections."""
