"""Truths of two kinds, on which intervals and tests of other modules are measured.

Populations: topics are drawn with replacement from a large real collection, whose topics are then all topics there are. Random-effects
models: scores are made of random parts with known means.

A truth is a function of a generator that returns a `Sample`. It is made by the functions below from what varies, and cubes of many
samples at once by `cubes`, a sample a metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr

from scorecube.workflow.api import cube_from_scores

Floats = np.ndarray[Any, np.dtype[np.float64]]
DATA = Path(__file__).parents[3] / "shared" / "data"
AT_ONCE = 50
"""Samples of a cube: they share their resamples of topics."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores of one sample of topics, and what is true of the runs.

    Parameters
    ----------
    scores
        (run, topic); with two metrics (2, run, topic).
    means
        (run,) or (2, run): means over infinitely many topics.
    groups
        (topic,): topic groups, the units that were drawn; None where topics were.
    """

    scores: Floats
    means: Floats
    groups: Any = None


Truth = Callable[[np.random.Generator], Sample]


def samples(truth: Truth, number: int, seed: int, start: int = 0) -> Iterator[Sample]:
    """Yield samples, each a function of the seed and its place alone."""
    for place in range(start, start + number):
        yield truth(np.random.default_rng((seed, place)))


def cube_of(scores: list[Floats], groups: Any = None) -> xr.Dataset:
    """Return scores (run, topic) of several samples as metrics of one cube, so that they are analysed together; with their topic groups, if any."""
    n_runs, n_topics = scores[0].shape
    labels = [f"r{j:03d}" for j in range(n_runs)], [f"t{j:03d}" for j in range(n_topics)]
    cube = cube_from_scores(
        {f"m{k:03d}": pd.DataFrame(each, *labels) for k, each in enumerate(scores)}
    )
    return cube if groups is None else cube.assign_coords(topic_group=("topic", [f"g{k:03d}" for k in groups]))  # fmt: skip


def cubes(truth: Truth, number: int, seed: int) -> Iterator[tuple[xr.Dataset, list[Sample], int]]:
    """Yield cubes of `AT_ONCE` samples each, with the samples and a seed for trials: ``number`` in all, whose scores are (run, topic)."""
    for start in range(0, number, AT_ONCE):
        drawn = list(samples(truth, min(AT_ONCE, number - start), seed, start))
        yield cube_of([each.scores for each in drawn], drawn[0].groups), drawn, seed + start


def unnamed(truth: Truth) -> Truth:
    """Return the samples of a truth without their topic groups."""

    def draw(chance: np.random.Generator) -> Sample:
        sample = truth(chance)
        return Sample(sample.scores, sample.means)

    return draw


# Populations: real collections.


def real_scores(name: str) -> Floats:
    """Return the scores (run, topic) of a file with a row for each topic, such as ``robust2004/ap_249topics.csv``."""
    return _table(DATA / name)


@cache
def _table(path: Path) -> Floats:
    table = pd.read_csv(path).drop(columns=["topic"], errors="ignore")
    return np.asarray(table.select_dtypes("number").to_numpy(float).T)


def population(scores: Floats, n_topics: int, equal: bool = False) -> Truth:
    """Return topics drawn with replacement from those of a collection.

    Parameters
    ----------
    scores
        (run, topic), or (2, run, topic) of two metrics.
    n_topics
        Topics of a sample.
    equal
        Whether each run is moved to mean 0. Moved runs can differ by a constant on most topics where scores have few values; `exchanged` has no such pairs.
    """
    means, n_all = scores.mean(axis=-1), scores.shape[-1]
    if equal:
        scores, means = scores - means[..., np.newaxis], np.zeros_like(means)

    def draw(chance: np.random.Generator) -> Sample:
        return Sample(scores[..., chance.integers(0, n_all, n_topics)], means)

    return draw


def exchanged(scores: Floats, n_topics: int) -> Truth:
    """Return topics of a collection whose runs are equal on their scores' grid: on each drawn topic the scores of pairs of runs are exchanged at random.

    Runs are paired by their order of means, nearest first. The runs of a pair have the same mean; those of different pairs do not.
    """
    order = np.argsort(scores.mean(axis=1), kind="stable")
    order = order[: len(order) // 2 * 2]
    kept = scores[order]
    means = np.repeat(kept.reshape(-1, 2, kept.shape[1]).mean(axis=(1, 2)), 2)

    def draw(chance: np.random.Generator) -> Sample:
        drawn = kept[:, chance.integers(0, kept.shape[1], n_topics)].reshape(-1, 2, n_topics)
        swapped = chance.random((len(drawn), 1, n_topics)) < 0.5
        return Sample(np.where(swapped, drawn[:, ::-1], drawn).reshape(-1, n_topics), means)

    return draw


def replaced(scores: Floats, n_topics: int) -> Truth:
    """Return topics of a collection whose runs are given one mean by scores that other runs have: on topic after topic, in an order that all runs share, a run gets the third largest (or least) score of the topic, until its mean is that of all.

    Near copies remain near copies, and none differ by a constant: they are replaced on the same topics but a few. Of the last topic a part is replaced.
    """
    order = np.random.default_rng(37).permutation(scores.shape[1])
    target, moved, ranked = float(scores.mean()), scores.copy(), np.sort(scores, axis=0)
    for row, donors in product(moved, (2, 0)):
        for topic in order:
            rest = (target - row.mean()) * len(row)
            step = ranked[-1 - donors if rest > 0 else donors, topic] - row[topic]
            if step * rest > 0:
                row[topic] += step if abs(step) <= abs(rest) else rest
    return population(moved, n_topics)


def grouped_population(scores: Floats, n_groups: int, size: int) -> Truth:
    """Return groups of similar topics of a collection, drawn whole: runs moved to mean 0.

    Topics are similar that follow each other on the first principal component of what is left of scores without the means of runs and topics.
    """
    rest = scores - scores.mean(axis=1, keepdims=True)
    likeness = np.linalg.svd(rest - rest.mean(axis=0))[2][0]
    groups = np.argsort(likeness, kind="stable")[: scores.shape[1] // size * size].reshape(-1, size)
    kept = scores[:, groups]
    kept = kept - kept.mean(axis=(1, 2), keepdims=True)

    def draw(chance: np.random.Generator) -> Sample:
        drawn = kept[:, chance.integers(0, len(groups), n_groups)].reshape(len(scores), -1)
        return Sample(drawn, np.zeros(len(scores)), np.repeat(np.arange(n_groups), size))

    return draw


# Random-effects models.


def topic_groups(
    n_groups: int, size: int, correlation: float, n_runs: int = 30, unequal: bool = False
) -> Truth:
    """Return normal scores of runs with equal means on topics that come in groups.

    Parameters
    ----------
    n_groups, size
        Groups of a sample, and topics of each.
    correlation
        Of a run's scores on two topics of a group, without what all runs share.
    unequal
        Whether sizes differ: half of the groups have one topic, the others the rest.
    """
    sizes = np.full(n_groups, size)
    if unequal:
        sizes[::2] = 1
        sizes[1::2] += (n_groups * size - sizes.sum()) // len(sizes[1::2])
    group = np.repeat(np.arange(n_groups), sizes)

    def draw(chance: np.random.Generator) -> Sample:
        shared = chance.standard_normal((n_runs + 1, n_groups))[:, group]
        own = chance.standard_normal((n_runs + 1, len(group)))
        parts = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
        return Sample(0.4 + 0.15 * parts[0] + 0.12 * parts[1:], np.full(n_runs, 0.4), group)

    return draw


def erratic(chance: np.random.Generator) -> Sample:
    """Return 50 topics of 30 runs that do not differ, of which one varies seven times as much."""
    scores = 0.4 + 0.15 * chance.standard_normal(50) + 0.05 * chance.standard_normal((30, 50))
    scores[0] += 0.35 * chance.standard_normal(50)
    return Sample(scores, np.full(30, 0.4))


def lenient_reciprocal_ranks(hits: Any, n_topics: int, likeness: float = 0.3) -> Truth:
    """Return reciprocal ranks where each document is relevant with a large probability, as under a lenient judge.

    The rank of the first relevant document is geometric, so the mean is -p log(p) / (1 - p).

    Parameters
    ----------
    hits
        (run,): probability p of each run.
    likeness
        Correlation of the normal scores of two runs on the same topic.
    """
    p = np.asarray(hits, float)
    means = -p * np.log(p) / (1 - p)

    def draw(chance: np.random.Generator) -> Sample:
        topic, own = chance.standard_normal(n_topics), chance.standard_normal((len(p), n_topics))
        u = ndtr(np.sqrt(likeness) * topic + np.sqrt(1 - likeness) * own)
        rank = np.maximum(np.ceil(np.log1p(-u) / np.log1p(-p[:, np.newaxis])), 1.0)
        return Sample(1.0 / rank, means)

    return draw


def grid_scores(mean: float, steps: int, n_topics: int, n_runs: int = 20, spread: float = 2.0) -> Truth:  # fmt: skip
    """Return scores k / steps of runs with one true mean, such as P@10 (10 steps), accuracy or Success@5 (1).

    k is beta-binomial; with ``spread`` the sum of the shapes of the beta distribution.
    """
    means = np.full(n_runs, mean)

    def draw(chance: np.random.Generator) -> Sample:
        p = chance.beta(spread * mean, spread * (1 - mean), (n_runs, n_topics))
        return Sample(chance.binomial(steps, p) / steps, means)

    return draw


def near_equal_field(n_runs: int = 30, n_topics: int = 50, deviation: float = 0.01) -> Truth:
    """Return normal scores of runs whose true means hardly differ: the run that leads does so by chance."""

    def draw(chance: np.random.Generator) -> Sample:
        means = 0.3 + deviation * chance.standard_normal(n_runs)
        topic = 0.15 * chance.standard_normal(n_topics)
        rest = 0.13 * chance.standard_normal((n_runs, n_topics))
        return Sample(means[:, np.newaxis] + topic + rest, means)

    return draw


def two_generations(
    n_runs: int = 30, n_topics: int = 50, correlation: float = 0.0, apart: float = 5.0
) -> Truth:
    """Return scores under two metrics of systems of two kinds, half of each.

    Parameters
    ----------
    correlation
        Of the true means of two metrics over the systems of one kind.
    apart
        Difference of the kinds' means, in standard deviations within a kind.
    """
    kind = np.arange(n_runs) % 2

    def draw(chance: np.random.Generator) -> Sample:
        first, other = chance.standard_normal((2, n_runs))
        second = correlation * first + np.sqrt(1 - correlation**2) * other
        means = 0.04 * (np.array([first, second]) + apart * kind)
        topic = np.array([0.17, 0.2])[:, np.newaxis, np.newaxis] * chance.standard_normal((1, 1, n_topics))  # fmt: skip
        rest = chance.standard_normal((2, n_runs, n_topics))
        rest[1] = 0.7 * rest[0] + np.sqrt(1 - 0.7**2) * rest[1]
        deviations = np.array([0.125, 0.16])[:, np.newaxis, np.newaxis]
        return Sample(means[..., np.newaxis] + topic + deviations * rest, means)

    return draw


def near_duplicate_teams(n_teams: int = 10, size: int = 3, n_topics: int = 50) -> Truth:
    """Return scores under two metrics of teams whose systems are almost the same: their differences are a tenth of those of teams."""
    team = np.repeat(np.arange(n_teams), size)

    def draw(chance: np.random.Generator) -> Sample:
        base = chance.standard_normal((2, n_teams))
        own = chance.standard_normal((2, n_teams * size))
        base[1], own[1] = 0.8 * base[0] + 0.6 * base[1], 0.3 * own[0] + np.sqrt(1 - 0.09) * own[1]
        means = 0.1 * (base[:, team] + 0.1 * own)
        topic = 0.18 * chance.standard_normal((1, 1, n_topics))
        shared = chance.standard_normal((2, n_teams, n_topics))[:, team]
        rest = np.sqrt(0.8) * shared + np.sqrt(0.2) * chance.standard_normal((2, len(team), n_topics))  # fmt: skip
        rest[1] = 0.7 * rest[0] + np.sqrt(1 - 0.7**2) * rest[1]
        return Sample(means[..., np.newaxis] + topic + 0.14 * rest, means)

    return draw


def judged_reciprocal_ranks(n_runs: int = 20, n_topics: int = 50, likeness: float = 0.7) -> Truth:
    """Return reciprocal ranks under the truth and under a judge who finds more relevant: metrics 0 and 1.

    Parameters
    ----------
    likeness
        Correlation of the normal scores of both on a topic.
    """
    p = np.array([np.linspace(0.5, 0.9, n_runs), np.linspace(0.7, 0.95, n_runs)])
    means = -p * np.log(p) / (1 - p)

    def draw(chance: np.random.Generator) -> Sample:
        topic = chance.standard_normal(n_topics)
        z = chance.standard_normal((2, n_runs, n_topics))
        z[1] = likeness * z[0] + np.sqrt(1 - likeness**2) * z[1]
        u = ndtr(np.sqrt(0.3) * topic + np.sqrt(0.7) * z)
        rank = np.ceil(np.log1p(-u) / np.log1p(-p[..., np.newaxis]))
        return Sample(1.0 / np.maximum(rank, 1.0), means)

    return draw


def zero_inflated(n_runs: int = 20, n_topics: int = 50, zeros: float = 0.6) -> Truth:
    """Return scores that are 0 on most topics and beta(2, 3) on the others, under the truth and under a noisy judge: metrics 0 and 1."""
    means = np.full((2, n_runs), (1 - zeros) * 0.4)

    def draw(chance: np.random.Generator) -> Sample:
        shape = (n_runs, n_topics)
        value = chance.beta(2, 3, shape) * (chance.random(shape) >= zeros)
        other = chance.beta(2, 3, shape) * (chance.random(shape) >= zeros)
        return Sample(np.array([value, np.where(chance.random(shape) < 0.7, value, other)]), means)

    return draw
