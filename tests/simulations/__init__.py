"""Coverage of intervals, measured on simulated collections with known truth."""
