"""The shape all analyses have: a frozen record whose fields are its options.

An analysis works in blocks: intervals of units (trials, or pairs of runs) that can be computed anywhere, in any order, any number
of times. `inputs` turns a labelled cube into plain arrays once, `block` computes one interval from them, `Accumulator` joins blocks,
and `finalize` makes the labelled result. Nothing here knows how or where blocks are run or kept.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube.analyses.options import options_of

Arrays = dict[str, np.ndarray[Any, Any]]


class Combine(StrEnum):
    """How the same output of two blocks becomes one; exact and free of order."""

    ADD = "add"
    """Integers are summed over units."""
    MAX = "max"
    """The largest integer over units."""
    CONCAT = "concat"
    """Each unit has its own place, along the last axis."""


@dataclass(frozen=True)
class Output:
    """One array that every block yields.

    Parameters
    ----------
    name, dtype
        Of the array; integers if blocks are joined by arithmetic, so that joining is exact.
    shape
        Of the array; with `Combine.CONCAT` without its last axis, which is as long as the block has units.
    combine
        How blocks are joined.
    """

    name: str
    shape: tuple[int, ...]
    combine: Combine
    dtype: str = "int64"

    def __post_init__(self) -> None:
        if self.combine is not Combine.CONCAT and np.dtype(self.dtype).kind not in "iu":
            raise TypeError(
                f"output {self.name!r} is joined across {self.combine}, so it must be of integers, not {self.dtype}"
            )

    def shape_of(self, n_units: int) -> tuple[int, ...]:
        """Return the shape of the array of a block of some units."""
        return (*self.shape, n_units) if self.combine is Combine.CONCAT else self.shape


@dataclass(frozen=True)
class Cost:
    """What one unit costs on one core of a current server, for planning only.

    Parameters
    ----------
    seconds, bytes
        Of one unit.
    fixed_bytes, fixed_seconds
        Of a block, however few its units.
    result_bytes
        Of all results together.
    most_units
        Of a block, whatever time it takes.
    """

    seconds: float
    bytes: float
    fixed_bytes: float
    fixed_seconds: float = 0.0
    result_bytes: float = 0.0
    most_units: int = 2**62


@dataclass(frozen=True, eq=False)
class Prepared:
    """A cube and what an analysis computes from it once, for all its methods.

    Parameters
    ----------
    cube
        Scores (metric, gain, run, topic).
    shared
        What `Analysis.prepare` computed beside it; each analysis knows what that is, None for most.
    """

    cube: xr.Dataset
    shared: Any = None


class Analysis(ABC):
    """Base of all analyses; the first line of a subclass' docstring is its summary in `registry.py`."""

    name: ClassVar[str]
    """Word on the command line and in stores."""
    unit: ClassVar[str] = "trials"
    """What blocks are intervals of: ``trials``, or ``pairs`` of runs, each with all its trials."""
    examples: ClassVar[tuple[str, ...]] = ()
    """Options of a command that shows its use, as in ``--size 25 --seed 1``."""
    details: ClassVar[str] = ""
    """Paragraph of the command's help below the summary."""
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Options of all analyses (`shared_options.py`) that this one has with another flag, help or default on the command line."""

    uses_rankings: ClassVar[bool] = False
    """Whether the cube must hold the rankings that its scores were made from, see `rankings.with_rankings`."""

    resamples: ClassVar[bool] = True
    """Whether there are trials; if not, their number and the seed mean nothing."""

    @classmethod
    def finalize_options(cls) -> frozenset[str]:
        """Return the options that only `finalize` reads: blocks computed with other values of them can be used again."""
        return frozenset(name for name, option in options_of(cls).items() if option.finalize)

    def check_options(self) -> None:
        """Refuse values that are not among the choices of their option (BadPlan)."""
        for name, option in options_of(type(self)).items():
            option.check(getattr(self, name))

    def prepare(self, cube: xr.Dataset) -> Prepared:
        """Compute what the methods below share; once for each cube and analysis."""
        return Prepared(cube)

    def prepare_checked(self, cube: xr.Dataset) -> tuple[Prepared, list[str]]:
        """Check all options against a cube; return what is shared, and warnings.

        Raises
        ------
        BadPlan
            Options that are impossible for the cube.
        """
        self.check_options()
        prepared = self.prepare(cube)
        return prepared, self.check(prepared)

    @abstractmethod
    def check(self, prepared: Prepared) -> list[str]:
        """Refuse options that are impossible for a cube (BadPlan); return warnings."""

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return how many units there are: trials, or what the analysis says."""
        return trials

    def places(self, prepared: Prepared) -> np.ndarray[Any, Any] | None:
        """Return where each unit belongs in concatenated outputs; None for where it is."""
        return None

    @abstractmethod
    def replay(self, prepared: Prepared, samples: xr.Dataset, trials: int) -> Arrays:
        """Return the arrays that `inputs` takes instead of drawing, from given samples; refuse samples that do not fit (BadPlan)."""

    @abstractmethod
    def inputs(self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None) -> Arrays:
        """Return the arrays that blocks need: scores, stream key, those of `replay` if samples are given."""

    @abstractmethod
    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        """Declare what a block yields."""

    @abstractmethod
    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """Compute the units start .. stop-1."""

    @abstractmethod
    def finalize(self, prepared: Prepared, totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> xr.Dataset:
        """Make the labelled result of the joined blocks."""

    @abstractmethod
    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """Estimate the work of one unit."""

    @abstractmethod
    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return the resamples that a run draws, in the form `replay` takes them."""

    def options(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        given = dataclasses.asdict(self)  # type: ignore[call-overload]
        return {key: np.asarray(value).tolist() if value is not None else None for key, value in given.items()}


class Accumulator:
    """The outputs of the blocks joined so far.

    Parameters
    ----------
    outputs
        As the analysis declares them.
    n_units
        In all.
    places
        As from `Analysis.places`.
    """

    def __init__(self, outputs: Sequence[Output], n_units: int, places: np.ndarray[Any, Any] | None = None) -> None:
        self.outputs = outputs
        self.places = places
        self.arrays: Arrays = {
            output.name: np.zeros(output.shape_of(n_units), output.dtype)
            for output in outputs
            if output.combine is Combine.CONCAT
        }

    def add(self, start: int, stop: int, block: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Combine one more block, of the units start .. stop-1."""
        for output in self.outputs:
            array, shape = np.asarray(block[output.name]), output.shape_of(stop - start)
            if array.shape != shape or array.dtype != np.dtype(output.dtype):
                raise TypeError(
                    f"block output {output.name!r} is {array.dtype}{array.shape}, declared {output.dtype}{shape}"
                )
            if output.combine is Combine.CONCAT:
                where = slice(start, stop) if self.places is None else self.places[start:stop]
                self.arrays[output.name][..., where] = array
            elif output.name not in self.arrays:
                self.arrays[output.name] = array.copy()
            else:
                combine = np.add if output.combine is Combine.ADD else np.maximum
                total = self.arrays[output.name]
                combine(total, array, out=total)
