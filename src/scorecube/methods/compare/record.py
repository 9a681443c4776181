"""Two systems compared, and the gate of a job: calculations over collections together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import xarray as xr

from scorecube.analyses.calculation import Calculation
from scorecube.collection.arguments import CubeLike
from scorecube.declare import Variable, View, option_field
from scorecube.declare.options import REQUIRED
from scorecube.errors import BadPlan, option
from scorecube.methods.compare.comparison import compare
from scorecube.methods.compare.gate import gate
from scorecube.methods.compare.rows import VARIABLES
from scorecube.methods.compare.view import COMPARISON, GATE, document

MISSING = "Topics with missing scores of either: no verdict, or drop them."
SYSTEM = "System: a run, or a system with repetitions."
RETRAINED = "Limits for other training runs of both systems, too, by their repetitions."
BASELINE = "System that it is compared with."


@dataclass(frozen=True, kw_only=True)
class Compare(Calculation):
    """Compare two systems: differences with limits, wins, ties and losses.

    In each collection, and in the mean over them; the estimand is the difference of both means over
    infinitely many topics of each collection.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cube = testing.simulate_cube(n_runs=6, seed=3)
    >>> found = analyse(cube, Compare(run="team01-run1", baseline="team02-run1"))
    >>> found["verdict"].values.ravel().tolist()
    ['not shown', 'not shown']
    """

    name: ClassVar[str] = "compare"
    view: ClassVar[View | None] = COMPARISON
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("miller2024",)
    joins: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("STUDY ours main",)
    selects: ClassVar[tuple[str, ...]] = ("metrics",)

    run: str = option_field(REQUIRED, SYSTEM, argument="RUN")
    baseline: str = option_field(REQUIRED, BASELINE, argument="BASELINE")
    retrained: bool = option_field(False, RETRAINED)
    missing: Literal["refuse", "drop"] = option_field("refuse", MISSING)

    def made_of(self, cubes: Mapping[str, CubeLike]) -> xr.Dataset:
        return compare(
            cubes, self.run, self.baseline, retrained=self.retrained, missing=self.missing
        )


@dataclass(frozen=True, kw_only=True)
class Gate(Calculation):
    """Judge a system against a baseline; exit with status 3 if it fails, 4 without a verdict.

    One decision a metric, about the mean over the collections: it passes where the lower limit of
    the difference is above -margin, and fails where the upper limit is below -margin, after Holm
    over all rows that are judged. 95% limits: a loss of the margin passes in about 2.5% of samples,
    and fails in at most as many.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cube = testing.simulate_cube(n_runs=6, seed=3)
    >>> asked = Gate(run="team01-run1", baseline="team02-run1", margin=("AP=0.2",))
    >>> analyse(cube, asked).attrs["verdict"]
    'pass'
    """

    name: ClassVar[str] = "gate"
    view: ClassVar[View | None] = GATE
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("miller2024",)
    joins: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("STUDY --run ours --baseline main --margin 0.01",)

    run: str = option_field(REQUIRED, "System to judge: a run, or a system with repetitions.")
    baseline: str | None = option_field(None, BASELINE)
    margin: tuple[str, ...] | None = option_field(
        None, "Largest loss that does not matter: a number, or A=0.02,B=0.5 by metric."
    )
    at_least: tuple[str, ...] | None = option_field(
        None, "Least mean, in place of baseline and margin: a number, or A=X,B=X."
    )
    metrics: tuple[str, ...] | None = option_field(
        None, "Metrics that are judged; those with a margin, or the first one."
    )
    each: bool = option_field(False, "Judge every collection, too, not only the mean over them.")
    retrained: bool = option_field(False, RETRAINED)
    missing: Literal["refuse", "drop"] = option_field("refuse", MISSING)
    allow_undecided: bool = option_field(
        False, "Status 0 where no row is shown to be better or worse, too."
    )

    def made_of(self, cubes: Mapping[str, CubeLike]) -> xr.Dataset:
        return gate(
            cubes,
            self.run,
            self.baseline,
            margin=read_numbers("margin", self.margin),
            at_least=read_numbers("at_least", self.at_least),
            metrics=self.metrics,
            each=self.each,
            retrained=self.retrained,
            allow_undecided=self.allow_undecided,
            missing=self.missing,
        )

    def status(self, result: xr.Dataset) -> int:
        return int(result.attrs["status"])

    def document(self, result: xr.Dataset) -> dict[str, Any] | None:
        return document(result)


def read_numbers(name: str, words: tuple[str, ...] | None) -> float | dict[str, float] | None:
    """Return a number, or numbers by metric, of an option (BadPlan for others)."""
    if words is None:
        return None
    by_metric = {}
    for word in words:
        metric, _, number = word.rpartition("=")
        try:
            by_metric[metric] = float(number)
        except ValueError:
            wanted = "a number, or metrics with numbers such as f1=0.02,latency=5"
            text = f"{option(name, word)} is not valid: expected {wanted}"
            raise BadPlan(text, option=name) from None
    return by_metric[""] if set(by_metric) == {""} else by_metric
