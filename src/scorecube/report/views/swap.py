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
from scorecube.report.views.others import topics_and_teams
from scorecube.report.views.phrases import (
    MOST_NAMED,
    NONE,
    enumerated,
    first_of,
    labels_by_share,
    occurrences,
    sample_title,
    value_range,
)
from scorecube.report.views.questions import DIFFERENCE, DISCRIMINATION
from scorecube.report.views.view import (
    Column,
    Frames,
    Headed,
    Lines,
    Order,
    ResultGroup,
    Table,
    View,
    on_demand,
)
from scorecube.statistics.decay_curve import DECIDED_BY_TIES

SMALL = 0.01
"""Upper limit of a share below which shares have a decimal."""


def title(options: Mapping[str, Any]) -> str:
    """Return sampling, sizes, rule and options that differ from the usual."""
    odd = [name for name in ("signed", "symmetric") if options[name]]
    odd += ["a required difference may be 0"] if options["allow_zero"] else []
    odd += ["own samples for every pair"] if options["share"] == "none" else []
    if options["bins"] != "auto":
        odd.append(f"{options['bins']} bins of {options['bin_width']:g}, the last one open")
    elif options["bin_width"] != 0.01:
        odd.append(f"bins of {options['bin_width']:g}")
    rule = options.get("required", "suffix")  # version 0.1.0 had no other
    odd += [f"required difference by the {rule} rule"] if rule != "isotonic" else []
    return ", ".join([sample_title(options), f"rule {options['rule']}", *odd])


def caption(result: xr.Dataset) -> str:
    """Describe the figure: rates by difference, or, with several sizes, by size."""
    support = swap.support_note(result)
    if result.sizes[names.SIZE] == 1:
        return (
            f"{conditions(result)}. Bands are {swap.interval_note(result)}, of bins with 0.1% of the comparisons "
            f"or more; gaps are empty bins.{support}"
        )
    return (
        f"{conditions(result)}. Required difference and swap rates by topic set size; a gap is a bin that is empty or without any "
        f"swap. Dashed curves are fitted decays; beyond the grey line they are extrapolated to untested sizes.{support}"
    )


def headline(result: xr.Dataset) -> list[str]:
    """Return the metrics that are not separated from the most sensitive one, with their numbers and limits."""
    frame = with_labels(swap.sensitivity(result))
    size = sizes_of(result)[-1]
    strictest = frame[(frame["confidence"] == frame["confidence"].max()) & (frame["size"] == size)]
    samples = (
        f"{result.attrs['n_runs']} runs, samples of {size} topics ({result.attrs['sampling']})"
    )
    at = f"at {strictest['confidence'].iloc[0]:.0%} confidence"
    if strictest["share"].isna().all():
        return [f"{at} no metric has a required difference{_open_bins(strictest)}; {samples}"]
    first = leaders(strictest)
    limited = strictest["share_low"].notna().any()
    what = f" (95% limits for other {topics_and_teams(result.attrs)})" if limited else ""
    numbers = "; ".join(_numbers(row) for _, row in first[:MOST_NAMED].iterrows())
    return [
        f"{at} {_who_is_first(strictest, first)}; {samples}",
        f"required difference, share of comparisons with it{what}: {numbers}",
        *_by_size(frame[frame["label"] == first["label"].iloc[0]], first),
    ]


