"""What is measured on truths: error rates and coverages of tests and intervals, one value a sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np
import xarray as xr
from scipy.special import stdtrit

import scorecube as sc
from scorecube.analyses.judges.judge_quantities import LEAST_SHARE, MANY_TIMES
from scorecube.design import topic_set_size
from scorecube.design.power import Anova
from scorecube.design.uncertainty import assured_variance
from scorecube.statistics.corrected_means import corrected_means
from scorecube.statistics.label_agreement import (
    COEFFICIENTS,
    effective_judges,
    label_coefficients,
    label_intervals,
    largest_error,
    squared_errors,
)
from scorecube.workflow.api import analyse
from tests.simulations import judges
from tests.simulations.families import smallest_holm
from tests.simulations.truths import (
    AT_ONCE,
    DATA,
    VARIANCES,
    Floats,
    Sample,
    Truth,
    cube_of,
    cubes,
    population,
    samples,
)
from tests.tau_coverage import interval

ALPHA, CONFIDENCE = 0.05, 0.95
TRIALS = 1000
ERROR = "(error)"
"""In the name of what should never be."""
MEAN_WIDTH = "mean width"
QUANTILE, MEAN_POWER = "5 % quantile", "mean true power"
MEAN_NUMBER, FLAGGED = "mean number", "finding of one topic"
NO_GOAL = (MEAN_WIDTH, QUANTILE, MEAN_POWER, MEAN_NUMBER, FLAGGED)
"""In names of what is no rate, or has no goal."""
WIDTH = "width, of the interval without"
"""In place of a rate."""
AS_BEFORE = sc.Leaderboard(bounds=(), winner=False, plus_one=False)
"""As in versions before 0.3.0."""
WINNER_BOARD = sc.Leaderboard(bounds=())
RESAMPLING: Final = ("topics", "gaussian")
LABEL_OPTIONS = {"weights": "quadratic", "distance": "ordinal"}
EQUAL_MEANS = 1e-12
"""Difference of true means up to which they are equal."""
MARGIN_SLACK = 0.004
"""Pairs of a population stand for one at the margin if their true difference exceeds it by no more than this."""
Values = dict[str, Floats]
Measure = Callable[[Truth, int, int], Values]
"""Takes a truth, a number of samples and a seed; returns values (sample,) by method."""


def rate_of(values: Floats) -> tuple[float, float]:
    """Return the mean over samples that have a value, and its standard error."""
    known = values[~np.isnan(values)]
    error = float(known.std(ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else math.nan
    return float(known.mean()) if len(known) else math.nan, error


def collected(rows: list[dict[str, Any]]) -> Values:
    """Return values by method from those of each sample."""
    return {name: np.array([row[name] for row in rows], float) for name in rows[0]}


def covers(low: Any, high: Any, target: Any) -> Any:
    """Return whether limits hold the truth; a missing limit does not."""
    return (low <= target + 1e-12) & (target - 1e-12 <= high)


def family_error(truth: Truth, number: int, seed: int) -> Values:
    """Return whether any pair is significant where all means are equal, and the share of pairs by single t tests."""
    rows: list[dict[str, Any]] = []
    for cube, drawn in cubes(truth, number, seed):
        test = sc.MaxT(alphas=(ALPHA,))
        least = analyse(cube, test, trials=TRIALS, seed=seed)["p_value"].values.min(axis=(1, 2))
        single = analyse(cube, sc.Paired(tests=("t",), alphas=(ALPHA,)))["p_value"].values
        for k, sample in enumerate(drawn):
            holm = smallest_holm(sample.scores) <= ALPHA
            rows.append({"max-T": least[k] < ALPHA, "Holm's t": holm, "t, single pairs": (single[k] < ALPHA).mean()})  # fmt: skip
    return collected(rows)


def resampling_error(truth: Truth, number: int, seed: int) -> Values:
    """Return whether any pair is significant where all means are equal, by max-T with resampled topics and with drawn errors."""
    rows: list[dict[str, Any]] = []
    for cube, drawn in cubes(truth, number, seed):
        tests = {f"max-T, {how}": sc.MaxT(alphas=(ALPHA,), resampling=how) for how in RESAMPLING}
        least = {name: analyse(cube, test, trials=TRIALS, seed=seed)["p_value"].values.min(axis=(1, 2)) for name, test in tests.items()}  # fmt: skip
        rows += [{name: each[k] < ALPHA for name, each in least.items()} for k in range(len(drawn))]
    return collected(rows)


def resampling_means(truth: Truth, number: int, seed: int) -> Values:
    """Return the share of runs whose mean is within its limits, with resampled topics and with drawn errors."""
    boards = {f"mean, {how}": replace(AS_BEFORE, resampling=how) for how in RESAMPLING}
    found = _means(truth, number, seed, boards, {})
    return {name: each for name, each in found.items() if name in boards}


def grouped(cube: xr.Dataset, drawn: list[Sample]) -> xr.Dataset:
    """Return the cube with the topic groups of its samples."""
    return cube_of([sample.scores for sample in drawn], drawn[0].groups)


def grouped_family_error(truth: Truth, number: int, seed: int) -> Values:
    """Return `family_error`, and the same of topic groups."""
    found = family_error(truth, number, seed)
    rows: list[dict[str, Any]] = []
    for cube, drawn in cubes(truth, number, seed):
        with_groups = grouped(cube, drawn)
        least = analyse(with_groups, sc.MaxT(alphas=(ALPHA,)), trials=TRIALS, seed=seed)["p_value"].values  # fmt: skip
        single = analyse(with_groups, sc.Paired(tests=("t",), alphas=(ALPHA,)))["p_value"].values
        for k, own in enumerate(least):
            holm = single[k].min() * single[k].size <= ALPHA
            rows.append({"max-T by group": own.min() < ALPHA, "Holm's t by group": holm})
    return found | collected(rows)


def grouped_mean_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return `mean_coverage`, and the same of topic groups."""
    rows: list[dict[str, Any]] = []
    for cube, drawn in cubes(truth, number, seed):
        board = analyse(grouped(cube, drawn), AS_BEFORE, trials=TRIALS, seed=seed)
        for k, sample in enumerate(drawn):
            sides = {"bootstrap-t by group": ("mean_low", "mean_high"), "t by group": ("t_low", "t_high")}  # fmt: skip
            rows.append({name: covers(board[low].values[k, 0], board[high].values[k, 0], sample.means).mean() for name, (low, high) in sides.items()})  # fmt: skip
    return mean_coverage(truth, number, seed) | collected(rows)


