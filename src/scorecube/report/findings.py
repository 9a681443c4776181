"""What results say: sentences with the numbers that they are made of."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

OF_THESE_TOPICS = "a fact of these runs and topics; no interval for others is known"
"""Caution of counts and largest values, for which no interval is known."""


@dataclass(frozen=True)
class Short:
    """A finding in few words, of one metric or of all, as a card shows it.

    label: The metric; empty for all.
    name: What is found, of what is no number: a run, or ``none``.
    number: The estimate and its limits, which may be missing.
    form: How they are written without digits that follow from limits.
    words: What it is.
    shares: Of several metrics: label, share, and its limits, None where they are not known.
    """

    label: str = ""
    name: str = ""
    number: Sequence[float | None] = ()
    form: str = ""
    words: str = ""
    shares: Sequence[tuple[str, float, float | None, float | None]] = ()


@dataclass(frozen=True)
class Finding:
    """One thing that a result says, or several results with equal options.

    sentence: In words, with its numbers.
    question: That it answers; empty for a remark.
    subject: What the estimate is of, and of which runs or metrics.
    estimate, low, high: The number, and its limits; None if it has none.
    unit: Of the estimate; ``1`` for shares and coefficients.
    confidence: Of the limits.
    jointly: With which others the limits hold together; empty for limits that hold by themselves.
    conditions: Under which the sentence is true.
    cautions: What limits its meaning. An estimate without limits has one that says so.
    table: That has the numbers.
    short: The same in few words; made of the estimate where there are none.
    Raises ValueError: An estimate with neither limits nor a caution.
    """

    sentence: str
    question: str = ""
    subject: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    confidence: float | None = None
    jointly: str = ""
    conditions: str = ""
    cautions: tuple[str, ...] = ()
    table: str = ""
    short: tuple[Short, ...] = ()

    def __post_init__(self) -> None:
        """Turn numbers into plain ones, missing ones into None, and check that an estimate comes with its uncertainty."""
        for name in ("estimate", "low", "high", "confidence"):
            value = getattr(self, name)
            known = value is not None and not math.isnan(value)
            object.__setattr__(self, name, float(value) if known else None)
        limited = None not in (self.low, self.high, self.confidence)
        if self.estimate is not None and not limited and not self.cautions:
            raise ValueError(
                f"{self.sentence!r}: an estimate has limits, or says that none are known"
            )


def with_number(
    sentence: str,
    subject: str,
    number: Sequence[Any],
    unit: str = "1",
    confidence: float | None = None,
    unlimited: str = OF_THESE_TOPICS,
    **others: Any,
) -> Finding:
    """Return a finding with a number.

    sentence, subject, unit, confidence: As of `Finding`.
    number: The estimate alone, or the estimate and its limits.
    unlimited: Caution if a limit is missing.
    others: Further parts of the finding.
    """
    limited = len(number) > 1 and all(each is not None and math.isfinite(each) for each in number)
    estimate, low, high = number if len(number) > 1 else (*number, None, None)
    return Finding(
        sentence,
        subject=subject,
        estimate=estimate,
        low=low,
        high=high,
        unit=unit,
        confidence=confidence if limited else None,
        cautions=() if limited else (unlimited,),
        **others,
    )
