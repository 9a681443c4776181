"""Analyses of random topic samples: swap, stability and split-half methods."""
