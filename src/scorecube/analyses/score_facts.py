"""What scores and judgements show by themselves: how hard topics are, which runs they separate, and which of them would have sufficed.

Each function takes a cube, or rankings, and returns a dataset whose variables are described beside it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import design, names
from scorecube.analyses.base import Array
from scorecube.analyses.pair_tests.pair_scores import comparable
from scorecube.collection.schema import (
    CELL,
    LEVEL_AT_RANK,
    Variable,
    annotate,
    labels_of,
    limits,
    variables,
)
from scorecube.collection.topic_means import summarise
from scorecube.design.variance import VARIABLES
from scorecube.statistics.integer_scores import single_scores

QUANTILES = (0.025, 0.975)
"""Of random subsets of topics."""
_TOPIC = (*CELL, names.TOPIC)
_SIZE = (*CELL, names.SIZE)
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
SEPARATION = (
    *variables(_TOPIC, "share", form=".1%", share="share of the sum of contributions"),
    *variables(
        *(_TOPIC, "estimate"),
        contribution="mean of what the topic adds to the effect sizes of pairs of runs",
        tau_rest="Kendall's tau-b of the runs on the topic and by their means on the others",
    ),
    *variables(
        *(_TOPIC, "count", "pairs"),
        favours="pairs of runs that the topic orders as their means do",
        opposes="pairs of runs that it orders in the other way",
    ),
    *variables(
        *(CELL, "count", "pairs"),
        pairs="pairs of runs with different means, and different differences",
    ),
)
SUBSETS = (
    *variables(
        *(_SIZE, "estimate"),
        best="tau of the best subset that was found",
        random_mean="mean tau of random subsets",
        worst="tau of the worst subset that was found",
    ),
    *limits(
        "random_mean", _SIZE, "1", "{} end of the range of 95 % of random subsets", name="random"
    ),
    *variables(
        *(_SIZE, "label"),
        best_topics="topics of the best subset",
        worst_topics="topics of the worst subset",
    ),
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
VARIANCE = VARIABLES
"""Of `variance`."""


def means(cube: xr.Dataset) -> xr.Dataset:
    """Return the mean score of every run, or the summary that the metric's prefix asks for (``geo:AP``), with teams and systems: `MEANS`."""
    counts = cube[names.SCORE].count(names.TOPIC)
    found = cube.drop_vars(names.SCORE).assign(mean=summarise(cube), n_topics=counts)
    return annotate(found, MEANS)


def variance(cube: xr.Dataset) -> xr.Dataset:
    """Return the within-system variance of every metric (Sakai and Shang 2016, equation 1), and the two-way residual, of `scorecube.design`."""
    return design.variances(cube).assign_attrs(cube.attrs)


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


def separation(cube: xr.Dataset) -> xr.Dataset:
    """Return how much every topic separates the runs in the order of their means, for these runs and topics: `SEPARATION`.

    Of two runs the better one by mean stands first in every difference. ``contribution`` is the mean over all pairs of the difference on
    this topic, divided by the standard deviation of the pair's differences over topics: what the topic adds to the pairs' effect sizes d_z,
    whose mean over pairs is the mean of this column. ``share`` is its share of the sum over topics; 1 / n if all topics did the same, and
    negative for a topic that speaks against the order on the whole. Pairs with equal means or with the same difference on all topics are
    left out; a topic without the score of a run counts for none of its pairs.
    """
    return _dataset(
        cube,
        _by_cell(cube, lambda scores: pair_contributions(scores) | {"tau_rest": _tau_rest(scores)}),
        SEPARATION,
    )


