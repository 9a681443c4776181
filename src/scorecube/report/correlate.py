"""What is shown of rank correlation between metrics and between gain settings: tables, figures and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.correlation_quantities import GAIN_A, METRIC_A, METRIC_B
from scorecube.analyses.quantities import quantity
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.style import COLOURS, Axes, line_style
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import listed, on_collection, value_range, with_limits
from scorecube.report.tables import COLLECTION, Table, as_records, averages, declared
from scorecube.report.text_formats import merge_gains
from scorecube.report.view import (
    AGREEMENT,
    Canvas,
    Frames,
    HeadedTables,
    ResultGroup,
    Summary,
    View,
    notes_of,
    on_page,
)

LABELS = {"metrics": ("metric_a", "metric_b"), "gains": ("metric", "gain")}
"""Tables of comparisons, and the columns that name the two sides."""
OF_TOPICS = ("tau", "topics_low", "topics_high")
OF_NULL_VARIANCE = ("tau_low", "tau_high", "z")
"""Columns that hold for unrelated rankings only, and may exceed 1: the triangle, `scorecube show` and the CSV files have them."""
WIDTH = 7.2
LEGEND_COLUMNS = 4
_COLUMNS = (
    "tau topics_low topics_high spearman tau_b tau_ap tau_low tau_high exceeds_one z p_value p_exact "
    "n_runs tied_pairs concordant discordant bold=marked"
)
METRICS = declared("comparison", f"gain=gain_a metric_a metric_b {_COLUMNS}", only="of_metrics")
"""Every pair of metrics at each gain setting (Sakai 2007, Table 2; Sakai and Shang 2016, Table 2; Sakai 2004, Tables 3 to 6 and 8 to 11 part a).

