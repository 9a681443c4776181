"""What is shown of error rates of tests: table, figure and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.simulation.error_quantities import FAMILIES, FAMILY, POWER, TYPE_1, TYPE_3
from scorecube.collection.schema import labels_of
from scorecube.report.figures.style import Axes, curve_style
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import listed, number_of, value_range, with_limits
from scorecube.report.tables import declared
from scorecube.report.text_formats import with_labels
from scorecube.report.view import Canvas, Frames, HeadedTables, Remarks, Summary, View

LEVEL = 0.05
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
PANEL = (3.1, 2.7)
RATES = declared(
    "metric gain test size delta outcome alpha",
    "metric test sided=outcome_sided n_topics=size delta alpha kind=outcome_kind "
    "rate~=outcome_rate~ trials=experiments gain",
    only="has_outcome",
)
"""Error rates and power of each test, with 95 % Wilson intervals over simulated experiments.

Type I errors are significant results without a true difference; power is the share of significant results with one, and type III
errors are two-sided significant results with the wrong sign, as shares of all experiments. The rate of a family of all pairs is the share of
collections with any error.
"""


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Return two-sided rates at .05, or at the level that is nearest to it."""
    level = min(frame["alpha"].unique(), key=lambda alpha: abs(alpha - LEVEL))
    part: pd.DataFrame = frame[(frame["alpha"] == level) & (frame["sided"] == 2)]
    return part


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the type I error rates of each test, or its power, with intervals."""
    frame = with_labels(shown(RATES.make(result)))
    sizes = sorted(frame["n_topics"].unique())
    size = max([n for n in sizes if n <= 50], default=sizes[0])
    frame = frame[(frame["n_topics"] == size) & (frame["kind"] != TYPE_3)]
    for (label, kind, delta), part in frame.groupby(["label", "kind", "delta"], sort=False):
        rows = part.to_dict("records")
        seen = [f"{TEST_NAMES[row['test']]} {_rate(row)}" for row in rows]
        level = f"at {rows[0]['alpha']:g}"
        what = "type I" if kind == TYPE_1 else f"power for a difference of {delta:g}"
        if kind == FAMILY:
            what = "family-wise errors" + (f", one run better by {delta:g}," if delta else "")
        trials = value_range(part["trials"], ",d")
        yield with_number(
            f"{label}, {size} topics: {what} {level}: {', '.join(seen)}; 95% intervals over {trials} simulated experiments",
            f"{what} {level} of the {TEST_NAMES[rows[0]['test']]} with {size} topics, {label}",
            number_of(rows[0], "rate"),
            confidence=0.95,
            table="rates",
        )


def _rate(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    return with_limits(*number_of(row, "rate"), form=".4f")


def page_tables(frames: Frames) -> HeadedTables:
    """Return two-sided rates at one level."""
    frame = shown(frames["rates"])
    headings = {
        TYPE_1: "Type I error rates",
        POWER: "Power",
        TYPE_3: "Type III error rates",
        FAMILY: "Family-wise error rates of tests of all pairs",
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
    return listed(
        f"{', '.join(map(str, options['n']))} topics",
        f"true differences {', '.join(f'{delta:g}' for delta in options['deltas'])}",
        f"{options['copula']} copulas" * (options["copula"] != "pairs"),
        "ties count half" * (options["ties"] == "half"),
    )


def cautions(result: xr.Dataset, frames: Frames) -> Remarks:
    """Yield what rates are about, and tests that exceed their level."""
    frame = shown(frames["rates"])
    null = frame[frame["kind"] == TYPE_1]
    yield (
        "Rates are those of the simulated model, not of the collection: distributions and copulas are fitted to each run and pair, and their families decide "
        "the rates of tests of ranks and signs most.",
        f"systems in the model: {value_range(result.attrs['systems'], 'd')}",
    )
    exceeding = null[null["rate_low"] > 1.1 * null["alpha"]]
    family = frame[(frame["kind"] == FAMILY) & (frame["rate_low"] > frame["alpha"])]

    def largest(rows: pd.DataFrame) -> str:
        worst = rows.sort_values("rate", ascending=False).iloc[0]
        return f"largest: {TEST_NAMES[worst['test']]} {_rate(worst)} at {worst['alpha']:g} with {worst['n_topics']} topics by {worst['metric']}"

    if len(family):
        yield (
            "Tests of all pairs are to err in at most alpha of the collections. Tukey's test asks that runs without differences can be exchanged for each other, and the t "
            "distribution does not hold so far out as Holm's adjustment needs it.",
            largest(family),
        )
    if len(exceeding):
        yield (
            "The null hypothesis is that means are equal. Wilcoxon and sign tests are about symmetric differences, so that they reject more often where differences are "
            "skewed, all the more with more topics.",
            largest(exceeding),
        )


def error_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Draw the two-sided error rates of tests, a row of panels a metric, at the largest number of topics up to 50.

    Left: the type I error rate by significance level, as a multiple of it, so that a test that keeps its level lies on 1. Right: power by true difference.
    """
    cells = result.isel(gain=0)
    sizes = cells[names.SIZE].values
    size = int(max(sizes[sizes <= 50], default=sizes.min()))
    at = cells.sel({names.SIZE: size, names.SIDED: 2})
    deltas = at[names.DELTA].values
    only_families = set(labels_of(at, names.TEST)) <= set(FAMILIES)
    panels = ([_by_alpha] if (deltas == 0).any() else []) + (
        [_by_delta] if (deltas > 0).any() and not only_families else []
    )
    metrics = labels_of(at, names.METRIC)[:5]
    figure = canvas.figure((PANEL[0] * max(len(panels), 2), PANEL[1] * len(metrics) + 0.7))
    axes = figure.subplots(len(metrics), len(panels), squeeze=False)
    for row, metric in zip(axes, metrics, strict=True):
        for one, draw in zip(row, panels, strict=True):
            draw(one, at.sel({names.METRIC: metric}))
            one.set_title(metric)
    more = result.sizes[names.METRIC] - len(metrics)
    canvas.name(
        f"{size} topics, two-sided" + (f"; {more} more metrics are in the table" if more else "")
    )
    canvas.legend_outside(axes[0, 0], "lower center", len(TEST_NAMES), fontsize=8)


