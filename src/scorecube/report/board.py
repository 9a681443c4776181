"""What is shown of boards: the leaderboard of the mean over collections, and systems by collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.errors import counted
from scorecube.report import leaderboard
from scorecube.report.findings import Finding, with_number
from scorecube.report.leaderboard import RUNS, leader, legend, of_cell, title
from scorecube.report.phrases import noun, with_limits
from scorecube.report.tables import Table, declared, rows_along, where
from scorecube.report.text_formats import Bold, Marked, with_labels
from scorecube.report.view import LEADERBOARD, Frames, Remarks, ResultGroup

COLLECTIONS = declared(
    "metric gain collection run",
    "metric gain collection topics weight run mean=collection_mean mean_low=collection_mean_low "
    "mean_high=collection_mean_high",
    long=True,
)
"""Means of runs in each collection, with the interval of each by itself."""


def by_label(result: xr.Dataset) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each metric, with its gain setting where it uses them, and the runs by the mean over collections, best first."""
    for label, rows in with_labels(RUNS.make(result)).groupby("label", sort=False):
        yield str(label), rows


def matrix(result: xr.Dataset) -> pd.DataFrame:
    """Systems by collections, best first: the mean over collections, and that of each with its limits; the best mean in bold, which does not say that it differs."""
    frames, single = [], with_labels(COLLECTIONS.make(result))
    for label, rows in by_label(result):
        runs, means = rows[names.RUN].tolist(), rows["mean"].tolist()
        columns: dict[str, Any] = where(result) | {
            "metric": label,
            names.RUN: runs,
            "mean over collections": [_marked(each, means[0], f"{each:.4f}") for each in means],
        }
        best = max if means[0] >= means[-1] else min
        for name, own in single[single["label"] == label].groupby(names.COLLECTION, sort=False):
            columns[str(name)] = [
                _marked(
                    each["mean"],
                    best(own["mean"]),
                    with_limits(each["mean"], each["mean_low"], each["mean_high"]),
                )
                for each in own.set_index(names.RUN).loc[runs].to_dict("records")
            ]
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def _marked(value: float, best: float, text: str) -> str:
    return Bold(text) if value == best else Marked(text)


def answers(group: ResultGroup) -> Iterator[Finding]:
    """Yield which run leads by each metric over the collections, and how many neighbours are separated."""
    for result in group.results:
        n = result.sizes.get(names.COLLECTION, 1)
        for _, rows in by_label(result):
            each, found = leader(rows, result), _separated(result, rows)
            said = each.sentence.replace(" on these topics", " on these collections")
            yield replace(
                each,
                sentence=f"mean over {counted(n, 'collection')}, {said}; {found} of {len(rows) - 1} neighbouring pairs are separated",
            )


def _separated(result: xr.Dataset, rows: pd.DataFrame) -> int:
    return int(of_cell(result, rows.iloc[0], "separated_neighbours"))


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield how many neighbours are separated by each metric, then what is said of leaderboards."""
    pairs = f"pairs of neighbouring {noun(result.attrs)}s"
    for label, rows in by_label(result):
        found = _separated(result, rows)
        yield with_number(
            f"{label}: {found} of {len(rows) - 1} {pairs} are separated (max-T test, all pairs together)",
            f"{pairs} by {label} that are separated",
            [found],
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
        "No interval is known to hold for the mean rank (Borda): limits by resampling held .72 to .96 of the true mean ranks instead of .95.",
        "mean_rank",
    )
    yield from leaderboard.cautions(result, frames)


def title_of(options: Mapping[str, Any]) -> str:
    """Return the confidence, the weights and the standardisation."""
    words = [title(options)]
    words += [f"weights {', '.join(options['weights'])}"] if options.get("weights") else []
    how = options.get("standardise", "none")
    return ", ".join([*words, *([f"scores as {how}"] if how != "none" else [])])


_BASE = leaderboard.VIEW
VIEW = replace(
    _BASE,
    name="board",
    heading="Board",
    about="Runs by their mean over collections. The interval of a mean, the rank set and the groups are those of a leaderboard, about these collections and other topics of each. "
    "Mean rank is the mean of a run's ranks in the collections (Borda), for which no interval is known to hold.",
    tables={
        "systems": _BASE.tables["systems"],
        "collections": COLLECTIONS,
        "matrix": Table(matrix, rows_along(names.METRIC, names.GAIN, names.RUN), legend=legend),
    },
    title=title_of,
    findings=findings,
    answers={LEADERBOARD: answers},
    cautions=cautions,
)
