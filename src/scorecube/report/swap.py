"""What is shown of the swap method: tables, figures and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.style import (
    COLOURS,
    DASHES,
    FIGURE_SIZE,
    TICKS,
    Axes,
    curve_style,
    level_lines,
)
from scorecube.report.findings import Finding, Short, with_number
from scorecube.report.phrases import (
    enumerated,
    first_of,
    is_known,
    labels_by_share,
    listed,
    number_of,
    occurrences,
    sample_conditions,
    sample_title,
    value_range,
    with_limits,
)
from scorecube.report.tables import COLLECTION, as_records, combine, declared
from scorecube.report.text_formats import merge_gains, with_labels
from scorecube.report.view import (
    DIFFERENCE,
    DISCRIMINATION,
    Canvas,
    Frames,
    HeadedTables,
    Remarks,
    ResultGroup,
    Summary,
    View,
)

SAME_LEVEL = 1e-9
"""Relative difference up to which two confidence levels are one: they may have been computed, as 1 - 0.05."""
CONFIDENCE = 0.95
"""Of limits for other topics."""
DECIDED_BY_TIES = 0.5
"""Share of exact ties beyond which they decide the swap rate of a bin."""
MOST_DRAWN = 4
"""Metrics whose shares a card has."""
EVERY = 3
"""Bins from one marker of a curve to the next."""
COLUMNS = 3
ROOM = 1.7
"""Height of the panel of required differences over the largest of them: room for the legend above the curves."""
MOST_BINS = 7
"""Curves in one panel."""
SENSITIVITY = declared(
    "metric gain -size confidence",
    "metric gain confidence required_difference max_performance relative_difference share trials "
    "size sampling max_difference support required_low required_high "
    "share_low share_high share_behind~ required_difference_smooth "
    "required_suffix open_bin",
    sort="-confidence -size -share",
    dtypes={"open_bin": "bool"},
)
"""Required differences, sorted by the share of comparisons that have them (Sakai 2005, Tables 1-4; Sakai 2007, Table 3)."""
RATES = declared(
    "metric gain -size bin",
    "metric gain bin lower count swaps swap_rate~ swap_rate_fitted tie_share size",
)
"""Swap rate of every difference bin (Sakai 2005, Figures 2-4), with 95 % intervals over trials; empty bins have none."""
HALVES = declared(
    "metric gain -size", "metric gain size tau tau_low tau_high trials sampling", sort="-size -tau"
)
"""Mean of Kendall's tau between the rankings of the runs by both samples, with limits for other topics."""
OVERLAP = declared("size", "size sampling unique common")
"""Mean numbers of distinct and of common topics of the two samples (Sakai 2005, Table 5)."""


def title(options: Mapping[str, Any]) -> str:
    """Return sampling, sizes, rule and options that differ from the usual."""
    bins = ""
    if options["bins"] != "auto":
        bins = f"{options['bins']} bins of {options['bin_width']:g}, the last one open"
    elif options["bin_width"] != 0.01:
        bins = f"bins of {options['bin_width']:g}"
    return listed(
        sample_title(options),
        "two zero differences are a swap" * (options["rule"] == "s1"),
        "own samples for every pair" * (options["share"] == "none"),
        {"geo": "geometric means", "area": "area measures"}.get(options["summary"], ""),
        bins,
        "required difference by the suffix rule" * (options["required"] != "isotonic"),
    )


def caption(result: xr.Dataset) -> str:
    """Describe the figure: rates by difference, or, with several sizes, by size."""
    highest, last, support = float(result["support"].max()), float(result["lower"].max()), ""
    if highest < last:
        support = f" No difference of {last:.2f} or more was observed: the highest bin begins at {highest:.2f}."
    if result.sizes[names.SIZE] == 1:
        return (
            f"{sample_conditions(result)}. Bands are 95% intervals of the rate over infinitely many trials with these topics and runs, of bins with 0.1% of the "
            f"comparisons or more; gaps are empty bins.{support}"
        )
    return (
        f"{sample_conditions(result)}. Required difference and swap rates by topic set size; a gap is a bin that is empty or without any "
        f"swap.{support}"
    )


