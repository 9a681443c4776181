"""Compiled arithmetic on plain arrays: no labels, no files, no scheduler."""
