"""Tables of scores and judgements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.schema import labels_of
from scorecube.collection.topic_means import summarise
from scorecube.design import variances
from scorecube.report.tables.rows import COLLECTION


def means(cube: xr.Dataset) -> pd.DataFrame:
    """Mean score of every run, or the summary that the metric's prefix asks for (``geo:AP``); the best run of each metric first."""
    scores = summarise(cube)
    counts = cube[names.SCORE].count(names.TOPIC)
    teams = dict(zip(labels_of(cube, names.RUN), map(str, cube[names.TEAM].values), strict=True))
    frame = scores.to_series().rename("mean").reset_index()
    frame["team"] = frame[names.RUN].map(teams)
    frame["n_topics"] = counts.to_series().to_numpy()
    labels = [names.RUN, names.TEAM]
    if names.SYSTEM in cube.coords:
        systems = map(str, cube[names.SYSTEM].values)
        frame[names.SYSTEM] = frame[names.RUN].map(
            dict(zip(labels_of(cube, names.RUN), systems, strict=True))
        )
        labels.append(names.SYSTEM)
    frame.insert(0, COLLECTION, cube.attrs.get(COLLECTION, ""))
    cells = frame.groupby([names.METRIC, names.GAIN], sort=False).ngroup()
    best_first = frame.assign(cell=cells).sort_values(
        ["cell", "mean"], ascending=[True, False], kind="stable", ignore_index=True
    )
    return best_first[[COLLECTION, names.METRIC, names.GAIN, *labels, "mean", "n_topics"]]


def cells(cube: xr.Dataset) -> pd.DataFrame:
    """Score of every run on every topic."""
    frame = cube[names.SCORE].to_series().reset_index()
    frame.insert(0, COLLECTION, cube.attrs.get(COLLECTION, ""))
    return frame


def variance(cube: xr.Dataset) -> pd.DataFrame:
    """Within-system variance of every metric (S3 equation 1), which topic set size design takes; last, for comparison, the two-way residual."""
    found = variances(cube)
    frame = found.to_dataframe(dim_order=[names.METRIC, names.GAIN]).reset_index()
    frame.insert(0, COLLECTION, cube.attrs.get(COLLECTION, ""))
    return frame[
        [
            COLLECTION,
            names.METRIC,
            names.GAIN,
            "n_runs",
            "n_topics",
            "variance",
            "residual_variance",
        ]
    ]


def statistics(rankings: xr.Dataset) -> pd.DataFrame:
    """Size of a collection and of its judgements: mean number of documents judged at each level per topic (S1 Table 1)."""
    judged = rankings[names.N_JUDGED].values
    row: dict[str, Any] = {
        COLLECTION: rankings.attrs.get(COLLECTION, ""),
        "n_runs": rankings.sizes[names.RUN],
        "n_teams": len(set(map(str, rankings[names.TEAM].values))),
        "n_topics": rankings.sizes[names.TOPIC],
        "judged": int(judged.sum()),
    }
    row |= {f"n_level_{level}": float(judged[:, level].mean()) for level in range(judged.shape[1])}
    return pd.DataFrame([row])


def preferred_rank(rankings: xr.Dataset) -> pd.DataFrame:
    """Deepest preferred rank of every topic: how far down P-measure makes a user look (S1 Tables 7-9).

    A run's preferred rank r_p is the first rank of the highest level in its list. The run with the largest one is shown, of equal ones the
    first by name, with the documents of each level at or above that rank (`found_level_K`) and in all (`n_level_K`), highest level first.
    Run and rank are missing where no run found anything relevant.
    """
    level_at_rank, judged = rankings[schema.LEVEL_AT_RANK].values, rankings[names.N_JUDGED].values
    runs = labels_of(rankings, names.RUN)
    rows = []
    for j, topic in enumerate(labels_of(rankings, names.TOPIC)):
        levels = level_at_rank[:, j]
        # Unjudged documents are negative, so the highest level of a list without anything relevant is at most 0.
        ranks = np.where(levels.max(axis=-1, initial=0) > 0, levels.argmax(axis=-1) + 1, 0)
        run, rank = int(ranks.argmax()), int(ranks.max())
        found = levels[run, :rank]
        row: dict[str, Any] = {COLLECTION: rankings.attrs.get(COLLECTION, ""), names.TOPIC: topic}
        row |= {names.RUN: runs[run] if rank else None, names.RANK: rank or None}
        for level in range(judged.shape[1] - 1, 0, -1):
            row |= {
                f"found_level_{level}": int((found == level).sum()),
                f"n_level_{level}": int(judged[j, level]),
            }
        rows.append(row)
    # Objects, so that whole numbers stay whole beside missing ones, also of collections with fewer levels.
    return pd.DataFrame(rows, dtype=object)
