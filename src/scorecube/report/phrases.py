"""Parts of sentences that several views use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.columns import decimals_of
from scorecube.report.tables import COLLECTION, LIMITS
from scorecube.storage import plan_of

MOST_NAMED = 4
"""Metrics that a sentence names."""
NONE = "-"
"""Cell of a collection that has no number."""
Z = 1.96


def listed(*words: str | None, by: str = ", ") -> str:
    """Return the words that say something, joined.

    Examples
    --------
    >>> listed("alpha 0.05", "", None, "one-sided")
    'alpha 0.05, one-sided'
    """
    return by.join(filter(None, words))


def own_errors(number: float) -> str:
    """Return how many more pairs their own standard errors alone would separate; nothing for none.

    Examples
    --------
    >>> own_errors(5)
    '; by their own standard errors alone (t tests, Holm) 5 more pairs would be separated'
    """
    if not number > 0:
        return ""
    pairs = "pair" if number == 1 else "pairs"
    return f"; by their own standard errors alone (t tests, Holm) {number:,.0f} more {pairs} would be separated"


def value_range(values: Iterable[Any], form: str) -> str:
    """Return the smallest and the largest number, or the one that all are.

    Examples
    --------
    >>> value_range([3, 5, 4], "d"), value_range([0.5], ".1%")
    ('3 to 5', '50.0%')
    """
    known = list(values)
    low, high = (format(value, form) for value in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def with_limits(value: float, low: float, high: float, form: str = ".3f") -> str:
    """Return an estimate and its limits with the digits that these allow, as in tables; without limits the estimate alone.

    value, low, high: Limits may be missing.
    form: How the estimate is written without limits.

    Examples
    --------
    >>> with_limits(0.6912, 0.6149, 0.7631), with_limits(0.031, 0.021, 0.0472, "+.1%")
    ('0.69 (0.61 to 0.76)', '+3.1% (+2.1% to +4.7%)')
    >>> with_limits(0.05, 0.04, math.nan, ".2f"), with_limits(0.05, math.nan, math.nan, ".2f")
    ('0.05 (0.04 to no limit)', '0.05')
    """
    if not is_known(low):
        return format(value, form)
    if is_known(high) and high > low and not form.endswith("d"):
        places = decimals_of((high - low) / 2 * (100 if form.endswith("%") else 1))
        form = f"{'+' * form.startswith('+')}z.{places}{form[-1]}"
    upper = format(high, form) if is_known(high) else "no limit"
    return f"{value:{form}} ({low:{form}} to {upper})"


def is_known(value: Any) -> bool:
    """Return whether a cell has a finite number."""
    return value is not None and math.isfinite(value)


def number_of(
    row: Mapping[Any, Any] | pd.Series[Any], name: str, ends: Sequence[str] = LIMITS
) -> tuple[Any, Any, Any]:
    """Return an estimate of a row and its limits, from the columns that begin with a name."""
    value, low, high = (row[f"{name}{end}"] for end in ends)
    return value, low, high


def first_of(words: Sequence[str], most: int = MOST_NAMED, rest: str = " and {} more") -> str:
    """Return the first of some words, joined by commas, and how many more there are.

    Examples
    --------
    >>> first_of(["AP", "Q", "RR"], 2)
    'AP, Q and 1 more'
    """
    return ", ".join(words[:most]) + (rest.format(len(words) - most) if len(words) > most else "")


def enumerated(words: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return the first of some words as a list, and how many more there are.

    Examples
    --------
    >>> enumerated(["AP", "RR", "P@10"]), enumerated(["AP", "Q", "RR"], 2)
    ('AP, RR and P@10', 'AP, Q and 1 more')
    """
    if len(words) > most:
        return first_of(words, most)
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def occurrences(labels: Iterable[str]) -> str:
    """Return how often each label occurs, the most frequent first.

    Examples
    --------
    >>> occurrences(["Q", "AP", "Q"])
    'Q in 2, AP in 1'
    """
    counts = (
        pd.Series(list(labels)).value_counts(sort=False).sort_values(ascending=False, kind="stable")
    )
    return ", ".join(f"{name} in {count}" for name, count in counts[:MOST_NAMED].items())


