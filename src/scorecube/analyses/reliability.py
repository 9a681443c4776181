"""Reliability of mean scores, from variances of systems, topics and their interaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.jackknife import CONFIDENCE, limits, of_scores
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import check_pairs
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Analysis, Totals
from scorecube.analyses.table import Table
from scorecube.collection.schema import label_array, read_variables
from scorecube.statistics.variance import (
    COEFFICIENTS,
    SOURCES,
    coefficient,
    components,
    ratios,
    topics_for,
)

VARIABLES = read_variables("""
    [metric gain source]
    component | estimate | 1 .5f | variance of a source; 0 for a negative estimate
    [metric gain coefficient]
    value | estimate | 1 | reliability coefficient
    value | limits:value | 1 | limit of the reliability coefficient
    [metric gain coefficient target]
    topics | estimate | topics .0f | number of topics for a coefficient
    topics | limits:topics | topics .0f | limit of the number of topics for a coefficient
    [metric gain coefficient curve_topics]
    curve | estimate | 1 | reliability coefficient by number of topics
    curve | limits:curve | 1 | limit of the reliability coefficient by number of topics
""")


@dataclass(frozen=True, kw_only=True)
class Reliability(Analysis):
    """Reliability of mean scores: variance components, E rho^2, Phi, topics needed.

    ``erho2`` (E rho^2) is the expected squared correlation of systems' means over n topics with
    their means over infinitely many: it is about differences between systems. ``phi`` (Phi) counts
    the topics' difficulty as error too: it is about absolute scores. Negative estimates of
    variances count as 0, which a note says. Estimand: these systems, other topics; limits are
    jackknife limits over topics (95 %).

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=12, seed=3), Reliability())
    >>> round(result["value"].sel(metric="AP", coefficient="erho2").item(), 2)
    0.95
    """

    name: ClassVar[str] = "reliability"
    resamples: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("--target 0.9,0.95",)

    target: tuple[float, ...] = option_field(
        (0.95,), "Coefficients whose number of topics is computed.", above=0, below=1
    )

    def bytes_needed(self, table: Table, threads: int) -> int:
        # All scores, and those without each group of units, are held at once.
        return table.bytes_needed(jackknife=False, more=len(table.groups()))

    def table(self, cube: xr.Dataset) -> Table:
        return check_pairs(make_table(cube, bags=False), self.name)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        variances, n_topics = of_scores(table, components), table.sizes.size
        ratio, *left_out = np.moveaxis(ratios(np.moveaxis(variances, -1, 0)), 0, -1)
        low, high = limits(ratio, np.array(left_out), "log")
        points = np.linspace(1, 2 * n_topics, 60)
        values: dict[str, Any] = {"component": np.maximum(variances[0], 0.0)}
        # The larger the ratio, the fewer the topics.
        ends = ("", ratio, ratio), ("_low", low, high), ("_high", high, low)
        for end, of, of_topics in ends:
            values[f"value{end}"] = coefficient(of, n_topics)
            values[f"curve{end}"] = coefficient(of[..., np.newaxis], points)
            topics = np.stack([topics_for(of_topics, target) for target in self.target], axis=-1)
            values[f"topics{end}"] = np.where(np.isfinite(topics), topics, np.nan)
        coords = {names.TARGET: np.array(self.target), "curve_topics": points}
        coords |= {names.COEFFICIENT: label_array(COEFFICIENTS), names.SOURCE: label_array(SOURCES)}
        negative = bool((variances[0] < 0).any())
        notes = ["Negative estimates of variance count as 0."] if negative else []
        attrs = {"trials": 0, "n_topics": n_topics, "confidence": CONFIDENCE, "notes": notes}
        return table.dataset(VARIABLES, values, coords, attrs)