def mean_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return the share of runs whose mean is within its limits on the leaderboard."""
    return _means(truth, number, seed, {"bootstrap-t": AS_BEFORE}, {"t": ("t_low", "t_high")})  # fmt: skip


def bounded_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return the share of runs whose mean is within its limits, without and with the bounds 0 and 1, and the width of the latter."""
    boards = {"bootstrap-t": AS_BEFORE, "within bounds": sc.Leaderboard(bounds=(0.0, 1.0))}
    return _means(truth, number, seed, boards, {"t": ("t_low", "t_high")})


def _means(
    truth: Truth,
    number: int,
    seed: int,
    boards: dict[str, sc.Leaderboard],
    others: dict[str, tuple[str, str]],
) -> Values:
    """Return coverages of the intervals of means of leaderboards, and of other variables of the first one."""
    rows: list[dict[str, Any]] = []
    for cube, drawn in cubes(truth, number, seed):
        found = {name: analyse(cube, each, trials=TRIALS, seed=seed) for name, each in boards.items()}  # fmt: skip
        limits = {name: (each, "mean_low", "mean_high") for name, each in found.items()}
        first = next(iter(found.values()))
        limits |= {name: (first, *sides) for name, sides in others.items()}
        for k, sample in enumerate(drawn):
            row: dict[str, float] = {}
            for name, (board, *sides) in limits.items():
                low, high = (board[side].values[k, 0] for side in sides)
                row |= _of_limits(name, low, high, sample.means)
            if len(boards) > 1:
                row[WIDTH] = _relative_width(*(each.isel(metric=k, gain=0) for each in found.values()))  # fmt: skip
            rows.append(row)
    measured = collected(rows)
    # What never happens is not shown, as scores without bounds are never beyond them.
    return {name: each for name, each in measured.items() if ERROR not in name or each.any()}


