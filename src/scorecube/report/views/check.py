"""View of checks of analyses against simulated truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube.report.tables import check as tables
from scorecube.report.text_formats import with_labels
from scorecube.report.views.view import Frames, Headed, Table, View, on_demand

MOST_LINES = 3


def decimal(share: Any) -> str:
    """Return a share with three decimals and without a leading zero."""
    return f"{share:.3f}".removeprefix("0") if share < 1 else "1"


def failures(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose coverage is below the nominal one, beyond the Monte Carlo error."""
    failing: pd.DataFrame = frame[frame["held_high"] < frame["nominal"]]
    return failing


def headline(result: xr.Dataset) -> list[str]:
    """Return what fails, else what holds least often; for claims without intervals, the largest errors."""
    frame = with_labels(tables.claims(result))
    stated = frame[frame["nominal"].notna()]
    failing = failures(stated)
    kind = "fails" if len(failing) else "least often true"
    chosen = (failing if len(failing) else stated).head(MOST_LINES)
    lines = [
        f"{row.label}: {kind}: {row.quantity} ({row.size}): holds in {decimal(row.held)} (95% {decimal(row.held_low)}-{decimal(row.held_high)}) of "
        f"{row.samples:,} samples, nominal {row.nominal:g}"
        for row in chosen.itertuples()
    ]
    others = frame[frame["nominal"].isna()].sort_values("error", ascending=False, kind="stable")
    lines += [
        f"{row.label}: {row.quantity} ({row.size}): {row.estimate:.3g} on average, true {row.truth:.3g}"
        for row in others.head(MOST_LINES).itertuples()
    ]
    if len(failing) > MOST_LINES:
        lines.append(f"{len(failing) - MOST_LINES} more claims fail; see the table claims")
    return lines


def page_tables(frames: Frames) -> Headed:
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
    words = [str(options["subject"])]
    words += [f"samples of {options['n']} topics"] if options["subject"] != "teams" else []
    words += ["equal means"] if options["null"] else []
    words += [f"{options['copula']} runs"] if options["copula"] != "gaussian" else []
    return ", ".join(words)


def cautions(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return what truth is, and what fails."""
    remarks = [
        (
            "Truth is that of a model which is fitted to the collection: the same runs, and topics drawn at random. Runs that are a sample of runs, and topics that "
            "are chosen, are no part of it.",
            f"{result.attrs['n_runs']} runs, {result.attrs['n_topics']} topics a sample",
        )
    ]
    failing = failures(frames["claims"])
    if len(failing):
        worst = failing.iloc[0]
        remarks.append(
            (
                "Some intervals or sets hold less often than stated: do not rely on them for collections like this one.",
                f"{len(failing)} claims; the worst: {worst['quantity']} by {worst['metric']}, {decimal(worst['held'])} (95% {decimal(worst['held_low'])}-{decimal(worst['held_high'])}) instead of {worst['nominal']:g}",
            )
        )
    return remarks


VIEW = View(
    name="check",
    heading="Checks against simulated truth",
    about=(
        "Samples of topics are drawn from a population that is fitted to this collection, and an analysis is run on each. The population is known, so that what the analysis "
        "says can be compared with what is true. An interval or a set with 95% confidence is right if it holds the truth in 95% of the samples."
    ),
    tables={"claims": Table(tables.claims)},
    title=title,
    caption=lambda result: (
        f"{result.attrs['trials']:,} samples. Left: how often intervals and sets hold the truth, with 95% limits over samples; the line is the nominal coverage. Right: "
        "estimates without intervals against the truth."
    ),
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.check:coverage"),
    cautions=cautions,
)
