"""What is shown of the classical tests: tables, figure and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.findings import Finding, with_number
from scorecube.report.pair_tests import (
    ADJUSTED_COLUMNS,
    CLOSEST,
    COUNTS,
    PAIR,
    PAIR_COLUMNS,
    POWER_COLUMNS,
    against,
    at_largest_alpha,
    conditions,
    discrimination,
    family,
    legend,
    p_value_curves,
    separated,
)
from scorecube.report.phrases import MOST_NAMED, listed, noun
from scorecube.report.tables import declared
from scorecube.report.text_formats import with_labels
from scorecube.report.view import DISCRIMINATION, Frames, HeadedTables, Remarks, View

MARGIN = "margin"
POWER = declared(
    "metric gain test alpha", f"metric gain test alpha {POWER_COLUMNS}", sort="-test -alpha -share"
)
"""Share of significant pairs by test and level."""
ADJUSTED = declared(
    "metric gain test adjustment alpha",
    f"metric gain test {ADJUSTED_COLUMNS}",
    sort="-test -adjustment -alpha -share",
)
"""The same under each adjustment for testing many pairs."""
PAIRS = declared(
    "metric gain test pair",
    f"metric gain test {PAIR_COLUMNS} p_equivalence?=equivalence_p_value verdict?=verdict_on_pair",
    long=True,
    part=at_largest_alpha,
)
"""Every pair of runs by each test; with a margin also the p-value of the two one-sided tests and the verdict, at the largest alpha."""
EQUIVALENCE = declared(
    "metric gain adjustment alpha",
    "metric gain margin? alpha? adjustment? equivalent?=verdict_pairs[equivalent] "
    "different?=verdict_pairs[different] inconclusive?=verdict_pairs[inconclusive]",
    sort="-adjustment -alpha -equivalent",
    needs="verdict_pairs",
)
"""Pairs by verdict, level and adjustment for testing many pairs; empty for a result without a margin.

Tested pairs are the sum of the three.
"""


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield, for each further test, the metric that separates most pairs of runs; with a margin, how many pairs are equivalent."""
    frame = with_labels(POWER.make(result))
    plain = frame[frame["alpha"] == frame["alpha"].max()]
    first = labels_of(result, names.TEST)[0]
    for _, rows in plain[plain["test"] != first].groupby("test", sort=False):
        yield separated(result, rows)
    if MARGIN in result.attrs:
        yield from equivalences(result)


def equivalences(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the number of pairs of each verdict at the largest level, of each metric."""
    frame = with_labels(EQUIVALENCE.make(result))
    frame = frame[(frame["adjustment"] == "none") & (frame["alpha"] == frame["alpha"].max())]
    margin, baseline = result.attrs[MARGIN], result.attrs.get("baseline")
    compared = "pairs" if baseline is None else f"{noun(result.attrs)}s compared with {baseline}"
    for row in frame.to_dict("records")[:MOST_NAMED]:
        pairs = sum(row[each] for each in ("equivalent", "different", "inconclusive"))
        yield with_number(
            f"{row['label']}, margin {margin:g}, alpha {row['alpha']:g}: equivalent {row['equivalent']:,} of {pairs:,} {compared}, "
            f"different {row['different']:,}, inconclusive {row['inconclusive']:,}; {family(result.attrs)}",
            f"number of {compared} that are equivalent, {row['label']}",
            [row["equivalent"]],
            "pairs",
            table="equivalence",
        )
    if len(frame) > MOST_NAMED:
        more = counted(len(frame) - MOST_NAMED, "more metric")
        yield Finding(f"{more} in the table equivalence", table="equivalence")


def title(options: Mapping[str, Any]) -> str:
    """Return the tests, whether systems are compared, the run that others are compared with, and the margin."""
    margin = options.get("margin")
    within = f"equivalence within {margin:g}" if margin is not None else ""
    return listed(*options["tests"], against(options), within)


def cautions(result: xr.Dataset, _frames: Frames) -> Remarks:
    """Yield remarks on systems with repetitions, and on a test of equivalence."""
    if MARGIN not in result.attrs:
        return
    margin, alpha = result.attrs[MARGIN], float(result[names.ALPHA].max())
    yield (
        "Equivalence is relative to the margin, which must be chosen before the scores are seen. A pair that differs by the margin is wrongly called equivalent "
        "with a probability of about alpha (measured at 0.05, 50 topics: 0.05 on average, 0.01 to 0.12 for single pairs with skewed differences); of many such "
        "pairs some are, unless the adjusted verdicts are taken (table equivalence).",
        f"margin {margin:g}, alpha {alpha:g}",
    )


def page_tables(frames: Frames) -> HeadedTables:
    """Return the significant pairs at each level, and how many are left after an adjustment for the number of pairs."""
    tables = [
        (f"Significant pairs at {alpha:g}", part.drop(columns=["alpha", "trials"]))
        for alpha, part in frames["power"].groupby("alpha", sort=False)
    ]
    others = frames["adjusted"][frames["adjusted"]["adjustment"] != "none"]
    verdicts = frames.get("equivalence")
    shown = [] if verdicts is None or verdicts.empty else [("Equivalence", verdicts)]
    return [*tables, ("Adjusted for the number of pairs", others), *shown]


VIEW = View(
    name="paired",
    heading="Classical tests",
    about=(
        "Paired t test, Wilcoxon's signed-rank test and the sign test of every pair of runs, as quick references. Each makes assumptions "
        "about the differences that resampling does not need; Wilcoxon's and the sign test are about symmetry and signs of differences, and separate runs with equal "
        "means more often than alpha where differences are skewed. With a margin, two one-sided t tests tell pairs whose means differ by less than the "
        "margin (equivalent) from pairs that differ (different) and from those of which the topics do not tell (inconclusive): a pair that is not "
        "significantly different is not yet equivalent."
    ),
    summary=(
        replace(COUNTS, columns="test metric=label significant of=pairs share alpha"),
        replace(CLOSEST, columns=f"test {PAIR} p=p_value"),
    ),
    tables={
        "power": POWER,
        "pairs": replace(PAIRS, legend=legend),
        "adjusted": ADJUSTED,
        "equivalence": EQUIVALENCE,
    },
    if_few="pairs",
    title=title,
    caption=lambda result: f"{conditions(result.isel({names.TEST: 0}))}. Sorted p-values.",
    findings=findings,
    page_tables=page_tables,
    figure=lambda canvas, result: p_value_curves(canvas, result.isel({names.TEST: 0})),
    answers={DISCRIMINATION: discrimination},
    cautions=cautions,
)