def _relative_width(plain: Any, bounded: Any) -> float:
    """Return the median width of limits within bounds as a share of bootstrap-t's, over runs that have both with spread."""
    widths = [(each["mean_high"] - each["mean_low"]).values for each in (plain, bounded)]
    known = np.isfinite(widths[0]) & (widths[0] > 0)
    return float(np.median(widths[1][known] / widths[0][known])) if known.any() else np.nan


def _of_limits(name: str, low: Floats, high: Floats, means: Floats) -> dict[str, float]:
    """Return the coverage of limits where there are any, and how many are missing, are points or are beyond 1."""
    known = np.isfinite(low) & np.isfinite(high)
    held = covers(low, high, means)[known]
    return {
        name: held.mean() if len(held) else np.nan,
        f"{name} missing {ERROR}": (~known).mean(),
        f"{name} a point {ERROR}": (low == high).mean(),
        f"{name} beyond 1 {ERROR}": (high > 1 + 1e-12).mean(),
    }


def called_equivalent(truth: Truth, number: int, seed: int) -> Values:
    """Return whether the first two runs are called equivalent at a margin that is their true difference."""
    rows: list[dict[str, Any]] = []
    for cube, drawn in cubes(truth, number, seed):
        margin = float(abs(drawn[0].means[0] - drawn[0].means[1]))
        found = _equivalent(cube, margin)
        rows += [{name: each[k, 0] for name, each in found.items()} for k in range(len(drawn))]
    return collected(rows)


def near_pairs_equivalent(truth: Truth, number: int, seed: int) -> Values:
    """Return the share of pairs that are called equivalent at a margin of .01, of those whose true difference is hardly larger."""
    rows: list[dict[str, Any]] = []
    for cube, drawn in cubes(truth, number, seed):
        found = _equivalent(cube, 0.01)
        first, second = np.triu_indices(len(drawn[0].means), 1)
        apart = np.abs(drawn[0].means[first] - drawn[0].means[second])
        chosen = (apart >= 0.01) & (apart <= 0.01 + MARGIN_SLACK)
        rows += [
            {name: each[k, chosen].mean() for name, each in found.items()}
            for k in range(len(drawn))
        ]
    return collected(rows)


def _equivalent(cube: Any, margin: float) -> dict[str, Any]:
    """Return which pairs are called equivalent, (sample, pair), without and with bounds."""
    test = sc.Paired(tests=("t",), alphas=(ALPHA,), equivalence=margin, bounds=())
    tests = {"two one-sided t": test, "within bounds": replace(test, bounds=(0.0, 1.0))}
    return {
        name: analyse(cube, each)["equivalence_p_value"].values[:, 0] < ALPHA
        for name, each in tests.items()
    }


def winner_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return whether limits of the mean of the run that leads hold it, and the width of its own limits as a share of the valid ones'."""
    rows: list[dict[str, Any]] = []
    for cube, drawn in cubes(truth, number, seed):
        board = analyse(cube, WINNER_BOARD, trials=TRIALS, seed=seed)
        bounded = None
        if all(((each.scores >= 0) & (each.scores <= 1)).all() for each in drawn):
            within = replace(WINNER_BOARD, bounds=(0.0, 1.0))
            bounded = analyse(cube, within, trials=TRIALS, seed=seed)
        values = {name: board[name].values[:, 0] for name in ("mean", "mean_low", "mean_high")}
        winner = {name: board[f"winner_{name}"].values[:, 0] for name in ("low", "high")}
        for k, sample in enumerate(drawn):
            leads = int(np.argmax(values["mean"][k]))
            _, own_low, own_high = (each[k, leads] for each in values.values())
            low, high = winner["low"][k], winner["high"][k]
            target = sample.means[leads]
            missing = not np.isfinite(low + high)
            row = {
                "own interval": covers(own_low, own_high, target),
                "winner's interval": np.nan if missing else covers(low, high, target),
                f"winner's interval missing {ERROR}": missing,
                WIDTH: (high - low) / (own_high - own_low),
            }
            if bounded is not None:
                low, high = (bounded[f"winner_{side}"].values[k, 0] for side in ("low", "high"))
                row["winner's interval within bounds"] = covers(low, high, target)
            rows.append(row)
    return collected(rows)


