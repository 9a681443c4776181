"""How a metric follows from the relevant entries of a list: what a metric declares to be rescored quickly.

An entry is a relevant document of a list, with its rank. Most metrics are a total over the entries down to the cut-off, divided by a
number that depends on the topic only. A metric that also needs judged non-relevant documents has no such form; it is rescored from whole lists.
"""

from dataclasses import dataclass
from enum import IntEnum


class Total(IntEnum):
    """What is totalled over the relevant entries of a list, down to the cut-off."""

    COUNT = 0
    """Number of entries."""
    PRECISION = 1
    """Sum of precision at the entries' ranks."""
    RECIPROCAL_RANK = 2
    """1 / rank of the first entry; 0 without entries."""
    HIT = 3
    """1 if there is an entry, else 0."""
    BLENDED = 4
    """Sum of the blended ratio at the entries' ranks."""
    BLENDED_AT_FIRST = 5
    """Blended ratio at the first entry."""
    BLENDED_AT_PREFERRED = 6
    """Blended ratio at the preferred rank."""
    MEAN_BLENDED_TO_PREFERRED = 7
    """Mean blended ratio over the entries down to the preferred rank."""
    GAIN_AND_COUNT = 8
    """Sum of gains, plus the number of entries."""
    DISCOUNTED_GAIN = 9
    """Sum of gains over their ranks' discounts."""
    GAIN_AT_CUTOFF = 10
    """Gain of the entry at the cut-off itself."""
    CASCADE = 11
    """Sum over the entries of the probability of stopping there over the rank."""


class Divisor(IntEnum):
    """What a total is divided by; R is the number of relevant documents of the topic."""

    CUTOFF = 0
    RELEVANT = 1
    """R."""
    CUTOFF_OR_RELEVANT = 2
    """The smaller of the cut-off and R; R without a cut-off."""
    IDEAL_DISCOUNTED_GAIN = 3
    """`Total.DISCOUNTED_GAIN` of the ideal list."""
    IDEAL_GAIN_AND_COUNT = 4
    """cg_I(R) + R."""
    IDEAL_GAIN_AT_CUTOFF = 5
    """`Total.GAIN_AT_CUTOFF` of the ideal list."""
    IDEAL_CASCADE = 6
    """`Total.CASCADE` of the ideal list."""
    ONE = 7


BLENDED = (
    Total.BLENDED,
    Total.BLENDED_AT_FIRST,
    Total.BLENDED_AT_PREFERRED,
    Total.MEAN_BLENDED_TO_PREFERRED,
)
"""Totals that divide by cg_I(r) + r at every rank r."""


@dataclass(frozen=True)
class EntryForm:
    """A metric as a total over the relevant entries of a list, divided by a number of the topic.

    total, divisor: The score is total / divisor.
    to_r: Whether the ranks down to R are totalled, in place of those down to the cut-off.
    base: Base of the discount, see `cumulative_gain.discount`: a number, or the name of the parameter that holds it.
    form: Name of the parameter that holds the form of the stop probability, see `cascade.stop_probability`; empty for
        the default.
    """

    total: Total
    divisor: Divisor = Divisor.ONE
    to_r: bool = False
    base: float | str = -1.0
    form: str = ""
