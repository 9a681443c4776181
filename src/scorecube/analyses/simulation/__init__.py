"""Simulated scores with known truth: models of collections, simulated collections, and error rates of tests."""
