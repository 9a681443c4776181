"""Tables of scores and judgements."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.design import variances
from scorecube.report.tables.rows import COLLECTION
from scorecube.schema import labels_of
from scorecube.summaries import summarise


def means(cube: xr.Dataset) -> pd.DataFrame:
    """Mean score of every run, or the summary that the metric's prefix asks for (``geo:AP``)."""
    scores = summarise(cube)
    counts = cube[names.SCORE].count(names.TOPIC)
    teams = dict(zip(labels_of(cube, names.RUN), map(str, cube[names.TEAM].values), strict=True))
    frame = scores.to_series().rename("mean").reset_index()
    frame["team"] = frame[names.RUN].map(teams)
    frame["n_topics"] = counts.to_series().to_numpy()
    frame.insert(0, COLLECTION, cube.attrs.get(COLLECTION, ""))
    return frame[[COLLECTION, names.METRIC, names.GAIN, names.RUN, names.TEAM, "mean", "n_topics"]]


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
    return frame[[COLLECTION, names.METRIC, names.GAIN, "n_runs", "n_topics", "variance", "residual_variance"]]


def statistics(rankings: xr.Dataset) -> pd.DataFrame:
    """Size of a collection and of its judgements: mean number of documents judged at each level per topic (S1 Table 1)."""
    judged = rankings[names.N_JUDGED].values
    row: dict[str, Any] = {
        COLLECTION: rankings.attrs.get(COLLECTION, ""), "n_runs": rankings.sizes[names.RUN],
        "n_teams": len(set(map(str, rankings[names.TEAM].values))), "n_topics": rankings.sizes[names.TOPIC],
        "judged": int(judged.sum()),
    }  # fmt: skip
    row |= {f"n_level_{level}": float(judged[:, level].mean()) for level in range(judged.shape[1])}
    return pd.DataFrame([row])
