"""What is shown of rank correlations between topic samples: tables, figure and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, Axes, curve_style, level_lines
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import number_of, sample_conditions, sample_title
from scorecube.report.tables import declared
from scorecube.report.text_formats import with_labels
from scorecube.report.view import TOPICS, Canvas, Frames, HeadedTables, Summary, View, on_page

MOST_BANDS = 4
"""Metrics with a band; of more the first ones have whiskers too thin to cover each other."""

QUANTILES = declared(
    "metric gain -size",
    "metric gain size tau_mean tau_median tau_5=tau_low tau_95=tau_high share_same_best trials "
    "sampling tau_b_mean tau_ap_mean rank_change_median tied_pairs",
    sort="-size -tau_mean",
)
"""Distribution of tau between the rankings by two topic samples, the largest size and the most stable metric first."""
SETTLED = declared(
    "threshold metric gain", "metric gain tau=threshold settled_at=settled largest_size"
)
"""Smallest number of topics in a sample from which on the 5 % quantile of tau reaches a value; missing if none that was tried."""
TRIALS = declared(
    "metric gain -size trial",
    "metric gain size trial tau tau_b tau_ap rank_change same_best",
    long=True,
)
"""Every trial's rank correlation, largest rank change of a run, and whether the best run is the same."""


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the metric whose ranking depends least on the topics, and how many topics it takes."""
    frame = with_labels(QUANTILES.make(result))
    rows = frame[frame["size"] == frame["size"].iloc[0]]
    best, label = rows.iloc[0], rows["label"].iloc[0]
    most, after = "", ""
    if len(rows) > 1:
        most = " most similarly"
        after = f"; next is {rows['label'].iloc[1]} with {rows['tau_mean'].iloc[1]:.2f}"
    yield with_number(
        f"{label} ranks the runs{most} on two samples of {best['size']} of these {result.attrs['n_topics']} topics: tau {best['tau_mean']:.2f} on average, "
        f"{best['tau_5']:.2f} to {best['tau_95']:.2f} in 90% of the trials{after}; the same run is best by {label} in {best['share_same_best']:.0%}",
        f"tau of two samples of {best['size']} topics, {label}",
        number_of(best, "tau", ("_mean", "_5", "_95")),
        confidence=0.9,
        conditions="quantiles of the trials with these topics",
        table="quantiles",
    )
    for level, rows in SETTLED.make(result).groupby("tau", sort=False):
        if rows["settled_at"].isna().all():
            sentence = f"no metric reaches a tau of {level!s} in 95% of the trials with up to {rows['largest_size'].iloc[0]} topics"
            yield Finding(sentence, table="settled")
            continue
        soonest = rows.sort_values("settled_at", kind="stable").iloc[0]
        yield with_number(
            f"95% of the trials reach a tau of {level!s} with {soonest['settled_at']:.0f} or more topics by {soonest['metric']}",
            f"topics from which on tau is {level!s}, {soonest['metric']}",
            [soonest["settled_at"]],
            "topics",
            table="settled",
        )


def page_tables(frames: Frames) -> HeadedTables:
    """Return the tables without the conditions that the title has."""
    headings = {
        "Tau between two samples": "quantiles",
        "Number of topics from which on the 5% quantile of tau reaches a value": "settled",
    }
    if frames["settled"]["settled_at"].isna().all():
        frames = {name: frame for name, frame in frames.items() if name != "settled"}
    return on_page(headings, without=("trials", "sampling"))(frames)


def split_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Tau by topic set size, a curve and a band a metric, beside the distribution of tau at the largest size.

    Curves are means, bands reach from the 5 % to the 95 % quantile.
    """
    cells = result.isel(gain=0)
    several = result.sizes[names.SIZE] > 1
    title = f"{sample_conditions(result)}, gains {cells[names.GAIN].item()}"
    if several:
        left, right = canvas.figure(FIGURE_SIZE).subplots(1, 2, width_ratios=(1.6, 1.0))
        _curves(left, cells)
        canvas.name(title)
    else:
        right = canvas.panel(FIGURE_SIZE)
        right.set_title(title)
    _distributions(right, cells)
    canvas.legend_outside(right, "lower center", 6)


def _curves(axes: Axes, cells: xr.Dataset) -> None:
    sizes = cells[names.SIZE].values
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        colour = COLOURS[k % len(COLOURS)]
        mean, low, high = (cells[f"tau_{end}"].values[k] for end in ("mean", "low", "high"))
        axes.plot(sizes, mean, **curve_style(k, 3.5, 1.2), label=metric)
        if cells.sizes[names.METRIC] <= MOST_BANDS:
            axes.fill_between(sizes, low, high, color=colour, alpha=0.13, linewidth=0)
        else:
            axes.plot(sizes, low, linewidth=0.8, linestyle=":", color=colour)
    level_lines(axes, {each: f"{each:g}" for each in cells[names.THRESHOLD].values.tolist()})
    axes.set(
        ylim=(None, 1.0),
        xlabel="topics in a sample",
        ylabel="tau between the rankings by two samples",
    )
    quantiles = (
        "band: 5% to 95%" if cells.sizes[names.METRIC] <= MOST_BANDS else "dotted: 5% quantile"
    )
    axes.set_title(f"mean; {quantiles}")


def _distributions(axes: Axes, cells: xr.Dataset) -> None:
    """Draw the share of trials up to each tau: steps, so that nothing depends on a choice of bins."""
    largest = cells.isel(size=-1)
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        tau = np.sort(largest["tau"].values[k])
        share = 100 * (np.arange(1, len(tau) + 1) / len(tau))
        style: Any = {"linewidth": 1.2, "color": COLOURS[k % len(COLOURS)], "label": metric}
        axes.step(tau, share, where="post", **style)
    axes.set(
        ylim=(0, 100),
        xlabel="tau",
        ylabel="% of trials up to it",
        title=f"{int(largest[names.SIZE])} topics",
    )


VIEW = View(
    name="splits",
    heading="Split-half rank correlation",
    about=(
        "Two samples of the topics each rank the runs; tau measures how similar the rankings are: 1 is the same order, 0 unrelated orders, and a share "
        "of (1 - tau) / 2 of the pairs of runs changes order. Where the curve has flattened, the rankings of two larger samples "
        "are hardly more similar. Quantiles are of trials with these topics, no intervals for others; two rankings of half of the topics are less similar than rankings by all would be. "
        "Samples are at most as large as the collection allows; larger ones are not extrapolated."
    ),
    summary=(
        Summary(
            "metric=label tau=tau_mean in_90%_of_the_trials=tau_5,tau_95 "
            "same_best_run=share_same_best topics=size",
            at={names.SIZE: math.inf},
        ),
    ),
    tables={"quantiles": QUANTILES, "settled": SETTLED, "trials": TRIALS},
    title=sample_title,
    caption=lambda result: (
        f"{sample_conditions(result)}. Tau by topic set size, and its distribution at the largest."
    ),
    findings=findings,
    page_tables=page_tables,
    figure=split_curves,
    chapter=TOPICS,
)
