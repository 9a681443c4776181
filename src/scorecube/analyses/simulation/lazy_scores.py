"""Simulated scores as an array of xarray that is made when it is read; not imported by records of analyses, as it brings pandas."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xarray.backends import BackendArray
from xarray.core import indexing

from scorecube.analyses.base import Array
from scorecube.analyses.simulation.topics import Source, scores_of
from scorecube.statistics.margins import Margin


class SimulatedScores(BackendArray):  # type: ignore[misc,unused-ignore]
    """Scores that are made when they are read: float64 (metric, gain, run, topic), an array for xarray.

    source: Of the random variables.
    margins: Of each cell (metric and gain setting) and run, in this order.
    cell_of: int (metric, gain).
    sizes: Numbers of runs and topics.
    """

    def __init__(
        self,
        source: Source,
        margins: Sequence[Margin],
        cell_of: Array,
        sizes: tuple[int, int],
        n_threads: int,
    ) -> None:
        self.source, self.margins, self.cell_of, self.n_threads = (
            source,
            margins,
            cell_of,
            n_threads,
        )
        self.shape = (*cell_of.shape, *sizes)
        self.dtype = np.dtype(np.float64)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Make the scores that an index asks for."""
        basic = indexing.IndexingSupport.BASIC
        return indexing.explicit_indexing_adapter(key, self.shape, basic, self._make)

    def _make(self, key: tuple[Any, ...]) -> Array:
        """Return the scores at integers and slices: all topics of these runs are made."""
        metrics, gains, runs = (
            np.atleast_1d(np.arange(size)[each])
            for size, each in zip(self.shape[:3], key, strict=False)
        )
        n_runs, n_topics = self.shape[2:]
        found = np.empty((len(metrics), len(gains), len(runs), n_topics))
        low, high = int(runs.min()), int(runs.max()) + 1
        for m, metric in enumerate(metrics):
            for g, gain in enumerate(gains):
                first = int(self.cell_of[metric, gain]) * n_runs
                whole = high - low == len(runs) and bool((np.diff(runs) == 1).all())
                out = found[m, g] if whole else np.empty((high - low, n_topics))
                scores_of(
                    self.source,
                    self.margins,
                    first + low,
                    first + high,
                    out,
                    n_threads=self.n_threads,
                )
                if not whole:
                    found[m, g] = out[runs - low]
        dropped = tuple(
            0 if isinstance(each, (int, np.integer)) else slice(None) for each in key[:3]
        )
        return found[(*dropped, key[3])]


def lazy_scores(*arguments: Any) -> indexing.LazilyIndexedArray:
    """Return `SimulatedScores`, with its arguments in order, as data of a variable of xarray."""
    return indexing.LazilyIndexedArray(SimulatedScores(*arguments))
