"""What is measured on truths: error rates and coverages of tests and limits, one value a sample, or
one a sample and run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.analyses.along_topics import join_collections
from scorecube.analyses.preparation import make_table
from scorecube.methods.compare.comparison import compared
from scorecube.methods.compare.gate import FAIL, PASS, judge
from scorecube.methods.compare.rows import Asked
from scorecube.statistics.intervals import mean_limits
from scorecube.workflow.api import analyse
from tests.validation.truths import AT_ONCE, Floats, Sample, Truth, cube_of, cubes, samples

ALPHA = 0.05
TRIALS = 499
EQUAL_MEANS = 1e-12
"""Difference of true means up to which they are equal."""
TAU_TOPICS, TAU_PARTS = 50, 61
"""Topics of an analysis, and parts of as many topics: the first is analysed, tau is to be expected of the others."""
Values = dict[str, Floats]
Measure = Callable[[Any, int, int], Values]
"""Takes a truth, a number of samples and a seed; returns values (sample,) or (sample, run) by
quantity."""


def rate_of(values: Floats) -> tuple[float, float]:
    """Return the mean over samples that have a value, and its standard error; of values (sample,
    run) that of the means over runs."""
    if values.ndim > 1:
        values = np.ma.masked_invalid(values).mean(axis=1).filled(np.nan)
    known = values[~np.isnan(values)]
    error = float(known.std(ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else math.nan
    return float(known.mean()) if len(known) else math.nan, error


def worst_of(values: Floats, *, largest: bool) -> Floats:
    """Return the values of the worst run by the first half of the samples in the other half, so
    that its choice does not bias them: (sample,)."""
    half = len(values) // 2
    chosen = np.ma.masked_invalid(values[:half]).mean(axis=0)
    return np.asarray(values[half:, chosen.argmax() if largest else chosen.argmin()])


def collected(rows: Sequence[Mapping[str, Any]]) -> Values:
    """Return values by quantity from those of each sample."""
    return {name: np.array([row[name] for row in rows], float) for name in rows[0]}


def chained(parts: Sequence[Mapping[str, Any]]) -> Values:
    """Return values by quantity from those of the samples of each cube."""
    return {
        name: np.concatenate([np.asarray(part[name], float) for part in parts]) for name in parts[0]
    }


def covers(low: Any, high: Any, target: Any) -> Any:
    """Return whether limits hold the truth; a missing limit does not."""
    return (low <= target + 1e-12) & (target - 1e-12 <= high)


def means(truth: Truth, number: int, seed: int) -> Values:
    """Return whether the limits of each mean hold it."""
    rows: list[dict[str, Any]] = []
    for cube, drawn, _ in cubes(truth, number, seed):
        table = make_table(cube)
        for k, sample in enumerate(drawn):
            cell = int(table.cell_of[k, 0])
            samples = table.samples(table.scores[cell])
            low, high = mean_limits(samples, table.ranges[cell], 1 - ALPHA)
            rows.append(of_means(low, high, sample.means))
    return collected(rows)


def of_means(low: Floats, high: Floats, true: Floats) -> dict[str, Any]:
    """Return whether limits hold the means, (..., run), and which means have none.

    Missing limits state nothing that may be wrong, and are counted by themselves; infinite ones, or
    such without a width, hold nothing.
    """
    missing, known = np.isnan(low), np.isfinite(high - low) & (high > low)
    return {"means": missing | (covers(low, high, true) & known), "bias (without limits)": missing}


def true_ranks(means: Floats) -> tuple[Floats, Floats]:
    """Return the best and the worst rank of each run; runs with equal means share theirs."""
    better = (means > means[:, np.newaxis] + EQUAL_MEANS).sum(axis=1)
    worse = (means < means[:, np.newaxis] - EQUAL_MEANS).sum(axis=1)
    return 1 + better, len(means) - worse


def held(found: Any, true: Floats) -> Values:
    """Return whether all rank sets of leaderboards of samples hold, the limits of whichever run
    leads, and the limits of runs by themselves.

    true: (sample, run): means.
    """
    at = {
        name: found[name].values[:, 0]
        for name in ("rank", "rank_low", "rank_high", "mean_low", "mean_high")
    }
    least, most = (found[f"leader_{end}"].values[:, :1] for end in ("low", "high"))
    low, high = np.swapaxes([true_ranks(each) for each in true], 0, 1)
    within, leads = covers(least, most, true), at["rank"] == 1
    leader = np.isnan(least[:, 0]) | (within | ~leads).all(axis=1)
    return of_means(at["mean_low"], at["mean_high"], true) | {
        "rank sets": ((at["rank_low"] <= low) & (at["rank_high"] >= high)).all(axis=1),
        "leader": leader,
    }


def leaderboard(truth: Truth, number: int, seed: int) -> Values:
    """Return whether rank sets, limits of the leader and of other runs hold."""
    parts = []
    for cube, drawn, of_trials in cubes(truth, number, seed):
        found = analyse(cube, sc.Leaderboard(), trials=TRIALS, seed=of_trials)
        parts.append(held(found, np.array([sample.means for sample in drawn])))
    return chained(parts)


def family_error(truth: Truth, number: int, seed: int) -> Values:
    """Return whether any pair with equal means is significant."""
    parts = []
    for cube, drawn, of_trials in cubes(truth, number, seed):
        found = analyse(cube, sc.MaxT(alphas=(ALPHA,)), trials=TRIALS, seed=of_trials)
        p = found["p_value"].values[:, 0]
        first, second = np.triu_indices(len(drawn[0].means), 1)
        apart = np.abs(drawn[0].means[first] - drawn[0].means[second])
        parts.append({"max-T": (p[:, apart < EQUAL_MEANS] < ALPHA).any(axis=1)})
    return chained(parts)


def mean_ranks(truth: Truth, number: int, seed: int) -> Values:
    """Return whether Friedman's F finds a difference of equal runs, Nemenyi's test any pair, and
    Holm's comparisons with the first run any."""
    parts = []
    for cube, _, _ in cubes(truth, number, seed):
        base = str(cube["run"].values[0])
        found = analyse(cube, sc.Friedman(baseline=base, alpha=ALPHA)).isel(gain=0)
        parts.append(
            {
                "Friedman": found["p_value"].values < ALPHA,
                "Nemenyi": (found["p_nemenyi"].values < ALPHA).any(axis=1),
                "mean ranks, Holm": (found["p_baseline"].values < ALPHA).any(axis=1),
            }
        )
    return chained(parts)


