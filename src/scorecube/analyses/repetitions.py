"""Repetitions of systems, such as training runs, on the units of the systems' means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import xarray as xr

from scorecube import names
from scorecube.analyses.preparation import make_table
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.schema import labels_of


@dataclass(frozen=True, eq=False)
class Repetitions:
    """The repetitions of some systems.

    table: Their scores.
    by_system: Labels of the runs that repeat each system; one of a run by itself.
    """

    table: ScoreTable
    by_system: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        cube: xr.Dataset,
        systems: Sequence[str] | None = None,
        *,
        missing: Literal["refuse", "drop"] = "refuse",
        bags: bool = True,
    ) -> Repetitions:
        """Return the repetitions of some systems, all by default; arguments as of `make_table`."""
        by_system = repetitions_of(cube, systems)
        runs = list(chain.from_iterable(by_system.values()))
        alone = cube.drop_vars(names.SYSTEM, errors="ignore")
        table = make_table(alone, runs=runs, missing=missing, bags=bags, on_grid=False)
        return cls(table, by_system)

    def rows(self, system: str) -> list[int]:
        """Return where the repetitions of a system are in the table."""
        return [self.table.runs.index(run) for run in self.by_system[system]]

    def values(self, cell: int, system: str) -> FloatArray:
        """Return the values of the repetitions of a system in a cell, float64 (run, unit)."""
        return self.table.values[cell, self.rows(system)]


def repetitions_of(
    cube: xr.Dataset, systems: Sequence[str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the runs that repeat each system, as labels; of no system of the cube its run.

    systems: All by default.
    """
    runs = labels_of(cube, names.RUN)
    of_runs = labels_of(cube, names.SYSTEM) if names.SYSTEM in cube.coords else runs
    if systems is not None and not {*of_runs}.issuperset(systems):
        of_runs = runs
    found = dict[str, list[str]]()
    for run, system in zip(runs, of_runs, strict=True):
        if systems is None or system in systems:
            found.setdefault(system, []).append(run)
    order = sorted(found) if systems is None else [name for name in systems if name in found]
    return {system: tuple(found[system]) for system in order}
