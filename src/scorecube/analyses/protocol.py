"""The protocol of analyses: a frozen record of options, blocks of units, and the result of all.

An analysis says what it computes of a table (`table.py`): `block` of some units, in any order, any
number of times, on any machine, and `result` of the combined parts of all blocks. Where and when
blocks are computed, and whether they are recorded, is no concern of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.preparation import make_table
from scorecube.analyses.table import ScoreTable, bytes_of
from scorecube.collection.rankings import with_rankings
from scorecube.collection.selection import select
from scorecube.collection.teams import listed
from scorecube.declare import Preset, Variable, View
from scorecube.declare.options import Record, options_of
from scorecube.errors import BadPlan

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
TRIALS_LEFT_OUT = 10
"""Trials for one trial without each group of units."""
LEFT_OUT = "_left_out_"
"""Between the name of a part and the number of the group of units that it lacks."""


class Sum(NamedTuple):
    """Integers that are added over units: counts."""

    array: Array


class Max(NamedTuple):
    """Integers of which the largest over units is kept."""

    array: Array


class Concat(NamedTuple):
    """Numbers of units: one place of the last axis each."""

    array: Array


Part = Sum | Max | Concat
Parts = Mapping[str, Part]


class Totals(dict[str, Array]):
    """Combined arrays of all blocks by name.

    left_out: Those without each group of units, in the order of `ScoreTable.tables_left_out`.
    """

    left_out: list[Arrays]


@dataclass(frozen=True, kw_only=True)
class Method(Record, ABC):
    """Base of methods: records of options, and what is declared of each beside them."""

    name: ClassVar[str]
    """Name on the command line and in studies."""
    view: ClassVar[View | None] = None
    """What is shown of a result; a table of all values where there is none."""
    variables: ClassVar[tuple[Variable, ...]] = ()
    """What a result holds."""
    references: ClassVar[tuple[str, ...]] = ()
    """Keys of the papers whose method it is, in ``data/references.bib``."""
    presets: ClassVar[Mapping[str, Preset]] = {}
    """Its settings by paper."""
    in_demo: ClassVar[Mapping[str, Any] | None] = None
    """Options with which ``scorecube demo`` runs it, if it does."""
    examples: ClassVar[tuple[str, ...]] = ()
    """Options of example commands, such as ``--size 25 --seed 1``."""
    joins: ClassVar[bool] = False
    """Whether one result is about several collections."""
    stored: ClassVar[bool] = True
    """Whether results are computed by plans and stored in studies."""
    of_battles: ClassVar[bool] = False
    """Whether it is about battles of pairs, which have no scores by topic; else about scores."""

    def __post_init__(self) -> None:
        """Store options in their normal form and check them; overriding methods call this first."""
        for name, option in options_of(type(self)).items():
            object.__setattr__(self, name, option.checked(getattr(self, name)))

    @classmethod
    def chosen(cls, cubes: Mapping[str, xr.Dataset], named: bool) -> tuple[list[str], list[str]]:
        """Return the collections that it is about, and a line on those that are left out.

        cubes: By collection.
        named: Whether the user named them: then none is left out.
        """
        fit = [name for name, cube in cubes.items() if (names.MATCH in cube.dims) == cls.of_battles]
        others = [name for name in cubes if name not in fit]
        if named or not fit or not others:
            return list(cubes), []
        kind = "scores" if cls.of_battles else "battles"
        return fit, [f"{listed(others)}: left out, as {cls.name} is not about {kind}"]

    def options(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        return {name: _as_json(getattr(self, name)) for name in options_of(type(self))}


def _as_json(value: object) -> object:
    """Return the value of an option as a JSON value."""
    return [_as_json(one) for one in value] if isinstance(value, tuple) else value


class Groups(NamedTuple):
    """Which collections the results of a method are about.

    analysis: The record, which knows by name what it joins.
    collections: Names of the collections of each result.
    """

    analysis: Analysis
    collections: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class Analysis(Method):
    """Base of methods whose results are stored: a frozen record whose fields are its options.

    A method declares `name`, `view` and `variables`, and has `block` (of one with trials) and
    `result`; the others have defaults. The first line of its docstring is its summary.

    Attributes
    ----------
    name
        On the command line and in studies.
    variables
        What a result holds: name, role, meaning, dims.
    view
        Tables, answers and figure of a result; a table of all values without one.
    resamples, default_trials
        Whether there are trials, and how many where none are asked for.

    Raises
    ------
    BadPlan
        Options that are invalid, when a record is made.

    See Also
    --------
    scorecube.analyse : Runs a method over a cube.
    scorecube.analyses.Sum : Counts that are added over blocks of trials.
    scorecube.declare.Variable : What is declared of each array of a result.

    Examples
    --------
    A method without trials; the docs have one with trials, a table and a figure.

    >>> from dataclasses import dataclass
    >>> from scorecube import analyse
    >>> from scorecube.declare import Variable, along
    >>> from scorecube.testing import simulate_cube
    >>> BEST = along(("metric", "gain"), Variable("best", "estimate", "highest mean", "score"))
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Best(Analysis):
    ...     name = "best"
    ...     variables = BEST
    ...     resamples = False
    ...
    ...     def result(self, table, totals):
    ...         return table.dataset(BEST, {"best": table.means.max(axis=-1)})
    >>> cube = simulate_cube(n_runs=4)
    >>> best = analyse(cube, Best())["best"]
    >>> bool((best == cube["score"].mean("topic").max("run")).all())
    True
    """

    elsewhere: ClassVar[str] = "; trials and seed are given to analyse or Entry"
    unit: ClassVar[str] = "trials"
    """Units of a block: ``trials``, or ``pairs`` of runs, each with all its trials."""
    uses_rankings: ClassVar[bool] = False
    """Whether the cube must hold the rankings of its scores, see `with_rankings`."""
    resamples: ClassVar[bool] = True
    """Whether there are trials; if not, the number of trials and the seed are not used."""
    default_trials: ClassVar[int] = 1_000
    """Trials where none are asked for, in Python and on the command line."""
    unused: ClassVar[tuple[str, ...]] = ()
    """Shared options, such as ``bags``, that make no difference to it."""
    jackknife: ClassVar[bool] = False
    """Whether blocks are computed without each group of units, too, with a tenth of the trials."""

    @classmethod
    def unused_options(cls) -> set[str]:
        """Return the shared options that commands take, and the help of this method leaves out."""
        seed = () if cls.resamples else ("seed",)
        where = ("workers", "cluster", "scheduler") if cls.block is Analysis.block else ()
        return {*cls.unused, *seed, *where}

    def grouped(self, collections: Sequence[str], *, named: bool = True) -> Groups:
        """Return which collections of a study each result is about.

        collections: Names.
        named: Whether the user named them, in this order.
        Raises BadPlan: Collections that the method cannot join.
        """
        return Groups(self, [[name] for name in collections])

    def join(
        self,
        cubes: Mapping[str, xr.Dataset],
        rankings: Mapping[str, xr.Dataset],
        selection: Mapping[str, Any],
    ) -> xr.Dataset:
        """Return the selected scores of one group of collections as a cube.

        cubes: By collection, in the order of the group.
        rankings: Of the collections that have them.
        selection: Arguments of `select`.
        """
        ((name, cube),) = cubes.items()
        chosen = select(cube, **selection)
        return with_rankings(chosen, rankings[name]) if self.uses_rankings else chosen

    def table(self, cube: xr.Dataset) -> Any:
        """Return what blocks and results are computed from."""
        return make_table(cube)

    def notes(self, table: Any) -> list[str]:
        """Return what is to be said of the result; BadPlan for options that are impossible."""
        return list(table.notes)

    def n_units(self, table: Any) -> int:
        """Return the number of units: trials, unless `unit` says otherwise."""
        return int(table.trials)

    def bytes_needed(self, table: Any, threads: int) -> int:
        """Return the bytes that a process needs for a table and for what is made of it.

        The run loop adds the cube, and the parts of blocks. An analysis that makes other large
        arrays than a `ScoreTable` does says so here: nothing is computed where memory is lacking.

        threads: Blocks that are computed at a time.
        """
        if isinstance(table, ScoreTable):
            return table.bytes_needed(jackknife=threads * self.jackknife)
        return bytes_of(table)

    def block(self, table: Any, start: int, stop: int) -> Parts:
        """Return the parts of the units start .. stop-1, empty ones of no units."""
        return {}

    @abstractmethod
    def result(self, table: Any, totals: Totals) -> xr.Dataset:
        """Return the complete result of the combined parts of all blocks."""

    def fitted(self, preset: Preset, n_topics: int) -> tuple[Self, list[str]]:
        """Return the record as a collection of so few topics allows, and what is to be said.

        preset: The paper's, from which the record was made.
        """
        return self, []

    def drawn(self, table: Any) -> xr.Dataset:
        """Return what the trials of a table draw; units by their positions."""
        raise BadPlan(f"{self.name} draws nothing: there are no samples")


def block_parts(analysis: Analysis, table: Any, start: int, stop: int) -> dict[str, Part]:
    """Return the parts of a block, and the reduced ones without each group of units."""
    parts = dict(analysis.block(table, start, stop))
    trials = -(-start // TRIALS_LEFT_OUT), -(-stop // TRIALS_LEFT_OUT)
    for group, kept in enumerate(table.tables_left_out if analysis.jackknife else ()):
        for name, part in analysis.block(kept, *trials).items():
            if not isinstance(part, Concat):
                parts[f"{name}{LEFT_OUT}{group}"] = part
    return parts


def totals_of(analysis: Analysis, table: Any, combined: Arrays) -> Totals:
    """Return the combined parts of all blocks as `Analysis.result` takes them."""
    totals = Totals()
    totals.left_out = [{} for _ in (table.groups() if analysis.jackknife else ())]
    for key, array in combined.items():
        name, _, group = key.partition(LEFT_OUT)
        (totals.left_out[int(group)] if group else totals)[name] = array
    return totals
