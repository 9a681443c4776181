"""Coverage of corrected means: ``python -m tests.simulations.judges REPLICATES DATA`` prints the table.

`docs/believe/judges.md` holds its output. Judges are simulated from the official judgements of TREC-COVID round 5: labels of documents are changed, runs are evaluated
again. Truth is exact: a replicate draws 50 topics with replacement from the collection's 50, which are the population, so true means, differences
and coefficients are those of the collection. The first topics of a replicate are the labelled ones.
"""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import scorecube as sc
from scorecube.collection.judgement_sets import label_counts
from scorecube.statistics.corrected_means import corrected_means

Array = np.ndarray[Any, Any]
CONFIDENCE, MARKED = 0.95, 0.93
METRICS = ("AP", "nDCG@10")
LABELLED = (10, 20, 30)
N_TOPICS = 50
COLLECTION = "trec-covid-r5"
SEED = 11


def noise(share: float) -> Callable[..., Array]:
    """Return a judge who gives a share of the documents the level of another one."""

    def judge(chance: np.random.Generator, levels: Array, *_: Any) -> Array:
        changed = chance.random(len(levels)) < share
        return np.asarray(np.where(changed, chance.permutation(levels), levels))

    return judge


def lenient(chance: np.random.Generator, levels: Array, *_: Any) -> Array:
    """Raise a third of the levels by one."""
    return np.asarray(np.minimum(levels + (chance.random(len(levels)) < 0.35), 2))


def by_topic(chance: np.random.Generator, levels: Array, topics: Array, _liked: Array) -> Array:
    """Raise or lower half of the levels of a topic, or leave all as they are: another choice for each topic."""
    lean = chance.integers(-1, 2, topics.max() + 1)[topics]
    return np.asarray(np.clip(levels + lean * (chance.random(len(levels)) < 0.5), 0, 2))


def favours(chance: np.random.Generator, levels: Array, _topics: Array, liked: Array) -> Array:
    """Raise half of the levels of the documents that a team ranks in its top 10."""
    return np.asarray(np.minimum(levels + (liked & (chance.random(len(levels)) < 0.5)), 2))


def official(_chance: np.random.Generator, levels: Array, *_: Any) -> Array:
    """Change nothing."""
    return levels


JUDGES: dict[str, Callable[..., Array]] = {
    "noise .1": noise(0.1),
    "noise .3": noise(0.3),
    "lenient": lenient,
    "bias by topic": by_topic,
    "favours a team": favours,
    "nothing": noise(1.0),
}
"""Name -> levels of a judge for the official ones."""


def favoured(folder: Path) -> tuple[str, set[tuple[str, str]]]:
    """Return the team with the most runs, and the documents that it ranks in its top 10."""
    teams = pd.read_csv(folder / "teams.csv", dtype=str).set_index("run")["team"]
    team = min(Counter(teams).items(), key=lambda item: (-item[1], item[0]))[0]
    found: set[tuple[str, str]] = set()
    for run in teams.index[teams == team]:
        by_topic: dict[str, list[tuple[float, str]]] = {}
        with gzip.open(folder / "runs" / f"{run}.gz", "rt") as lines:
            for line in lines:
                topic, _, document, _, score, _ = line.split()
                by_topic.setdefault(topic, []).append((-float(score), document))
        found |= {(topic, each) for topic, listed in by_topic.items() for _, each in sorted(listed)[:10]}  # fmt: skip
    return team, found


@cache
def judged(data: Path, metrics: tuple[str, ...] = METRICS) -> dict[str, tuple[Array, Array]]:
    """Return for the truth and each judge the scores (metric, run, topic), and the counts of labels (topic, level, level)."""
    folder, chance = data / COLLECTION, np.random.default_rng(SEED)
    lines = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    lines = [line for line in lines if int(line[3]) >= 0]
    levels = np.array([int(line[3]) for line in lines])
    topics = np.unique([line[0] for line in lines], return_inverse=True)[1]
    ranked = favoured(folder)[1]
    liked = np.array([(line[0], line[2]) in ranked for line in lines])
    found: dict[str, tuple[Array, Array]] = {}
    truth = None
    with TemporaryDirectory() as name:
        for judge, change in {"truth": official, **JUDGES}.items():
            path = Path(name, "qrels")
            made = change(chance, levels, topics, liked)
            path.write_text("".join(f"{line[0]} 0 {line[2]} {level}\n" for line, level in zip(lines, made, strict=True)))  # fmt: skip
            rankings = sc.read_rankings(folder / "runs", path, folder / "teams.csv", run_name="file", notify=lambda _: None)  # fmt: skip
            truth = rankings if truth is None else truth
            cube = sc.evaluate(rankings, metrics)
            counts = label_counts(truth, rankings, truth["topic"].values.tolist())
            found[judge] = cube["score"].values[:, 0], counts
    return found


def replicates(data: Path, number: int) -> pd.DataFrame:
    """Return coverage and widths of corrected means and of differences from the best run."""
    known = judged(data)
    truth = known["truth"][0]
    rows = []
    for judge in JUDGES:
        f_all = known[judge][0]
        for metric, h, f in zip(METRICS, truth, f_all, strict=True):
            best = int(np.argmax(h.mean(axis=1)))
            others = np.delete(np.arange(len(h)), best)
            for of, a, b in (("mean", h, f), ("difference", h[others] - h[best], f[others] - f[best])):  # fmt: skip
                for m in LABELLED:
                    rows.append(
                        {"judge": judge, "metric": metric, "of": of, "labelled": m}
                        | coverage(a, b, m, number)
                    )
    return pd.DataFrame(rows)


def coverage(truth: Array, judge: Array, labelled: int, number: int) -> dict[str, float]:
    """Return coverage, mean widths with the judge and without, and mean lambda, over replicates and runs."""
    chance = np.random.default_rng(SEED)
    target = truth.mean(axis=1)
    chosen = np.zeros((1, N_TOPICS), bool)
    chosen[0, :labelled] = True
    holds, widths, alone, alone_holds, slopes = [], [], [], [], []
    for _ in range(number):
        drawn = chance.integers(0, truth.shape[1], N_TOPICS)
        means = corrected_means(truth[:, drawn], judge[:, drawn], judge[:, :0], chosen, CONFIDENCE)
        holds.append(((means.low <= target) & (target <= means.high)).mean())
        alone_holds.append(((means.human_low <= target) & (target <= means.human_high)).mean())
        widths.append((means.high - means.low).mean())
        alone.append((means.human_high - means.human_low).mean())
        slopes.append(means.slope.mean())
    named = {"coverage": holds, "alone": alone_holds, "width": widths, "width_alone": alone, "lambda": slopes}  # fmt: skip
    return {name: float(np.mean(values)) for name, values in named.items()}


def share_text(value: float) -> str:
    """Return a coverage with three decimals; bold if it is below `MARKED`."""
    text = f"{value:.3f}".lstrip("0")
    return f"**{text}**" if round(value, 3) < MARKED else text


def tables(number: int, data: Path) -> str:
    """Return the table as it stands in `docs/believe/judges.md`."""
    lines = [
        "| judge | metric | interval of | labelled | coverage | labels alone | width | labels alone | lambda |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in replicates(data, number).to_dict("records"):
        lines.append(
            f"| {row['judge']} | {row['metric']} | {row['of']} | {row['labelled']} | {share_text(row['coverage'])} | {share_text(row['alone'])} "
            f"| {row['width']:.3f} | {row['width_alone']:.3f} | {row['lambda']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(tables(int(sys.argv[1]), Path(sys.argv[2])))
