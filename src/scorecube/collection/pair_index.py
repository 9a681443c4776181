"""Pairs of runs by label: ``result.sel(run_a="bm25", run_b="dense")``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
import xarray as xr
from xarray.core.indexing import IndexSelResult

from scorecube.collection.schema import variable_of
from scorecube.names import PAIR, RUN_A, RUN_B

Positions = np.ndarray[Any, np.dtype[np.intp]]


class PairIndex(xr.Index):
    """An index of the coordinates run_a and run_b; datasets with it are written as any others."""

    def __init__(self, first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> None:
        self.of = {RUN_A: first, RUN_B: second}

    @classmethod
    def from_variables(
        cls,
        variables: Mapping[Any, xr.Variable],
        *,
        options: Mapping[str, Any],  # noqa: ARG003
    ) -> Self:
        """Return that of two variables."""
        return cls(variables[RUN_A].values, variables[RUN_B].values)

    def create_variables(
        self, variables: Mapping[Any, xr.Variable] | None = None
    ) -> dict[Any, Any]:
        """Return the coordinates, with the attributes of others."""
        known = variables or {}
        attrs = {name: known[name].attrs if name in known else {} for name in self.of}
        return {name: variable_of((PAIR,), of, attrs[name]) for name, of in self.of.items()}

    def isel(self, indexers: Mapping[Any, Any]) -> Self | None:
        """Return that of some pairs; None of a single one."""
        place = indexers.get(PAIR, slice(None))
        place = place.values if isinstance(place, xr.Variable) else place
        first = self.of[RUN_A][place]
        return type(self)(first, self.of[RUN_B][place]) if np.ndim(first) == 1 else None

    def sel(self, labels: dict[Any, Any], **options: object) -> IndexSelResult:  # noqa: ARG002
        """Return the place of a pair, or of all pairs with a run; KeyError where there is none."""
        chosen = np.ones(len(self.of[RUN_A]), bool)
        for name, asked in labels.items():
            chosen &= np.isin(self.of[name].astype(str), np.atleast_1d(asked).astype(str))
        places: Positions = np.flatnonzero(chosen)
        if not places.size:
            text = ", ".join(f"{name} {np.asarray(of).tolist()!r}" for name, of in labels.items())
            raise KeyError(f"no pair of {text}; of two runs, a is the one that stands in run_a")
        is_one = len(labels) == len(self.of) and not any(map(np.ndim, labels.values()))
        return IndexSelResult({PAIR: places[0] if is_one else places})

    def equals(self, other: xr.Index, **options: object) -> bool:  # noqa: ARG002
        """Whether another one has the same pairs in the same order."""
        if not isinstance(other, PairIndex):
            return False
        return all(np.array_equal(of, other.of[name]) for name, of in self.of.items())

    def rename(self, name_dict: Mapping[Any, Any], dims_dict: Mapping[Any, Any]) -> Self:  # noqa: ARG002
        """Return the index itself: it knows its dim and its coordinates by their names here."""
        return self


def with_pairs(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset that finds pairs by their runs, if it has any."""
    if PAIR not in dataset.dims or not _have_pairs(dataset.coords, dataset.xindexes):
        return dataset
    return dataset.set_xindex((RUN_A, RUN_B), PairIndex)


def _have_pairs(coords: Mapping[Any, xr.DataArray], indexed: Iterable[Any]) -> bool:
    """Whether both runs of pairs are labels that are not indexed yet."""
    pair = [coords[name].dims for name in (RUN_A, RUN_B) if name in coords]
    return pair == [(PAIR,), (PAIR,)] and RUN_A not in indexed
