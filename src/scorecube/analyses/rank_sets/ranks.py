"""Confidence sets of the ranks of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array, Inputs, Prepared, labelled_result
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.pair_tests.base import count_bounds, expand_cells
from scorecube.analyses.pair_tests.family import Pairs, family
from scorecube.analyses.pair_tests.repetitions import with_repetitions
from scorecube.analyses.pair_tests.step_down import StepDown
from scorecube.analyses.rank_sets.rank_quantities import VARIABLES
from scorecube.collection.schema import Variable
from scorecube.collection.selection import cell_of_settings
from scorecube.statistics.rank_sets import competition_ranks, rank_limits


@dataclass(frozen=True, kw_only=True)
class RankSets(StepDown):
    """Base of analyses that give each run the set of its possible ranks."""

    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {"trials": {"default": 10_000}}

    alpha: float = level_field(
        names.ALPHA,
        0.05,
        "1 - confidence of the rank sets of all runs at once, and of other intervals.",
        finalize=True,
    )
    top: tuple[int, ...] = option_field(
        (1, 5, 10), "Sizes k of the sets of the k best runs.", minimum=1, finalize=True
    )

    def decided(self, units: Any, pairs: Pairs, counts: Any, trials: int) -> tuple[Array, Array]:
        """Return better and worse run of each decided pair."""
        found = counts < count_bounds(trials, (self.alpha,), False)[0]
        first, second = pairs[0][found], pairs[1][found]
        better = units.sums[first] > units.sums[second]
        return np.where(better, first, second), np.where(better, second, first)


@dataclass(frozen=True, kw_only=True)
class Ranks(RankSets):
    """Confidence sets of the ranks of runs, and of the best runs.

    The rank set of a run goes from L = 1 + the number of runs that the step-down max-T test finds better, to U = the number
    of runs - the number it finds worse. The estimand is the rank of the run's mean score over infinitely many topics, 1 for the largest.
    The sets hold all ranks together with probability 1 - alpha, for large n. The set of the k best are the runs with L of at most k: it
    holds all of the k best with probability 1 - alpha.

    Notes
    -----
    Runs with equal means over infinitely many topics share all ranks between them.

    Reference: Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference for ranks with applications to mobility across neighbourhoods
    and academic achievement across countries", Review of Economic Studies 91(1). Coverage measured here: docs/believe/ranks.md.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Ranks(), trials=200, seed=1)
    >>> result["rank_low"].dims, bool((result["rank_low"] <= result["rank"]).all())
    (('metric', 'gain', 'run'), True)
    """

    name: ClassVar[str] = "ranks"
    subject: ClassVar[str] = "rank sets"

    @property
    def has_limits(self) -> bool:
        return False

    def families(self, cube: xr.Dataset) -> Sequence[Pairs]:
        return [family(cube, None)]

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        (pairs,), n_runs = self.families(cube), cube.sizes[names.RUN]
        cell_of, seen = cell_of_settings(cube), self.seen(prepared)
        units = [each.units for each in self.statistics(prepared)]
        limits = np.empty((2, len(units), n_runs), np.int32)
        for cell, (counts,) in enumerate(self.counts(prepared, totals["reached"], trials)):
            limits[:, cell] = rank_limits(*self.decided(units[cell], pairs, counts, trials), n_runs)
        by_cell = {
            "mean": np.stack([each.mean for each in seen]),
            "rank": np.stack([competition_ranks(each.totals) for each in units]),
            "rank_low": limits[0],
            "rank_high": limits[1],
        }
        return ranked_result(
            prepared,
            VARIABLES,
            {name: expand_cells(values, cell_of) for name, values in by_cell.items()},
            {"trials": trials, "alpha": self.alpha, "top": list(self.top), **self.facts()},
        )


def ranked_result(
    prepared: Prepared,
    variables: Sequence[Variable],
    values: Mapping[str, Any],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """Return a labelled result with the cube's runs, and their teams where they are known; or with its systems, and how many runs they have."""
    cube = prepared.cube
    coords: dict[str, Any] = {names.RUN: cube[names.RUN]}
    if names.TEAM in cube.coords:
        coords[names.TEAM] = cube[names.TEAM]
    facts = {"n_runs": cube.sizes[names.RUN], "n_topics": cube.sizes[names.TOPIC]}
    facts |= {} if prepared.shared is None else {"by_system": 1}
    present = [variable for variable in variables if variable.name in values]
    result = labelled_result(cube, present, values, coords, dict(attrs) | facts)
    return with_repetitions(result, prepared)