`topics_low` and `topics_high` are about the tau of as many other topics; `tau_low` and `tau_high` are the papers' interval by the null variance,
`exceeds_one` where it leaves the range of tau; `bold` follows the analysis' rule. In `tau_ap` the first metric is the truth.
"""


def triangle(result: xr.Dataset) -> pd.DataFrame:
    """Return tau of every two metrics as Table 2 of Sakai and Shang 2016: a row and a column a metric, with the papers' interval, bold values with a star.

    result: Of `Correlation`; a block of rows for each gain setting.
    """
    metrics = labels_of(result, names.METRIC)
    rows = dict[tuple[str, str], dict[str, str]]()
    for each in as_records(METRICS.make(result)):
        row = rows.setdefault(
            (each["gain"], each["metric_b"]),
            {COLLECTION: each[COLLECTION], "gain": each["gain"], "metric": each["metric_b"]}
            | dict.fromkeys(metrics[:-1], ""),
        )
        mark = "*" if each["bold"] else ""
        if each["tau"] is not None:  # as with fewer than three runs
            limits = f"[{each['tau_low']:.3f}, {each['tau_high']:.3f}]"
            row[each["metric_a"]] = f"{each['tau']:.3f} {limits}{mark}"
    return pd.DataFrame(rows.values(), columns=[COLLECTION, "gain", "metric", *metrics[:-1]])


GAINS = declared(
    "comparison", f"metric=metric_a gain=gain_b {_COLUMNS} default=gain_a", only="of_gains"
)
"""Every metric at every other gain setting against itself at the first one (Sakai 2007, Table 5; Sakai 2004, Tables 3 to 11 part b)."""
CURVES = declared("gain metric system", "metric gain system run=sorted_run mean=sorted_mean")
"""Mean scores of the runs sorted by the first metric and numbered, best first (Sakai 2004, Figures 4 to 7)."""
SWOPS = declared("gain metric", "metric gain sorted_by swops n_runs")
"""How often a metric rises between neighbours in the order of the first metric (Sakai 2004, section 4: a "swop")."""


def conditions(result: xr.Dataset) -> str:
    """Return collection and conditions in one line."""
    attrs = result.attrs
    numbers = f"{attrs['n_runs']} runs, {attrs['n_topics']} topics"
    return f"{attrs.get(COLLECTION, '')}  {numbers}".strip()


def title(options: Mapping[str, Any]) -> str:
    """Return the confidence level and the rule for marking."""
    bold = options["bold"]
    return listed(
        f"{options['confidence']:.0%} intervals",
        f"marked above {bold:g}" if bold is not None else "",
    )


def caption(result: xr.Dataset) -> str:
    """Describe the three panels."""
    return (
        f"{conditions(result)}. Tau of all pairs of metrics; mean scores of the runs in the order of the first metric, with swops; "
        "all mean scores, with median and quartiles."
    )


def answer(group: ResultGroup) -> Iterator[Finding]:
    """Yield the metrics that rank the runs most and least similarly, and the gain settings that do."""
    confidence = float(group.attrs[0]["confidence"])
    notes = [note for attrs in group.attrs for note in attrs["notes"]]
    runs = value_range([int(attrs["n_runs"]) for attrs in group.attrs], "d")
    for name in LABELS:
        if name not in group.frames or group.frames[name]["tau"].isna().all():
            continue
        frame = merge_gains(group.frames[name]).dropna(subset="tau")
        rows = as_records(frame.sort_values("tau", kind="stable"))
        row, tied = rows[0], int(max(each["tied_pairs"] for each in rows))
        ends = [
            f"{with_limits(*[each[end] for end in OF_TOPICS])} for {_sides(each, name)}{on_collection(each, group.several)} ({_different(each)})"
            for each in (rows[0], rows[-1])
        ]
        said = f"is lowest, {ends[0]}, and highest, {ends[1]}" if len(rows) > 1 else ends[0]
        ties = f"; up to {counted(tied, 'pair')} of runs tied" if tied else ""
        what = "metrics" if name == "metrics" else f"gain settings, against {row['default']}"
        yield with_number(
            f"{what}: tau {said}; these {runs} runs, {confidence:.0%} limits over topics{ties}",
            f"tau of {_sides(row, name)}{on_collection(row, group.several)}",
            [row[end] for end in OF_TOPICS],
            confidence=confidence,
            table=name,
            **({"unlimited": notes[0]} if notes else {}),
        )


def _different(row: Mapping[str, Any]) -> str:
    """Return the share of pairs of runs in different order."""
    n_pairs = row["n_runs"] * (row["n_runs"] - 1) // 2
    return f"{row['discordant'] / n_pairs:.0%} of the pairs in different order"


def _sides(row: Mapping[str, Any], name: str) -> str:
    first, second = LABELS[name]
    return f"{row[first]}{' and ' if name == 'metrics' else ' with gains '}{row[second]}"


def page_tables(frames: Frames) -> HeadedTables:
    """Return the tables along metrics and gain settings, and their averages over collections (Sakai 2004, Tables 7 and 12)."""
    tables: HeadedTables = []
    for heading, name in (
        ("Between metrics", "metrics"),
        ("Gain settings against the default", "gains"),
    ):
        dropped = ["concordant", "discordant", *OF_NULL_VARIANCE]
        marks = ("exceeds_one", "bold")
        dropped += [mark for mark in marks if mark in frames[name] and not frames[name][mark].any()]
        frame = frames[name].drop(columns=dropped, errors="ignore")
        if len(frame):
            tables.append((heading, frame))
        averaged = averages(frame) if len(frame) and frame[COLLECTION].nunique() > 1 else frame[:0]
        if len(averaged):
            tables.append((f"{heading}, mean of the collections", averaged))
    return [*tables, *on_page({"Runs in the order of the first metric": "swops"})(frames)]


def cautions(result: xr.Dataset, _frames: Frames) -> list[tuple[str, str]]:
    """Return a remark on runs with equal means."""
    ties = int(np.max(result["tied_pairs"].values, initial=0))
    n_runs = int(result.attrs["n_runs"])
    text = "Runs have equal means: such pairs count as neither concordant nor discordant, and keep tau below 1."
    return [(text, f"up to {ties:,} of {n_runs * (n_runs - 1) // 2:,} pairs")] if ties else []


def tau_matrix(result: xr.Dataset, gain: str) -> np.ndarray[Any, Any]:
    """Return tau of all pairs of metrics at one gain setting: (metric, metric); NaN where they were not compared."""
    places = {metric: k for k, metric in enumerate(labels_of(result, names.METRIC))}
    matrix = np.full((len(places), len(places)), np.nan)
    own = quantity(result, "of_metrics").values & (result[GAIN_A].values == gain)
    i, j = (
        [places[str(metric)] for metric in result[name].values[own]]
        for name in (METRIC_A, METRIC_B)
    )
    matrix[i, j] = matrix[j, i] = result["tau"].values[own]
    return matrix


def correlation_figure(canvas: Canvas, result: xr.Dataset) -> None:
    """Matrix of tau, with sorted-system curves and the distribution of mean scores below."""
    (chosen,) = labels_of(result, names.GAIN)
    metrics = labels_of(result, names.METRIC)
    compared = bool(np.isfinite(tau_matrix(result, chosen)).any())
    height, below = (
        matrix_height(len(metrics)) if compared else 0.0,
        3.0 + 0.17 * -(-len(metrics) // LEGEND_COLUMNS),
    )
    rows = canvas.figure((WIDTH, height + below)).subfigures(
        2 if compared else 1, 1, height_ratios=[height, below] if compared else None, squeeze=False
    )[:, 0]
    if compared:
        draw_matrix(rows[0].add_subplot(), tau_matrix(result, chosen), metrics)
    left, right = rows[-1].subplots(1, 2, width_ratios=[1.6, 1.0])
    draw_curves(left, result, chosen)
    rows[-1].legend(fontsize=7.5, ncols=LEGEND_COLUMNS, loc="outside lower left", labelspacing=0.3)
    draw_means(right, result, chosen)
    canvas.name(f"{conditions(result)}, gains {chosen}")


def sorted_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Mean scores of the runs in the order of the first metric (Sakai 2004, Figures 4-7), perhaps beside those of other gain settings."""
    axes = canvas.panel((WIDTH, 3.0))
    draw_curves(axes, result, labels_of(result, names.GAIN)[0])
    axes.set_title(conditions(result))
    axes.legend(fontsize=8)


