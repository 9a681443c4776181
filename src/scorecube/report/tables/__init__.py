"""Labelled results -> tables with fixed columns; one file an analysis.

A table function takes a Dataset and returns a data frame; `TABLES` names them all, the first of an analysis is its default.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.errors import BadName, did_you_mean, nearest
from scorecube.report.tables import (
    agreement,
    correlation,
    design,
    paired,
    pairs,
    scores,
    splits,
    stability,
    swap,
    teams,
)
from scorecube.report.tables.rows import COLLECTION, as_records, averages, combine

Table = Callable[[xr.Dataset], pd.DataFrame]
TESTS: dict[str, Table] = {"power": pairs.power, "pairs": pairs.p_value_pairs, "curve": pairs.curve}
TABLES: dict[str, dict[str, Table]] = {
    "scores": {
        "means": scores.means,
        "cells": scores.cells,
        "variance": scores.variance,
        "statistics": scores.statistics,
        "preferred_rank": scores.preferred_rank,
    },
    "swap": {
        "sensitivity": swap.sensitivity,
        "rates": swap.rates,
        "overlap": swap.overlap,
        "curves": swap.curves,
    },
    "stability": {"stability": stability.stability},
    "bootstrap": TESTS | {"pairs": pairs.asl_pairs, "adjusted": pairs.adjusted_power},
    "randomisation": TESTS | {"adjusted": pairs.adjusted_power},
    "unpaired": TESTS | {"adjusted": pairs.adjusted_power},
    "tukey": TESTS,
    "paired": {"power": paired.power, "pairs": paired.pairs},
    "correlate": {
        "metrics": correlation.metrics,
        "gains": correlation.gains,
        "intervals": correlation.intervals,
        "curves": correlation.curves,
        "swops": correlation.swops,
    },
    "splits": {"quantiles": splits.quantiles, "settled": splits.settled, "trials": splits.trials},
    "agreement": {"rankings": agreement.rankings, "decisions": agreement.decisions, "runs": agreement.runs},
    "teams": {
        "variance": teams.variance,
        "trials": teams.trials,
        "first_miss": teams.first_miss,
        "reusability": teams.reusability,
        "own": teams.own,
        "contributions": teams.contributions,
    },
    "design": {"sizes": design.sizes},
    "wcw": {"widths": design.widths},
}
FROM_CUBE = {"scores", "design", "wcw"}
"""What has tables without an analysis having been run: they are made from the cube, or from rankings."""
FROM_RANKINGS = {"statistics", "preferred_rank"}
"""Tables of `scores` that are made from rankings instead of the cube."""

_CELLS = (names.METRIC, names.GAIN)
LONG: dict[str, tuple[str, ...]] = {
    "pairs": (*_CELLS, names.PAIR), "curve": (*_CELLS, names.PAIR), "own": (*_CELLS, names.RUN), "runs": (*_CELLS, names.RUN),
    "trials": (*_CELLS, names.SIZE, names.LEAVE, names.TOPIC_STEP, names.TRIAL),
}  # fmt: skip
"""Tables with a row for each run, pair of runs or trial: the dims whose product is their number of rows, or little more."""


def most_rows(result: xr.Dataset, name: str) -> int:
    """Count the rows of a long table without making it.

    Parameters
    ----------
    result
        Of an analysis.
    name
        Of one of its tables.

    Returns
    -------
    rows
        A number that the table does not exceed; 0 for tables that are never long.
    """
    return math.prod(result.sizes.get(dim, 1) for dim in LONG[name]) if name in LONG else 0


def find_table(analysis: str, name: str | None) -> tuple[str, Table]:
    """Return a table's name and function; the default table for no name.

    Parameters
    ----------
    analysis
        Name of an analysis, or ``scores``.
    name
        Name of one of its tables, or None.

    Returns
    -------
    name, table
        The table's name, and the function that makes it of a result.

    Raises
    ------
    BadName
        An analysis or a table that does not exist.
    """
    if analysis not in TABLES:
        raise BadName(f"no analysis {analysis!r}; known: {', '.join(TABLES)}{did_you_mean(analysis, list(TABLES))}")
    tables = TABLES[analysis]
    chosen = name or next(iter(tables))
    if chosen not in tables:
        raise BadName(f"no table {chosen!r} of {analysis}; nearest: {nearest(chosen, list(tables))}")
    return chosen, tables[chosen]


def table(result: xr.Dataset, name: str | None = None) -> pd.DataFrame:
    """Return a table of a result.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings.
    name
        E.g. ``sensitivity``; None is the first table of the analysis.

    Returns
    -------
    frame
        Tidy: one row an observation, labels in columns.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> table(simulate_cube(n_runs=4), "means").columns.tolist()
    ['collection', 'metric', 'gain', 'run', 'team', 'mean', 'n_topics']
    """
    return find_table(str(result.attrs.get("analysis", "scores")), name)[1](result)


__all__ = [
    "COLLECTION",
    "FROM_CUBE",
    "FROM_RANKINGS",
    "TABLES",
    "as_records",
    "averages",
    "combine",
    "find_table",
    "most_rows",
    "table",
]
