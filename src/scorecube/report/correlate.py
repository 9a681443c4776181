"""What is shown of rank correlation between metrics and between gain settings: tables, figures and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import quantity
from scorecube.analyses.rank_agreement.correlation_quantities import GAIN_A, METRIC_A, METRIC_B
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.style import COLOURS, Axes, line_style
from scorecube.report.findings import Finding
from scorecube.report.phrases import estimate_text, listed, of_tau, on_collection, value_range
from scorecube.report.tables import COLLECTION, Table, as_records, averages, declared
from scorecube.report.text_formats import estimates_first, merge_gains
from scorecube.report.view import (
    AGREEMENT,
    Canvas,
    Frames,
    HeadedTables,
    ResultGroup,
    Summary,
    View,
    on_page,
)

LABELS = {"metrics": ("metric_a", "metric_b"), "gains": ("metric", "gain")}
"""Tables of comparisons, and the columns that name the two sides."""
OF_NULL_VARIANCE = ("tau_low", "tau_high", "z")
"""Columns that hold for unrelated rankings only, and may exceed 1: `scorecube show` and the CSV files have them, pages do not."""
WIDTH = 7.2
LEGEND_COLUMNS = 4
COUNTS = ("concordant", "discordant", "tied_a", "tied_b")
_LAST = (
    "n_runs tied_pairs tau_population~ "
    "topics_low?=tau_contained_low[topics] topics_high?=tau_contained_high[topics] "
    "tau_ap_b p_exact fieller_low fieller_high concordant discordant tied_a tied_b exceeds_one "
    "bold=marked"
)
METRICS = declared(
    "comparison",
    f"gain=gain_a metric_a metric_b tau~ z p_value spearman tau_b tau_ap {_LAST}",
    only="of_metrics",
)
"""Every pair of metrics at each gain setting (Sakai 2007, Table 2; Sakai and Shang 2016, Table 2; Sakai 2004, Tables 3 to 6 and 8 to 11 part a).

`tau_population` estimates tau of these runs over infinitely many topics, with its interval. `tau_low` and `tau_high` are the papers'
interval by the null variance; `exceeds_one` where it leaves the range of tau; `bold` follows the analysis' rule. In `tau_ap` the first metric is the truth. Percentile intervals of
resampled topics (`topics_low`, `topics_high`) are missing where they exclude their tau.
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
    "comparison",
    f"metric=metric_a gain=gain_b tau spearman tau_low tau_high z p_value tau_b tau_ap {_LAST} "
    "default=gain_a",
    only="of_gains",
)
"""Every metric at every other gain setting against itself at the first one (Sakai 2007, Table 5; Sakai 2004, Tables 3 to 11 part b)."""
POPULATION = declared(
    "comparison statistic", "along gain_a metric_a gain_b metric_b statistic value population~"
)
"""Every coefficient of every comparison over infinitely many topics: estimate and interval, beside the value on these topics."""
INTERVALS = declared(
    "comparison statistic resampled",
    "along gain_a metric_a gain_b metric_b statistic value resampled low=contained_low "
    "high=contained_high standard_error trials",
)
"""Bootstrap percentile intervals of every coefficient of every comparison.

Limits are missing where the interval excludes its value: resampled topics rank runs less reliably than all topics.
"""
CURVES = declared("gain metric system", "metric gain system run=sorted_run mean=sorted_mean")
"""Mean scores of the runs sorted by the first metric and numbered, best first (Sakai 2004, Figures 4 to 7)."""
SWOPS = declared("gain metric", "metric gain sorted_by swops n_runs")
"""How often a metric rises between neighbours in the order of the first metric (Sakai 2004, section 4: a "swop")."""


def conditions(result: xr.Dataset) -> str:
    """Return collection and conditions in one line."""
    attrs = result.attrs
    trials = f"{attrs['trials']:,} trials"
    return f"{attrs.get(COLLECTION, '')}  {attrs['n_runs']} runs, {attrs['n_topics']} topics, {trials}".strip()


