"""Execution of plans: estimates, the dask graph, clusters, and the loop that computes and records blocks."""