def subsets(cube: xr.Dataset) -> xr.Dataset:
    """Return the subsets of topics of each size that rank the runs most and least like all topics, beside random ones: `SUBSETS`.

    tau is Kendall's, of the means over the subset and over all topics; see `analyses.topic_samples.subsets` (Guiver et al. 2009).
    """
    from scorecube.analyses.topic_samples.subsets import topic_subsets  # has kernels

    labels = labels_of(cube, names.TOPIC)

    def of_cell(scores: Array) -> dict[str, Any]:
        found = topic_subsets(scores)
        random = found.pop("random")
        low, high = np.quantile(random, QUANTILES, axis=0)
        for end in ("best_topics", "worst_topics"):
            found[end] = [" ".join(labels[topic] for topic in own) for own in found[end]]
        means = [column.mean() for column in random.T]
        return found | {"random_mean": means, "random_low": low, "random_high": high}

    return _dataset(cube, _by_cell(cube, of_cell), SUBSETS, size=np.arange(len(labels)) + 1)


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


def _by_cell(cube: xr.Dataset, compute: Callable[[Array], Mapping[str, Any]]) -> dict[str, Array]:
    """Return what a function of scores (run, topic) has for each metric and gain setting."""
    found = [[compute(scores) for scores in metric] for metric in _scores(cube)]
    return {name: np.array([[each[name] for each in row] for row in found]) for name in found[0][0]}


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


def _tau_rest(scores: Array) -> list[float]:
    """Return Kendall's tau-b of the runs on each topic and by their means on the others."""
    from scipy.stats import kendalltau  # takes long to import

    known = ~np.isnan(scores)
    # Sums are equal where means are.
    scores = comparable(scores, paired=bool(known.all()))[0]
    sums, counts = np.where(known, scores, 0.0).sum(axis=1), known.sum(axis=1)
    rest = []
    for k in range(scores.shape[1]):
        with np.errstate(invalid="ignore", divide="ignore"):
            others = (sums - np.where(known[:, k], scores[:, k], 0.0)) / (counts - known[:, k])
        both = known[:, k] & ~np.isnan(others)
        few = both.sum() < 2
        tau = math.nan if few else kendalltau(scores[both, k], others[both]).statistic
        rest.append(float(tau))
    return rest


def pair_contributions(scores: Array) -> dict[str, Any]:
    """Return the columns of `separation` that are sums over pairs of runs, one row of pairs at a time.

    scores: float64 (run, topic), NaN for missing.
    """
    whole, _, rounded = single_scores(scores)
    snap = 1.0 if rounded else 0.0
    n_runs, n = whole.shape
    total, favours, opposes = np.zeros((3, n))
    pairs = 0
    for run in range(n_runs - 1):
        z = whole[run] - whole[run + 1 :]
        z[np.abs(z) <= snap] = 0.0
        known = ~np.isnan(z)
        count, filled = known.sum(axis=1), np.where(known, z, 0.0)
        sums = filled.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            centred = np.where(known, z - (sums / count)[:, np.newaxis], 0.0)
            spread = np.sqrt((centred**2).sum(axis=1) / (count - 1))
        usable = (np.abs(sums) > snap * count) & (spread > snap)
        ordered = filled[usable] * np.sign(sums[usable])[:, np.newaxis]
        total += (ordered / spread[usable, np.newaxis]).sum(axis=0)
        favours += (ordered > 0).sum(axis=0)
        opposes += (ordered < 0).sum(axis=0)
        pairs += int(usable.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "contribution": total / pairs if pairs else np.full(n, np.nan),
            "share": total / total.sum() if pairs else np.full(n, np.nan),
            "favours": favours.astype(int),
            "opposes": opposes.astype(int),
            "pairs": pairs,
        }


def order(scores: Array) -> tuple[Any, Any]:
    """Return the positions of runs and of topics by their means over known scores, largest first; without any last."""
    known = ~np.isnan(scores)
    places = []
    for axis in (1, 0):
        with np.errstate(invalid="ignore"):
            mean = np.where(known, scores, 0.0).sum(axis=axis) / known.sum(axis=axis)
        places.append(np.argsort(np.where(np.isnan(mean), np.inf, -mean), kind="stable"))
    return places[0], places[1]
