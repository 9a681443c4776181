"""Pools without some teams, and means and variances over topics."""
