"""Family-wise error rates of tests of all pairs: ``python -m tests.simulations.families DATA`` (about half an hour).

The population of topics is that of a real collection, with every run at the same mean; samples are as large as the collection.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import scorecube as sc
from scorecube.analyses.simulation.families import smallest_error
from scorecube.workflow.api import analyse, cube_from_scores

ALPHA, AT_ONCE, MARKED = 0.05, 50, 0.07
COLLECTIONS = (
    "adhoc6/ap.csv", "web2013/ap.csv", "web2012/err20.csv",
    "adhoc5/ap.csv", "adhoc7/p10.csv", "adhoc7/rr.csv", "adhoc8/ap.csv", "adhoc8/p10.csv", "web2010/ndcg20.csv", "web2011/ap.csv",
    "web2011/rr.csv", "web2014/err20.csv", "robust2004/ap_99topics.csv",
)  # fmt: skip
"""The moderation of max-T was chosen on the first three."""
TESTS = ("max-T", "max-T, moderation 0", "Tukey", "Holm, t tests")
Draw = Callable[[np.random.Generator], Any]


def scores_of(path: Path) -> Any:
    """Return the scores (run, topic) of a file with a row for each topic."""
    return pd.read_csv(path).select_dtypes("number").to_numpy(float).T


def centred_topics(scores: Any) -> Draw:
    """Return a function that draws topics of runs whose means are the same."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    n = scores.shape[1]
    return lambda chance: centred[:, chance.integers(0, n, n)]


def erratic(chance: np.random.Generator) -> Any:
    """Draw 50 topics of 30 runs that do not differ, of which one varies seven times as much."""
    scores = 0.4 + 0.15 * chance.standard_normal(50) + 0.05 * chance.standard_normal((30, 50))
    scores[0] += 0.35 * chance.standard_normal(50)
    return scores


def cube_of(draws: list[Any]) -> Any:
    """Return replicates as metrics of one cube, so that they are analysed together."""
    frames = {}
    for k, scores in enumerate(draws):
        labels = (
            [f"r{j:03d}" for j in range(len(scores))],
            [f"t{j:02d}" for j in range(scores.shape[1])],
        )
        frames[f"m{k:03d}"] = pd.DataFrame(scores, *labels)
    return cube_from_scores(frames)


def replicates_of(draw: Draw, start: int) -> list[Any]:
    """Return the replicates start .. start + AT_ONCE - 1."""
    return [draw(np.random.default_rng((7, k))) for k in range(start, start + AT_ONCE)]


def error_rate(draw: Draw, test: Any, replicates: int, trials: int = 400) -> float:
    """Return the share of replicates with a significant pair."""
    errors = 0
    for start in range(0, replicates, AT_ONCE):
        cube = cube_of(replicates_of(draw, start))
        result = analyse(cube, test, trials=trials, seed=start + 1)
        errors += int((result["p_value"].values.min(axis=-1) < ALPHA).sum())
    return errors / replicates


def rates(draw: Draw, replicates: int) -> list[float]:
    """Return the error rate of each of `TESTS`."""
    tests = (
        sc.MaxT(alphas=(ALPHA,)),
        sc.MaxT(alphas=(ALPHA,), moderation=0.0),
        sc.Tukey(alphas=(ALPHA,)),
    )
    holm = sum(
        smallest_error("holm", scores, -1, 0, 0) <= ALPHA
        for start in range(0, replicates, AT_ONCE)
        for scores in replicates_of(draw, start)
    )
    return [*(error_rate(draw, test, replicates) for test in tests), holm / replicates]


def n_found(scores: Any) -> list[str]:
    """Return the significant pairs that the first three tests find in the scores themselves."""
    cube, found = cube_of([scores]), []
    for test in (
        sc.MaxT(alphas=(ALPHA,)),
        sc.MaxT(alphas=(ALPHA,), moderation=0.0),
        sc.Tukey(alphas=(ALPHA,)),
    ):
        result = analyse(cube, test, trials=2000, seed=1)
        found.append(f"{int(result['significant'].values.sum()):,}")
    return found


def lines(data: Path, replicates: int) -> Iterator[str]:
    """Yield rows of the table."""
    sources: dict[str, tuple[Draw, Any]] = {"one erratic run of 30": (erratic, None)}
    for name in COLLECTIONS:
        scores = scores_of(data / name)
        sources[name.removesuffix(".csv").replace("/", " ")] = (centred_topics(scores), scores)
    for name, (draw, scores) in sources.items():
        shape = (30, 50) if scores is None else scores.shape
        shown = [
            f"**{rate:.3f}**" if rate > MARKED else f"{rate:.3f}"
            for rate in rates(draw, replicates)
        ]
        found = ["", "", ""] if scores is None else n_found(scores)
        pairs = f"{shape[0] * (shape[0] - 1) // 2:,}"
        yield "| " + " | ".join([name, str(shape[0]), str(shape[1]), *shown, *found, pairs]) + " |"


def main(data: str, replicates: int = 300) -> None:
    """Print the table."""
    logging.disable(logging.WARNING)
    found = [f"{name} finds" for name in TESTS[:3]]
    headings = ["topics of", "runs", "topics", *TESTS, *found, "of pairs"]
    print("| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|")
    for line in lines(Path(data), replicates):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
