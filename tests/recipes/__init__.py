"""A metric, an analysis and a format from outside the package, each in one file: what CONTRIBUTING.md describes."""
