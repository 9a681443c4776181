"""Variances of scores: a calculation, from which numbers of topics follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import xarray as xr

from scorecube.analyses.calculation import Calculation
from scorecube.analyses.variances import VARIANCES, variances
from scorecube.collection.arguments import CubeLike
from scorecube.collection.schema import CELL
from scorecube.declare import Table, Variable, View, interval, shown

ESTIMATES = (*interval("within_variance"), *interval("paired_variance"))
VIEW = View(
    name="variances",
    heading="Variances of scores",
    tables={
        "variances": Table(
            CELL,
            (*CELL, "n_topics", *ESTIMATES),
            brief=(
                shown("metric", "label"),
                shown("within systems", *interval("within_variance")),
                shown("systems on the same topics", *interval("paired_variance")),
            ),
        )
    },
)


@dataclass(frozen=True, kw_only=True)
class Variances(Calculation):
    """Variances of scores within systems, and left after systems and topics, with limits.

    References
    ----------
    Sakai and Shang 2016, equation 1.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> found = analyse(testing.simulate_cube(n_runs=5, seed=1), Variances())
    >>> found["within_variance"].round(4).values.tolist()
    [[0.0579], [0.0608]]
    """

    name: ClassVar[str] = "variances"
    view: ClassVar[View | None] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIANCES
    references: ClassVar[tuple[str, ...]] = ("sakai2016",)
    examples: ClassVar[tuple[str, ...]] = ("STUDY --metrics AP,nDCG@20",)
    selects: ClassVar[tuple[str, ...]] = ("metrics", "gains", "runs", "top_runs", "by", "missing")

    def made_of(self, cubes: Mapping[str, CubeLike]) -> xr.Dataset:
        (cube,) = cubes.values()
        return variances(cube)
