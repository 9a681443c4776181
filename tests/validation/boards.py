"""Boards of many collections on known truths: family-wise error, coverage of limits and rank sets, and gates.

A truth is one of `truths.Truth` for each collection, all with the same runs. Sizes are very unequal: 20 to 1,000 topics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr

import scorecube as sc
from scorecube.workflow.api import analyse
from tests.validation.rates import ERROR, Values, collected, covers, true_ranks
from tests.validation.truths import (
    Floats,
    Sample,
    Truth,
    cube_of,
    near_equal_field,
    population,
    real_scores,
)

Board = Sequence[Truth]
NUMBERS = (4, 10, 40)
N_RUNS, TRIALS, AT_ONCE = 20, 400, 50
FILES = (
    "adhoc6/ap.csv", "web2012/err20.csv", "adhoc7/rr.csv", "syndl-dl2020/nist-nDCG10.csv", "adhoc8/p10.csv", "web2014/err20.csv", "web2011/ap.csv", "web2013/err20.csv",
)  # fmt: skip


def sizes(number: int) -> list[int]:
    """Return the topics of each of some collections.

    Examples
    --------
    >>> sizes(4)
    [20, 74, 271, 1000]
    """
    return [round(each) for each in np.geomspace(20, 1000, number).tolist()]


def probit(n_topics: int, deviation: float) -> Truth:
    """Return scores 0 and 1 that depend on how hard a topic is; runs have true means about .6 that vary by about a third of ``deviation``."""

    def draw(chance: np.random.Generator) -> Sample:
        ability = 0.35 + deviation * chance.standard_normal(N_RUNS)
        hard = chance.standard_normal(n_topics)
        scores = ability[:, np.newaxis] + hard + chance.standard_normal((N_RUNS, n_topics)) > 0
        return Sample(scores.astype(float), ndtr(ability / np.sqrt(2.0)))

    return draw


def normal_board(number: int, deviation: float) -> Board:
    """Return a board of normal scores."""
    return [near_equal_field(N_RUNS, n, deviation) for n in sizes(number)]


def binary_board(number: int, deviation: float) -> Board:
    """Return a board of scores 0 and 1."""
    return [probit(n, deviation) for n in sizes(number)]


@cache
def _runs(file: str) -> Floats:
    scores = real_scores(file)
    chosen = np.linspace(0, len(scores) - 1, N_RUNS).round().astype(int)
    return np.asarray(scores[chosen])


def real_board(number: int, equal: bool) -> Board:
    """Return a board of topics drawn with replacement from public collections; with equal means each run is moved to mean 0 in each."""
    files = [FILES[k % len(FILES)] for k in range(number)]
    return [population(_runs(file), n, equal) for file, n in zip(files, sizes(number), strict=True)]


def samples_of(board: Board, number: int, seed: int) -> list[list[Sample]]:
    """Return samples of each collection, each a function of the seed, its collection and its place."""
    return [
        [truth(np.random.default_rng((seed, place, k))) for place in range(number)]
        for k, truth in enumerate(board)
    ]


def results(board: Board, number: int, seed: int, analysis: Any) -> Any:
    """Yield results of samples that are analysed together as metrics, with the samples of each collection, and the names of the collections."""
    drawn = samples_of(board, number, seed)
    for start in range(0, number, AT_ONCE):
        part = [each[start : start + AT_ONCE] for each in drawn]
        cubes = {
            f"c{k:02d}": cube_of([sample.scores for sample in each]) for k, each in enumerate(part)
        }
        joined = sc.join_collections(cubes)
        yield analyse(joined, analysis, trials=TRIALS, seed=seed + start), part, cubes


def true_means(part: Sequence[Sequence[Sample]], place: int) -> tuple[Floats, Floats]:
    """Return the true means in each collection (collection, run) of a sample, and over them."""
    means = np.array([each[place].means for each in part])
    return means, means.mean(axis=0)


def family_error(board: Board, number: int, seed: int) -> Values:
    """Return whether any pair is separated where all means are equal."""
    rows: list[dict[str, Any]] = []
    for result, _, _ in results(board, number, seed, sc.Board()):
        low, high = (result[name].values[:, 0] for name in ("rank_low", "rank_high"))
        separated = (low > 1).any(axis=1) | (high < low.shape[1]).any(axis=1)
        rows += [{"any pair separated": each} for each in separated]
    return collected(rows)


def coverage(board: Board, number: int, seed: int) -> Values:
    """Return which share of limits hold the true means over collections, and whether all rank sets hold."""
    rows: list[dict[str, Any]] = []
    for result, part, _ in results(board, number, seed, sc.Board()):
        values = {name: result[name].values[:, 0] for name in result.data_vars if result[name].dims[-1:] == ("run",) and result[name].ndim == 3}  # fmt: skip
        for place in range(len(part[0])):
            truth = true_means(part, place)[1]
            own = {name: each[place] for name, each in values.items()}
            leads = int(np.argmax(own["mean"]))
            low, high = true_ranks(truth)
            hold = (own["rank_low"] <= low) & (own["rank_high"] >= high)
            rows.append(
                {
                    "means": np.delete(
                        covers(own["mean_low"], own["mean_high"], truth), leads
                    ).mean(),
                    "leader": covers(own["mean_low"], own["mean_high"], truth)[leads],
                    "all rank sets": hold.all(),
                }
            )
    return collected(rows)


def gates(board: Board, number: int, seed: int) -> Values:
    """Return whether limits of the difference of two runs hold, of the mean too, and whether a gate whose margin is the true loss wrongly passes."""
    rows: list[dict[str, Any]] = []
    drawn = samples_of(board, number, seed)
    for place in range(number):
        part = [[each[place]] for each in drawn]
        cubes = {f"c{k:02d}": cube_of([each[0].scores[:2]]) for k, each in enumerate(part)}
        first, second = next(iter(cubes.values()))["run"].values.tolist()
        means, truth = true_means(part, 0)
        gaps = np.append(means[:, 0] - means[:, 1], truth[0] - truth[1])
        if gaps[-1] > 0:
            first, second, gaps = second, first, -gaps
        margin = max(-float(gaps[-1]), 1e-9)
        found = sc.gate(cubes, first, second, margin=margin).isel(metric=0, gain=0)
        held = covers(found["low"].values, found["high"].values, gaps)
        passed = found["verdict"].values[-1] == "pass"
        rows.append(
            {
                "difference in a collection": held[:-1].mean(),
                "difference of means over collections": held[-1],
                f"passed at the margin {ERROR}": passed if margin > 1e-9 else np.nan,
            }
        )
    return collected(rows)


KINDS: dict[str, tuple[Callable[..., Board], Any, Any]] = {
    "normal scores": (normal_board, 0.0, 0.03),
    "0/1 scores": (binary_board, 0.0, 0.15),
    "topics of public collections": (real_board, True, False),
}
"""What makes a board of some collections, and its argument without and with differences of means."""
