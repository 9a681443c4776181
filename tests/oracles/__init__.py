"""Slow and plain definitions that the package is compared with."""