def discrimination(group: ResultGroup) -> Iterator[Finding]:
    """Yield the metrics that are not separated from the most sensitive one, of each collection."""
    frame = _strictest(with_labels(group.first_table))
    if frame["share"].isna().all():
        return
    at, samples = f"at {frame['confidence'].iloc[0]:.0%} confidence", _samples(group, frame)
    if not group.several:
        first = leaders(frame)
        standing, short = _standing(frame, first)
        shares = "; ".join(f"{row['label']} {_share(row)}" for _, row in first.iterrows())
        yield with_number(
            f"{at} {standing}; share of comparisons with the required difference"
            f"{_about_limits(first['share_low'])}: {shares}; {samples}",
            f"share of comparisons with the required difference, {first['label'].iloc[0]}",
            number_of(first.iloc[0], "share"),
            confidence=CONFIDENCE,
            table="sensitivity",
            short=(short,),
        )
        return
    several = [
        part
        for _, part in frame.groupby(COLLECTION, sort=False)
        if len(part) > 1 and part["share"].notna().any()
    ]
    if several:
        named = [label for part in several for label in leaders(part)["label"]]
        limited = all(part["share_behind_low"].notna().any() for part in several)
        what = "not separated from the most sensitive metric:"
        what = what if limited else "largest share (limits missing):"
        line = f"{what} {occurrences(named)} of {len(several)} collections with several metrics"
    else:
        shares = value_range(frame["share"].dropna(), ".0%")
        line = f"each collection has one metric: {shares} of the comparisons reach its required difference"
    yield Finding(f"{at} {line}; {samples}", table="sensitivity")


def _standing(frame: pd.DataFrame, first: pd.DataFrame) -> tuple[str, Short]:
    """Return which metrics are the most sensitive, and what is known of the others, in a sentence and in few words."""
    ranked = frame.dropna(subset="share").sort_values("share", ascending=False, kind="stable")
    drawn = as_records(ranked[["label", "share", "share_low", "share_high"]].head(MOST_DRAWN))
    best, *others = labels = list(first["label"])
    together = "(95% for all differences of shares together)"
    if others:
        verb = "is" if len(others) == 1 else "are"
        words = f"{best} has the largest share, and {enumerated(others)} {verb} not separated from it {together}"
        whom = "these" if labels == [row["label"] for row in drawn] else enumerated(labels)
        short = f"{whom} are not separated"
    elif len(frame) == 1:
        words, short = (
            f"{best} has a required difference",
            "of the comparisons have the required difference",
        )
    elif frame["share_behind_low"].isna().all():
        words = f"{best} has the largest share, without limits that would separate it from others"
        short = "no limits are known that separate metrics"
    else:
        words = f"{best} is the most sensitive metric, separated from all others {together}"
        short = f"{best} is separated from all others"
    return words, Short(words=short, shares=[tuple(row.values()) for row in drawn])


def required_differences(group: ResultGroup) -> Iterator[Finding]:
    """Yield the differences that the swap method requires, of the most sensitive metrics."""
    frame = _strictest(with_labels(group.first_table))
    at, samples = f"at {frame['confidence'].iloc[0]:.0%} confidence", _samples(group, frame)
    known = frame.dropna(subset="required_difference")
    short = () if group.several else tuple(map(_short_difference, frame.to_dict("records")))
    if known.empty:
        yield Finding(
            f"{at} no metric has a required difference; {samples}", table="sensitivity", short=short
        )
        return
    needs = [_need(label, frame[frame["label"] == label]) for label in labels_by_share(frame)]
    named = first_of(needs, rest=", and {} more in the table")
    if group.several:
        line = f"{at} required differences in mean score over {len(group.results)} collections: {named}; {samples}"
        yield Finding(line, table="sensitivity")
        return
    first = leaders(known).iloc[0]
    yield with_number(
        f"{at} required differences in mean score{_about_limits(known['required_low'])}: {named}; {samples}",
        f"required difference, {first['label']}",
        (first["required_difference"], first["required_low"], first["required_high"]),
        unit="score",
        confidence=CONFIDENCE,
        unlimited="limits on both sides are not known",
        table="sensitivity",
        short=short,
    )