def _lines(axes: Axes, data: xr.Dataset, x: np.ndarray, y: xr.DataArray) -> None:
    for k, test in enumerate(labels_of(data, names.TEST)):
        axes.plot(x, y.sel({names.TEST: test}).values, **curve_style(k, 3, 1.2), label=test)


def _by_alpha(axes: Axes, data: xr.Dataset) -> None:
    from scorecube.report.figures.canvas import plain_log_labels

    null = data.sel({names.DELTA: 0.0})
    alphas = null[names.ALPHA].values
    rate = null["significant"] / null["experiments"] / null[names.ALPHA]
    axes.axhline(1.0, color="0.4", linewidth=0.8, linestyle="--")
    _lines(axes, null, alphas, rate)
    axes.set_xscale("log")
    plain_log_labels(axes.xaxis)
    axes.set(ylim=(0, None), xlabel="alpha", ylabel="type I error rate / alpha")


def _by_delta(axes: Axes, data: xr.Dataset) -> None:
    alphas = data[names.ALPHA].values
    level = float(alphas[np.argmin(np.abs(alphas - LEVEL))])
    part = data.sel({names.ALPHA: level, names.DELTA: data[names.DELTA].values > 0})
    of_pairs = [test for test in labels_of(part, names.TEST) if test not in FAMILIES]
    part = part.sel({names.TEST: of_pairs})
    _lines(axes, part, part[names.DELTA].values, part["significant"] / part["experiments"])
    axes.set(
        xlim=(0, 1.1 * float(part[names.DELTA].max())),
        ylim=(0, 1.02),
        xlabel="true difference of means",
        ylabel=f"power at alpha {level:g}",
    )


VIEW = View(
    name="errors",
    heading="Error rates of tests",
    about=(
        "Experiments are simulated in which the true difference of two systems is known: their scores on new topics come from distributions and copulas that are "
        "fitted to the runs of this collection. The type I error rate is the share of significant results if both systems have the same distribution; power, if the "
        "means differ by the stated amount; type III errors are significant results with the wrong sign. A test keeps its level if its type I rate is alpha."
    ),
    summary=(
        Summary(
            "test metric=label kind topics=n_topics delta rate=rate~ alpha",
            at={names.ALPHA: LEVEL, names.SIDED: 2},
            bar="rate",
        ),
    ),
    tables={"rates": RATES},
    title=title,
    caption=lambda result: (
        f"{result.attrs['trials']:,} experiments, {result.attrs['resamples']:,} resamples each. Type I error rate against alpha, power against the true difference."
    ),
    findings=findings,
    page_tables=page_tables,
    figure=error_curves,
    by_metric=True,
    cautions=cautions,
)