def first_places(frame: pd.DataFrame) -> str:
    """Return which metrics come first by share, and in how many collections; collections with one metric do not count.

    Examples
    --------
    >>> first_places(pd.DataFrame({"collection": ["a", "a", "b"], "label": ["Q", "AP", "AP"], "share": [0.4, 0.3, 0.9]}))
    'Q in 1 of 1 collections with several metrics'
    """
    several = frame[frame.groupby(COLLECTION)["label"].transform("nunique") > 1]
    ranked = several.dropna(subset="share").sort_values("share", ascending=False, kind="stable")
    best = ranked.groupby(COLLECTION, sort=False).first()
    some = " with several metrics" if len(best) < frame[COLLECTION].nunique() else ""
    return f"{occurrences(best['label'])} of {len(best)} collections{some}" if len(best) else ""


def labels_by_share(frame: pd.DataFrame) -> list[str]:
    """Return the labels of the metrics by mean share over the collections, the largest first; a missing share is 0."""
    shares = (
        frame.assign(share=frame["share"].astype(float).fillna(0.0))
        .groupby("label", sort=False)["share"]
        .mean()
        .sort_values(ascending=False, kind="stable")
    )
    return [str(label) for label in shares.index]


def on_collection(row: Mapping[Any, Any], several: bool) -> str:
    """Return where a row belongs, if there are several collections."""
    return f" on {row[COLLECTION]}" if several else ""


def about(topics: float, low: float | None = None, high: float | None = None) -> str:
    """Return a number of topics with its interval, without digits that it does not bear.

    Examples
    --------
    >>> about(55, 31, 98), about(1263)
    ('55 (31 to 98)', '1,300')
    """
    if not (is_known(low) and is_known(high)):
        return _two_digits(topics)
    return f"{_two_digits(topics)} ({_two_digits(low)} to {_two_digits(high)})"


def _two_digits(number: Any) -> str:
    """Return a whole number with two significant digits; "-" for a missing one."""
    if not np.isfinite(number):
        return "-"
    return f"{int(float(f'{float(number):.2g}')):,}"


def sample_title(options: Any) -> str:
    """Return sampling and sizes of topic samples."""
    size = options["size"]
    if not size:
        return f"{options['sampling']} samples"
    words = str(size) if isinstance(size, int) else f"{size[0]} to {size[-1]}"
    return f"{options['sampling']} samples of {words} topics"


def sizes_text(result: xr.Dataset) -> str:
    """Return the sample sizes in words.

    Examples
    --------
    >>> sizes_text(xr.Dataset(coords={"size": [5, 10, 15, 20]}))
    '5, 10, .. 20'
    """
    sizes = [str(size) for size in result[names.SIZE].values.tolist()]
    return ", ".join(sizes) if len(sizes) <= 3 else f"{sizes[0]}, {sizes[1]}, .. {sizes[-1]}"


def sample_conditions(result: xr.Dataset) -> str:
    """Return collection and conditions of a result in one line."""
    attrs = result.attrs
    own = ", own samples for every pair" if attrs.get("share") == "none" else ""
    return (
        f"{attrs.get(COLLECTION, '')}  {attrs['n_runs']} runs, {attrs['sampling']} samples of {sizes_text(result)} of "
        f"{attrs['n_topics']} topics, {attrs['trials']:,} trials{own}".strip()
    )


def topics_and_teams(*attrs: Mapping[str, Any]) -> str:
    """Return ``topics and teams``, or ``topics and runs`` where no result has teams.

    attrs: Attributes of the results.

    Examples
    --------
    >>> topics_and_teams({"plan": '{"teams": "d3e8", "options": {}}'}), topics_and_teams({"plan": '{"options": {}}'})
    ('topics and teams', 'topics and runs')
    """
    known = {"teams" in plan_of(each) for each in attrs}
    if len(known) > 1:
        return "topics and teams (runs where no teams are known)"
    return "topics and teams" if known == {True} else "topics and runs"


def noun(attrs: Mapping[str, Any]) -> str:
    """Return what a result compares: ``run``, or ``system`` where systems have repeated runs."""
    return "system" if attrs.get("by_system") else "run"