def tau_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return whether the interval of tau over infinitely many topics holds it, and whether it lies below or above."""
    rows: list[dict[str, Any]] = []
    for sample in samples(truth, number, seed):
        tau = _tau(*np.round(sample.means, 12))
        row: dict[str, Any] = {}
        for name, two_kinds in (("one kind", False), ("two kinds", True)):
            _, low, high = interval(sample.scores, two_kinds)
            row[name] = covers(low, high, tau)
            row[f"{name}, above the truth {ERROR}"] = low > tau + 1e-12
            row[f"{name}: {MEAN_WIDTH}"] = high - low
        rows.append(row)
    return collected(rows)


def _tau(first: Floats, second: Floats) -> float:
    i, j = np.triu_indices(len(first), 1)
    return float((np.sign(first[i] - first[j]) * np.sign(second[i] - second[j])).mean())


def corrected_coverage(labelled: int) -> Measure:
    """Return what measures the share of runs whose corrected mean, and difference from a baseline, is within its limits, with the truth of some topics."""

    def measure(truth: Truth, number: int, seed: int) -> Values:
        rows: list[dict[str, Any]] = []
        for sample in samples(truth, number, seed):
            human, judge = sample.scores
            chosen = np.zeros((1, human.shape[1]), bool)
            chosen[0, :labelled] = True
            found, bounded = (corrected_means(human, judge, judge[:, :0], chosen, CONFIDENCE, bounds) for bounds in (None, (0.0, 1.0)))  # fmt: skip
            target = sample.means[0]
            bases = {"on the labels": human[:, :labelled], "under the judge": judge}
            differences: dict[str, Any] = {}
            for best, of in bases.items():
                base = int(np.argmax(of.mean(axis=1)))
                h, f = (np.delete(each - each[base], base, axis=0) for each in (human, judge))
                for within in (None, (-1.0, 1.0)):
                    limits = corrected_means(h, f, f[:, :0], chosen, CONFIDENCE, within)  # fmt: skip
                    name = f"difference from the best {best}{', within bounds' if within else ''}"
                    true = np.delete(target - target[base], base)
                    differences[name] = covers(limits.low[0], limits.high[0], true).mean()
            rows.append(
                differences
                | {
                    "corrected mean": covers(found.low[0], found.high[0], target).mean(),
                    "within bounds": covers(bounded.low[0], bounded.high[0], target).mean(),
                    f"within bounds: {MEAN_WIDTH}": (bounded.high - bounded.low).mean(),
                    "labels alone, t": covers(
                        found.human_low[0], found.human_high[0], target
                    ).mean(),
                }
            )
        return collected(rows)

    return measure


def label_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return whether limits of coefficients of label agreement hold them, now and as before: scores are counts (topic, level, level)."""
    rows: list[dict[str, Any]] = []
    for sample in samples(truth, number, seed):
        value, low, high = label_intervals(sample.scores, CONFIDENCE, **LABEL_OPTIONS)
        left = label_coefficients(sample.scores.sum(axis=0) - sample.scores, **LABEL_OPTIONS)
        n = len(left)
        half = stdtrit(n - 1, 0.975) * left.std(axis=0) * math.sqrt(n - 1)
        now = covers(low, high, sample.means)
        plain = covers(value - half, value + half, sample.means)
        shown = list(zip(COEFFICIENTS, plain, now, strict=True))
        rows.append({f"{name}, t of all topics": each for name, each, _ in shown} | {name: each for name, _, each in shown})  # fmt: skip
    return collected(rows)


POWER, ASSURANCE, SYSTEMS = 0.8, 0.8, 10
DIFFERENCE = 0.5
"""To be detected, in standard deviations within systems or of the rest."""


