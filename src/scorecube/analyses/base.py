"""Base class of analyses: frozen records whose fields are their options.

An analysis is computed in blocks: intervals of units (trials, or pairs of runs), in any order, any number of times, on any machine.
`inputs` turns a labelled cube into plain arrays once, `block` computes one interval of units from them, `Accumulator` combines blocks,
and `finalize` returns the labelled result. How blocks are executed and stored is no concern of this module.
"""

from __future__ import annotations

import inspect
import math
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.described import Described
from scorecube.analyses.options import as_named, doubts_of, options_of
from scorecube.collection import schema
from scorecube.collection.selection import uses_gains
from scorecube.errors import BadPlan

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
Inputs = Mapping[str, Array]
"""What `Analysis.block` reads, or the combined outputs of blocks."""
ANY_NUMBER, ALL_COLLECTIONS = 0, -1
"""Of `Analysis.n_collections`."""


class Combine(StrEnum):
    """How the outputs of blocks are combined; exact, in any order."""

    ADD = "add"
    """Sum of integers over units."""
    MAX = "max"
    """Largest integer over units."""
    CONCAT = "concat"
    """Concatenation: one position along the last axis for each unit."""


@dataclass(frozen=True)
class Output:
    """One array that every block returns.

    name: Name of the array, also in stores.
    shape: Shape of the array; with `Combine.CONCAT` without the last axis, which has one position for each unit.
    combine: How the arrays of blocks are combined.
    dtype: Data type of the array; an integer type unless blocks are concatenated, so that combining is exact.
    least, most: Smallest and largest value of one unit; a sum over units has so many times as much. Others come of no computation.
    """

    name: str
    shape: tuple[int, ...]
    combine: Combine
    dtype: str = "int64"
    least: float = -math.inf
    most: float = math.inf

    def __post_init__(self) -> None:
        if self.combine is not Combine.CONCAT and np.dtype(self.dtype).kind not in "iu":
            raise TypeError(
                f"output {self.name!r} is combined by {self.combine}, so its dtype must be an integer type, not {self.dtype}"
            )

    def shape_of(self, n_units: int) -> tuple[int, ...]:
        """Return the shape of the array for a number of units."""
        return (*self.shape, n_units) if self.combine is Combine.CONCAT else self.shape

    def nbytes(self, n_units: int) -> int:
        """Return the bytes of the array for a number of units."""
        return math.prod(self.shape_of(n_units)) * np.dtype(self.dtype).itemsize

    def is_possible(self, array: Array, n_units: int) -> bool:
        """Return whether the values of a number of units can be; NaN can."""
        times = n_units if self.combine is Combine.ADD else 1
        return not ((array < self.least * times) | (array > self.most * times)).any()


@dataclass(frozen=True)
class Cost:
    """Estimated time and memory on one core of a current server, for planning only.

    seconds, bytes: Time and memory of one unit.
    fixed_bytes, fixed_seconds: Memory and time of a block in addition to those of its units.
    result_bytes, result_seconds: Memory of the combined outputs and the result, and of what making and storing it takes; time of
        `Analysis.finalize`.
    input_bytes, input_seconds: Memory of the arrays of `Analysis.inputs` and of the positions of units, and of what making them takes;
        time of `Analysis.inputs`.
    max_units: Largest number of units in a block.
    together: Units that are computed together even where a block has fewer of them: blocks have a multiple of it.
    """

    seconds: float
    bytes: float
    fixed_bytes: float
    fixed_seconds: float = 0.0
    result_bytes: float = 0.0
    result_seconds: float = 0.0
    input_bytes: float = 0.0
    input_seconds: float = 0.0
    max_units: int = 2**62
    together: int = 1


