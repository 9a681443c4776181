"""What is shown of the swap method, and of the stability method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import combine, frame_of, labelled
from scorecube.analyses.printed import number, percent, printed
from scorecube.analyses.topic_samples import along_sampling, first_sampling
from scorecube.collection.schema import CELL, labels_of
from scorecube.declare import (
    DIFFERENCE,
    DISCRIMINATION,
    Answer,
    Canvas,
    Down,
    Table,
    View,
    interval,
    is_known,
    shown,
)

SEEN = 0.001
"""Share of the comparisons of a metric from which a bin has limits in a figure; it ends there."""
LEAST_RATE = 0.001
"""Below which no swap rate is drawn beyond the last that reaches it."""
STRICTEST = {names.CONFIDENCE: np.inf, names.SIZE: np.inf}


SENSITIVITY = Table(
    ("sampling", "metric", "gain", "size", "confidence"),
    (
        *CELL,
        *("confidence", "required_difference", "max_performance", "relative_difference"),
        *("share", "trials", "size", "sampling", "required_low", "required_high", "share_low"),
        "share_high",
        *interval("share_behind"),
        "required_difference_smooth",
        "required_suffix",
        "open_bin",
    ),
    sort=(Down("confidence"), Down("size"), Down("share")),
    within=1,
    part=along_sampling,
    brief=(
        shown("metric", "label"),
        "sampling",
        shown("required difference", "required_difference", "required_low", "required_high"),
        shown("comparisons confirmed", *interval("share")),
        shown("samples of", "size"),
        "confidence",
    ),
    at=STRICTEST,
)
"""Required differences, by the share of comparisons that have them (Sakai 2005, Tables 1-4)."""
RATES = Table(
    ("sampling", "metric", "gain", "size", "bin"),
    (
        *CELL,
        *("bin", "lower", "count", "swaps"),
        *interval("swap_rate"),
        "tie_share",
        "size",
        "sampling",
    ),
    part=along_sampling,
)
"""Swap rate of every bin (Sakai 2005, Figures 2-4), with 95 % limits over trials."""
HALVES = Table(
    ("sampling", "metric", "gain", "size"),
    (*CELL, "size", "tau", "tau_low", "tau_high", "trials", "sampling"),
    sort=(Down("size"), Down("tau")),
    within=1,
    part=along_sampling,
)
"""Mean of Kendall's tau between the rankings by both samples, with limits over topics."""
OVERLAP = Table(("sampling", "size"), ("size", "sampling", "unique", "common"), part=along_sampling)
"""Mean numbers of distinct and of common topics of the samples (Sakai 2005, Table 5)."""


def strictest(result: xr.Dataset) -> list[dict[Any, Any]]:
    """Return the rows of the first sampling, highest confidence, and largest size."""
    return labelled(frame_of(SENSITIVITY, first_sampling(result)), STRICTEST)


def samples_of(row: Mapping[str, Any], topics: str) -> str:
    """Return the samples of a row, and of how many trials its number and limits are."""
    # Replicates of the jackknife have a tenth of the trials, whose chance error is in the limits.
    return f"samples of {row['size']} {topics}, {row['trials']:,} trials"


