"""Analyses of random topic samples: swap method, stability method, split-half correlations."""