def title(options: Mapping[str, Any]) -> str:
    """Return the confidence level and the rule for marking."""
    bold = options["bold"]
    return listed(
        f"{options['confidence']:.0%} intervals over topics",
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
    topics, runs = (
        value_range([int(attrs[name]) for attrs in group.attrs], "d")
        for name in ("n_topics", "n_runs")
    )
    for name in LABELS:
        if name not in group.frames or group.frames[name]["tau"].isna().all():
            continue
        frame = merge_gains(group.frames[name]).dropna(subset="tau")
        rows = as_records(frame.sort_values("tau", kind="stable"))
        row, tied = rows[0], int(max(each["tied_pairs"] for each in rows))
        ends = [
            f"{_sides(each, name)}{on_collection(each, group.several)} ({each['tau']:.3f}, {each['discordant'] / (each['n_runs'] * (each['n_runs'] - 1) // 2):.0%} of the pairs in different "
            f"order{estimate_text(each, confidence=confidence)})"
            for each in (rows[0], rows[-1])
        ]
        said = f"of {ends[0]}"
        itself = ", each interval by itself" if estimate_text(row) else ""
        if len(rows) > 1:
            said = f"is lowest for {ends[0]} and highest for {ends[1]}"
            itself += f", chosen from {len(rows)}"
        ties = f"; up to {counted(tied, 'pair')} of runs tied" if tied else ""
        what = "metrics" if name == "metrics" else f"gain settings, against {row['default']}"
        yield of_tau(
            f"{what}: tau on these {topics} topics {said}; these {runs} runs{itself}{ties}",
            f"tau of {_sides(row, name)}{on_collection(row, group.several)}",
            row,
            confidence,
            name,
        )


def _sides(row: Mapping[str, Any], name: str) -> str:
    first, second = LABELS[name]
    return f"{row[first]}{' and ' if name == 'metrics' else ' with gains '}{row[second]}"


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield why there are no intervals over infinitely many topics, if there are none."""
    if reason := result.attrs["no_interval"]:
        yield Finding(f"no interval over infinitely many topics: {reason}")


def page_tables(frames: Frames) -> HeadedTables:
    """Return the tables along metrics and gain settings, and their averages over collections (Sakai 2004, Tables 7 and 12)."""
    tables: HeadedTables = []
    for heading, name in (
        ("Between metrics", "metrics"),
        ("Gain settings against the default", "gains"),
    ):
        dropped = [*COUNTS, *OF_NULL_VARIANCE]
        marks = ("exceeds_one", "bold")
        dropped += [mark for mark in marks if mark in frames[name] and not frames[name][mark].any()]
        frame = estimates_first(frames[name].drop(columns=dropped, errors="ignore"))
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
        "share that they order differently. Pairs with equal means count as neither. The interval by the null variance (tau_low, tau_high, in the CSV file) is that of the papers: it is "
        "valid for unrelated rankings only, and may exceed 1. The observed tau estimates what other topics, as many, would show on average. Tau of the two "
        "rankings of these runs over infinitely many topics (tau_population, with an interval) is another quantity; chance in the topics hides it. "
        "Its intervals covered the true tau in most simulations as often as stated; the documentation of scorecube lists the others "
        '("Intervals: estimands and coverage"). Percentile intervals over '
        "resampled topics are confidence intervals of neither: drawing topics anew adds noise to both rankings. They are left out where they exclude "
        "their tau. Intervals over runs keep the topics. A swop is a rise between neighbours when runs are sorted by the first metric."
    ),
    summary=(
        Summary(
            "gain metric=metric_a and=metric_b tau over_other_topics=tau_population~",
            bar="over other topics",
        ),
        Summary(
            "metric gain tau over_other_topics=tau_population~",
            table="gains",
            most=4,
            title="gain settings with the first",
        ),
    ),
    tables={
        "metrics": METRICS,
        "triangle": Table(triangle),
        "gains": GAINS,
        "population": POPULATION,
        "intervals": INTERVALS,
        "curves": CURVES,
        "swops": SWOPS,
    },
    title=title,
    caption=caption,
    findings=findings,
    page_tables=page_tables,
    figure=correlation_figure,
    in_axes=sorted_curves,
    answers={AGREEMENT: answer},
    cautions=cautions,
)
