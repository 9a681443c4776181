"""Generalisability theory: variance components, reliability coefficients and numbers of topics, with intervals.

A third crossed facet are the gain settings of a metric, or the sets of judgements of a combined cube.

References: Bodoff and Li 2007, "Test theory for assessing IR test collections", SIGIR; Urbano, Marrero and Martin 2013, "On the
measurement of test collection reliability", SIGIR; and those of `scorecube.statistics.variance_components`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import (
    Analysis,
    Array,
    Arrays,
    Combine,
    Cost,
    Inputs,
    Output,
    Prepared,
    labelled_result,
)
from scorecube.analyses.options import ONLY_TOPICS, level_field, option_field, set_field
from scorecube.analyses.pair_tests.base import check_runs
from scorecube.analyses.pair_tests.pair_scores import comparable
from scorecube.analyses.reliability.reliability_quantities import (
    ALWAYS,
    FACET_VARIABLES,
    SOURCES,
    TEAM_VARIABLES,
)
from scorecube.collection import schema
from scorecube.collection.judgement_sets import NOT_COMMON, judgement_set_names
from scorecube.collection.selection import cells, n_cells, uses_gains
from scorecube.collection.teams import units_of_runs
from scorecube.errors import BadPlan, counted, option
from scorecube.statistics.variance_components import (
    COEFFICIENTS,
    DIFFERENT,
    FACET_COEFFICIENTS,
    FACET_SOURCES,
    ONE_TEAM,
    RATIOS,
    TEAM_SOURCES,
    Jackknife,
    MeanSquares,
    coefficient,
    facet_coefficients,
    facet_components,
    jackknife,
    mean_squares,
    ratio_limits,
    ratios,
    team_components,
    team_ratios,
    topics_for,
)


@dataclass(frozen=True, kw_only=True)
class Reliability(Analysis):
    """Reliability of mean scores: variance components, E rho^2, Phi, topics needed.

    Scores are a system effect, a topic effect and an interaction (with error), of which systems and topics at hand are random samples.
    ``erho2`` (E rho^2) is the expected squared correlation of systems' means over n topics with their means over infinitely many: it is
    about differences between systems. ``phi`` (Phi) counts the topics' difficulty as error too: it is about absolute scores. Negative
    estimates of variances count as 0, and results say so.

    Two intervals are computed, and cover as docs/believe/reliability.md prints. ``low`` and ``high`` are the published ones (Feldt 1965; Arteaga,
    Jeyaratnam and Franklin 1982), for independent normal effects. ``jackknife_low`` and ``jackknife_high`` leave out each topic, and each
    team with all its runs, in turn; they need no such condition, and headlines and figures have them.

    Where there are several, gain settings, or sets of judgements of a cube from `scorecube.judgement_sets`, are also taken as a third
    crossed facet, without intervals, and runs as nested in teams, with the jackknife.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=12, seed=3), Reliability(topic_sizes=(25, 50)))
    >>> result["value"].sel(metric="AP", coefficient="erho2").squeeze().values.round(2).tolist()
    [0.9, 0.95]
    """

    name: ClassVar[str] = "reliability"
    unit: ClassVar[str] = "cells"
    resamples: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = (
        "--topics 25,50,100 --target 0.95 --drop 0.25",
        "--judgement-sets --collections official,crowd",
    )
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {"topics": ONLY_TOPICS}

    topic_sizes: tuple[int, ...] | None = option_field(
        None,
        "Numbers of topics for the coefficients, e.g. 25,50,100; as many as there are by default.",
        flag="--topics",
        minimum=1,
        maximum=10**9,
        may_be_empty=True,
        unit="topics",
        finalize=True,
    )
    target: tuple[float, ...] = option_field(
        (0.95,), "Coefficients whose number of topics is computed.", above=0, below=1, finalize=True
    )
    drop: float = option_field(
        0.0,
        "Share of runs, those with the lowest means, to leave out.",
        detail="Runs stay whose mean of a metric is at least this quantile of all means.",
        minimum=0,
        below=1,
    )
    confidence: float = level_field(
        names.CONFIDENCE, 0.95, "Confidence level of the intervals.", finalize=True
    )
    judgement_sets: bool = option_field(
        False,
        "Take two collections as sets of judgements of the same runs: a third facet.",
        detail="The cube then holds both, as from `scorecube.judgement_sets`.",
    )
    first: str = set_field("first set of judgements")
    second: str = set_field("second set")

    @property
    def n_collections(self) -> int:  # type: ignore[override]
        """Collections that one result is about: 2 that are sets of judgements, or 1."""
        return 2 if self.judgement_sets else 1

    @property
    def uses_teams(self) -> bool:
        """Whether results depend on the teams of the runs: the jackknife leaves out whole teams."""
        return True

    def check(self, prepared: Prepared) -> list[str]:
        cube = prepared.cube
        check_runs(cube, "reliability")
        if self.judgement_sets:
            judgement_set_names(cube)
        n_runs = cube.sizes[names.RUN]
        if n_runs - n_dropped(n_runs, self.drop) < 2:
            raise BadPlan(
                f"{option('drop', self.drop)} leaves fewer than 2 of {counted(n_runs, 'run')}; leave out less",
                option="drop",
            )
        return list(cube.attrs.get(NOT_COMMON, []))

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return the number of cells."""
        return n_cells(prepared.cube)

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        scores, _ = cells(prepared.cube)
        return {
            "scores": scores,
            "kept": np.array([kept_runs(cell, self.drop) for cell in scores]),
            "teams": units_of_runs(prepared.cube),
        }

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        return (
            Output("mean_squares", (len(SOURCES),), Combine.CONCAT, "float64"),
            Output("jackknife", (3, len(RATIOS)), Combine.CONCAT, "float64"),
            Output("teams", (len(TEAM_SOURCES),), Combine.CONCAT, "float64"),
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        found: dict[str, list[Any]] = {"mean_squares": [], "jackknife": [], "teams": []}
        for cell in range(start, stop):
            kept = inputs["kept"][cell]
            scores, teams = inputs["scores"][cell][kept], inputs["teams"][kept]
            found["mean_squares"].append(mean_squares(scores)[:3])
            found["jackknife"].append(jackknife(scores, teams))
            found["teams"].append(team_components(scores, teams))
        return {name: np.moveaxis(np.array(parts), 0, -1) for name, parts in found.items()}

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        scores, cell_of = cells(cube)
        n_topics = cube.sizes[names.TOPIC]
        n_runs = np.array([kept_runs(cell, self.drop).sum() for cell in scores])
        sizes = np.array(self.topic_sizes or (n_topics,))
        found = [
            self._of_cell(totals, cell, int(n_runs[cell]), n_topics, sizes)
            for cell in range(len(scores))
        ]
        by_cell = {name: np.array([each[name] for each in found]) for name in found[0]}
        values = {name: array[cell_of] for name, array in by_cell.items()} | {
            "n_runs": n_runs[cell_of]
        }
        coords: dict[str, Any] = {
            names.COEFFICIENT: schema.label_array(COEFFICIENTS),
            names.N_TOPICS: sizes,
            names.TARGET: np.array(self.target),
            names.SOURCE: schema.label_array(SOURCES),
        }
        variables = ALWAYS
        if not np.isnan(totals["teams"]).all():
            variables = (*variables, *TEAM_VARIABLES)
            coords[names.TEAM_SOURCE] = schema.label_array(TEAM_SOURCES)
        of_facets, facet_coords = facets_of(cube, sizes, lambda cell: kept_runs(cell, self.drop))
        if of_facets:
            variables = (*variables, *FACET_VARIABLES)
        values |= of_facets
        coords |= facet_coords
        attrs = {
            "trials": 0,
            "n_runs": cube.sizes[names.RUN],
            "n_topics": n_topics,
            "n_teams": len(np.unique(units_of_runs(cube))),
            "confidence": self.confidence,
            "drop": self.drop,
            "notes": [],
        }
        return labelled_result(cube, variables, values, coords, attrs)

    def _of_cell(
        self, totals: Inputs, cell: int, n_runs: int, n_topics: int, sizes: Array
    ) -> dict[str, Any]:
        """Return the values of one cell."""
        systems, topics, rest = totals["mean_squares"][:, cell]
        squares = MeanSquares(systems, topics, rest, n_runs, n_topics)
        raw = np.array(squares.components())
        jackknife_low, jackknife_high = Jackknife(*totals["jackknife"][..., cell]).limits(
            self.confidence
        )
        two_way = slice(len(COEFFICIENTS))
        limits = {
            "": (ratios(squares),) * 2,
            "limits": ratio_limits(squares, self.confidence),
            "jackknife": (jackknife_low[two_way], jackknife_high[two_way]),
        }
        found: dict[str, Any] = {
            "component": np.maximum(raw, 0.0),
            "unbounded_component": raw,
            "team_component": np.maximum(totals["teams"][:, cell], 0.0),
        }
        for prefix, ends in limits.items():
            for end, ratio in zip(("low", "high"), ends, strict=True):
                name = {"": "", "limits": f"_{end}", "jackknife": f"_jackknife_{end}"}[prefix]
                found[f"ratio{name}"] = ratio
                found[f"value{name}"] = coefficient(ratio[:, np.newaxis], sizes)
                # The larger the ratio, the fewer the topics.
                other = name.replace(end, {"low": "high", "high": "low"}[end])
                found[f"topics{other}"] = np.stack(
                    [topics_for(ratio, target) for target in self.target], axis=-1
                )
        of_teams = team_ratios(totals["teams"][:, cell])
        for name, one in zip((DIFFERENT, ONE_TEAM), of_teams, strict=True):
            at = RATIOS.index(name)
            found[name] = coefficient(one, sizes)
            found[f"{name}_low"] = coefficient(jackknife_low[at], sizes)
            found[f"{name}_high"] = coefficient(jackknife_high[at], sizes)
        return found

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        score_bytes = 8.0 * n_runs * n_topics
        return Cost(
            # Of scores, and of topics and teams that are left out.
            seconds=1e-7 * n_runs * n_topics + 1e-6 * (n_runs + n_topics),
            bytes=200.0,
            fixed_bytes=6 * score_bytes,
            result_bytes=n_cells(cube) * (score_bytes + 200.0),
            input_bytes=n_cells(cube) * score_bytes,
        )


def n_dropped(n_runs: int, drop: float) -> int:
    """Return how many runs a share leaves out: those below the quantile, interpolated as by R and NumPy.

    Examples
    --------
    >>> n_dropped(40, 0.25), n_dropped(40, 0.0), n_dropped(3, 0.99)
    (10, 0, 2)
    """
    return math.ceil(Fraction(str(drop)) * (n_runs - 1))


def kept_runs(scores: Array, drop: float) -> Array:
    """Return which runs (run,) stay; of runs with equal means all stay, or none."""
    lowest = n_dropped(len(scores), drop)
    if not lowest:
        return np.ones(len(scores), bool)
    sums = comparable(scores)[0].sum(axis=1)
    return np.asarray(sums >= np.sort(sums)[lowest])


GAINS = "gains"


def levels_of(cube: xr.Dataset) -> dict[str, list[int]]:
    """Return, for each third facet of a cube, the positions along gain of its levels; only facets of several levels."""
    if names.JUDGEMENTS not in cube.coords:
        found = {GAINS: list(range(cube.sizes[names.GAIN]))}
    else:
        settings = schema.labels_of(cube, names.SETTING)
        several = len(set(settings)) > 1
        found = {
            f"{names.JUDGEMENTS} {setting}" if several else names.JUDGEMENTS: [
                k for k, other in enumerate(settings) if other == setting
            ]
            for setting in dict.fromkeys(settings)
        }
    return {facet: levels for facet, levels in found.items() if len(levels) > 1}


def facets_of(
    cube: xr.Dataset, sizes: Array, kept: Callable[[Array], Array]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values and coordinates of `FACET_VARIABLES`; none if the cube has no third facet.

    sizes: Numbers of topics.
    kept: Returns of scores (run, topic) the runs that are not left out; takes the means over the levels.
    """
    facets = levels_of(cube)
    used = uses_gains(cube)
    if not facets or not used.any():
        return {}, {}
    scores = cube.variables[names.SCORE].values
    shape = (cube.sizes[names.METRIC], len(facets))
    components = np.full((*shape, len(FACET_SOURCES)), np.nan)
    coefficients = np.full((*shape, len(FACET_COEFFICIENTS), len(sizes)), np.nan)
    for i, (j, levels) in (
        (i, each) for i in np.flatnonzero(used) for each in enumerate(facets.values())
    ):
        cell = np.moveaxis(scores[i, levels].astype(np.float64), 0, -1)
        found = facet_components(cell[kept(cell.mean(axis=-1))])
        components[i, j] = np.maximum(found, 0.0)
        for k, size in enumerate(sizes):
            coefficients[i, j, :, k] = facet_coefficients(found, len(levels), int(size))
    return (
        {"facet_component": components, "facet_coefficient": coefficients},
        {
            names.FACET: schema.label_array(facets),
            "n_levels": (names.FACET, np.array([len(levels) for levels in facets.values()])),
            names.FACET_SOURCE: schema.label_array(FACET_SOURCES),
            names.FACET_COEFFICIENT: schema.label_array(FACET_COEFFICIENTS),
        },
    )