def gates(pairs: Sequence[Truth], number: int, seed: int) -> Values:
    """Return for pairs of runs, of which the first has the lower mean by the margin or the same
    mean, whether a gate errs, and whether the limits of the difference hold.

    With a loss of exactly the margin, a pass is false, and so is ``equivalent`` by `Paired`; with
    a loss of half the margin, or equal means (margin .01), a fail is.
    """
    columns = [_gate(pair, number, seed + 1000 * place) for place, pair in enumerate(pairs)]
    return {name: np.stack([each[name] for each in columns], axis=1) for name in columns[0]}


def _gate(pair: Truth, number: int, seed: int) -> Values:
    parts: list[dict[str, Any]] = []
    for cube, drawn, _ in cubes(pair, number, seed):
        loss = float(drawn[0].means[1] - drawn[0].means[0])
        found = judged(cube, "r000", "r001", loss)
        if loss > EQUAL_MEANS:
            test = sc.Paired(tests=("t",), alphas=(ALPHA,), margin=loss)
            p = analyse(cube, test)["equivalence_p_value"].values[:, 0, 0]
            found["equivalent"] = p < ALPHA
        parts.append(found)
    return chained(parts)


def judged(scores: Any, run: str, baseline: str, loss: float) -> dict[str, Any]:
    """Return of each sample whether the limits of a difference hold, and whether the verdict of a
    gate errs: a pass with a loss of the margin, a fail with half of it, or with equal means."""
    found = compared(scores, Asked(run, baseline, {}), None, "refuse")
    rows = [found.rows[found.collections[-1], cell] for cell in found.cells]
    low, high = (np.array([getattr(row, end) for row in rows]) for end in ("low", "high"))

    def share(margin: float, verdict: str) -> Floats:
        found = [judge(row, margin, row.p_of_loss(margin), 1).verdict for row in rows]
        return np.array([each == verdict for each in found], float)

    values = {"difference": covers(low, high, -loss), "half width": (high - low) / 2}
    if loss <= EQUAL_MEANS:
        return values | {"false fail": share(0.01, FAIL)}
    return values | {"false pass": share(loss, PASS), "fail at half": share(2 * loss, FAIL)}


