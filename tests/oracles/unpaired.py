"""The unpaired bootstrap test in exact arithmetic: fractions for means and areas, 60 digits for geometric means.

S1 = Sakai 2007, section 4.3, footnote; Efron and Tibshirani 1993, chapter 16: both samples are moved to a common summary and resampled
separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

DIGITS = Context(prec=60)
Row = Sequence[Fraction]


class Outcome(NamedTuple):
    """What all trials say about one pair of runs, in one kind of summary."""

    observed: tuple[Fraction, Fraction]
    """Difference of summaries, first run minus second, and its squared standard error: 1 but for means, so that its ratio is the statistic."""
    trials: list[tuple[Fraction, Fraction]]
    """The same of each trial, less the difference of the summaries that samples are moved to."""
    size: Fraction
    """Of the scores, or of the geometric means: what tolerances are relative to."""


def mean(row: Row) -> Fraction:
    """Return the mean."""
    return sum(row, Fraction(0)) / len(row)


def area(row: Row) -> Fraction:
    """Return the mean over X = 1 .. n / 4 of the mean of the X worst scores (Voorhees 2005)."""
    worst = sorted(row)[: max(1, len(row) // 4)]
    return mean([mean(worst[:x]) for x in range(1, len(worst) + 1)])


def log_mean(row: Row) -> Fraction:
    """Return the mean of the logarithms; scores below 1e-5 count as 1e-5."""
    logs = [logarithm(max(score, Fraction(1, 10**5))) for score in row]
    return mean(logs)


@cache
def logarithm(score: Fraction) -> Fraction:
    """Return a logarithm to 60 digits."""
    return Fraction(DIGITS.ln(DIGITS.divide(score.numerator, score.denominator)))


def exponential(power: Fraction) -> Fraction:
    """Return e to a power, to 60 digits."""
    return Fraction(DIGITS.exp(DIGITS.divide(power.numerator, power.denominator)))


def squares(row: Row) -> Fraction:
    """Return the sum of squared deviations from the mean."""
    middle = mean(row)
    return sum(((score - middle) ** 2 for score in row), Fraction(0))


def error_square(x: Row, y: Row) -> Fraction:
    """Return the squared standard error of the difference of two means (Welch)."""
    return (squares(x) + squares(y)) / (len(x) - 1) / len(x)


def outcome(kind: str, x: Row, y: Row, samples: Any) -> Outcome:
    """Test one pair on given samples.

    kind: ``mean``, ``geo`` or ``area``.
    samples: int (trial, half, draw): positions of topics.
    """
    drawn = [
        [[row[topic] for topic in half] for row, half in zip((x, y), halves, strict=True)]
        for halves in samples
    ]
    size = max(abs(score) for score in (*x, *y))
    if kind == "geo":
        logs = log_mean(x), log_mean(y)
        common = exponential(mean(logs))
        moved = [[exponential(log_mean(row) - log) * common for row, log in zip(halves, logs, strict=True)] for halves in drawn]  # fmt: skip
        shift = exponential(logs[0]) - exponential(logs[1])
        return Outcome((shift, Fraction(1)), [(a - b, Fraction(1)) for a, b in moved], common)
    of, error = (mean, error_square) if kind == "mean" else (area, lambda *_: Fraction(1))
    shift = of(x) - of(y)
    trials = [(of(a) - of(b) - shift, error(a, b)) for a, b in drawn]
    return Outcome((shift, error(x, y)), trials, size)


def summary(kind: str, row: Row) -> float:
    """Return the summary of a run."""
    if kind == "geo":
        return float(exponential(log_mean(row)))
    return float({"mean": mean, "area": area}[kind](row))
