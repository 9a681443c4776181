"""Correlations over infinitely many topics, as results hold them."""

from __future__ import annotations

from scorecube.collection.schema import Variable, limits, variables


def population_variables(dims: tuple[str, ...]) -> tuple[Variable, ...]:
    """Return the estimate over infinitely many topics, and its limits."""
    estimate = "estimate over infinitely many topics, given these runs: median of draws"
    return (
        *variables(dims, "estimate", "1", population=estimate),
        *limits("population", dims, "1", "{} limit of the interval over infinitely many topics"),
    )
