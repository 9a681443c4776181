"""What is shown of boards: the leaderboard of the mean over collections, and systems by collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report import leaderboard
from scorecube.report.findings import Finding, with_number
from scorecube.report.leaderboard import answer, legend, title
from scorecube.report.phrases import noun, with_limits
from scorecube.report.tables import Table, declared, rows_along, where
from scorecube.report.text_formats import Bold, Marked, with_labels
from scorecube.report.view import LEADERBOARD, Column, Frames, Remarks, ResultGroup

COLLECTIONS = declared(
    "metric gain collection run",
    "metric gain collection topics weight run mean=collection_mean mean_low=collection_mean_low "
    "mean_high=collection_mean_high",
    long=True,
)
"""Means of runs in each collection, with the interval of each by itself."""


def matrix(result: xr.Dataset) -> pd.DataFrame:
    """Systems by collections, best first: the mean over collections, and that of each with its limits; the largest mean in bold, which does not say that it differs."""
    frames = []
    for label, rows in with_labels(COLLECTIONS.make(result)).groupby("label", sort=False):
        cell = result.sel(
            {names.METRIC: rows[names.METRIC].iloc[0], names.GAIN: rows[names.GAIN].iloc[0]}
        )
        order = cell["rank"].to_series().sort_values(kind="stable").index
        over = cell["mean"].to_series()
        columns: dict[str, Any] = where(result) | {
            "metric": str(label),
            names.RUN: list(order),
            "mean over collections": [Bold(f"{over[order[0]]:.4f}")]
            + [Marked(f"{over[run]:.4f}") for run in order[1:]],
        }
        for name, own in rows.groupby(names.COLLECTION, sort=False):
            of_run = own.set_index(names.RUN).loc[order]
            best = of_run["mean"].max()
            columns[str(name)] = [
                (Bold if each["mean"] == best else Marked)(
                    with_limits(each["mean"], each["mean_low"], each["mean_high"])
                )
                for each in of_run.to_dict("records")
            ]
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def answers(group: ResultGroup) -> Iterator[Finding]:
    """Yield which run leads by each metric over the collections, and how many neighbours are separated."""
    for result in group.results:
        one = ResultGroup(group.heading, group.title, group.frames, [result])
        n, n_runs = result.sizes.get(names.COLLECTION, 1), result.sizes[names.RUN]
        separated = result["separated_neighbours"]
        labels = labels_of(result, names.METRIC)
        for place, each in enumerate(answer(one)):
            found = int(separated.values.ravel()[min(place, separated.size - 1)])
            said = each.sentence.replace(" on these topics", " on these collections")
            yield replace(
                each,
                sentence=f"mean over {counted(n, 'collection')}, {said}; {found} of {n_runs - 1} neighbouring pairs are separated",
            )
        if separated.size < len(labels):
            return


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield how many neighbours are separated by each metric, then what is said of leaderboards."""
    for label, found in zip(
        labels_of(result, names.METRIC), result["separated_neighbours"].values[:, 0], strict=True
    ):
        yield with_number(
            f"{label}: {found} of {result.sizes[names.RUN] - 1} pairs of neighbouring {noun(result.attrs)}s are separated (max-T test, all pairs together)",
            f"pairs of neighbouring {noun(result.attrs)}s by {label} that are separated",
            [int(found)],
            "pairs",
            table="systems",
        )
    yield from leaderboard.findings(result)


def cautions(result: xr.Dataset, frames: Frames) -> Remarks:
    """Yield what the mean over collections is about."""
    yield (
        "A mean over collections is about these collections, and other topics of each: nothing is said of other collections.",
        f"{counted(result.sizes.get(names.COLLECTION, 1), 'collection')}, {int(result.attrs['n_topics'])} topics",
    )
    yield (
        "No interval is known to hold for the mean rank (Borda): limits by resampling held .10 to .99 of the true mean ranks instead of .95.",
        "mean_rank",
    )
    yield from leaderboard.cautions(result, frames)


def title_of(options: Mapping[str, Any]) -> str:
    """Return the confidence, the weights and the standardisation."""
    words = [title(options)]
    words += [f"weights {', '.join(options['weights'])}"] if options.get("weights") else []
    how = options.get("standardise", "none")
    return ", ".join([*words, *([f"scores as {how}"] if how != "none" else [])])


_BASE = leaderboard.VIEWS["leaderboard"]
VIEW = replace(
    _BASE,
    name="board",
    heading="Board",
    about="Runs by their mean over collections. The interval of a mean, the rank set and the groups are those of a leaderboard, about these collections and other topics of each. "
    "Mean rank is the mean of a run's ranks in the collections (Borda), for which no interval is known to hold.",
    tables={
        "systems": _BASE.tables["systems"],
        "collections": COLLECTIONS,
        "matrix": Table(matrix, rows_along(names.RUN), legend=legend),
        "top": _BASE.tables["top"],
    },
    title=title_of,
    findings=findings,
    column=Column("runs that may be the best on the board", leaderboard.cell),
    answers={LEADERBOARD: answers},
    cautions=cautions,
)
