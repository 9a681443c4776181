"""The shape all analyses have: a frozen record whose fields are its options.

An analysis works in blocks: intervals of trials that can be computed anywhere, in any order, any number of times. `prepare` turns
a labelled cube into plain arrays once, `block` computes one interval from them, blocks are joined by `Output.join`,
and `finish` makes the labelled result. Nothing here knows how or where blocks are run or kept.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
import xarray as xr

Arrays = dict[str, np.ndarray[Any, Any]]


class Join(StrEnum):
    """How the same output of two blocks becomes one; exact and free of order."""

    ADD = "add"
    MAX = "max"


@dataclass(frozen=True)
class Output:
    """One array that every block yields, always integers, so that joining is exact."""

    name: str
    shape: tuple[int, ...]
    join: Join
    dtype: str = "int64"

    def __post_init__(self) -> None:
        if np.dtype(self.dtype).kind not in "iu":
            raise TypeError(
                f"output {self.name!r} is joined across trials, so it must be of integers, not {self.dtype}"
            )


@dataclass(frozen=True)
class Cost:
    """What one trial costs on one core of a current server, for planning only."""

    seconds: float
    bytes: float
    fixed_bytes: float


class Analysis(ABC):
    """Base of all analyses."""

    name: ClassVar[str]
    """Word on the command line and in stores."""
    reading: ClassVar[frozenset[str]] = frozenset()
    """Options that only `finish` reads: blocks computed with other values of them can be used again."""

    @abstractmethod
    def check(self, cube: xr.Dataset) -> list[str]:
        """Refuse options that are impossible for a cube (BadPlan); return warnings."""

    @abstractmethod
    def prepare(self, cube: xr.Dataset, seed: int, samples: xr.Dataset | None) -> Arrays:
        """Return the arrays that blocks need: scores, stream key, given samples if any."""

    @abstractmethod
    def outputs(self, cube: xr.Dataset) -> tuple[Output, ...]:
        """Declare what a block yields."""

    @abstractmethod
    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """Compute the trials start .. stop-1."""

    @abstractmethod
    def finish(self, cube: xr.Dataset, totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> xr.Dataset:
        """Make the labelled result of the joined blocks."""

    @abstractmethod
    def cost(self, cube: xr.Dataset) -> Cost:
        """Estimate the work of one trial."""

    @abstractmethod
    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return the resamples that a run draws, in the form `prepare` takes them."""

    def options(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        given = dataclasses.asdict(self)  # type: ignore[call-overload]
        return {key: np.asarray(value).tolist() if value is not None else None for key, value in given.items()}


def join(outputs: Iterable[Output], totals: Arrays | None, block: Mapping[str, np.ndarray[Any, Any]]) -> Arrays:
    """Return the totals with one more block in them; neither argument is changed."""
    joined = {}
    for output in outputs:
        array = np.asarray(block[output.name])
        if array.shape != output.shape or array.dtype != np.dtype(output.dtype):
            raise TypeError(
                f"block output {output.name!r} is {array.dtype}{array.shape}, declared {output.dtype}{output.shape}"
            )
        if totals is None:
            joined[output.name] = array
        else:
            combine = np.add if output.join is Join.ADD else np.maximum
            joined[output.name] = combine(totals[output.name], array)
    return joined