def boards(board: Sequence[Truth], number: int, seed: int) -> Values:
    """Return what `leaderboard` does of weighted means over collections, and whether a gate of the
    two first runs errs."""
    shares = {f"c{k}": k + 1.0 for k in range(len(board))}
    analysis = sc.Board(weights=tuple(f"{name}={share}" for name, share in shares.items()))
    parts = []
    for joined, drawn, of_trials in joined_cubes(board, number, seed):
        found = analyse(join_collections(joined), analysis, trials=TRIALS, seed=of_trials)
        means = [[sample.means for sample in each] for each in drawn]
        true = np.average(means, axis=0, weights=list(shares.values()))
        of_gate = np.mean(means, axis=0)  # collections have one weight there
        run, base = ("r000", "r001") if of_gate[0, 0] <= of_gate[0, 1] else ("r001", "r000")
        loss = float(abs(of_gate[0, 0] - of_gate[0, 1]))
        parts.append(held(found, true) | judged(joined, run, base, loss))
    return chained(parts)


def joined_cubes(
    board: Sequence[Truth], number: int, seed: int
) -> Iterator[tuple[dict[str, Any], list[list[Sample]], int]]:
    """Yield cubes by collection, the samples of each, and a seed for trials."""
    for start in range(0, number, AT_ONCE):
        places = range(start, min(start + AT_ONCE, number))
        drawn = [
            [truth(np.random.default_rng((seed, k, place))) for place in places]
            for k, truth in enumerate(board)
        ]
        joined = {
            f"c{k}": cube_of([sample.scores for sample in each], ends=each[0].ends)
            for k, each in enumerate(drawn)
        }
        yield joined, drawn, seed + start


def kendall(first: Floats, second: Floats) -> float:
    """Return tau-a of two rankings (run,)."""
    i, j = np.triu_indices(len(first), 1)
    return float((np.sign(first[i] - first[j]) * np.sign(second[i] - second[j])).mean())


def tau_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return whether limits of tau hold the tau to be expected from as many topics, of samples that have them, and how many have none.

    truth: Of samples with topics for the analysis, `TAU_TOPICS`, and further ones for the expected tau.
    """
    rows: list[dict[str, Any]] = []
    for sample in samples(truth, number, seed):
        parts = np.split(sample.scores, sample.scores.shape[-1] // TAU_TOPICS, axis=-1)
        expected = np.mean([kendall(*np.round(part.mean(axis=-1), 12)) for part in parts[1:]])
        at = analyse(cube_of(list(parts[0])), sc.Correlation()).isel(comparison=0)
        low, high = float(at["topics_low"]), float(at["topics_high"])
        known = np.isfinite(low)
        rows.append(
            {
                "tau": covers(low, high, expected) if known else np.nan,
                "width": high - low,
                "bias (without limits)": not known,
                "bias of tau": float(at["tau"]) - expected,
            }
        )
    return collected(rows)
