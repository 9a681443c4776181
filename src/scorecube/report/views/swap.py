"""View of the swap method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import swap
from scorecube.report.tables.rows import COLLECTION
from scorecube.report.tables.topic_samples import conditions, sizes_of
from scorecube.report.text_formats import cell_text, merge_gains, with_labels
from scorecube.report.views.phrases import (
    NONE,
    first_of,
    first_places,
    labels_by_share,
    sample_title,
    value_range,
)
from scorecube.report.views.questions import DIFFERENCE, DISCRIMINATION
from scorecube.report.views.view import (
    Column,
    Findings,
    Frames,
    Headed,
    Lines,
    Order,
    Table,
    View,
    on_demand,
)


def title(options: Mapping[str, Any]) -> str:
    """Return sampling, sizes, rule and options that differ from the usual."""
    odd = [name for name in ("signed", "symmetric") if options[name]]
    odd += ["a required difference may be 0"] if options["allow_zero"] else []
    odd += ["own samples for every pair"] if options["share"] == "none" else []
    if (options["bins"], options["bin_width"]) != (21, 0.01):
        odd.append(f"{options['bins']} bins of {options['bin_width']:g}")
    return ", ".join([sample_title(options), f"rule {options['rule']}", *odd])


def caption(result: xr.Dataset) -> str:
    """Describe the figure: rates by difference, or, with several sizes, by size."""
    support = swap.support_note(result)
    if result.sizes[names.SIZE] == 1:
        return f"{conditions(result)}. Bands are {swap.interval_note(result)}; gaps are empty bins.{support}"
    return (
        f"{conditions(result)}. Required difference and swap rates by topic set size; a gap is a bin that is empty or without any "
        f"swap. Dashed curves are fitted decays; beyond the grey line they are extrapolated to untested sizes.{support}"
    )


def headline(result: xr.Dataset) -> list[str]:
    """Return the metric whose required difference most comparisons reach."""
    frame = with_labels(swap.sensitivity(result))
    size = sizes_of(result)[-1]
    strictest = frame[(frame["confidence"] == frame["confidence"].max()) & (frame["size"] == size)]
    known = strictest.dropna(subset="share")
    samples = (
        f"{result.attrs['n_runs']} runs, samples of {size} topics ({result.attrs['sampling']})"
    )
    if known.empty:
        confidence = strictest["confidence"].iloc[0]
        return [f"at {confidence:.0%} confidence no metric has a required difference; {samples}"]
    best = known.iloc[0]
    return [
        f"at {best['confidence']:.0%} confidence {best['label']} is the most sensitive: a difference of "
        f"{best['required_difference']:.2f} is required, and {best['share']:.1%} of the comparisons reach it; {samples}",
        *_by_size(frame[frame["label"] == best["label"]], float(best["confidence"])),
    ]


def _by_size(frame: pd.DataFrame, confidence: float) -> list[str]:
    """Return the differences that a metric needs by size, if there are several sizes."""
    chosen = frame[frame["confidence"] == confidence].sort_values("size")
    if len(chosen) < 2:
        return []
    needs = [
        f"{'none' if missing else cell_text('required_difference', row.required_difference)} with {row.size}"
        for row, missing in zip(
            chosen.itertuples(), chosen["required_difference"].isna(), strict=True
        )
    ]
    return [f"required difference by sample size: {', '.join(needs)}"]


def page_tables(frames: Frames) -> Headed:
    """Return the sensitivity table of each confidence, without the columns that are equal in all rows."""
    frame = frames["sensitivity"].drop(columns=["trials", "sampling"])
    first, suffix = frame["required_difference_first"], frame["required_difference"]
    if ((first == suffix) | (first.isna() & suffix.isna())).all():
        frame = frame.drop(columns="required_difference_first")
    tables = [
        (f"Sensitivity at {confidence:.0%} confidence", part.drop(columns="confidence"))
        for confidence, part in frame.groupby("confidence", sort=False)
    ]
    return [*tables, ("Topics in the samples", frames["overlap"])]


def most_sensitive(frame: pd.DataFrame) -> str:
    """Return the most sensitive metric and its required difference, at the highest confidence and the largest size."""
    strictest = frame[
        (frame["confidence"] == frame["confidence"].max()) & (frame["size"] == frame["size"].max())
    ]
    known = strictest.dropna(subset="share").sort_values("share", ascending=False, kind="stable")
    return (
        f"{known['label'].iloc[0]} {known['required_difference'].iloc[0]:.2f}"
        if len(known)
        else NONE
    )


def discrimination(findings: Findings) -> Lines:
    """Yield the metrics whose required difference most comparisons reach."""
    frame = _strictest(findings)
    known = frame.dropna(subset="share").sort_values("share", ascending=False, kind="stable")
    if known.empty:
        return
    where = f"swap method, {known['confidence'].iloc[0]:.0%} confidence, samples of {value_range(known['size'], 'd')} topics"
    if known[COLLECTION].nunique() == 1:
        row = known.iloc[0]
        yield (
            f"{row['label']} is the most sensitive metric: {row['share']:.1%} of the comparisons reach its required difference.",
            where,
        )
    elif places := first_places(frame):  # metrics without a required difference do not take part
        yield f"The most sensitive metric is {places}.", where
    else:
        yield (
            f"Each collection has one metric: {value_range(known['share'], '.1%')} of the comparisons reach its required difference.",
            where,
        )


def required_differences(findings: Findings) -> Lines:
    """Yield the differences that the swap method requires, of the most sensitive metrics."""
    frame = _strictest(findings)
    known = frame.dropna(subset="required_difference")
    where = (
        f"swap method, at most {1 - frame['confidence'].iloc[0]:.0%} of the comparisons swapped, {findings.facts[0]['sampling']} samples "
        f"of {value_range(frame['size'], 'd')} topics"
    )
    if known.empty:
        yield "No metric has a required difference.", where
        return
    needs = [
        f"{label} {value_range(known.loc[known['label'] == label, 'required_difference'], '.2f')}"
        for label in labels_by_share(known)
    ]
    named = first_of(needs, rest=", and {} more in the table")
    span = (
        f" over {known[COLLECTION].nunique()} collections"
        if known[COLLECTION].nunique() > 1
        else ""
    )
    yield (
        f"Required differences in mean score, which another topic set is likely to confirm: {named}{span}. With more topics smaller differences suffice.",
        where,
    )


def _strictest(findings: Findings) -> pd.DataFrame:
    """Return the rows of the highest confidence and of each collection's largest size."""
    frame = with_labels(findings.first_table)
    frame = frame[frame["confidence"] == frame["confidence"].max()]
    strictest: pd.DataFrame = frame[
        frame["size"] == frame.groupby(COLLECTION)["size"].transform("max")
    ]
    return strictest


