"""Generalisability theory: variance components, reliability coefficients and numbers of topics, with intervals.

References: Bodoff and Li 2007, "Test theory for assessing IR test collections", SIGIR; Urbano, Marrero and Martin 2013, "On the
measurement of test collection reliability", SIGIR; and those of `scorecube.statistics.variance_components`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from scorecube.analyses.options import ONLY_TOPICS, level_field, option_field
from scorecube.analyses.pair_tests.base import check_runs
from scorecube.analyses.reliability.reliability_quantities import SOURCES, VARIABLES
from scorecube.collection import schema
from scorecube.collection.selection import cells, n_cells
from scorecube.collection.teams import units_of_runs
from scorecube.statistics.variance_components import (
    COEFFICIENTS,
    Jackknife,
    MeanSquares,
    coefficient,
    jackknife,
    mean_squares,
    ratio_limits,
    ratios,
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
    examples: ClassVar[tuple[str, ...]] = ("--topics 25,50,100 --target 0.95",)
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
    confidence: float = level_field(
        names.CONFIDENCE, 0.95, "Confidence level of the intervals.", finalize=True
    )

    @property
    def uses_teams(self) -> bool:
        """Whether results depend on the teams of the runs: the jackknife leaves out whole teams."""
        return True

    def check(self, prepared: Prepared) -> list[str]:
        check_runs(prepared.cube, "reliability")
        return []

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return the number of cells."""
        return n_cells(prepared.cube)

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        return {"scores": cells(prepared.cube)[0], "teams": units_of_runs(prepared.cube)}

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        return (
            Output("mean_squares", (len(SOURCES),), Combine.CONCAT, "float64"),
            Output("jackknife", (3, len(COEFFICIENTS)), Combine.CONCAT, "float64"),
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        found: dict[str, list[Any]] = {"mean_squares": [], "jackknife": []}
        for scores in inputs["scores"][start:stop]:
            found["mean_squares"].append(mean_squares(scores)[:3])
            found["jackknife"].append(jackknife(scores, inputs["teams"]))
        return {name: np.moveaxis(np.array(parts), 0, -1) for name, parts in found.items()}

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        scores, cell_of = cells(cube)
        n_topics, n_runs = cube.sizes[names.TOPIC], cube.sizes[names.RUN]
        sizes = np.array(self.topic_sizes or (n_topics,))
        found = [
            self._of_cell(totals, cell, n_runs, n_topics, sizes) for cell in range(len(scores))
        ]
        by_cell = {name: np.array([each[name] for each in found]) for name in found[0]}
        values = {name: array[cell_of] for name, array in by_cell.items()} | {
            "n_runs": np.full(cell_of.shape, n_runs)
        }
        coords: dict[str, Any] = {
            names.COEFFICIENT: schema.label_array(COEFFICIENTS),
            names.N_TOPICS: sizes,
            names.TARGET: np.array(self.target),
            names.SOURCE: schema.label_array(SOURCES),
        }
        attrs = {
            "trials": 0,
            "n_runs": n_runs,
            "n_topics": n_topics,
            "n_teams": len(np.unique(units_of_runs(cube))),
            "confidence": self.confidence,
            "notes": [],
        }
        return labelled_result(cube, VARIABLES, values, coords, attrs)

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
        limits = {
            "": (ratios(squares),) * 2,
            "limits": ratio_limits(squares, self.confidence),
            "jackknife": (jackknife_low, jackknife_high),
        }
        found: dict[str, Any] = {"component": np.maximum(raw, 0.0), "unbounded_component": raw}
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
