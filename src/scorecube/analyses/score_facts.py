"""What scores and judgements show by themselves: means, how hard topics are, preferred ranks.

Each function takes a cube, or rankings, and returns a dataset whose variables are described beside it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import designs
from scorecube.analyses.base import Array
from scorecube.collection.schema import (
    CELL,
    LEVEL_AT_RANK,
    Variable,
    annotate,
    labels_of,
    variables,
)
from scorecube.collection.topic_means import summarise, without_other_summaries

_TOPIC = (*CELL, names.TOPIC)
_RANK = (names.TOPIC, names.LEVEL)
MEANS = (
    *variables(
        (*CELL, names.RUN), "estimate", "score", mean="mean score, or the metric's other summary"
    ),
    *variables((*CELL, names.RUN), "count", "topics", n_topics="topics with a score"),
)
DIFFICULTY = (
    *variables(
        *(_TOPIC, "estimate", "score"),
        mean="mean over runs",
        sd="standard deviation over runs",
        best_score="largest score of a run",
    ),
    *variables(_TOPIC, "share", zero_share="share of runs with a score of 0"),
    *variables(
        _TOPIC, "label", best_run="run with the largest score; of several the first by name"
    ),
    *variables(_TOPIC, "count", "runs", n_runs="runs with a score"),
)
STATISTICS = (
    *variables((), "count", "runs", n_runs="runs"),
    *variables((), "count", "teams", n_teams="teams"),
    *variables((), "count", "topics", n_topics="topics"),
    *variables((), "count", "documents", judged="documents judged, all topics together"),
    *variables(
        *((names.LEVEL,), "estimate", "documents"),
        n_level="mean number of documents of a level per topic",
    ),
    *variables(
        (), "estimate", "documents", n_relevant="mean number R of relevant documents per topic"
    ),
)
PREFERRED = (
    *variables(
        (names.TOPIC,), "label", preferred_run="run with the deepest preferred rank; None for none"
    ),
    *variables(
        (names.TOPIC,), "estimate", "rank", preferred="deepest preferred rank; missing for none"
    ),
    *variables(
        *(_RANK, "count", "documents"),
        found_level="documents of a level at or above the preferred rank",
        n_level="documents judged at a level",
    ),
)
"""Of `preferred_rank`, levels from the highest down to 1."""
VARIANCE = designs.VARIANCES
"""Of `variance`."""


def means(cube: xr.Dataset) -> xr.Dataset:
    """Return the mean score of every run, or the summary that the metric's prefix asks for (``geo:AP``), with teams and systems: `MEANS`."""
    counts = cube[names.SCORE].count(names.TOPIC)
    found = cube.drop_vars(names.SCORE).assign(mean=summarise(cube), n_topics=counts)
    return annotate(found, MEANS)


def variance(cube: xr.Dataset) -> xr.Dataset:
    """Return the within-system variance of every metric (Sakai and Shang 2016, equation 1), and the two-way residual, of `scorecube.design`."""
    return designs.variances(without_other_summaries(cube), "drop")


def difficulty(cube: xr.Dataset) -> xr.Dataset:
    """Return how hard every topic is: `DIFFICULTY`."""
    runs = np.array(labels_of(cube, names.RUN), object)
    scores = _scores(cube)
    known = ~np.isnan(scores)
    counts = known.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, scores, 0.0).sum(axis=2) / counts
        squares = np.where(known, scores - mean[:, :, np.newaxis], 0.0) ** 2
        deviation = np.sqrt(squares.sum(axis=2) / (counts - 1))
        zero = (scores == 0).sum(axis=2) / counts
    filled = np.where(known, scores, -np.inf)
    found = {
        "mean": mean,
        "sd": deviation,
        "zero_share": zero,
        "best_run": np.where(counts > 0, runs[filled.argmax(axis=2)], ""),
        "best_score": np.where(counts > 0, filled.max(axis=2), np.nan),
        "n_runs": counts,
    }
    return _dataset(cube, found, DIFFICULTY)


def statistics(rankings: xr.Dataset) -> xr.Dataset:
    """Return the size of a collection and of its judgements (Sakai 2007, Table 1): `STATISTICS`."""
    judged = rankings[names.N_JUDGED].transpose(names.TOPIC, names.LEVEL).values
    found = {
        "n_runs": rankings.sizes[names.RUN],
        "n_teams": len(set(map(str, rankings[names.TEAM].values))),
        "n_topics": rankings.sizes[names.TOPIC],
        "judged": int(judged.sum()),
        "n_level": judged.mean(axis=0),
        "n_relevant": judged[:, 1:].sum(axis=1).mean(),
    }
    return _dataset(rankings, found, STATISTICS, level=np.arange(judged.shape[1]))


def preferred_rank(rankings: xr.Dataset) -> xr.Dataset:
    """Return the deepest preferred rank of every topic: how far down P-measure makes a user look (Sakai 2007, Tables 7-9): `PREFERRED`.

    A run's preferred rank r_p is the first rank of the highest level in its list. Of runs with equal ranks the first by name is taken.
    """
    level_at_rank, judged = rankings[LEVEL_AT_RANK].values, rankings[names.N_JUDGED].values
    # Unjudged documents are negative, so the highest level of a list without anything relevant is at most 0.
    relevant = level_at_rank.max(axis=-1, initial=0) > 0
    ranks = np.where(relevant, level_at_rank.argmax(axis=-1) + 1, 0)
    run, rank = ranks.argmax(axis=0), ranks.max(axis=0)
    seen = np.arange(level_at_rank.shape[-1]) < rank[:, np.newaxis]
    levels = np.where(seen, level_at_rank[run, np.arange(len(run))], -1)
    shown = np.arange(judged.shape[1] - 1, 0, -1)
    runs = np.array(labels_of(rankings, names.RUN), object)
    found = {
        "preferred_run": np.where(rank > 0, runs[run], None),
        "preferred": np.where(rank > 0, rank, np.nan),
        "found_level": (levels[:, np.newaxis] == shown[:, np.newaxis]).sum(axis=-1),
        "n_level": judged[:, shown],
    }
    return _dataset(rankings, found, PREFERRED, level=shown)


def _scores(cube: xr.Dataset) -> Array:
    return np.asarray(cube[names.SCORE].transpose(*CELL, names.RUN, names.TOPIC).values)


def _dataset(
    source: xr.Dataset, found: Mapping[str, Any], described: tuple[Variable, ...], **labels: Array
) -> xr.Dataset:
    """Return variables with the labels and facts of what they are made from."""
    dims = {each.name: each.dims for each in described}
    coords = {
        dim: source[dim]
        for dim in dict.fromkeys(dim for own in dims.values() for dim in own)
        if dim in source.coords and dim not in labels
    }
    data = {name: (dims[name], values) for name, values in found.items()}
    return annotate(xr.Dataset(data, coords | labels, source.attrs), described)


def order(scores: Array) -> tuple[Any, Any]:
    """Return the positions of runs and of topics by their means over known scores, largest first; without any last."""
    known = ~np.isnan(scores)
    places = []
    for axis in (1, 0):
        with np.errstate(invalid="ignore"):
            mean = np.where(known, scores, 0.0).sum(axis=axis) / known.sum(axis=axis)
        places.append(np.argsort(np.where(np.isnan(mean), np.inf, -mean), kind="stable"))
    return places[0], places[1]
