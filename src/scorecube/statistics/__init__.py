"""Statistical formulas on plain arrays, with NumPy and SciPy only."""
