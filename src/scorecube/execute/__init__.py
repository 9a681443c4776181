"""Execution of plans: estimates, the dask graph, clusters and the run loop."""
