"""Corrected means and agreement of labels of judges whose truth is known.

Judges are simulated from the official judgements of TREC-COVID round 5: labels of documents are changed, and runs are evaluated again. A sample draws 50
topics with replacement from the collection's 50, which are the population.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.collection.judgement_sets import label_counts
from scorecube.methods.judges.agreement import labels
from scorecube.statistics.agreement import COEFFICIENTS, label_coefficients
from scorecube.statistics.intervals import corrected_mean
from tests.validation.rates import Measure, Values, collected, covers
from tests.validation.truths import DATA, Sample, Truth, population, samples

Array = np.ndarray[Any, Any]
CONFIDENCE = 0.95
METRICS = ("AP", "nDCG@10", "RR")
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


def by_topic(chance: np.random.Generator, levels: Array, topics: Array) -> Array:
    """Raise or lower half of the levels of a topic, or leave all as they are: another choice for each topic."""
    lean = chance.integers(-1, 2, topics.max() + 1)[topics]
    return np.asarray(np.clip(levels + lean * (chance.random(len(levels)) < 0.5), 0, 2))


def official(_chance: np.random.Generator, levels: Array, *_: Any) -> Array:
    """Change nothing."""
    return levels


JUDGES: dict[str, Callable[..., Array]] = {
    "noise .1": noise(0.1),
    "noise .3": noise(0.3),
    "lenient": lenient,
    "bias by topic": by_topic,
    "nothing": noise(1.0),
}
"""Name -> levels of a judge for the official ones."""


@cache
def judged(data: Path = DATA) -> dict[str, tuple[Array, Array]]:
    """Return for the truth and each judge the scores (metric, run, topic), and the counts of labels (topic, level, level)."""
    folder, chance = data / COLLECTION, np.random.default_rng(SEED)
    lines = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    lines = [line for line in lines if int(line[3]) >= 0]
    levels = np.array([int(line[3]) for line in lines])
    topics = np.unique([line[0] for line in lines], return_inverse=True)[1]
    found: dict[str, tuple[Array, Array]] = {}
    truth = None
    with TemporaryDirectory() as name:
        for judge, change in {"truth": official, **JUDGES}.items():
            path = Path(name, "qrels")
            made = change(chance, levels, topics)
            path.write_text("".join(f"{line[0]} 0 {line[2]} {level}\n" for line, level in zip(lines, made, strict=True)))  # fmt: skip
            rankings = sc.read_rankings(folder / "runs", path, folder / "teams.csv", run_name="file", notify=lambda _: None)  # fmt: skip
            truth = rankings if truth is None else truth
            cube = sc.evaluate(rankings, METRICS)
            counts = label_counts(
                "tj", {"t": truth, "j": rankings}, truth["topic"].values.tolist()
            )[0]
            found[judge] = cube["score"].values[:, 0], counts
    return found


def covid_scores(judge: str, metric: str) -> Truth:
    """Return scores under the official judgements and under a judge, as a population of topics: metrics 0 and 1."""
    known, place = judged(), METRICS.index(metric)
    return population(np.array([known[name][0][place] for name in ("truth", judge)]), N_TOPICS)


def flipped_items(flips: float, n_items: int = 200) -> Truth:
    """Return 0/1 scores of six models on items, which a judge sees the other way round at times."""
    right = np.linspace(0.5, 0.75, 6)[:, np.newaxis]
    every = np.random.default_rng(0).normal(0, 0.2, 10**6)
    means = np.clip(right + every, 0, 1).mean(axis=1)

    def draw(chance: np.random.Generator) -> Sample:
        hard = chance.normal(0, 0.2, n_items)
        truth = (chance.random((6, n_items)) < np.clip(right + hard, 0, 1)) * 1.0
        judge = np.abs(truth - (chance.random(truth.shape) < flips))
        return Sample(np.array([truth, judge]), np.array([means, means]), ends=(0.0, 1.0))

    return draw


def covid_labels(judge: str, n_topics: int) -> Truth:
    """Return counts of the labels of the truth and of a judge, topics drawn with replacement."""
    counts = judged()[judge][1]
    target = label_coefficients(counts.sum(axis=0))
    return lambda chance: Sample(counts[chance.integers(0, len(counts), n_topics)], target)


def corrected_coverage(labelled: int) -> Measure:
    """Return what measures the share of runs whose corrected mean is within its limits, with the truth of some topics, and of means over these topics alone."""

    def measure(truth: Truth, number: int, seed: int) -> Values:
        rows: list[dict[str, Any]] = []
        for sample in samples(truth, number, seed):
            held: dict[str, list[Any]] = {"corrected mean": [], "labels alone": []}
            widths: dict[str, list[float]] = {name: [] for name in held}
            for h, f, mean in zip(*sample.scores, sample.means[0], strict=True):
                further = {"corrected mean": f[labelled:], "labels alone": f[:0]}
                for name, rest in further.items():
                    _, low, high = corrected_mean(h[:labelled], f[:labelled], rest, (0.0, 1.0), CONFIDENCE)  # fmt: skip
                    held[name].append(covers(low, high, mean))
                    widths[name].append(high - low)
            held["corrected difference"] = _differences_held(sample, labelled)
            rows.append(
                {name: np.mean(values) for name, values in held.items()}
                | {f"{name}, width": np.mean(values) for name, values in widths.items()}
            )
        return collected(rows)

    return measure


def _differences_held(sample: Sample, labelled: int) -> list[float]:
    """Return whether limits of corrected differences from the first run hold."""
    of_truth, by_judge = sample.scores - sample.scores[:, :1]
    held = []
    for h, f, mean in zip(of_truth[1:], by_judge[1:], sample.means[0, 1:], strict=True):
        _, low, high = corrected_mean(h[:labelled], f[:labelled], f[labelled:], (-1.0, 1.0), CONFIDENCE)  # fmt: skip
        held.append(covers(low, high, mean - sample.means[0, 0]))
    return held


def label_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return whether limits of coefficients of label agreement hold them: scores are counts (topic, level, level)."""
    rows: list[dict[str, Any]] = []
    for sample in samples(truth, number, seed):
        found = labels(sample.scores)
        held = covers(found["label_low"], found["label_high"], sample.means)
        rows.append(dict(zip(COEFFICIENTS, held, strict=True)))
    return collected(rows)
