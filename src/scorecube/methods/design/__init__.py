"""The method: topic set size design, and worst-case widths of intervals."""