def leaders(strictest: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are not separated from the largest share, the largest first; without limits the largest alone.

    Parameters
    ----------
    strictest
        Rows of one confidence, size and collection of the sensitivity table.
    """
    ranked = strictest.sort_values("share", ascending=False, kind="stable", na_position="last")
    if ranked["share_behind_low"].isna().all():
        return ranked[:1]
    return ranked[~(ranked["share_behind_low"] > 0)]


def _who_is_first(strictest: pd.DataFrame, first: pd.DataFrame) -> str:
    """Return which metrics are the most sensitive, and what is known of the others."""
    labels = list(first["label"])
    if len(strictest) == 1:
        return f"{labels[0]} has a required difference"
    if len(first) > 1:
        return f"{enumerated(labels)} are not separable as the most sensitive metric"
    if strictest["share_behind_low"].isna().all():
        return (
            f"{labels[0]} has the largest share, without limits that would separate it from others"
        )
    return f"{labels[0]} is the most sensitive metric, separated from all others (95% for all differences of shares together)"


def _numbers(row: pd.Series) -> str:
    """Return required difference and share of a metric, with limits."""
    if pd.isna(row["required_difference"]):
        return f"{row['label']} none"
    from_open = ">= " if row["open_bin"] else ""
    required = f"{from_open}{row['required_difference']:.2f}{_span(row, 'required', '.2f')}"
    form = ".0%" if not row["share_high"] < SMALL else ".1%"
    return f"{row['label']} {required}, {row['share']:{form}}{_span(row, 'share', form)}"


def _span(row: pd.Series, name: str, form: str) -> str:
    """Return limits in parentheses; nothing without limits."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if pd.isna(low):
        return ""
    return f" ({format(low, form).removesuffix('%')} to {'no limit' if pd.isna(high) else format(high, form)})"


def _open_bins(strictest: pd.DataFrame) -> str:
    """Return what is known of metrics whose only accepted rate is that of the open bin."""
    known = strictest[strictest["open_bin"] & strictest["required_low"].notna()]
    named = [f"{row['label']} >= {row['required_low']:.2f}" for _, row in known.iterrows()]
    return f" below the open bin ({first_of(named)})" if named else ""


def _by_size(frame: pd.DataFrame, first: pd.DataFrame) -> list[str]:
    """Return the differences that a metric needs by size, if there are several sizes."""
    confidence = first["confidence"].iloc[0]
    chosen = frame[frame["confidence"] == confidence].sort_values("size")
    if len(chosen) < 2:
        return []
    needs = [
        f"{'none' if missing else cell_text(row.required_difference, '.2f')} with {row.size}"
        for row, missing in zip(
            chosen.itertuples(), chosen["required_difference"].isna(), strict=True
        )
    ]
    return [f"required difference of {first['label'].iloc[0]} by sample size: {', '.join(needs)}"]


def page_tables(frames: Frames) -> Headed:
    """Return the sensitivity table of each confidence, without the columns that are equal in all rows."""
    hidden = ["trials", "sampling", "share_behind", "share_behind_high", "max_difference"]
    frame = frames["sensitivity"].drop(columns=[*hidden, "required_difference_smooth"])
    for rule in ("required_difference_first", "required_suffix"):
        other, chosen = frame[rule], frame["required_difference"]
        if ((other == chosen) | (other.isna() & chosen.isna())).all():
            frame = frame.drop(columns=rule)
    frame = frame.drop(columns=[] if frame["open_bin"].any() else ["open_bin"])
    frame = frame.dropna(axis="columns", how="all")
    tables = [
        (f"Sensitivity at {confidence:.0%} confidence", part.drop(columns="confidence"))
        for confidence, part in frame.groupby("confidence", sort=False)
    ]
    return [*tables, ("Topics in the samples", frames["overlap"])]


def most_sensitive(frame: pd.DataFrame) -> str:
    """Return the metrics not separated from the most sensitive, with required differences, at the highest confidence and the largest size."""
    strictest = frame[
        (frame["confidence"] == frame["confidence"].max()) & (frame["size"] == frame["size"].max())
    ]
    if strictest["share"].isna().all():
        return NONE
    first = leaders(strictest).dropna(subset="required_difference")
    return first_of(
        [f"{row['label']} {row['required_difference']:.2f}" for _, row in first.iterrows()]
    )


def discrimination(group: ResultGroup) -> Lines:
    """Yield the metrics that are not separated from the most sensitive one, of each collection."""
    frame = _strictest(group)
    known = frame.dropna(subset="share")
    if known.empty:
        return
    where = f"swap method, {known['confidence'].iloc[0]:.0%} confidence, samples of {value_range(known['size'], 'd')} topics"
    parts = [part for _, part in frame.groupby(COLLECTION, sort=False)]
    if len(parts) == 1:
        first = leaders(frame)
        numbers = "; ".join(_numbers(row) for _, row in first[:MOST_NAMED].iterrows())
        about = (
            f" (95% limits for other {topics_and_teams(*group.facts)})"
            if first["share_low"].notna().any()
            else ""
        )
        sentence = f"{_who_is_first(frame, first)}. Required difference, share of comparisons with it{about}"
        yield f"{sentence}: {numbers}.", where
        return
    several = [part for part in parts if len(part) > 1 and part["share"].notna().any()]
    if several:
        named = [label for part in several for label in leaders(part)["label"]]
        limited = all(part["share_behind_low"].notna().any() for part in several)
        what = (
            "Not separable from the most sensitive metric"
            if limited
            else "Largest share (limits missing)"
        )
        yield (
            f"{what}: {occurrences(named)} of {len(several)} collections with several metrics.",
            where,
        )
    else:
        yield (
            f"Each collection has one metric: {value_range(known['share'], '.0%')} of the comparisons reach its required difference.",
            where,
        )


def required_differences(group: ResultGroup) -> Lines:
    """Yield the differences that the swap method requires, of the most sensitive metrics."""
    frame = _strictest(group)
    known = frame.dropna(subset="required_difference")
    n_collections = frame[COLLECTION].nunique()
    where = (
        f"swap method, at most {1 - frame['confidence'].iloc[0]:.0%} of the comparisons swapped, {group.facts[0]['sampling']} samples "
        f"of {value_range(frame['size'], 'd')} topics"
    )
    if known.empty:
        yield f"No metric has a required difference{_open_bins(frame)}.", where
        return
    needs = [_need(label, frame[frame["label"] == label]) for label in labels_by_share(frame)]
    named = first_of(needs, rest=", and {} more in the table")
    span = f" over {n_collections} collections" if n_collections > 1 else ""
    limited = n_collections == 1 and known["required_low"].notna().any()
    note = f" (95% limits for other {topics_and_teams(*group.facts)})" if limited else ""
    yield (
        f"Estimated required differences in mean score{note}: {named}{span}. They are about samples of {value_range(frame['size'], 'd')} topics.",
        where,
    )


def _need(label: str, rows: pd.DataFrame) -> str:
    """Return the required differences of a metric over collections, and in how many it has none."""
    known = rows.dropna(subset="required_difference")
    none = f"none in {len(rows) - len(known)} of {len(rows)}"
    if len(rows) == 1:
        span = (
            "none"
            if known.empty
            else f"{known['required_difference'].iloc[0]:.2f}{_span(known.iloc[0], 'required', '.2f')}"
        )
        return f"{label} {span}"
    if known.empty:
        return f"{label}: {none}"
    span = value_range(known["required_difference"], ".2f")
    return f"{label} {span}" if len(known) == len(rows) else f"{label} {span} ({none})"


def _strictest(group: ResultGroup) -> pd.DataFrame:
    """Return the rows of the highest confidence and of each collection's largest size."""
    frame = with_labels(group.first_table)
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
    remarks += _doubts(strictest, frames)
    if result.sizes[names.SIZE] >= 3:
        text = "Dashed curves beyond the largest sample are extrapolations of a fitted decay, not measurements."
        remarks.append((text, f"beyond {int(result[names.SIZE].max())} topics"))
    if result.attrs["sampling"] == "replacement":
        text = (
            "Samples with replacement overlap, so swap rates underestimate those of new topics; required differences are too small, and the coverage of their limits "
            "was measured for disjoint samples only."
        )
        remarks.append((text, f"{float(result['common'].isel(size=-1)):.0f} topics in common"))
    return remarks


def _doubts(strictest: pd.DataFrame, frames: Frames) -> list[tuple[str, str]]:
    """Return remarks on rules that disagree, limits that are missing, and bins that ties decide."""
    remarks = []
    rules = {"suffix": "required_suffix", "first": "required_difference_first"}
    other = [
        f"{row['metric']} {row['required_difference']:.2f}, "
        + ", ".join(f"{rule} {row[column]:.2f}" for rule, column in rules.items())
        for _, row in strictest.iterrows()
        if any(row[column] != row["required_difference"] for column in rules.values())
        and not row[["required_difference", *rules.values()]].isna().all()
    ]
    if other:
        text = (
            "The three rules of the required difference disagree: swap rates do not fall steadily."
        )
        remarks.append((text, first_of(other)))
    unlimited = strictest[strictest["required_low"].notna() & strictest["required_high"].isna()]
    unlimited = unlimited.dropna(subset="required_difference")
    if len(unlimited):
        text = "No upper limit of a required difference: without some group of topics or teams there is none."
        remarks.append((text, first_of(list(unlimited["metric"]))))
    if strictest["required_low"].isna().all():
        text = (
            "Required differences and shares have no limits for other topics and teams, and are about these alone: limits need "
            "4 topics, 4 teams (or runs without teams) and the isotonic rule."
        )
        remarks.append((text, ""))
    rates = frames.get("rates")
    if rates is not None and "tie_share" in rates:
        tied = rates[rates["tie_share"] > DECIDED_BY_TIES]
        if len(tied):
            text = (
                "Exact ties are most of the comparisons of some bins, and decide their swap rates."
            )
            remarks.append((text, first_of(list(dict.fromkeys(tied["metric"])))))
    return remarks


VIEW = View(
    name="swap",
    heading="Swap method",
    about=(
        "Two topic sets are drawn, and every pair of runs is compared on both. The swap rate is the share of comparisons in which the "
        "two sets disagree about the better run, given the difference seen on the first. The required difference is the lower edge of "
        "the first bin whose swap rate, fitted so that it does not increase with the difference, is at most the accepted rate. A metric "
        "is more sensitive if a larger share of the comparisons reaches its required difference (column share). 95% limits are about "
        "collections with as many other topics and teams of the same kind, each by itself; how far shares are behind the largest is limited for all pairs of metrics together, and "
        "metrics whose shares are not separated are named together. "
        "The rates are no significance test of any pair."
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
    bars=True,
    column=Column("most sensitive metric, required difference", most_sensitive),
    order=Order("share", more_is_better=True, conditions=("confidence", "size", "sampling")),
    answers={DISCRIMINATION: discrimination, DIFFERENCE: required_differences},
    cautions=cautions,
)
