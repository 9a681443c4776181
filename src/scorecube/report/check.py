"""What is shown of checks against simulated truth: table, figure and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.style import Axes, curve_style
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import listed, number_of, with_limits
from scorecube.report.tables import declared
from scorecube.report.text_formats import with_labels
from scorecube.report.view import Canvas, Frames, HeadedTables, Remarks, Summary, View

MOST_LINES = 3
ROW_HEIGHT, PANEL_WIDTH, MARGIN_HEIGHT = 0.24, 4.6, 1.3
CLAIMS = declared(
    "metric gain claim",
    "metric subject quantity=claim size truth estimate bias error width held~ nominal "
    "below=n_below above=n_above samples=n_claimed gain",
    sort="excess -bias_size",
    only="is_claimed",
    dtypes=dict.fromkeys((names.METRIC, "quantity", names.GAIN), "str"),
)
"""What an analysis says of simulated samples against the truth, those that hold least often first.

`held` is the share of samples whose interval or set holds the truth, with a 95 % Wilson interval; `below` and `above` count the
intervals that lie below and above it. For sets, `truth` and `estimate` are sizes. `power` rows have the mean power over pairs of runs, and in `held` the
share of pairs with the nominal power.
"""


def failures(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose coverage is below the nominal one, beyond the Monte Carlo error."""
    failing: pd.DataFrame = frame[frame["held_high"] < frame["nominal"]]
    return failing


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield what fails, else what holds least often; for claims without intervals, the largest errors."""
    frame = with_labels(CLAIMS.make(result))
    stated = frame[frame["nominal"].notna()]
    failing = failures(stated)
    kind = "fails" if len(failing) else "least often true"
    for row in (failing if len(failing) else stated).head(MOST_LINES).to_dict("records"):
        claim = f"{row['quantity']} ({row['size']})"
        yield with_number(
            f"{row['label']}: {kind}: {claim}: holds in {_held(row)} of {row['samples']:,} samples, nominal {row['nominal']:g}",
            f"share of samples in which {claim} holds, {row['label']}",
            number_of(row, "held"),
            confidence=0.95,
            table="claims",
        )
    others = frame[frame["nominal"].isna()].sort_values("error", ascending=False, kind="stable")
    for row in others.head(MOST_LINES).to_dict("records"):
        claim = f"{row['quantity']} ({row['size']})"
        yield with_number(
            f"{row['label']}: {claim}: {row['estimate']:.3g} on average, true {row['truth']:.3g}",
            f"mean of {claim}, {row['label']}",
            [row["estimate"]],
            unlimited=f"a mean over samples of a model in which {row['truth']:.3g} is true",
            table="claims",
        )
    if len(failing) > MOST_LINES:
        more = f"{len(failing) - MOST_LINES} more claims fail; see the table claims"
        yield Finding(more, table="claims")


def _held(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    return with_limits(*number_of(row, "held")).replace(")", "; 95%)")


def page_tables(frames: Frames) -> HeadedTables:
    """Return claims with a nominal coverage, then estimates without intervals."""
    frame = frames["claims"]
    parts = {
        "Intervals and sets with a nominal coverage": frame["nominal"].notna(),
        "Estimates without intervals": frame["nominal"].isna(),
    }
    return [
        (heading, frame[chosen].drop(columns=["subject"]).dropna(axis="columns", how="all"))
        for heading, chosen in parts.items()
        if chosen.any()
    ]


def title(options: Mapping[str, Any]) -> str:
    """Return the analysis, and the number of topics of a sample."""
    return listed(
        str(options["subject"]),
        f"samples of {options['n']} topics" * (options["subject"] != "teams"),
        "equal means" * options["null"],
        f"{options['copula']} runs" * (options["copula"] != "gaussian"),
    )


def cautions(result: xr.Dataset, frames: Frames) -> Remarks:
    """Yield what truth is, and what fails."""
    yield (
        "Truth is that of a model which is fitted to the collection: the same runs, and topics drawn at random. Runs that are a sample of runs, and topics that "
        "are chosen, are no part of it.",
        f"{result.attrs['n_runs']} runs, {result.attrs['n_topics']} topics a sample",
    )
    failing = failures(frames["claims"])
    if len(failing):
        worst = failing.iloc[0]
        yield (
            "Some intervals or sets hold less often than stated: do not rely on them for collections like this one.",
            f"{len(failing)} claims; the worst: {worst['quantity']} by {worst['metric']}, {_held(worst)} instead of {worst['nominal']:g}",
        )


def coverage(canvas: Canvas, result: xr.Dataset) -> None:
    """Draw how often claims hold, by claim and metric; and estimates that have no interval against the truth."""
    data = result.isel(gain=0)
    metrics = labels_of(data, names.METRIC)[:6]
    stated = np.isfinite(data["nominal"].values)
    panels: list[tuple[Any, Any]] = []
    for draw, chosen in ((_coverage, stated), (_estimates, ~stated)):
        part = data.isel({names.CLAIM: np.flatnonzero(chosen)})
        shown = np.isfinite(part["held" if draw is _coverage else "estimate"].values)
        part = part.isel(
            {names.CLAIM: np.flatnonzero(shown.any(axis=tuple(range(shown.ndim - 1))))}
        )
        if part.sizes[names.CLAIM]:
            panels.append((draw, part))
    rows = max((part.sizes[names.CLAIM] for _, part in panels), default=1)
    figure = canvas.figure(
        (PANEL_WIDTH * max(len(panels), 1), MARGIN_HEIGHT + ROW_HEIGHT * max(rows, 3))
    )
    axes = figure.subplots(1, max(len(panels), 1), squeeze=False)[0]
    for one, (draw, part) in zip(axes, panels, strict=False):
        draw(one, part, metrics)
    canvas.legend_outside(axes[0], "lower center", 3, fontsize=8)


def _names(axes: Axes, data: xr.Dataset) -> np.ndarray[Any, Any]:
    claims = [
        f"{claim} ({size})"
        for claim, size in zip(
            labels_of(data, names.CLAIM), data[names.SIZE].values.tolist(), strict=True
        )
    ]
    places = np.arange(len(claims))[::-1].astype(float)
    axes.set_yticks(places, claims, fontsize=7)
    axes.set_ylim(-0.6, len(claims) - 0.4)
    return places


def _offset(k: int, count: int) -> float:
    """Return the vertical distance of the points of a metric from the middle of the row."""
    return 0.0 if count == 1 else 0.5 * (0.5 - k / (count - 1))


def _coverage(axes: Axes, data: xr.Dataset, metrics: Sequence[str]) -> None:
    places = _names(axes, data)
    axes.vlines(data["nominal"].values, places - 0.4, places + 0.4, color="0.4", linewidth=1.0)
    for k, metric in enumerate(metrics):
        part = data.isel({names.METRIC: k})
        held = part["held"].values
        ends = np.stack([held - part["held_low"].values, part["held_high"].values - held])
        heights, ends = places + _offset(k, len(metrics)), np.maximum(ends, 0.0)
        style = curve_style(k, 3.5)
        axes.errorbar(held, heights, xerr=ends, **style, elinewidth=1.0, label=metric)
    axes.set(xlim=(None, 1.01), xlabel="share of samples that hold the truth")


def _estimates(axes: Axes, data: xr.Dataset, metrics: Sequence[str]) -> None:
    places = _names(axes, data)
    for k, metric in enumerate(metrics):
        part = data.isel({names.METRIC: k})
        height = places + _offset(k, len(metrics))
        axes.plot(part["estimate"].values, height, **curve_style(k, 3.5), label=metric)
        axes.plot(part["truth"].values, height, color="0.2", marker="|", markersize=8, linewidth=0)
    axes.set(xlim=(0.0, None), xlabel="mean estimate; bar: truth")


VIEW = View(
    name="check",
    heading="Checks against simulated truth",
    about=(
        "Samples of topics are drawn from a population that is fitted to this collection, and an analysis is run on each. The population is known, so that what the analysis "
        "says can be compared with what is true. An interval or a set with 95% confidence is right if it holds the truth in 95% of the samples."
    ),
    summary=(Summary("metric=label subject quantity truth nominal held=held~", bar="held"),),
    tables={"claims": CLAIMS},
    title=title,
    caption=lambda result: (
        f"{result.attrs['trials']:,} samples. Left: how often intervals and sets hold the truth, with 95% limits over samples; the line is the nominal coverage. Right: "
        "estimates without intervals against the truth."
    ),
    findings=findings,
    page_tables=page_tables,
    figure=coverage,
    cautions=cautions,
)
