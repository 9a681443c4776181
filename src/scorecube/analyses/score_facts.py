"""What scores and judgements show by themselves: means, sizes, preferred ranks."""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import LEVEL_AT_RANK, annotate, labels_of
from scorecube.declare import Variable, along

MEANS = along(
    ("metric", "gain", "run"),
    Variable("mean", "estimate", "mean score", "score"),
    Variable("n_topics", "count", "topics with a score", "topics"),
)
STATISTICS = (
    *along(
        (),
        Variable("n_runs", "count", "runs", "runs"),
        Variable("n_teams", "count", "teams", "teams"),
        Variable("n_topics", "count", "topics", "topics"),
        Variable("judged", "count", "documents judged, all topics together", "documents"),
        Variable(
            "n_relevant", "estimate", "mean number R of relevant documents", "documents", form=".1f"
        ),
    ),
    *along(
        ("level",),
        Variable("n_level", "estimate", "mean documents of a level", "documents", form=".1f"),
    ),
)
PREFERRED = (
    *along(
        ("topic",),
        Variable("preferred_run", "label", "run with the deepest preferred rank, if any"),
        Variable("preferred", "estimate", "deepest preferred rank", "rank"),
    ),
    *along(
        ("topic", "level"),
        Variable(
            "found_level",
            "count",
            "documents of a level at or above the preferred rank",
            "documents",
        ),
        Variable("n_level", "count", "documents judged at a level", "documents"),
    ),
)
"""Of `preferred_rank`, levels from the highest down to 1."""


def means(cube: xr.Dataset) -> xr.Dataset:
    """Return the mean score of every run: `MEANS`."""
    scores = cube[names.SCORE]
    rest = cube.drop_vars(names.SCORE)
    return annotate(rest.assign(mean=scores.mean("topic"), n_topics=scores.count("topic")), MEANS)


def statistics(rankings: xr.Dataset) -> xr.Dataset:
    """Return the size of a collection and of its judgements (Sakai 2007, Table 1): `STATISTICS`."""
    judged = rankings[names.N_JUDGED]
    values = {
        "n_runs": rankings.sizes[names.RUN],
        "n_teams": len(set(map(str, rankings[names.TEAM].values))),
        "n_topics": rankings.sizes[names.TOPIC],
        "judged": int(judged.sum()),
        "n_level": judged.mean(names.TOPIC),
        "n_relevant": judged.isel(level=slice(1, None)).sum(names.LEVEL).mean(),
    }
    levels = {names.LEVEL: np.arange(judged.sizes[names.LEVEL])}
    return annotate(xr.Dataset(values, levels, rankings.attrs), STATISTICS)


def preferred_rank(rankings: xr.Dataset) -> xr.Dataset:
    """Return the deepest preferred rank of every topic (Sakai 2007, Tables 7-9): `PREFERRED`.

    A run's preferred rank r_p is the first rank of the highest level in its list. Of runs with
    equal ranks the first by name is taken.
    """
    level_at_rank = rankings[LEVEL_AT_RANK].values
    judged = rankings[names.N_JUDGED].values
    # Unjudged documents are negative: a list without anything relevant has levels of at most 0.
    relevant = level_at_rank.max(axis=-1, initial=0) > 0
    ranks = np.where(relevant, level_at_rank.argmax(axis=-1) + 1, 0)
    run = ranks.argmax(axis=0)
    rank = ranks.max(axis=0)
    seen = np.arange(level_at_rank.shape[-1]) < rank[:, np.newaxis]
    levels = np.where(seen, level_at_rank[run, np.arange(len(run))], -1)
    shown = np.arange(judged.shape[1] - 1, 0, -1)
    runs = np.array(labels_of(rankings, names.RUN), object)
    n_found = (levels[:, np.newaxis] == shown[:, np.newaxis]).sum(axis=-1)
    values = {
        "preferred_run": (names.TOPIC, np.where(rank > 0, runs[run], None)),
        "preferred": (names.TOPIC, np.where(rank > 0, rank, np.nan)),
        "found_level": ((names.TOPIC, names.LEVEL), n_found),
        "n_level": ((names.TOPIC, names.LEVEL), judged[:, shown]),
    }
    coords = {names.TOPIC: rankings[names.TOPIC], names.LEVEL: shown}
    return annotate(xr.Dataset(values, coords, rankings.attrs), PREFERRED)
