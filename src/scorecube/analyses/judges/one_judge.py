"""What one judge is compared with the truth for: rankings, decisions, bias, and corrected means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.analyses.rank_agreement import population
from scorecube.analyses.rank_agreement.agreement import Agreement
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms
from scorecube.names import Purpose
from scorecube.statistics.corrected_means import corrected_means
from scorecube.statistics.proportion_intervals import student_quantile

SEED = 0
"""Of the topics whose labels are used, whatever the seed of the analysis."""
ROWS = 200
"""Equal rows of the product that adds labelled topics, of which the first is used: the last bits of a sum depend on their number."""
Floats = np.ndarray[Any, np.dtype[np.float64]]
LEVELS = ("all", "low", "middle", "high")
"""All runs, and thirds of the runs by their means under the truth."""
CORRECTED = ("corrected", "difference")
"""Variables of the corrected means and differences."""
LEAST_SHARED = 2
"""Fewest shared topics for a comparison topic by topic."""
COUNTS = {
    "agree": "active_agreement",
    "opposite": "active_disagreement",
    "only_truth": "only_first",
    "only_judge": "only_second",
    "top_pairs": "top_pairs",
    "top_significant": "top_significant",
    "top_judge": "top_significant_second",
    "false_positives": "false_positives",
    "false_negatives": "false_negatives",
}
"""Variable -> count of `Agreement`."""


@dataclass(frozen=True, eq=False)
class TwoSets:
    """Scores of the runs that the truth and a judge have.

    runs: bool (run,): runs of the cube that both have.
    truth, judge: float64 (cell, run, topic): scores on each set's own topics.
    shared_truth, shared_judge: The same on the topics that both have.
    others: Scores under the judge on its other topics.
    shared: bool (topic,): topics of the cube that both have.
    """

    runs: np.ndarray[Any, Any]
    truth: Floats
    judge: Floats
    shared_truth: Floats
    shared_judge: Floats
    others: Floats
    shared: np.ndarray[Any, Any]

    @property
    def is_shared(self) -> bool:
        """Whether there are topics to compare one by one."""
        return int(self.shared.sum()) >= LEAST_SHARED


def two_sets(truth: Floats, judge: Floats) -> TwoSets:
    """Return the scores of both sets, float64 (cell, run, topic) with NaN for what a set lacks, without what one lacks."""
    known = [~np.isnan(each) for each in (truth, judge)]
    runs = np.asarray(known[0].any(axis=(0, 2)) & known[1].any(axis=(0, 2)))
    of_truth, of_judge = (np.asarray(each[:, runs].any(axis=(0, 1))) for each in known)
    shared = np.asarray(of_truth & of_judge)
    a, b = truth[:, runs], judge[:, runs]
    return TwoSets(
        runs,
        a[..., of_truth],
        b[..., of_judge],
        a[..., shared],
        b[..., shared],
        b[..., of_judge & ~shared],
        shared,
    )


def rankings(sets: TwoSets, agreement: Agreement) -> dict[str, Any]:
    """Return the agreement of rankings and of decisions on pairs, on shared topics if there are any."""
    pair = (sets.shared_truth, sets.shared_judge) if sets.is_shared else (sets.truth, sets.judge)
    observed = agreement.observed(*pair, paired=sets.is_shared)
    n_runs = pair[0].shape[1]
    rises = observed["rank_first"] - observed["rank_second"]
    # Ties in the gain of ranks go to the run with the best rank under the judge.
    by_rank = [np.lexsort((observed["rank_second"][k], -rises[k]))[0] for k in range(len(rises))]
    of_cube = np.flatnonzero(sets.runs)
    found = {name: observed[of][:, 0] for name, of in COUNTS.items()}
    decided = found["agree"] + found["opposite"] + found["only_truth"] + found["only_judge"]
    return found | {
        **{name: observed[name] for name in ("agreement", *population.MEANINGS, "drop")},
        "tied_truth": observed["tied_first"],
        "tied_judge": observed["tied_second"],
        "drop_run": of_cube[observed["drop_run"]],
        "rise": rises.max(axis=-1),
        "rise_run": of_cube[np.array(by_rank)],
        "neither": n_runs * (n_runs - 1) // 2 - decided,
        **{
            f"{what}_{whose}": spread_runs(observed[f"{what}_{place}"], sets.runs)
            for what in ("mean", "rank")
            for whose, place in (("truth", "first"), ("judge", "second"))
        },
    }


def spread_runs(values: Any, runs: Any) -> Floats:
    """Return values (..., run of both sets) as (..., run of the cube), NaN for others."""
    found = np.full((*values.shape[:-1], len(runs)), np.nan)
    found[..., runs] = values
    return found


def biases(sets: TwoSets, confidence: float) -> dict[str, Floats]:
    """Return the mean of the judge's scores less that of the truth's, by level of the truth's mean: (cell, run level).

    Limits are those of Student's t over shared topics; without any, of Welch's t over both sets of topics.
    """
    a, b = (sets.shared_truth, sets.shared_judge) if sets.is_shared else (sets.truth, sets.judge)
    names = ("level_truth", "level_judge", "level_bias", "level_low", "level_high", "level_runs")
    found = {name: np.full((len(a), len(LEVELS)), np.nan) for name in names}
    for cell in range(len(a)):
        order = np.argsort(a[cell].mean(axis=-1), kind="stable")
        for k, chosen in enumerate([order, *np.array_split(order, len(LEVELS) - 1)]):
            if not len(chosen):
                continue
            first, second = a[cell, chosen].mean(axis=0), b[cell, chosen].mean(axis=0)
            bias = second.mean() - first.mean()
            if sets.is_shared:
                error, freedom = _error(second - first), len(first) - 1
            else:
                parts = np.array([_error(first), _error(second)])
                error = np.sqrt((parts**2).sum())
                sizes = np.array([len(first), len(second)])
                below = (parts**4 / (sizes - 1)).sum()
                freedom = error**4 / below if below > 0 else 1
            half = student_quantile(freedom, confidence) * error
            values = (first.mean(), second.mean(), bias, bias - half, bias + half, len(chosen))
            for name, value in zip(names, values, strict=True):
                found[name][cell, k] = value
    return found


def _error(values: Any) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def corrections(
    sets: TwoSets, sizes: Sequence[int], *, baseline: int | None, confidence: float
) -> dict[str, Any]:
    """Return corrected means and differences from a baseline by numbers of labelled topics.

    sets: Scores.
    sizes: Numbers of labelled topics; 0 for all shared ones.
    baseline: Run of the cube; None for the best under the judge on all its topics.
    confidence: Confidence level.
    """
    n_cells, n_runs = len(sets.truth), len(sets.runs)
    of_runs = [f"{name}{end}" for name in CORRECTED for end in ("", "_low", "_high")]
    shape = (n_cells, len(sizes), n_runs)
    found: dict[str, Any] = {name: np.full(shape, np.nan) for name in (*of_runs, "slope")}
    found["baseline"] = np.full(n_cells, -1)
    if not sets.is_shared:
        return found
    of_cube = np.flatnonzero(sets.runs)
    # The same for a topic of the cube whatever topics are shared: (shared topic,).
    words = uniforms(stream_key(SEED, Purpose.LABELLED_TOPICS), len(sets.shared), 0, 1)
    order = np.argsort(words[0, sets.shared])
    for cell in range(n_cells):
        h, f, more = sets.shared_truth[cell], sets.shared_judge[cell], sets.others[cell]
        base = int(np.argmax(np.concatenate([f, more], axis=-1).mean(axis=-1)))
        if baseline is not None and baseline in of_cube:
            base = int(np.searchsorted(of_cube, baseline))
        found["baseline"][cell] = of_cube[base]
        others = np.delete(np.arange(len(h)), base)
        against = tuple(each[others] - each[base] for each in (h, f, more))
        for name, items, kept in (
            ("corrected", (h, f, more), of_cube),
            ("difference", against, of_cube[others]),
        ):
            for k, size in enumerate(sizes):
                m = size or len(order)
                if m > len(order) or size == len(order):
                    continue
                chosen = np.zeros((ROWS if size else 1, len(order)), bool)
                chosen[:, order[:m]] = True
                means = corrected_means(items[0], items[1], items[2], chosen, confidence)
                for end, values in (("", means.mean), ("_low", means.low), ("_high", means.high)):
                    found[f"{name}{end}"][cell, k, kept] = values[0]
                if name == "corrected":
                    found["slope"][cell, k, kept] = means.slope[0]
    return found