def _short_difference(row: Mapping[Any, Any]) -> Short:
    if not is_known(row["required_difference"]):
        words = f"that {row['confidence']:.0%} of comparisons confirm"
        return Short(row["label"], "none", words=words)
    return Short(
        row["label"],
        number=(row["required_difference"], row["required_low"], row["required_high"]),
        words=f"in {row['label']}, confirmed by {row['size']} other topics in {row['confidence']:.0%} of cases",
    )


def _samples(group: ResultGroup, frame: pd.DataFrame) -> str:
    runs = value_range([int(attrs["n_runs"]) for attrs in group.attrs], "d")
    sizes = value_range(frame["size"], "d")
    return f"{runs} runs, samples of {sizes} topics ({group.attrs[0]['sampling']})"


def _about_limits(low: pd.Series[float]) -> str:
    return " (95% limits for other topics)" if low.notna().any() else ""


def leaders(strictest: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are not separated from the largest share, the largest first; without limits the largest alone.

    strictest: Rows of one confidence, size and collection of the sensitivity table.
    """
    ranked = strictest.sort_values("share", ascending=False, kind="stable", na_position="last")
    if ranked["share_behind_low"].isna().all():
        return ranked[:1]
    return ranked[~(ranked["share_behind_low"] > 0)]


def _share(row: pd.Series) -> str:
    if pd.isna(row["share"]):
        return "none"
    return with_limits(*number_of(row, "share"), ".1%" if row["share"] < 0.01 else ".0%")


def _need(label: str, rows: pd.DataFrame) -> str:
    """Return the required differences of a metric over collections, and in how many it has none."""
    known = rows.dropna(subset="required_difference")
    none = f"none in {len(rows) - len(known)} of {len(rows)}"
    if len(rows) == 1:
        return f"{label} {_required(known.iloc[0]) if len(known) else 'none'}"
    if known.empty:
        return f"{label}: {none}"
    span = value_range(known["required_difference"], ".2f")
    return f"{label} {span}" if len(known) == len(rows) else f"{label} {span} ({none})"


def _required(row: pd.Series) -> str:
    limits = row["required_low"], row["required_high"]
    return ">= " * bool(row["open_bin"]) + with_limits(row["required_difference"], *limits, ".2f")


def _strictest(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the highest confidence and of each collection's largest size."""
    frame = frame[frame["confidence"] == frame["confidence"].max()]
    largest = frame.groupby(COLLECTION)["size"].transform("max")
    strictest: pd.DataFrame = frame[frame["size"] == largest]
    return strictest


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the differences that the most sensitive metric needs by size, if there are several sizes."""
    frame = with_labels(SENSITIVITY.make(result))
    strictest = _strictest(frame)
    if len(result[names.SIZE]) < 2 or strictest["share"].isna().all():
        return
    label = leaders(strictest)["label"].iloc[0]
    rows = frame[(frame["label"] == label) & (frame["confidence"] == frame["confidence"].max())]
    needs = [
        f"{_required(row) if row['required_difference'] >= 0 else 'none'} with {row['size']}"
        for _, row in rows.sort_values("size").iterrows()
    ]
    line = f"required difference of {label} by sample size: {', '.join(needs)}"
    yield Finding(line, table="sensitivity")


def page_tables(frames: Frames) -> HeadedTables:
    """Return the sensitivity table of each confidence, without the columns that are equal in all rows."""
    hidden = ["trials", "sampling", "share_behind", "share_behind_high", "max_difference"]
    frame = frames["sensitivity"].drop(columns=[*hidden, "required_difference_smooth"])
    other, chosen = frame["required_suffix"], frame["required_difference"]
    if ((other == chosen) | (other.isna() & chosen.isna())).all():
        frame = frame.drop(columns="required_suffix")
    frame = frame.drop(columns=[] if frame["open_bin"].any() else ["open_bin"])
    frame = frame.dropna(axis="columns", how="all")
    tables = [
        (f"Sensitivity at {confidence:.0%} confidence", part.drop(columns="confidence"))
        for confidence, part in frame.groupby("confidence", sort=False)
    ]
    halves = frames["halves"].drop(columns=["trials", "sampling"])
    return [
        *tables,
        ("Tau between both samples", halves),
        ("Topics in the samples", frames["overlap"]),
    ]


def cautions(result: xr.Dataset, frames: Frames) -> Remarks:
    """Yield remarks on metrics without a required difference, and topics in both samples."""
    frame = merge_gains(frames["sensitivity"])
    strictest = _strictest(frame)
    none = list(dict.fromkeys(strictest.loc[strictest["required_difference"].isna(), "metric"]))
    if none:
        text = f"Metrics have no required difference at {strictest['confidence'].iloc[0]:.0%} confidence."
        yield text, first_of(none)
    yield from _doubts(strictest, result)
    if result.attrs["sampling"] == "replacement":
        text = (
            "Samples with replacement overlap, so swap rates underestimate those of new topics; required differences are too small, and the coverage of their limits "
            "was measured for disjoint samples only."
        )
        yield text, f"{float(result['common'].isel(size=-1)):.0f} topics in common"


def _doubts(strictest: pd.DataFrame, result: xr.Dataset) -> Remarks:
    """Yield remarks on rules that disagree, limits that are missing, and bins that ties decide."""
    other = [
        f"{row['metric']} {row['required_difference']:.2f}, suffix {row['required_suffix']:.2f}"
        for _, row in strictest.iterrows()
        if row["required_suffix"] != row["required_difference"]
        and not row[["required_difference", "required_suffix"]].isna().all()
    ]
    if other:
        text = "The two rules of the required difference disagree: swap rates do not fall steadily."
        yield text, first_of(other)
    unlimited = strictest[strictest["required_low"].isna()]
    unlimited = unlimited.dropna(subset="required_difference")
    if 0 < len(unlimited) < len(strictest):
        text = "No limits of a required difference: without some of the topics there is none."
        yield text, first_of(list(unlimited["metric"]))
    if strictest["required_low"].isna().all():
        text = (
            "Required differences and shares have no limits for other topics, and are about these alone: limits need "
            "5 topics, a requirement without any tenth of them, and the isotonic rule."
        )
        yield text, ""
    tied = result["tie_share"] > DECIDED_BY_TIES
    metrics = tied.any([dim for dim in tied.dims if dim != names.METRIC])
    if metrics.any():
        text = "Exact ties are most of the comparisons of some bins, and decide their swap rates."
        yield text, first_of(labels_of(result.isel(metric=metrics.values), names.METRIC))


def swap_rates(canvas: Canvas, result: xr.Dataset) -> None:
    """Swap rate against performance difference (Sakai 2005, Figures 2-4): a curve a metric, 95 % intervals, accepted rates dashed.

    Of several sample sizes the largest is shown.
    """
    result = result.isel(size=[-1])
    cells = result.isel(gain=0, size=0)
    axes = canvas.panel(FIGURE_SIZE)
    lower = result["lower"].values
    for k, label in enumerate(labels_of(result, names.METRIC)):
        cell = cells.isel(metric=k)
        colour = COLOURS[k % len(COLOURS)]
        # Markers of neighbours stand at different bins, and their lines have different dashes.
        apart: Any = {"markevery": (k % EVERY, EVERY), "linestyle": DASHES[k % len(DASHES)]}
        style = {
            **curve_style(k, 4.5, 1.4),
            **apart,
            "markerfacecolor": "none" if k % 2 else colour,
        }
        axes.plot(lower, cell["swap_rate"].values, **style, label=label)
        # Bands of emptier bins would cover the figure.
        filled = cell["count"] >= 0.001 * cell["count"].sum()
        low, high = (cell[f"swap_rate_{end}"].where(filled).values for end in ("low", "high"))
        axes.fill_between(lower, low, high, color=colour, alpha=0.12, linewidth=0)
    accepted = (1.0 - result[names.CONFIDENCE].values).tolist()
    level_lines(axes, {each: f"{each:.0%}" for each in accepted})
    seen = lower[: 1 + max(np.flatnonzero(cells["count"].any(names.METRIC)), default=0)]
    apart = next(each for each in (1, 2, 5, 10, 20, 50, len(seen)) if each * TICKS >= len(seen))
    axes.set(
        xticks=seen[::apart],
        xlabel="difference in mean score, lower edge of the bin",
        ylabel="swap rate",
        ylim=(0.0, None),
        title=f"{sample_conditions(result)}, gains {cells[names.GAIN].item()}",
    )
    axes.legend(fontsize=8)


def sensitivity_bars(
    canvas: Canvas,
    results: Sequence[xr.Dataset],
    gain: str | None = None,
    confidence: float | None = None,
) -> None:
    """Share of comparisons with the required difference, by collection (Sakai 2005, Figures 5-8; Sakai 2007, Figure 9).

    Of several sample sizes the largest is shown.

    results: Of the swap method, one a collection.
    gain: Gain setting; each collection's first by default.
    confidence: The highest by default. A metric without a required difference has no bar.
    """
    from scorecube.report.figures.panels import shares_by_collection

    chosen = float(max(results[0][names.CONFIDENCE].values)) if confidence is None else confidence
    settings = [gain or labels_of(result, names.GAIN)[0] for result in results]
    frame = combine(
        [
            SENSITIVITY.make(result.isel(size=[-1]).sel(gain=[setting]))
            for result, setting in zip(results, settings, strict=True)
        ]
    )
    frame = frame[np.isclose(frame["confidence"], chosen, rtol=SAME_LEVEL, atol=0.0)]
    label = f"% of comparisons\nwith the difference required\nat {chosen:.0%} confidence"
    shares_by_collection(canvas, frame, results, label)


def size_curves(canvas: Canvas, result: xr.Dataset) -> None:
    """Required difference by topic set size, then the log swap rates of some bins, a panel a metric (Voorhees and Buckley 2002)."""
    from scorecube.report.figures.canvas import shades

    (setting,) = labels_of(result, names.GAIN)
    metrics, frame = labels_of(result, names.METRIC), RATES.make(result)
    bins = _some_bins(frame)
    colours = dict(zip(bins, shades(len(bins)), strict=True))
    rows = -(-(len(metrics) + 1) // COLUMNS)
    height = max(FIGURE_SIZE[1] * (rows == 1) * 0.8, 2.5 * rows)
    grid = canvas.grid(len(metrics) + 1, COLUMNS, (FIGURE_SIZE[0], height))
    _required_by_size(grid[0], result.sel(gain=setting))
    lowest = frame.loc[frame["swap_rate"] > 0, "swap_rate"].min()
    for axes, metric in zip(grid[1:], metrics, strict=True):
        _rates_by_size(axes, frame[frame["metric"] == metric], colours)
        axes.set_title(metric)
        axes.set(
            ylim=(lowest / 2 if np.isfinite(lowest) else None, 1.0),
            xlim=(None, frame["size"].max() * 1.02),
        )
    canvas.name(f"{sample_conditions(result)}, gains {setting}")
    if bins:
        canvas.legend_outside(
            grid[1], "lower center", len(bins), title="difference from", fontsize=8
        )


def _some_bins(frame: pd.DataFrame) -> list[int]:
    """Return up to seven bins, evenly spread over those that are not empty."""
    filled = sorted({int(each) for each in frame.loc[frame["swap_rate"].notna(), "bin"]})
    if len(filled) <= MOST_BINS:
        return filled
    return [filled[round(k * (len(filled) - 1) / (MOST_BINS - 1))] for k in range(MOST_BINS)]


def _required_by_size(axes: Axes, cells: xr.Dataset) -> None:
    confidence = float(cells[names.CONFIDENCE].max())
    sizes = cells[names.SIZE].values
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        required = cells["required_difference"].sel(confidence=confidence).isel(metric=k).values
        axes.plot(sizes, required, **curve_style(k, 3.5, 1.0), label=metric)
    axes.set(
        title=f"required at {confidence:.0%} confidence",
        xlabel="topics in a sample",
        ylabel="difference in mean score",
    )
    highest = float(cells["required_difference"].sel(confidence=confidence).max())
    axes.set_ylim(0.0, ROOM * highest if highest > 0 else None)
    # Also sizes without a required difference.
    axes.set_xlim(0, sizes[-1] * 1.05)
    columns = 2 if cells.sizes[names.METRIC] > 3 else 1
    axes.legend(fontsize=7, ncols=columns, loc="upper left", borderaxespad=0.0)


def _rates_by_size(axes: Axes, frame: pd.DataFrame, colours: dict[int, Any]) -> None:
    from scorecube.report.figures.canvas import plain_log_labels

    for number, colour in colours.items():
        curve = frame[frame["bin"] == number].sort_values("size")
        # A rate of 0 has no logarithm: a gap.
        seen = curve["swap_rate"].where(curve["swap_rate"] > 0)
        label = f"{curve['lower'].iloc[0]:.2f}"
        style: Any = {"marker": "o", "markersize": 2.5, "linewidth": 1.0, "label": label}
        axes.plot(curve["size"], seen, color=colour, **style)
    axes.set_yscale("log")
    plain_log_labels(axes.yaxis)
    axes.set(xlabel="topics in a sample", ylabel="swap rate")


VIEW = View(
    name="swap",
    heading="Swap method",
    about=(
        "Two topic sets are drawn, and every pair of runs is compared on both. The swap rate is the share of comparisons in which the "
        "two sets disagree about the better run, given the difference seen on the first. The required difference is the lower edge of "
        "the first bin whose swap rate, fitted so that it does not increase with the difference, is at most the accepted rate. A metric "
        "is more sensitive if a larger share of the comparisons reaches its required difference (column share). 95% limits are about "
        "these runs with as many other topics of the same kind; how far shares are behind the largest is limited for all pairs of metrics together, and "
        "metrics whose shares are not separated are named together. Tau between the rankings by both samples says how far a ranking depends on the topics. "
        "The rates are no significance test of any pair."
    ),
    summary=(
        Summary(
            "metric=label needed_difference=required_difference,required_low,required_high "
            "share_with_it=share~ topics=size confidence",
            at={names.CONFIDENCE: math.inf, names.SIZE: math.inf},
            bar="share with it",
        ),
    ),
    tables={"sensitivity": SENSITIVITY, "rates": RATES, "halves": HALVES, "overlap": OVERLAP},
    title=title,
    caption=caption,
    findings=findings,
    page_tables=page_tables,
    figure=lambda canvas, result: (swap_rates if result.sizes[names.SIZE] == 1 else size_curves)(
        canvas, result
    ),
    overview=sensitivity_bars,
    answers={DISCRIMINATION: discrimination, DIFFERENCE: required_differences},
    cautions=cautions,
)
