"""Pools and variances without some teams."""