def unreported(_: float) -> None:
    """Report nothing."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A cube with what an analysis computes from it once, for all its methods.

    cube: Scores (metric, gain, run, topic).
    shared: Record of the analysis from `Analysis.prepare`; None for most analyses.
    source: The cube that `cube` is made from; None where it is this cube.
    report: Takes the share of `Analysis.finalize` that is done, 0 .. 1; for those that take long.
    kept: What several methods need, computed once, by name; shared by copies with another `report`.
    """

    cube: xr.Dataset
    shared: Any = None
    source: xr.Dataset | None = None
    report: Callable[[float], None] = unreported
    kept: dict[str, Any] = field(default_factory=dict)


class _Named(ABCMeta):
    """Takes options by either of the names of `as_named`."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        """Return an analysis with some options."""
        return super().__call__(*arguments, **as_named(cls, options))

    @property
    def __signature__(cls) -> inspect.Signature:
        """The options, of the analysis' own names."""
        init: Any = getattr(cls, "__init__")  # noqa: B009
        _, *own = inspect.signature(init).parameters.values()
        return inspect.Signature(own)


class Analysis(Described, metaclass=_Named):
    """Base class of analyses; the first line of a docstring is the summary in the registry."""

    name: ClassVar[str]
    """Name on the command line and in stores."""
    unit: ClassVar[str] = "trials"
    """Units of a block: ``trials``, or ``pairs`` of runs, each with all its trials."""
    examples: ClassVar[tuple[str, ...]] = ()
    """Options of example commands, such as ``--size 25 --seed 1``."""
    details: ClassVar[str] = ""
    """Paragraph of the command's help below the summary."""
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Shared options (`shared_options.py`) whose flag, help or default on the command line is another for this analysis."""
    n_collections: ClassVar[int] = 1
    """Collections that one result is about: 1, `ANY_NUMBER` of the sets `truth` and `judges`, or `ALL_COLLECTIONS` that are chosen."""
    uses_rankings: ClassVar[bool] = False
    """Whether the cube must hold the rankings of its scores, see `collection.rankings.with_rankings`."""
    resamples: ClassVar[bool] = True
    """Whether there are trials; if not, the number of trials and the seed are not used."""
    default_trials: ClassVar[int] = 1_000
    """Trials where none are asked for, in Python and on the command line."""

    @property
    def uses_teams(self) -> bool:
        """Whether results depend on the teams of the runs, of cubes without rankings, too."""
        return False

    @property
    def uses_systems(self) -> bool:
        """Whether results depend on which runs are repetitions of one system."""
        return False

    def of_cube(self, cube: xr.Dataset) -> tuple[Self, list[str]]:
        """Return the analysis with all options that are chosen by the scores, and what is to be said of them."""
        return self, []

    @classmethod
    def finalize_options(cls) -> frozenset[str]:
        """Return the options that only `finalize` reads: blocks are the same for all their values."""
        return frozenset(name for name, option in options_of(cls).items() if option.finalize)

    def __post_init__(self) -> None:
        """Store options in their normal form and check them; overriding methods call this one first."""
        for name, option in options_of(type(self)).items():
            object.__setattr__(self, name, option.checked(getattr(self, name)))

    def check_options(self) -> None:
        """Raise BadPlan for values of another type, out of range, or not among the choices of their option."""
        for name, option in options_of(type(self)).items():
            option.check(getattr(self, name))

    def prepare(self, cube: xr.Dataset) -> Prepared:
        """Compute what other methods share, once for each cube and analysis."""
        return Prepared(cube)

    def prepare_checked(self, cube: xr.Dataset) -> tuple[Prepared, list[str]]:
        """Check all options against a cube; return the prepared cube, and warnings.

        Raises BadPlan: Options that are impossible for the cube.
        """
        self.check_options()
        prepared = self.prepare(cube)
        return prepared, [*self.doubts(cube), *self.check(prepared)]

    def doubts(self, cube: xr.Dataset) -> list[str]:
        """Return what is said of options that are possible, and more often a mistake."""
        return doubts_of(self)

    @abstractmethod
    def check(self, prepared: Prepared) -> list[str]:
        """Raise BadPlan for options that are impossible for a cube; return warnings."""

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return the number of units."""
        return trials

    def n_compared(self, cube: xr.Dataset) -> int:
        """Return the number of pairs of runs that are compared in each cell: all, or those with the run of an option `baseline`."""
        n_runs = cube.sizes[names.RUN]
        return math.comb(n_runs, 2) if self.options().get("baseline") is None else n_runs - 1

    def output_positions(self, prepared: Prepared) -> Array | None:
        """Return the position of each unit in concatenated outputs; None for the order of units."""
        return None

    @abstractmethod
    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        """Return the arrays that `block` reads."""

    @abstractmethod
    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        """Return the declared outputs of a block."""

    @abstractmethod
    def block(self, inputs: Any, start: int, stop: int) -> Any:
        """Compute the units start .. stop-1."""

    def compute(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        """Compute the units start .. stop-1 for the engine."""
        arrays: Arrays = self.block(inputs, start, stop)
        return arrays

    def rehearsal(self, inputs: Arrays) -> Arrays:
        """Return inputs of a small part of the work: one unit of them is computed, and discarded, to load kernels."""
        return inputs

    def sums_hold(self, prepared: Prepared, block: Inputs, n_units: int, trials: int) -> bool:
        """Return whether what must hold between the counts of a block does, such as parts and their sum."""
        return True

    @abstractmethod
    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        """Return the labelled result of the combined outputs of all blocks; `VARIABLES` of the module describes its variables."""

    @abstractmethod
    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """Return the estimated time and memory of units."""

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return the resamples that are drawn for a seed; BadPlan if nothing is resampled."""
        raise BadPlan(f"{self.name} resamples nothing: there are no samples")

    def options(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        record: Any = self
        return {
            name: np.asarray(value).tolist() if value is not None else None
            for name, value in asdict(record).items()
        }


def labelled_result(
    cube: xr.Dataset,
    variables: Sequence[schema.Variable],
    values: Mapping[str, Any],
    coords: Mapping[str, Any],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """Return a result with the cube's metrics and gain settings as coordinates.

    cube: Scores (metric, gain, run, topic).
    variables: Descriptions of the result's variables.
    values: Array of each variable, by name.
    coords, attrs: Further coordinates, and attributes.
    """
    cell_coords = {
        names.METRIC: cube[names.METRIC],
        names.GAIN: cube[names.GAIN],
        names.USES_GAINS: (names.METRIC, uses_gains(cube)),
    }
    arrays = {variable.name: (variable.dims, values[variable.name]) for variable in variables}
    return schema.annotate(xr.Dataset(arrays, cell_coords | dict(coords), attrs), variables)


class Accumulator:
    """Combined outputs of blocks.

    outputs: Outputs that the analysis declares.
    n_units: Number of units of all blocks.
    positions: Position of each unit in concatenated outputs, as from `Analysis.output_positions`.
    """

    def __init__(
        self, outputs: Sequence[Output], n_units: int, positions: Array | None = None
    ) -> None:
        self.outputs = outputs
        self.positions = positions
        self.arrays: Arrays = {
            output.name: np.zeros(output.shape_of(n_units), output.dtype)
            for output in outputs
            if output.combine is Combine.CONCAT
        }

    def add(self, start: int, stop: int, block: Inputs) -> None:
        """Add a block of the units start .. stop-1."""
        for output in self.outputs:
            array, shape = np.asarray(block[output.name]), output.shape_of(stop - start)
            if array.shape != shape or array.dtype != np.dtype(output.dtype):
                raise TypeError(
                    f"block output {output.name!r} is {array.dtype}{array.shape}, declared {output.dtype}{shape}"
                )
            if output.combine is Combine.CONCAT:
                positions = (
                    slice(start, stop) if self.positions is None else self.positions[start:stop]
                )
                self.arrays[output.name][..., positions] = array
            elif output.name not in self.arrays:
                self.arrays[output.name] = array.copy()
            else:
                combine = np.add if output.combine is Combine.ADD else np.maximum
                total = self.arrays[output.name]
                combine(total, array, out=total)
