"""Variances of scores within systems, and left after systems and topics, with limits."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import width_of
from scorecube.analyses.jackknife import limits, of_scores
from scorecube.analyses.preparation import make_table
from scorecube.analyses.table import ScoreTable
from scorecube.collection.arguments import CubeLike
from scorecube.declare import Variable, along, limits_of
from scorecube.statistics.grid import EQUAL, EQUAL_SIZE
from scorecube.statistics.variance import components, within_system_variance

Missing = Literal["refuse", "drop"]
VARIANCES = along(
    ("metric", "gain"),
    Variable("within_variance", "estimate", "variance of scores within systems (one-way)"),
    limits_of("within_variance", "limit of the variance within systems"),
    Variable(
        "paired_variance", "estimate", "variance left after systems and topics (two-way residual)"
    ),
    limits_of("paired_variance", "limit of the two-way residual variance"),
)
"""Of `variances`."""
FEWEST = 25
"""Topics from which on variances have limits: with 10 or 15 they hold in as few as .87 or .89."""


def variances(cube: CubeLike, missing: Missing = "refuse") -> xr.Dataset:
    """Estimate the variances of every metric and gain setting of a cube.

    Parameters
    ----------
    cube
        Scores, e.g. from `evaluate`.
    missing
        ``refuse`` missing scores, or ``drop`` their topics.

    Returns
    -------
    variances
        Dataset over metric and gain. `within_variance` (one-way, within systems) is the parameter
        of Sakai's spreadsheets; `paired_variance` (two-way residual, of systems on the same topics)
        is smaller. Both have ``_low`` and ``_high``, 95 % jackknife limits over topics, from 25
        topics on.

    References
    ----------
    Sakai and Shang 2016, equation 1.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> result = variances(simulate_cube(n_runs=5, seed=1))
    >>> result["within_variance"].dims, result["within_variance"].round(4).values.tolist()
    (('metric', 'gain'), [[0.0579], [0.0608]])
    """
    table = make_table(cube, missing=missing, bags=False)
    n_units = table.sizes.size  # of topics in groups, the groups
    values: dict[str, Any] = {}
    least = np.array([_rounding(table, cell) for cell in range(len(table.scores))])
    for name, estimate in (
        ("within_variance", within_system_variance),
        ("paired_variance", lambda scores: components(scores)[-1]),
    ):
        values[name], *left_out = of_scores(table, estimate)
        values[name][values[name] <= least**2] = 0.0  # of equal scores, what is left is rounding
        ends = limits(values[name], np.array(left_out if n_units >= FEWEST else []), "log")
        values |= zip((f"{name}_low", f"{name}_high"), ends, strict=True)
    of_cube = getattr(cube, "attrs", {})
    kept = {
        key: of_cube[key] for key in ("collection", names.LEFT_OUT, names.WORDS) if key in of_cube
    }
    attrs = kept | {"trials": 0, "n_topics": n_units, "notes": list(table.notes)}
    return table.dataset(VARIANCES, values, attrs=attrs)


def _rounding(table: ScoreTable, cell: int) -> float:
    """Return the difference up to which scores of a cell are equal."""
    width = width_of(table, cell)
    return EQUAL_SIZE * float(np.abs(table.scores[cell]).max()) if width is None else EQUAL * width