def matrix_height(n_metrics: int) -> float:
    """Return the height of a matrix in inches: rows as high as numbers need."""
    return 1.1 + max(0.32 * n_metrics, 0.8)


def draw_matrix(axes: Axes, matrix: np.ndarray[Any, Any], metrics: Sequence[str]) -> None:
    """Draw the lower triangle of a matrix of correlations: colours from their smallest to 1, and the numbers."""
    n = len(metrics)
    shown = np.where(np.tril(np.ones((n, n), bool), -1), matrix, np.nan)[1:, :-1]
    lowest = float(np.nanmin(shown)) if np.isfinite(shown).any() else 0.0
    lowest = np.floor(10 * min(lowest, 0.9)) / 10
    axes.imshow(
        shown, cmap="Blues", vmin=lowest - 0.1, vmax=1.25, aspect="auto", interpolation="none"
    )
    size = min(9.0, 62.0 / max(n - 1, 1) * WIDTH / 7.2 + 3.0)
    for (i, j), value in np.ndenumerate(shown):
        if np.isfinite(value):
            share = (value - lowest + 0.1) / (1.35 - lowest)
            text = f"{value:.3f}" if n <= 14 else f"{value:.2f}"
            style: Any = {"fontsize": size, "color": "white" if share > 0.55 else "0.1"}
            axes.text(j, i, text.replace("0.", ".", 1), ha="center", va="center", **style)
    long = max(map(len, metrics), default=0) * (n - 1) > 60
    turned: Any = {"rotation": 40, "ha": "right"} if long else {"rotation": 0, "ha": "center"}
    axes.set_xticks(range(n - 1), metrics[:-1], **turned, rotation_mode="anchor")
    axes.set_yticks(range(n - 1), metrics[1:])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    # Cells are not too large for few metrics.
    axes.set_xlim(-0.5, max(n - 1, 5) - 0.5)
    axes.text(1.0, 1.0, "Kendall's tau", transform=axes.transAxes, ha="right", va="top")


