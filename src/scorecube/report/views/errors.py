"""View of error rates of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube.report.tables import errors
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import decimals, value_range
from scorecube.report.views.view import Frames, Headed, Table, View, on_demand

LEVEL = 0.05
LIMITED = ["rate", "rate_low", "rate_high"]
TEST_NAMES = {
    "t": "t test",
    "wilcoxon": "Wilcoxon test",
    "sign": "sign test",
    "bootstrap": "bootstrap test",
    "permutation": "permutation test",
    "tukey": "Tukey's test",
    "holm": "t tests with Holm's adjustment",
    "maxt": "max-T test",
}


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Return two-sided rates at .05, or at the level that is nearest to it."""
    levels = frame["alpha"].unique()
    level = min(levels, key=lambda alpha: abs(alpha - LEVEL))
    part: pd.DataFrame = frame[(frame["alpha"] == level) & (frame["sided"] == 2)]
    return part


def decimal(rate: float, places: int = 4) -> str:
    """Return a rate with so many decimals and without a leading zero."""
    return f"{rate:.{places}f}".removeprefix("0") if rate < 1 else "1"


def with_limits(rate: float, low: float, high: float) -> str:
    """Return a rate with its limits and as many decimals as they allow.

    Examples
    --------
    >>> with_limits(0.0511, 0.0470, 0.0556)
    '.051 (.047-.056)'
    """
    value, lower, upper = (decimal(each, decimals(low, high)) for each in (rate, low, high))
    return f"{value} ({lower}-{upper})"


def headline(result: xr.Dataset) -> list[str]:
    """Return the type I error rates of each test, or its power, with intervals."""
    frame = with_labels(shown(errors.rates(result)))
    lines = []
    sizes = sorted(frame["n_topics"].unique())
    size = max([n for n in sizes if n <= 50], default=sizes[0])
    frame = frame[frame["n_topics"] == size]
    for (label, kind, delta), part in frame[frame["kind"] != errors.TYPE_3].groupby(
        ["label", "kind", "delta"], sort=False
    ):
        rates = ", ".join(
            f"{TEST_NAMES[row.test]} {with_limits(row.rate, row.rate_low, row.rate_high)}"
            for row in part.itertuples()
        )
        what = "type I" if kind == errors.TYPE_1 else f"power for a difference of {delta:g}"
        if kind == errors.FAMILY:
            what = "family-wise errors" + (f", one run better by {delta:g}," if delta else "")
        trials = value_range(part["trials"], ",d")
        lines.append(
            f"{label}, {size} topics: {what} at {part['alpha'].iloc[0]:g}: {rates}; 95% intervals over {trials} simulated experiments"
        )
    return lines


def page_tables(frames: Frames) -> Headed:
    """Return two-sided rates at one level."""
    frame = shown(frames["rates"])
    headings = {
        errors.TYPE_1: "Type I error rates",
        errors.POWER: "Power",
        errors.TYPE_3: "Type III error rates",
        errors.FAMILY: "Family-wise error rates of tests of all pairs",
    }
    level = frame["alpha"].iloc[0] if len(frame) else LEVEL
    return [
        (
            f"{heading}, two-sided, at {level:g}",
            frame[frame["kind"] == kind].drop(columns=["kind", "alpha", "sided"]),
        )
        for kind, heading in headings.items()
        if (frame["kind"] == kind).any()
    ]


def title(options: Mapping[str, Any]) -> str:
    """Return numbers of topics, true differences and what else differs from the defaults."""
    numbers = ", ".join(map(str, options["n"]))
    deltas = ", ".join(f"{delta:g}" for delta in options["deltas"])
    words = [f"{numbers} topics", f"true differences {deltas}"]
    words += [f"{options['copula']} copulas"] if options["copula"] != "pairs" else []
    words += ["ties count half"] if options["ties"] == "half" else []
    return ", ".join(words)


def cautions(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return what rates are about, and tests that exceed their level."""
    frame = shown(frames["rates"])
    null = frame[frame["kind"] == errors.TYPE_1]
    remarks = [
        (
            "Rates are those of the simulated model, not of the collection: distributions and copulas are fitted to each run and pair, and their families decide "
            "the rates of tests of ranks and signs most.",
            f"systems in the model: {value_range(result.attrs['systems'], 'd')}",
        )
    ]
    exceeding = null[null["rate_low"] > 1.1 * null["alpha"]]
    family = frame[(frame["kind"] == errors.FAMILY) & (frame["rate_low"] > frame["alpha"])]
    if len(family):
        worst = family.sort_values("rate", ascending=False).iloc[0]
        remarks.append(
            (
                "Tests of all pairs are to err in at most alpha of the collections. Tukey's test asks that runs without differences can be exchanged for each other, and the t "
                "distribution does not hold so far out as Holm's adjustment needs it.",
                f"largest: {TEST_NAMES[worst['test']]} {with_limits(*worst[LIMITED])} at {worst['alpha']:g} with {worst['n_topics']} topics by {worst['metric']}",
            )
        )
    if len(exceeding):
        worst = exceeding.sort_values("rate", ascending=False).iloc[0]
        remarks.append(
            (
                "The null hypothesis is that means are equal. Wilcoxon and sign tests are about symmetric differences, so that they reject more often where differences are "
                "skewed, all the more with more topics.",
                f"largest: {TEST_NAMES[worst['test']]} {with_limits(*worst[LIMITED])} at {worst['alpha']:g} with {worst['n_topics']} topics by {worst['metric']}",
            )
        )
    return remarks


VIEW = View(
    name="errors",
    heading="Error rates of tests",
    about=(
        "Experiments are simulated in which the true difference of two systems is known: their scores on new topics come from distributions and copulas that are "
        "fitted to the runs of this collection. The type I error rate is the share of significant results if both systems have the same distribution; power, if the "
        "means differ by the stated amount; type III errors are significant results with the wrong sign. A test keeps its level if its type I rate is alpha."
    ),
    tables={"rates": Table(errors.rates)},
    title=title,
    caption=lambda result: (
        f"{result.attrs['trials']:,} experiments, {result.attrs['resamples']:,} resamples each. Type I error rate against alpha, power against the true difference."
    ),
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.errors:error_curves"),
    cautions=cautions,
)
