"""Options of the swap method."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from scorecube import names
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.topic_samples.base import TopicSampling
from scorecube.collection.score_range import LARGEST_SCORE, SMALLEST_MAXIMUM

SMALLEST_WIDTH = SMALLEST_MAXIMUM / 1000
"""Narrowest bins: of the smallest scores they are a thousandth."""


@dataclass(frozen=True, kw_only=True)
class SwapOptions(TopicSampling):
    """Declared options of `scorecube.analyses.topic_samples.swap.Swap`, where they are described."""

    rule: str = option_field(
        "s0",
        "Two zero differences are no swap (s0) or a swap (s1).",
        choices=("s0", "s1"),
        finalize=True,
    )
    confidence: tuple[float, ...] = level_field(
        names.CONFIDENCE, (0.95, 0.9, 0.8), "1 - accepted swap rates.", finalize=True
    )
    bin_width: float = option_field(
        0.01,
        "Width of the difference bins.",
        minimum=SMALLEST_WIDTH,
        maximum=LARGEST_SCORE,
        unit="score",
    )
    bins: Literal["auto"] | int = option_field(
        "auto",
        "Number of difference bins, of which the last is open; auto: as many as needed, all closed.",
        minimum=2,
        maximum=1000,
    )
    allow_zero: bool = option_field(False, "A required difference may be 0.", finalize=True)
    signed: bool = option_field(False, "Bins for negative differences, too.")
    symmetric: bool = option_field(
        False,
        "Every comparison counts in both directions, also with the second sample as the first.",
    )
    share: str = option_field(
        "all",
        "Samples of a trial are used for all pairs of runs, or none: samples are drawn for each pair (slow).",
        choices=("all", "none"),
    )
    interval: str = option_field(
        "trials",
        "Intervals of swap rates over trials, or about the population of topics and runs (slow).",
        choices=("trials", "population"),
    )
    required: str = option_field(
        "isotonic",
        "Required difference: lower edge of the first bin whose fitted swap rate is low enough (isotonic), "
        "whose own rate is (first), or from which on all rates are (suffix, as in the papers).",
        choices=("isotonic", "suffix", "first"),
        finalize=True,
        since="0.2.0",
        before="suffix",
    )
    limits: bool = option_field(
        True,
        "No confidence limits of required differences and shares over topics and teams: half the time.",
        flag="--no-limits",
        since="0.2.0",
        before=False,
    )
    run_groups: str = option_field(
        "teams",
        "Runs that are left out together for limits and intervals about the population.",
        choices=("teams", "runs"),
        since="0.2.0",
        before="runs",
    )
    groups: int = option_field(
        10,
        "Number of groups of topics, and of runs, left out in turn for the interval about the population.",
        minimum=3,
        maximum=1000,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.interval == "trials":
            # Groups are not used: equal plans must have equal digests.
            object.__setattr__(self, "groups", SwapOptions.groups)
        if self.required != "isotonic":
            object.__setattr__(self, "limits", False)
        if self.interval == "trials" and not self.limits:
            object.__setattr__(self, "run_groups", "runs")

    @property
    def width(self) -> Fraction:
        """Width of a bin, exactly as it is written."""
        return Fraction(str(self.bin_width))

    def places(self, n_bins: int) -> int:
        """Return the number of bins, including those of negative differences."""
        return 2 * n_bins if self.signed else n_bins
