"""Truths of two kinds, on which intervals and tests are measured.

Populations: topics are drawn with replacement from a large real collection, whose topics are then
all topics there are. Models: scores of known distributions, joined by normal scores that topics,
groups and families of runs share.

A truth is a function of a generator that returns a `Sample`. Cubes of many samples are made by
`cubes`, a sample a metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats
from scipy.special import ndtr

from scorecube import names
from scorecube.workflow.api import cube_from_scores

Floats = np.ndarray[Any, np.dtype[np.float64]]
Range = tuple[float, float]
DATA = Path(__file__).parents[3] / "shared" / "data"
AT_ONCE = 50
"""Samples of a cube: they share their resamples of topics."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores of one sample of topics, and what is true of the runs.

    scores: (run, topic); with two metrics (2, run, topic).
    means: (run,) or (2, run): means over infinitely many topics.
    groups: (topic,): topic groups, the units that were drawn; None where topics were.
    ends: Range of the scores; None if it has none.
    """

    scores: Floats
    means: Floats
    groups: Any = None
    ends: Range | None = None


Truth = Callable[[np.random.Generator], Sample]


def samples(truth: Truth, number: int, seed: int, start: int = 0) -> Iterator[Sample]:
    """Yield samples, each a function of the seed and its place alone."""
    for place in range(start, start + number):
        yield truth(np.random.default_rng((seed, place)))


def cube_of(scores: list[Floats], groups: Any = None, ends: Range | None = None) -> xr.Dataset:
    """Return scores (run, topic) of several samples as metrics of one cube, so that they are
    analysed together; with topic groups and a range, if any."""
    n_runs, n_topics = scores[0].shape
    labels = [f"r{j:03d}" for j in range(n_runs)], [f"t{j:05d}" for j in range(n_topics)]
    cube: xr.Dataset = cube_from_scores(
        {f"m{k:03d}": pd.DataFrame(each, *labels) for k, each in enumerate(scores)}
    )
    for name, end in zip((names.SCORE_LOW, names.SCORE_HIGH), ends or (), strict=False):
        cube = cube.assign_coords({name: ("metric", np.full(len(scores), end))})
    if groups is None:
        return cube
    return cube.assign_coords(topic_group=("topic", [f"g{k:03d}" for k in groups]))


def cubes(truth: Truth, number: int, seed: int) -> Iterator[tuple[xr.Dataset, list[Sample], int]]:
    """Yield cubes of `AT_ONCE` samples each, with the samples and a seed for trials: ``number`` in
    all, whose scores are (run, topic)."""
    for start in range(0, number, AT_ONCE):
        drawn = list(samples(truth, min(AT_ONCE, number - start), seed, start))
        first = drawn[0]
        cube = cube_of([each.scores for each in drawn], first.groups, first.ends)
        yield cube, drawn, seed + start


# Populations: real collections.


def real_scores(name: str) -> Floats:
    """Return the scores (run, topic) of a file with a row for each topic, such as
    ``robust2004/ap_249topics.csv``."""
    return _table(DATA / name)


@cache
def _table(path: Path) -> Floats:
    table = pd.read_csv(path).drop(columns=["topic"], errors="ignore")
    return np.asarray(table.select_dtypes("number").to_numpy(float).T)


def spread(scores: Floats, n_runs: int, best: float = 1.0) -> Floats:
    """Return some runs, evenly spread over the order of means of a share of the best."""
    order = np.argsort(-scores.mean(axis=1), kind="stable")
    chosen = np.linspace(0, best * (len(scores) - 1), n_runs).round().astype(int)
    return np.asarray(scores[order[chosen]])


def population(
    scores: Floats, n_topics: int, equal: bool = False, ends: Range | None = None
) -> Truth:
    """Return topics drawn with replacement from those of a collection.

    scores: (run, topic), or (2, run, topic) of two metrics.
    equal: Whether each run is moved to mean 0. Moved runs can differ by a constant on most topics
    where scores have few values; `exchanged` has no such pairs.
    """
    means, n_all = scores.mean(axis=-1), scores.shape[-1]
    if equal:
        scores, means = scores - means[..., np.newaxis], np.zeros_like(means)
    return lambda chance: Sample(scores[..., chance.integers(0, n_all, n_topics)], means, ends=ends)


def levelled(scores: Floats) -> Floats:
    """Return scores in 0 .. 1 whose runs are given one mean by powers, one a run: their order of
    topics, zeros and ones remain."""
    target, low, high = scores.mean(), np.full(len(scores), -9.0), np.full(len(scores), 9.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = (scores ** np.exp(middle)[:, np.newaxis]).mean(axis=1) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(scores ** np.exp(low)[:, np.newaxis])


def exchanged(scores: Floats, n_topics: int, ends: Range | None = None) -> Truth:
    """Return topics of a collection whose runs are equal on their scores' grid: on each drawn topic
    the scores of pairs of runs are exchanged at random.

    Runs are paired by their order of means, nearest first. The runs of a pair have the same mean;
    those of different pairs do not.
    """
    order = np.argsort(scores.mean(axis=1), kind="stable")
    order = order[: len(order) // 2 * 2]
    kept = scores[order]
    means = np.repeat(kept.reshape(-1, 2, kept.shape[1]).mean(axis=(1, 2)), 2)

    def draw(chance: np.random.Generator) -> Sample:
        drawn = kept[:, chance.integers(0, kept.shape[1], n_topics)].reshape(-1, 2, n_topics)
        swapped = chance.random((len(drawn), 1, n_topics)) < 0.5
        return Sample(
            np.where(swapped, drawn[:, ::-1], drawn).reshape(-1, n_topics), means, None, ends
        )

    return draw


def shuffled(scores: Floats, n_topics: int) -> Truth:
    """Return topics of a collection on each of which the scores are given to runs at random."""
    means = np.full(len(scores), scores.mean())

    def draw(chance: np.random.Generator) -> Sample:
        drawn = scores[:, chance.integers(0, scores.shape[1], n_topics)]
        return Sample(chance.permuted(drawn, axis=0), means)

    return draw


def grouped_population(scores: Floats, n_groups: int, size: int, equal: bool = False) -> Truth:
    """Return groups of similar topics of a collection with scores of 0 to 1, drawn whole; perhaps
    with runs moved to mean 0.

    Topics are similar that follow each other on the first principal component of what is left of
    scores without the means of runs and topics.
    """
    rest = scores - scores.mean(axis=1, keepdims=True)
    likeness = np.linalg.svd(rest - rest.mean(axis=0))[2][0]
    groups = np.argsort(likeness, kind="stable")[: scores.shape[1] // size * size].reshape(-1, size)
    kept = scores[:, groups]
    if equal:
        kept = kept - kept.mean(axis=(1, 2), keepdims=True)
    means, group = kept.mean(axis=(1, 2)), np.repeat(np.arange(n_groups), size)

    def draw(chance: np.random.Generator) -> Sample:
        drawn = kept[:, chance.integers(0, len(groups), n_groups)].reshape(len(scores), -1)
        return Sample(drawn, means, group, None if equal else (0.0, 1.0))

    return draw


# Models.


class Law(NamedTuple):
    """A distribution of scores: its values, ascending, the share of each, and whether they are
    known to lie between 0 and 1."""

    values: Floats
    shares: Floats
    bounded: bool = True

    @property
    def mean(self) -> float:
        """Mean over infinitely many topics."""
        return float(self.values @ self.shares)


def binary(p: float) -> Law:
    """Return scores 0 and 1, such as accuracy."""
    return Law(np.array([0.0, 1.0]), np.array([1 - p, p]))


def graded(p: float, steps: int = 10, width: float = 2.0) -> Law:
    """Return beta-binomial scores k / steps, such as P@10; ``width`` is the sum of the shapes of
    the beta distribution."""
    k = np.arange(steps + 1)
    return Law(k / steps, stats.betabinom.pmf(k, steps, width * p, width * (1 - p)))


def reciprocal_rank(p: float, deepest: int = 50) -> Law:
    """Return reciprocal ranks of the first relevant document, if each of the first 50 is relevant
    with probability p; else 0."""
    rank = np.arange(deepest, 0, -1)
    shares = p * (1 - p) ** (rank - 1)
    return Law(np.append(0.0, 1 / rank), np.append(1 - shares.sum(), shares))


def zero_inflated(zeros: float) -> Law:
    """Return scores that are 0 on most topics, and beta(2, 3) on the others."""
    values = stats.beta.ppf((np.arange(500) + 0.5) / 500, 2, 3)
    return Law(np.append(0.0, values), np.append(zeros, np.full(500, (1 - zeros) / 500)))


def continuous(distribution: Any) -> Law:
    """Return scores without a range: 2,000 quantiles of a distribution of `scipy.stats`."""
    return Law(distribution.ppf((np.arange(2000) + 0.5) / 2000), np.full(2000, 1 / 2000), False)


def normal(mean: float = 0.4, deviation: float = 0.2) -> Law:
    """Return normal scores."""
    return continuous(stats.norm(mean, deviation))


def made(
    laws: Sequence[Law],
    topics: int | Sequence[int],
    *,
    shared: float = 0.5,
    within: float = 0.0,
    family: int = 1,
    likeness: float = 0.97,
) -> Truth:
    """Return scores of runs with known distributions.

    laws: Of each run.
    topics: Number of topics; or the topics of each group.
    shared: Correlation of the normal scores of two runs on a topic.
    within: That of a run on two topics of a group.
    family, likeness: Runs that are near copies of each other, and their correlation, beyond what
    all runs share.
    """
    sizes = np.ones(topics, int) if isinstance(topics, int) else np.asarray(topics)
    group = np.repeat(np.arange(len(sizes)), sizes)
    edges = [np.cumsum(law.shares)[:-1] for law in laws]
    means = np.array([law.mean for law in laws])
    ends = (0.0, 1.0) if all(law.bounded for law in laws) else None

    def scores_of(chance: np.random.Generator, rows: int) -> Floats:
        own = chance.standard_normal((rows, len(group)))
        if not within:
            return own
        common = chance.standard_normal((rows, len(sizes)))[:, group]
        return np.asarray(np.sqrt(within) * common + np.sqrt(1 - within) * own)

    def draw(chance: np.random.Generator) -> Sample:
        own = scores_of(chance, len(laws))
        if family > 1:
            parents = scores_of(chance, -(-len(laws) // family)).repeat(family, axis=0)
            own = np.sqrt(likeness) * parents[: len(laws)] + np.sqrt(1 - likeness) * own
        u = ndtr(np.sqrt(shared) * scores_of(chance, 1) + np.sqrt(1 - shared) * own)
        rows = [
            law.values[np.searchsorted(edge, x)]
            for law, edge, x in zip(laws, edges, u, strict=True)
        ]
        return Sample(np.array(rows), means, group if len(sizes) < len(group) else None, ends)

    return draw


def unequal_sizes(n_groups: int, mean: int = 5) -> list[int]:
    """Return sizes of groups: half have one topic, the others the rest."""
    return [1, 2 * mean - 1] * (n_groups // 2) + [mean] * (n_groups % 2)
