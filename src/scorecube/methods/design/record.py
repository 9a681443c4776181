"""Topic set size design, and worst-case widths of confidence intervals: calculations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import xarray as xr

from scorecube.analyses.calculation import Calculation
from scorecube.collection.arguments import CubeLike
from scorecube.declare import Preset, View, option_field
from scorecube.errors import BadPlan, option
from scorecube.methods.design import curves
from scorecube.methods.design.estimates import (
    design_of_cube,
    of_unit_scores,
    widths_of_cube,
    with_options,
)
from scorecube.methods.design.pair import Wanted, pair_design
from scorecube.methods.design.sizes import topic_set_size, wcw
from scorecube.methods.design.view import DESIGN, WCW

OF_TEN: dict[str, Any] = {"systems": 10, "alpha": 0.05, "beta": 0.2}
SPREADSHEET = {"mode": "sakai", "variance_of": "within"} | OF_TEN
SELECTS = ("metrics", "gains", "runs", "top_runs", "by", "missing")
VARIANCE = "Variances of scores, separated by commas; AP=0.0471 names one."
SYSTEMS = "Number of systems to compare (ANOVA)."
ALPHA = "Significance level; 1 - confidence level of intervals."
BETA = "Probability of a type II error; power is 1 - beta."
MIN_DIFF = "Difference in mean score to detect; 0.1 by default."
WIDTH = "Widest confidence interval (--method ci); 0.1 by default."
VARIANCE_OF = (
    "paired: of systems on the same topics (two-way residual); within: within systems (one-way, "
    "equation 1 of Sakai's papers). By default paired of a STUDY, unless --mode sakai; else within."
)
PAIR = (
    "Two systems, such as ours,main: topics that their difference needs (paired t test), by number "
    "of repetitions; and for other training runs, too."
)
DEFAULT_DIFFERENCE = 0.1
DEFAULT_TOPICS = tuple(range(10, 201))


@dataclass(frozen=True, kw_only=True)
class Design(Calculation):
    """Topic set size design: how many topics does a test collection need?

    Of variances that are given, or of those of the scores of collections, with their limits; or for
    the difference of two systems (``pair``), by the number of repetitions of each.

    References
    ----------
    Sakai and Shang 2016, section 3; Sakai 2017, equations 1 and 2.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cube = testing.simulate_cube(n_runs=6, seed=3)
    >>> analyse(cube, Design(min_diff=0.2, systems=5))["topics"].dims
    ('metric', 'gain')
    """

    name: ClassVar[str] = "design"
    view: ClassVar[View | None] = DESIGN
    references: ClassVar[tuple[str, ...]] = ("sakai2016", "miller2024")
    presets: ClassVar[Mapping[str, Preset]] = {
        "sakai-2017": Preset(SPREADSHEET),
        "sakai-shang-2016": Preset(SPREADSHEET | {"min_diff": 0.15}),
    }
    examples: ClassVar[tuple[str, ...]] = (
        "--variance 0.0441 --min-diff 0.1 --systems 10",
        "STUDY --min-diff 0.05",
        "STUDY --pair ours,main --min-diff 0.02",
        "--curves tools --variance 0.0182,0.1145 --out s2-figure-2.png",
    )
    selects: ClassVar[tuple[str, ...]] = SELECTS
    instead: ClassVar[str] = "variance"

    variance: tuple[str, ...] | None = option_field(None, VARIANCE)
    min_diff: float | tuple[float, ...] | None = option_field(None, MIN_DIFF)
    width: float | tuple[float, ...] | None = option_field(None, WIDTH)
    systems: int | tuple[int, ...] = option_field(10, SYSTEMS)
    alpha: float | tuple[float, ...] = option_field(0.05, ALPHA)
    beta: float | tuple[float, ...] = option_field(0.2, BETA)
    method: Literal["anova", "t", "ci"] = option_field(
        "anova", "Best and worst of several systems, paired t test, or interval."
    )
    mode: Literal["exact", "sakai"] = option_field(
        "exact", "Exact power, or as in Sakai's spreadsheet."
    )
    variance_of: Literal["paired", "within"] | None = option_field(None, VARIANCE_OF)
    pair: tuple[str, ...] | None = option_field(None, PAIR)
    curves: Literal["noncentrality", "tools"] | None = option_field(
        None, "Those of Figure 1 or 2 of Sakai 2017; of tools for the variances that are given."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.curves == curves.NONCENTRALITY and self.variance is not None:
            text = f"{option('curves', self.curves)} depends on no {option('variance')}"
            raise BadPlan(text, option="curves")
        if self.pair is not None:
            self._check_pair()

    def _check_pair(self) -> None:
        """Refuse options that a pair does not have (BadPlan)."""
        usual = {"variance": None, "width": None, "systems": 10, "method": "anova"}
        usual |= {"mode": "exact", "variance_of": None, "curves": None}
        for name, value in usual.items():
            if single(getattr(self, name)) != value:
                text = f"{option('pair')} is a paired t test of scores, without {option(name)}"
                raise BadPlan(text, option=name)
        for name in ("min_diff", "alpha", "beta"):
            if isinstance(single(getattr(self, name)), tuple):
                raise BadPlan(f"{option(name)}: {option('pair')} takes one number", option=name)

    def needs_scores(self) -> bool:
        return self.variance is None and self.curves is None

    def without_scores(self) -> xr.Dataset:
        variance = read_variances(self.variance)
        if self.curves == curves.NONCENTRALITY:
            return curves.noncentrality()
        if self.curves == curves.TOOLS:
            return curves.of_tools(variance)
        return topic_set_size(variance, variance_of=self.variance_of, **self._settings())

    def made_of(self, cubes: Mapping[str, CubeLike]) -> xr.Dataset:
        (cube,) = cubes.values()
        if self.pair is not None:
            settings = self._settings()
            difference = settings["min_diff"] or DEFAULT_DIFFERENCE
            wanted = Wanted(difference, settings["alpha"], settings["beta"])
            design = pair_design(cube, self.pair, wanted)
            return of_unit_scores(cube, design) if self.min_diff is None else design
        result = design_of_cube(cube, variance_of=self.variance_of, **self._settings())
        if self.min_diff is None and self.method != "ci":
            result = of_unit_scores(cube, result)
        is_one = not {*result["topics"].dims} - {"metric", "gain"}
        return with_options(result) if is_one and self.method == "anova" else result

    def _settings(self) -> dict[str, Any]:
        """Return the arguments of `topic_set_size` but the variance."""
        numbers = ("min_diff", "width", "systems", "alpha", "beta")
        settings = {name: single(getattr(self, name)) for name in numbers}
        return settings | {"method": self.method, "mode": self.mode}


@dataclass(frozen=True, kw_only=True)
class WorstCaseWidths(Calculation):
    """Worst-case width of confidence intervals by number of topics, to compare measures.

    References
    ----------
    Sakai 2017, section 4.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cube = testing.simulate_cube(n_runs=6, seed=3)
    >>> analyse(cube, WorstCaseWidths(topics=(25, 50)))["width"].dims
    ('route', 'metric', 'gain', 'topics')
    """

    name: ClassVar[str] = "wcw"
    view: ClassVar[View | None] = WCW
    references: ClassVar[tuple[str, ...]] = ("sakai2017",)
    presets: ClassVar[Mapping[str, Preset]] = {
        "sakai-2017": Preset({"route": "anova-tool"} | OF_TEN)
    }
    examples: ClassVar[tuple[str, ...]] = ("--variance Q=0.0368,AP=0.0824 --out wcw.png",)
    selects: ClassVar[tuple[str, ...]] = SELECTS
    instead: ClassVar[str] = "variance"

    variance: tuple[str, ...] | None = option_field(None, VARIANCE)
    topics: int | tuple[int, ...] | None = option_field(
        None, "Numbers of topics, e.g. 25,50,100; 10 to 200 by default."
    )
    systems: int | tuple[int, ...] = option_field(10, SYSTEMS)
    alpha: float | tuple[float, ...] = option_field(0.05, ALPHA)
    beta: float | tuple[float, ...] = option_field(0.2, BETA)
    route: tuple[Literal["ci", "anova-tool", "anova-exact"], ...] = option_field(
        ("ci",),
        "Route to the width: expected (ci), or the difference that ANOVA detects by Sakai's "
        "spreadsheet (anova-tool) or exactly (anova-exact); or several.",
    )

    def needs_scores(self) -> bool:
        return self.variance is None

    def without_scores(self) -> xr.Dataset:
        return wcw(read_variances(self.variance), **self._settings())

    def made_of(self, cubes: Mapping[str, CubeLike]) -> xr.Dataset:
        (cube,) = cubes.values()
        return widths_of_cube(cube, **self._settings())

    def _settings(self) -> dict[str, Any]:
        """Return the arguments of `wcw` but the variance."""
        numbers = ("systems", "alpha", "beta")
        settings = {name: single(getattr(self, name)) for name in numbers}
        topics = DEFAULT_TOPICS if self.topics is None else single(self.topics)
        return settings | {"topics": topics, "route": list(self.route)}


def read_variances(words: Sequence[str] | None) -> Any:
    """Return variances, by measure where words name them as AP=0.0471 (BadPlan for others)."""
    if words is None:
        return None
    parts = [word.rpartition("=") for word in words]
    try:
        found = {name or number: float(number) for name, _, number in parts}
    except ValueError:
        wrong = f"{option('variance', ','.join(words))}: expected such as 0.0471 or AP=0.0471"
        raise BadPlan(wrong, option="variance") from None
    if any(name for name, _, _ in parts):
        return found
    return single(tuple(found.values()))


def single(value: Any) -> Any:
    """Return the number of a list of one, and others as they are."""
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value