def shares(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the share of comparisons that reach the required difference, the largest first."""
    topics = names.nouns(result.attrs).topics
    rows = strictest(result)
    near = [row["label"] for row in rows[1:] if row["share_behind_low"] <= 0]
    named = ", ".join(near) if len(near) < 4 else f"{len(near)} others"
    apart = f"; not separated from it: {named}" if near else ""
    for row in rows:
        clause = f"at {row['confidence']:.0%} confidence, {samples_of(row, topics)}{apart}"
        apart = ""
        numbers = (row["share"], row["share_low"], row["share_high"])
        yield Answer(row["label"], *numbers, ".0%", clause, "comparisons confirmed")


def differences(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the required differences."""
    topics = names.nouns(result.attrs).topics
    for row in strictest(result):
        numbers = row["required_difference"], row["required_low"], row["required_high"]
        least = "or more " if row["open_bin"] == 1 and is_known(numbers[0]) else ""
        clause = f"{least}at {row['confidence']:.0%} confidence, {samples_of(row, topics)}"
        yield Answer(row["label"], *numbers, ".2f", clause, "required difference")


def swap_rates(canvas: Canvas, result: xr.Dataset) -> None:
    """Swap rate by difference (Sakai 2005, Figures 2-4): first sampling, largest sample size."""
    result = first_sampling(result)
    cells = result.isel(gain=0, size=-1)
    lower = cells["lower"].isel(metric=0).values
    cells = cells.isel(metric=(cells["lower"] == lower).all(names.BIN))  # those on one scale
    filled = cells["count"] >= SEEN * cells["count"].sum(names.BIN)
    axes = canvas.panel()
    for k, label in enumerate(labels_of(cells, names.METRIC)):
        cell = cells.isel(metric=k).where(filled.isel(metric=k))
        style = canvas.curve(k, 4.5, 1.4)
        # Markers of neighbours stand at different bins.
        style |= {"markevery": (k % 3, 3)} | ({"markerfacecolor": "none"} if k % 2 else {})
        axes.plot(lower, cells["swap_rate"].isel(metric=k).values, **style, label=label)
        low = cell["swap_rate_low"].values
        high = cell["swap_rate_high"].values
        axes.fill_between(lower, low, high, color=style["color"], alpha=0.12, linewidth=0)
    words: dict[str, Any] = {"fontsize": 8, "color": "0.4", "ha": "right", "va": "bottom"}
    for rate in (1.0 - result[names.CONFIDENCE].values).tolist():
        axes.axhline(rate, linestyle="--", linewidth=0.8, color="0.4")
        axes.annotate(f"{rate:.0%}", (1.0, rate), xycoords=("axes fraction", "data"), **words)
    swapped = filled & (cells["swap_rate"] >= LEAST_RATE)
    last = max(np.flatnonzero(filled.any(names.METRIC)), default=0)
    end = min(last, max(np.flatnonzero(swapped.any(names.METRIC)), default=0) + 1)
    beyond = f"; rates of larger ones are below {LEAST_RATE:.1%}" if end < last else ""
    axes.set(xlim=(None, lower[end] + lower[1] / 2), ylim=(0.0, None))
    axes.set(xlabel=f"difference in mean score, lower edge of the bin{beyond}", ylabel="swap rate")
    axes.set_title(canvas.title_of(result))
    axes.legend(fontsize=8)


def sensitivity_bars(
    canvas: Canvas, results: Sequence[xr.Dataset], confidence: float | None = None
) -> None:
    """Share of comparisons by collection (Sakai 2005, Figures 5-8), of the largest size."""
    level = float(max(results[0][names.CONFIDENCE].values)) if confidence is None else confidence
    frame = combine(
        [
            frame_of(SENSITIVITY, first_sampling(result).isel(size=[-1], gain=[0]))
            for result in results
        ]
    )
    frame = frame[frame["confidence"] == level]
    label = f"% of comparisons\nwith the difference required\nat {level:.0%} confidence"
    canvas.shares(frame, results, label)


def as_printed(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield the four columns of the swap method (Sakai 2005, Tables 1-4; Sakai 2007, Table 3)."""
    decimals = 1 if result.attrs["rule"] == "s0" else 0
    for row in frame_of(SENSITIVITY, result).to_dict("records"):
        share = row["share"]
        yield {
            "sampling": row["sampling"],
            "confidence": percent(row["confidence"]),
            "metric": row["metric"],
            "gain": row["gain"],
            "(i) required": number(row["required_difference"], 2),
            "(ii) maximum": number(row["max_performance"], 4),
            "(iii) relative": percent(row["relative_difference"]),
            "(iv) comparisons": percent(share, max(decimals, int(share < 0.0995))),
        }


VIEW = View(
    name="swap",
    heading="Swap method",
    tables={
        "sensitivity": SENSITIVITY,
        "rates": RATES,
        "halves": HALVES,
        "overlap": OVERLAP,
        "sakai-2005": printed(as_printed),
        "sakai-2007": printed(as_printed),
    },
    about="Two topic sets are drawn, and every pair of runs is compared on both. The swap rate is "
    "the share of comparisons on which the sets disagree about the better run, by the difference "
    "on the first. The required difference is where the fitted rate falls to the accepted one. "
    "Limits are about these runs with other topics, and this number of trials: with more they are "
    "narrower, as each of 10 replicates has a tenth of the trials. Samples with replacement share "
    "topics, so that their required differences are too small. The rates are no test of a pair.",
    answers={DISCRIMINATION: shares, DIFFERENCE: differences},
    card=1,
    chapter=DIFFERENCE,
    conditions=("sampling",),
    figure=swap_rates,
    overview=sensitivity_bars,
)
