"""Means of runs in the order of the first metric: curves, swops and quartiles of Sakai 2004."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.table import Table

QUARTILES = (0.25, 0.5, 0.75)


def in_order(table: Table, above: NDArray[np.int64]) -> dict[str, Any]:
    """Return means, and those of runs in the order of the first metric, equal ones in label order, with swops.

    above: int64 (cell, run): runs with a better mean.
    """
    of_first = above[table.cell_of[0]]
    order = np.argsort(of_first, axis=-1, kind="stable")  # (gain, place)
    means, ranks = table.means[table.cell_of], above[table.cell_of]
    sorted_ranks = np.take_along_axis(ranks, order[np.newaxis], axis=-1)
    return {
        "mean": table.means,
        "sorted_run": np.array(table.runs, object)[order],
        "sorted_mean": np.take_along_axis(means, order[np.newaxis], axis=-1).swapaxes(0, 1),
        "swops": (np.diff(sorted_ranks, axis=-1) < 0).sum(axis=-1).T,
        "mean_quartile": np.moveaxis(np.quantile(table.means, QUARTILES, axis=-1), 0, -1),
    }
