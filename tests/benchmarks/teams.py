"""Leaving teams out: all runs that remain scored anew, per trial, against pytrec_eval with everything in memory.

Ours is the whole analysis through the public API: draws, scores of eight metrics, variance, ranks and means; what it does once whatever the
number of trials (checks, preparation, the runs without their own team, the labelled result) is shown apart. Of pytrec_eval only the evaluation
of the remaining runs with five measures is timed (it has no Q, P+ and nERR), on some of the runs and scaled; its reduced judgements are made
beforehand. Both are timed in turn, in processor time, and ratios are taken inside each turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.collection.pools import build_pools
from scorecube.testing import simulate_rankings
from tests.benchmarks.evaluate import POOL, REPEATS, document, installed, spread

METRICS = ("AP", "Q", "nDCG", "nDCG@10", "P@10", "RR", "nERR@10", "P+")
MEASURES = {"map", "ndcg", "ndcg_cut_10", "P_10", "recip_rank"}
SOME = 10
"""Runs that pytrec_eval evaluates."""
TRIALS = 10
"""Of each number of teams."""


@dataclass(frozen=True)
class Size:
    """Runs, teams, topics, relevant documents of each level in a topic, length of lists, depth of judgement, ratio to be reached."""

    runs: int
    teams: int
    topics: int
    relevant: tuple[int, ...]
    depth: int
    judged: int
    goal: int


SIZES = {
    "STC-like": Size(44, 16, 100, (20, 14, 9), 10, 10, 25),
    "TREC-like": Size(129, 50, 50, (52, 32, 20), 1000, 100, 150),
}


def judge_pools(rankings: xr.Dataset, depth: int) -> xr.Dataset:
    """Return rankings of which only documents within a depth are judged, and those that are relevant."""
    words, levels = build_pools(rankings, depth).words, rankings["level_of_document"].values
    judged = words.any(axis=-1) | (levels > 0)
    number = np.where(judged, np.cumsum(judged, axis=1) - 1, -1)
    documents = rankings["document_at_rank"].values
    found = np.take_along_axis(
        np.broadcast_to(number, (len(documents), *number.shape)), documents, axis=2
    )
    fewer = np.full((len(levels), int(judged.sum(axis=1).max())), -1, np.int8)
    rows, columns = np.nonzero(judged)
    fewer[rows, number[rows, columns]] = levels[rows, columns]
    n_judged = np.stack(
        [(fewer == level).sum(axis=1) for level in rankings["level"].values], axis=1
    )
    return rankings.drop_dims("document").assign(
        document_at_rank=(documents_dims := rankings["document_at_rank"].dims, found.astype(np.int32)),
        level_at_rank=(documents_dims, np.where(found >= 0, rankings["level_at_rank"].values, -1).astype(np.int8)),
        level_of_document=(("topic", "document"), fewer), n_judged=(("topic", "level"), n_judged),
    )  # fmt: skip


def as_dicts(rankings: xr.Dataset, runs: np.ndarray[Any, Any]) -> list[dict[str, dict[str, float]]]:
    """Return runs as pytrec_eval takes them: topic -> document -> score."""
    documents = rankings["document_at_rank"].values
    topics = [str(topic) for topic in rankings["topic"].values]
    return [
        {
            topic: {
                document(number if number >= 0 else POOL + rank): 1.0 - rank / 2**20
                for rank, number in enumerate(documents[run, k].tolist())
            }
            for k, topic in enumerate(topics)
        }
        for run in runs.tolist()
    ]


def with_pytrec_eval(rankings: xr.Dataset, left_out: np.ndarray[Any, Any]) -> Callable[[], Any]:
    """Return what evaluates some of the runs that remain."""
    import pytrec_eval

    pools = build_pools(rankings, 10)
    gone, levels = pools.without(left_out)[0], pools.levels
    qrels = {
        str(topic): {
            document(k): int(levels[row, k])
            for k in np.flatnonzero((levels[row] >= 0) & ~gone[row]).tolist()
        }
        for row, topic in enumerate(rankings["topic"].values)
    }
    runs = as_dicts(rankings, np.flatnonzero(~left_out[pools.team_of])[:SOME])
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, MEASURES)

    def work() -> float:
        start = time.process_time()
        for run in runs:
            evaluator.evaluate(run)
        return (time.process_time() - start) / len(runs)

    return work


def compare(name: str, size: Size) -> None:
    """Print microseconds per trial of one number of teams, and the ratio, without and with what is done once."""
    judged = np.tile(size.relevant, (size.topics, 1))
    rankings = simulate_rankings(
        judged, n_runs=size.runs, n_teams=size.teams, depth=size.depth, seed=1
    )
    rankings = judge_pools(rankings, size.judged)
    cube = sc.with_rankings(sc.evaluate(rankings, METRICS, ["3:2:1"]), rankings)
    remaining = np.zeros(0)

    def seconds(trials: int, seed: int) -> float:
        nonlocal remaining
        start = time.process_time()
        remaining = sc.analyse(cube, sc.Teams(pool_depth=10), trials=trials, seed=seed, workers=1)[
            "n_runs"
        ].values[1:]
        return time.process_time() - start

    some = sc.analyse(cube, sc.Teams(pool_depth=10), trials=1, seed=1, workers=1)[
        "team_left_out"
    ].values[size.teams // 2, 0]
    theirs = with_pytrec_eval(rankings, some) if installed("pytrec_eval") else None
    once, each, whole, other, ratios, whole_ratios = [], [], [], [], [], []
    for repeat in range(REPEATS):
        # The difference of two numbers of trials is what trials cost.
        few, many = seconds(1, repeat), seconds(1 + TRIALS, repeat)
        each.append(1e6 * (many - few) / (TRIALS * len(remaining)))
        once.append(1e6 * few - each[-1] * len(remaining))
        whole.append(each[-1] + once[-1] / (TRIALS * len(remaining)))
        if theirs is not None:
            other.append(1e6 * theirs() * float(remaining.mean()))
            ratios.append(other[-1] / each[-1])
            whole_ratios.append(other[-1] / whole[-1])
    entries = int((rankings["level_at_rank"].values > 0).sum())
    print(
        f"{name}: {entries:,} relevant entries, {size.teams - 1} numbers of teams; goal {size.goal}"
    )
    rows = [
        ("once, us", once),
        ("each trial, us", each),
        (f"with the share of {TRIALS} trials in what is done once, us", whole),
    ]
    rows += (
        [("pytrec_eval, us", other), ("ratio", ratios), ("ratio with that share", whole_ratios)]
        if ratios
        else []
    )
    for label, values in rows:
        print(f"  {label:56} {spread(values)}")


def main() -> None:
    """Print the figures."""
    print(
        "leaving teams out, processor time per trial of one number of teams, mean over 1 .. teams - 1"
    )
    for name, size in SIZES.items():
        compare(name, size)
