"""View of the classical tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.tables import paired
from scorecube.report.tables.pairs import conditions
from scorecube.report.text_formats import with_labels
from scorecube.report.views.pair_tests import (
    COLUMN,
    PAIR_ROWS,
    against,
    discrimination,
    family,
    separated,
)
from scorecube.report.views.phrases import MOST_NAMED, about_repetitions, by_system, noun
from scorecube.report.views.questions import DISCRIMINATION
from scorecube.report.views.view import Frames, Headed, Order, Table, View, on_demand

TEST_NAMES = {"t": "paired t test", "wilcoxon": "Wilcoxon test", "sign": "sign test"}


def headline(result: xr.Dataset) -> list[str]:
    """Return, for each test, the metric that separates most pairs of runs; with a margin, how many pairs are equivalent."""
    frame = with_labels(paired.power(result))
    plain = frame[(frame["adjustment"] == "none") & (frame["alpha"] == frame["alpha"].max())]
    tests = labels_of(result, names.TEST)
    lines = [
        f"{TEST_NAMES[str(test)]}: {separated(result, rows, tests.index(str(test)))}"
        for test, rows in plain.groupby("test", sort=False)
    ]
    return [*lines, *equivalence_lines(result)]


def equivalence_lines(result: xr.Dataset) -> list[str]:
    """Return the number of pairs of each verdict at the largest level, one line a metric; nothing without a margin."""
    if "equivalence" not in result.attrs:
        return []
    frame = with_labels(paired.equivalence(result))
    frame = frame[(frame["adjustment"] == "none") & (frame["alpha"] == frame["alpha"].max())]
    margin, baseline = result.attrs["equivalence"], result.attrs.get("baseline")
    compared = "pairs" if baseline is None else f"{noun(result.attrs)}s compared with {baseline}"
    frame["pairs"] = frame[["equivalent", "different", "inconclusive"]].sum(axis=1)
    lines = [
        f"{row['label']}, margin {margin:g}, alpha {row['alpha']:g}: equivalent {row['equivalent']:,} of {row['pairs']:,} {compared}"
        f"{_though_different(row)}, different {row['different']:,}, inconclusive {row['inconclusive']:,}; {family(result.attrs)}"
        for row in frame.to_dict("records")[:MOST_NAMED]
    ]
    more = len(frame) - len(lines)
    return [*lines, *([f"{counted(more, 'more metric')} in the table equivalence"] if more else [])]


def _though_different(row: Mapping[Any, Any]) -> str:
    both = row["trivial"]
    return f" ({both:,} with a difference that is significant but smaller)" if both else ""


def title(options: Mapping[str, Any]) -> str:
    """Return the tests, whether systems are compared, the run that others are compared with, and the margin."""
    margin, systems = options.get("equivalence"), by_system(options)
    words = [*(["t"] if systems else options["tests"]), *systems, *against(options)]
    return ", ".join([*words, *([f"equivalence within {margin:g}"] if margin is not None else [])])


def cautions(result: xr.Dataset, _frames: Frames) -> list[tuple[str, str]]:
    """Return remarks on systems with repetitions, and on a test of equivalence."""
    remarks = about_repetitions(result)
    if "equivalence" not in result.attrs:
        return remarks
    margin, alpha = result.attrs["equivalence"], float(result[names.ALPHA].max())
    remarks.append(
        (
            "Equivalence is relative to the margin, which must be chosen before the scores are seen. A pair that differs by the margin is wrongly called equivalent "
            "with a probability of about alpha (measured at 0.05, 50 topics: 0.05 on average, 0.01 to 0.12 for single pairs with skewed differences); of many such "
            "pairs some are, unless the adjusted verdicts are taken (table equivalence).",
            f"margin {margin:g}, alpha {alpha:g}",
        )
    )
    low, high = result["difference_low"], result["difference_high"]
    half = ((high - low) / 2).sel({names.ALPHA: alpha}).median(names.PAIR)
    if float(half.min()) >= margin:
        remarks.append(
            (
                "The topics are too few for a margin this small: for at least half of the pairs no result could have been equivalent, "
                "as half the interval of the difference is as wide as the margin.",
                f"median half width {float(half.min()):.3f}, margin {margin:g}",
            )
        )
    return remarks


def page_tables(frames: Frames) -> Headed:
    """Return the significant pairs at each level, and how many are left after an adjustment for the number of pairs."""
    frame = frames["power"]
    plain, others = frame[frame["adjustment"] == "none"], frame[frame["adjustment"] != "none"]
    tables = [
        (f"Significant pairs at {alpha:g}", part.drop(columns=["alpha", "adjustment"]))
        for alpha, part in plain.groupby("alpha", sort=False)
    ]
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
    tables={
        "power": Table(paired.power),
        "pairs": Table(paired.pairs, PAIR_ROWS),
        "equivalence": Table(paired.equivalence),
    },
    title=title,
    caption=lambda result: f"{conditions(result.isel({names.TEST: 0}))}. Sorted p-values.",
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.pairs:classical_curves"),
    column=COLUMN,
    order=Order("share", more_is_better=True, conditions=("test", "alpha")),
    answers={DISCRIMINATION: discrimination},
    cautions=cautions,
)
