"""Agreement of metrics with preferences of people, as scores: metrics are runs.

Topics are pairs of runs on a topic that people compared, which is their group (Sakai and Zeng 2021,
ACM TOIS 39: the share of people that agree with the sign of the metric's difference).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.arguments import as_cube
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import uses_gains
from scorecube.errors import BadInput, UnknownName
from scorecube.ingest.data_frames import columns_of
from scorecube.ingest.input_files import PathLike
from scorecube.ingest.objects import cube_from_scores

COLUMNS = ["topic", "run_a", "run_b", "preferred", "people"]
"""Columns of preferences; `preferred` is a run, or empty for neither."""


def read_preferences(path: PathLike) -> pd.DataFrame:
    """Read a table of topic, run_a, run_b, preferred (a run, or tie) and perhaps count."""
    rows: list[tuple[str, str, str, str, float]] = []
    for line, (topic, run_a, run_b, preferred, count) in columns_of(path, COLUMNS[:4], ["count"]):
        winner = "" if preferred.lower() == "tie" else preferred
        people = pd.to_numeric(count or "1", errors="coerce")
        if winner not in ("", run_a, run_b) or not 0 < people < np.inf or run_a == run_b:
            text = "expected two runs, the preferred one or tie, and a count above 0"
            raise BadInput(text, path, line)
        rows.append((topic, run_a, run_b, winner, float(people)))
    return pd.DataFrame(rows, columns=COLUMNS)


def agreement_with_preferences(cube: xr.Dataset, preferences: pd.DataFrame) -> xr.Dataset:
    """Return the agreement of metrics with preferences of people, as a cube.

    Its metric is the share of people that agree, missing where a score is; its runs are the metrics
    of `cube`, with the gain setting where there are several.

    preferences: A row for each, of `COLUMNS`.
    """
    cube = as_cube(cube)
    if preferences.empty:
        raise BadInput("no preferences: nothing to agree with")
    runs = np.sort(preferences[["run_a", "run_b"]].to_numpy(str), axis=1)
    wins = np.where(preferences["preferred"] == "", "no", preferences["preferred"] == runs[:, 0])
    said = preferences.assign(run_a=runs[:, 0], run_b=runs[:, 1], wins=wins)
    votes = said.groupby([*COLUMNS[:3], "wins"])["people"].sum().unstack()
    votes = votes.reindex(columns=["True", "False", "no"]).fillna(0.0)
    better, worse, neither = votes.to_numpy().T
    levels = (votes.index.get_level_values(level).to_numpy() for level in range(3))
    topics, first, second = (xr.DataArray(labels, dims="pair") for labels in levels)
    try:
        at, by = (cube[names.SCORE].sel(topic=topics, run=of).values for of in (first, second))
    except KeyError:
        raise UnknownName("preferences: a run or topic that is not in the scores") from None
    # Scores are equal up to 1e-12 of the largest of the metric, and of 1.
    largest = np.nanmax(np.abs(cube[names.SCORE].values), axis=(2, 3), initial=0.0, keepdims=True)
    limits = 1e-12 * np.maximum(1.0, largest[..., 0])
    signs = np.where(np.abs(at - by) <= limits, 0.0, np.sign(at - by))
    agreed = better * (signs > 0) + worse * (signs < 0) + neither * (signs == 0)
    shares = np.where(np.isnan(signs), np.nan, agreed / (better + worse + neither))
    uses = uses_gains(cube)
    labels = [f"{topic}: {a} / {b}" for topic, a, b in votes.index]
    gains = labels_of(cube, names.GAIN)
    rows = {
        f"{metric} {gain}" if uses[i] and len(gains) > 1 else metric: (i, j)
        for i, metric in enumerate(labels_of(cube, names.METRIC))
        # A metric that uses no gains has one score, whatever the gain settings.
        for j, gain in enumerate(gains if uses[i] else gains[:1])
    }
    of_rows = shares[tuple(zip(*rows.values(), strict=True))]
    groups = dict(zip(labels, topics.values, strict=True))
    agreement: xr.Dataset = cube_from_scores(
        {"agreement": of_rows}, runs=[*rows], topics=labels, topic_groups=groups
    )
    return agreement