def draw_curves(axes: Axes, result: xr.Dataset, gain: str) -> None:
    """Draw a curve a metric over the runs, sorted by the first metric; the legend counts its rises ("swops")."""
    means, rises = (
        quantity(result, name).sel({names.GAIN: gain}) for name in ("sorted_mean", "swops")
    )
    systems = means[names.SYSTEM].values
    for k, metric in enumerate(labels_of(result, names.METRIC)):
        swops = "" if k == 0 else f", {counted(int(rises.values[k]), 'swop')}"
        style = {**line_style(k), "linewidth": 1.2, "markersize": 4, "label": f"{metric}{swops}"}
        axes.plot(systems, means.values[k], marker="." if len(systems) <= 50 else None, **style)
    axes.set(
        xlabel=f"runs, by {labels_of(result, names.METRIC)[0]}",
        ylabel="mean score",
        xlim=(0.5, len(systems) + 0.5),
        ylim=(min(0.0, float(np.nanmin(result["mean"].values))), None),
    )


def draw_means(axes: Axes, result: xr.Dataset, gain: str) -> None:
    """Draw the mean scores of all runs, a row a metric: quartiles as a bar, every run as a stroke."""
    metrics = labels_of(result, names.METRIC)
    quartiles = quantity(result, "mean_quartile").sel({names.GAIN: gain})
    for k, metric in enumerate(metrics):
        scores = result["mean"].sel({names.METRIC: metric, names.GAIN: gain}).values
        low, middle, high = quartiles.values[k]
        colour = COLOURS[k % len(COLOURS)]
        axes.barh(k, high - low, 0.5, low, color=colour, alpha=0.25)
        axes.vlines(scores, k - 0.32, k + 0.32, color=colour, linewidth=0.7)
        axes.plot(middle, k, "o", color="0.1", markersize=3.5)
    axes.set_yticks(range(len(metrics)), metrics, fontsize=8 if len(metrics) <= 12 else 6)
    axes.set_ylim(len(metrics) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean score")


VIEW = View(
    name="correlate",
    heading="Rank correlation",
    about=(
        "Two metrics, or two gain settings of one, rank the same runs; Kendall's tau is the share of pairs of runs that they order in the same way minus the "
        "share that they order differently. Pairs with equal means count as neither. Limits (topics_low, topics_high) are about the tau to be expected between both "
        "rankings from as many other topics, by a jackknife over topics; there are none where tau is 1 without some of the topics. The interval by the null variance "
        "(tau_low, tau_high, in the CSV file) is that of the papers: it is valid for unrelated rankings only, and may exceed 1. "
        "A swop is a rise between neighbours when runs are sorted by the first metric."
    ),
    summary=(
        Summary(
            {"gain": "gain", "metric": "metric_a", "and": "metric_b", "tau": " ".join(OF_TOPICS)},
            bar="tau",
        ),
        Summary(
            {"metric": "metric", "gain": "gain", "tau": " ".join(OF_TOPICS)},
            table="gains",
            most=4,
            title="gain settings with the first",
        ),
    ),
    tables={
        "metrics": METRICS,
        "triangle": Table(triangle),
        "gains": GAINS,
        "curves": CURVES,
        "swops": SWOPS,
    },
    title=title,
    caption=caption,
    findings=notes_of,
    page_tables=page_tables,
    figure=correlation_figure,
    in_axes=sorted_curves,
    answers={AGREEMENT: answer},
    cautions=cautions,
)