def design_power(paired: bool) -> Measure:
    """Return what measures whether the true power of designs from pilots is at least .8, its mean, and its 5 % quantile (of each `AT_ONCE` samples)."""

    def measure(truth: Truth, number: int, seed: int) -> Values:
        drawn, estimate = list(samples(truth, number, seed)), VARIANCES[int(paired)]
        known = drawn[0].teams
        teams = [str(each) for each in (range(len(drawn[0].scores)) if known is None else known)]
        assured = [assured_variance(each.scores, teams, estimate, ASSURANCE) for each in drawn]  # fmt: skip
        variances = {"estimate": [estimate(each.scores) for each in drawn], f"assurance {ASSURANCE:g}": assured}  # fmt: skip
        difference = DIFFERENCE * math.sqrt(drawn[0].variances[int(paired)])
        found: dict[str, Any] = {}
        for name, values in variances.items():
            sizes = topic_set_size(np.array(values).tolist(), difference, paired=paired)["topics"]
            n = sizes.values.astype(float)
            alpha, beta, systems = (np.full(len(n), each) for each in (ALPHA, 1 - POWER, SYSTEMS))
            model = Anova(alpha, beta, systems, paired)
            power = model.power(n, n * DIFFERENCE**2 / 2)
            batches = np.array_split(power, -(-number // AT_ONCE))
            found[f"{name}: power of {POWER:g} reached"] = power >= POWER - 1e-9
            found[f"{name}: {MEAN_POWER}"] = power
            found[f"{name}: {QUANTILE}"] = np.array([np.quantile(each, 0.05) for each in batches])
        return found

    return measure


def effective_coverage(truth: Truth, number: int, seed: int) -> Values:
    """Return whether limits of the effective number of judges hold it, and its estimate as a share of the truth: scores are errors (judge, run, topic)."""
    rows: list[dict[str, Any]] = []
    for sample in samples(truth, number, seed):
        value, low, high = effective_judges(sample.scores, CONFIDENCE)
        target = float(sample.means)
        share, _ = largest_error(sample.scores, np.arange(sample.scores.shape[-1]))
        flagged = share > max(LEAST_SHARE, MANY_TIMES / sample.scores.shape[-1])
        rows.append({"effective judges": covers(low, high, target), f"{MEAN_WIDTH}, of logarithms": np.log(high / low), f"{MEAN_NUMBER}": value, f"{MEAN_NUMBER}, true": target, FLAGGED: flagged})  # fmt: skip
    return collected(rows)


def covid_errors(metric: int, n_topics: int, share: float | None = None) -> Truth:
    """Return errors of the simulated judges of TREC-COVID round 5 by a metric, topics drawn with replacement; with a share, the topic with the largest errors has it."""
    if not DATA.is_dir():
        raise FileNotFoundError(DATA)
    known = judges.judged(DATA)
    errors = np.array([known[each][0][metric] - known["truth"][0][metric] for each in judges.JUDGES])  # fmt: skip
    if share is not None:
        n = errors.shape[-1]
        (_, place), part = largest_error(errors, np.arange(n)), 1 - 1 / n
        others = np.delete(errors, place, axis=-1)
        apart = errors[..., place] - others.mean(axis=-1)
        own, rest = (apart.sum(axis=0) ** 2).sum(), squared_errors(others)[1].sum()
        errors[..., place] -= apart * (1 - np.sqrt(share * rest / (own * part * (part - share))))
    target = np.array(effective_judges(errors, CONFIDENCE)[0])
    return lambda chance: Sample(errors[..., chance.integers(0, errors.shape[-1], n_topics)], target)  # fmt: skip


def covid_labels(judge: str, n_topics: int) -> Truth:
    """Return counts of the labels of TREC-COVID round 5 and of a simulated judge, topics drawn with replacement."""
    if not DATA.is_dir():
        raise FileNotFoundError(DATA)
    counts = judges.judged(DATA)[judge][1]
    target = label_coefficients(counts.sum(axis=0), **LABEL_OPTIONS)
    return lambda chance: Sample(counts[chance.integers(0, len(counts), n_topics)], target)


@cache
def covid_judge() -> Truth:
    """Return reciprocal ranks of TREC-COVID round 5 under the official judgements and under a lenient judge's, as a population."""
    if not DATA.is_dir():
        raise FileNotFoundError(DATA)
    known = judges.judged(DATA, ("RR",))
    return population(np.array([known[name][0][0] for name in ("truth", "lenient")]), 50)