def cautions(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return remarks on metrics without a required difference, extrapolations, and topics in both samples."""
    remarks = []
    frame = merge_gains(frames["sensitivity"])
    strictest = frame[
        (frame["confidence"] == frame["confidence"].max()) & (frame["size"] == frame["size"].max())
    ]
    none = list(dict.fromkeys(strictest.loc[strictest["required_difference"].isna(), "metric"]))
    if none:
        text = f"Metrics have no required difference at {strictest['confidence'].iloc[0]:.0%} confidence."
        remarks.append((text, first_of(none)))
    if result.sizes[names.SIZE] >= 3:
        text = "Dashed curves beyond the largest sample are extrapolations of a fitted decay, not measurements."
        remarks.append((text, f"beyond {int(result[names.SIZE].max())} topics"))
    if result.attrs["sampling"] == "replacement":
        text = "Samples with replacement overlap, so swap rates underestimate those of new topics."
        remarks.append((text, f"{float(result['common'].isel(size=-1)):.0f} topics in common"))
    return remarks


VIEW = View(
    name="swap",
    heading="Swap method",
    about=(
        "Two topic sets are drawn, and every pair of runs is compared on both. The swap rate is the share of comparisons in which the "
        "two sets disagree about the better run, given the difference seen on the first. The required difference is the smallest "
        "from which on the swap rate does not exceed the accepted rate. A metric is more sensitive if a larger share of the comparisons "
        "reaches its required difference (column iv). The rates describe these runs and topics; they are not a significance test."
    ),
    tables={
        "sensitivity": Table(swap.sensitivity),
        "rates": Table(swap.rates),
        "overlap": Table(swap.overlap),
        "curves": Table(swap.curves),
    },
    title=title,
    caption=caption,
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.swap:swap_figure"),
    overview=on_demand("figures.swap:sensitivity_bars"),
    column=Column("most sensitive metric, required difference", most_sensitive),
    order=Order("share", more_is_better=True, conditions=("confidence", "size", "sampling")),
    answers={DISCRIMINATION: discrimination, DIFFERENCE: required_differences},
    cautions=cautions,
)
