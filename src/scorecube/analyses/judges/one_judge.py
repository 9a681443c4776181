"""What one judge is compared with the truth for: rankings, decisions, bias, and corrected means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.analyses.rank_agreement import population
from scorecube.analyses.rank_agreement.agreement import Agreement, rankings_of
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms
from scorecube.kernels.rank.concordance import compare, pairs_of, tau_a
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.names import Purpose
from scorecube.statistics.corrected_means import corrected_means, labels_needed
from scorecube.statistics.proportion_intervals import student_quantile

HALVES = ("truth", "judge", "both")
"""Tau of a half of the truth's topics with the other half, of the judge's with as many others of the judge's, and of a half with as many topics of the judge."""
N_SPLITS, GROUPS, SEED = 200, 10, 0
"""Splits, groups of topics that the jackknife leaves out, and the seed of splits and of the topics whose labels are bought, whatever the seed of the analysis."""
LEAST_TOPICS = 20
"""Fewest topics of each set."""
Floats = np.ndarray[Any, np.dtype[np.float64]]


def half_taus(truth: Any, judge: Any) -> Floats:
    """Return the mean tau of halves, (cell, half statistic), in the order of `HALVES`; NaN for few topics.

    truth, judge: float64 (cell, run, topic): scores on each set's own topics.
    """
    n_cells, n_runs = truth.shape[:2]
    least = min(truth.shape[2], judge.shape[2])
    if least < LEAST_TOPICS:
        return np.full((n_cells, len(HALVES)), np.nan)
    size = least // 2
    ranked = [rankings_of(each) for each in (truth, judge)]
    weights = [_halves(each.shape[2], size, stream) for stream, each in enumerate((truth, judge))]
    tolerances = np.concatenate([ranked[0]["tolerances"]] * 2 + [ranked[1]["tolerances"]] * 2)
    cells = np.arange(n_cells)
    first = np.concatenate([cells, cells + 2 * n_cells, cells, cells + n_cells])
    second = np.concatenate(
        [cells + n_cells, cells + 3 * n_cells, cells + 2 * n_cells, cells + 3 * n_cells]
    )
    taus = []
    at_once = trials_at_once(4 * n_cells * n_runs)
    for low in range(0, N_SPLITS, at_once):
        sums = [
            (each[:, low : low + at_once] @ part["units"].T).reshape(2, -1, n_cells, n_runs)
            for each, part in zip(weights, ranked, strict=True)
        ]
        whole = np.concatenate(sums).swapaxes(0, 1).reshape(-1, 4 * n_cells, n_runs)
        counts = compare(np.ascontiguousarray(whole), tolerances, first, second)
        taus.append(tau_a(counts.concordant, counts.discordant, pairs_of(n_runs)))
    mean = np.concatenate(taus).mean(axis=0).reshape(4, n_cells)
    return np.stack([mean[0], mean[1], (mean[2] + mean[3]) / 2], axis=1)


def _halves(n_topics: int, size: int, stream: int) -> Floats:
    """Return which topics are in both halves: (half, split, topic), ones and zeros."""
    words = uniforms(stream_key(SEED, Purpose.JUDGED_HALVES), 2 * n_topics, 0, N_SPLITS)
    order = np.argsort(words[:, stream * n_topics :][:, :n_topics], axis=1)
    place = np.argsort(order, axis=1)
    return np.stack([place < size, (place >= size) & (place < 2 * size)]).astype(np.float64)


def judge_part(truth: Any, judge: Any, confidence: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the tau of halves, and the judge's part of their difference with limits.

    truth, judge: As of `half_taus`.
    confidence: Confidence level; limits are by the jackknife over `GROUPS` groups of topics of each set.
    Returns taus, part, low, high: (cell, half statistic) and three times (cell,): tau of two halves of the truth less
        that of a half with the judge.
    """
    taus = half_taus(truth, judge)
    part = taus[:, 0] - taus[:, 2]
    variance = np.zeros(len(part))
    for place, each in enumerate((truth, judge)):
        left = []
        for group in range(GROUPS):
            kept = np.arange(each.shape[2]) % GROUPS != group
            pair = [truth, judge]
            pair[place] = each[..., kept]
            found = half_taus(*pair)
            left.append(found[:, 0] - found[:, 2])
        variance += (GROUPS - 1) * np.var(left, axis=0)
    half = student_quantile(GROUPS - 1, confidence) * np.sqrt(variance)
    return taus, part, part - half, part + half


LEVELS = ("all", "low", "middle", "high")
"""All runs, and thirds of the runs by their means under the truth."""
QUANTITIES = ("mean", "difference")
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


def common_errors(scores: Floats) -> tuple[Floats, np.ndarray[Any, Any]]:
    """Return the scores of all judges less those of the truth, (cell, judge, run, topic), on the runs and topics that all sets have, and the places of these topics.

    scores: float64 (set, cell, run, topic), NaN for what a set lacks; the truth first.
    """
    known = ~np.isnan(scores)
    runs, topics = (known.any(axis=axes).all(axis=0) for axes in ((1, 3), (1, 2)))
    errors = scores[1:, :, runs][..., topics] - scores[:1, :, runs][..., topics]
    return np.swapaxes(errors, 0, 1), np.flatnonzero(topics)


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


def preference(sets: TwoSets, own: Any, confidence: float) -> dict[str, Any]:
    """Return the bias for the runs of a judge's family less that for all others, with limits by Student's t over shared topics: (cell,).

    sets: Scores.
    own: bool (run,): runs of the cube that are of the judge's family.
    confidence: Confidence level.
    """
    of_family = own[sets.runs]
    missing = np.full(len(sets.truth), np.nan)
    n_own = int(of_family.sum())
    found = {"preference": missing, "preference_low": missing, "preference_high": missing}
    if not sets.is_shared or n_own in (0, len(of_family)):
        return found | {"n_own": n_own}
    biases = sets.shared_judge - sets.shared_truth
    by_topic = biases[:, of_family].mean(axis=1) - biases[:, ~of_family].mean(axis=1)
    n = by_topic.shape[1]
    mean, error = by_topic.mean(axis=1), by_topic.std(axis=1, ddof=1) / np.sqrt(n)
    half = student_quantile(n - 1, confidence) * error
    return dict(zip(found, (mean, mean - half, mean + half), strict=True)) | {"n_own": n_own}


def _error(values: Any) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def corrections(
    sets: TwoSets,
    sizes: Sequence[int],
    *,
    baseline: int | None,
    by_judge: bool,
    width: float,
    purchases: int,
    confidence: float,
    bounds: Any,
) -> dict[str, Any]:
    """Return corrected means and differences from a baseline by numbers of labelled topics, and what labels buy.

    sets: Scores.
    sizes: Numbers of labelled topics; 0 for all shared ones.
    baseline: Run of the cube; None for the best under the judge on all its topics, or under the truth on the shared ones.
    by_judge: Which of both.
    width: Wanted width of intervals.
    purchases: Random choices of the labelled topics, of which tables of means show the first.
    confidence: Confidence level.
    bounds: float64 (cell, 2): known bounds of scores; NaN for none.
    """
    found = _no_corrections(len(sets.truth), len(sizes), len(sets.runs))
    if not sets.is_shared:
        return found
    of_cube = np.flatnonzero(sets.runs)
    # The same for a topic of the cube whatever topics are shared: (purchase, shared topic).
    words = uniforms(stream_key(SEED, Purpose.LABELLED_TOPICS), len(sets.shared), 0, purchases)
    order = np.argsort(words[:, sets.shared], axis=1)
    for cell in range(len(sets.truth)):
        h, f, more = sets.shared_truth[cell], sets.shared_judge[cell], sets.others[cell]
        base = int(np.argmax((np.concatenate([f, more], axis=-1) if by_judge else h).mean(axis=-1)))
        if baseline is not None and baseline in of_cube:
            base = int(np.searchsorted(of_cube, baseline))
        found["baseline"][cell] = of_cube[base]
        others = np.delete(np.arange(len(h)), base)
        against = tuple(each[others] - each[base] for each in (h, f, more))
        for q, (items, kept) in enumerate((((h, f, more), of_cube), (against, of_cube[others]))):
            low, high = bounds[cell].tolist()
            known = (low - q * high, high - q * low) if low < high else None
            for k, size in enumerate(sizes):
                _correct(found, (cell, k, q), items, kept, size, order, confidence, known)
            needed = labels_needed(items[0], items[1], items[2], width, confidence)
            found["needed"][cell, q], found["needed_truth"][cell, q] = needed
    return found


def _no_corrections(n_cells: int, n_sizes: int, n_runs: int) -> dict[str, Any]:
    """Return the arrays of `corrections` without values."""
    of_runs = [f"{name}{end}" for name in CORRECTED for end in ("", "_low", "_high")]
    sizes = (n_cells, n_sizes, len(QUANTITIES))
    shapes: dict[str, Any] = dict.fromkeys((*of_runs, "slope"), (n_cells, n_sizes, n_runs))
    shapes |= dict.fromkeys(("width", "width_truth", "covered", "mean_slope"), sizes)
    shapes |= dict.fromkeys(("needed", "needed_truth"), sizes[::2])
    found = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    return found | {"baseline": np.full(n_cells, -1)}


def _correct(
    found: dict[str, Any],
    at: tuple[int, int, int],
    items: tuple[Floats, ...],
    kept: Any,
    size: int,
    order: Any,
    confidence: float,
    bounds: tuple[float, float] | None,
) -> None:
    """Write what one number of labelled topics gives for the means, or differences, of some runs of the cube."""
    n_shared = items[0].shape[1]
    m = size or n_shared
    if m > n_shared or size == n_shared:
        return
    chosen = np.zeros((len(order) if size else 1, n_shared), bool)
    np.put_along_axis(chosen, order[: len(chosen), :m], True, axis=1)
    means = corrected_means(items[0], items[1], items[2], chosen, confidence, bounds)
    cell, k, q = at
    for end, values in (("", means.mean), ("_low", means.low), ("_high", means.high)):
        found[f"{CORRECTED[q]}{end}"][cell, k, kept] = values[0]
    if q == 0:
        found["slope"][cell, k, kept] = means.slope[0]
    truth = items[0].mean(axis=1)
    holds = (means.low <= truth) & (truth <= means.high)
    found["width"][at] = (means.high - means.low).mean()
    found["width_truth"][at] = (means.human_high - means.human_low).mean()
    found["covered"][at] = np.nan if np.isnan(means.mean).all() else holds.mean()
    found["mean_slope"][at] = means.slope.mean()


def halves(sets: TwoSets, confidence: float) -> dict[str, Floats]:
    """Return the tau of halves and the judge's part, where topics are disjoint; NaN elsewhere."""
    n_cells = len(sets.truth)
    if sets.is_shared:
        missing = np.full(n_cells, np.nan)
        taus = np.full((n_cells, len(HALVES)), np.nan)
        return {"half_tau": taus, "part": missing, "part_low": missing, "part_high": missing}
    values = judge_part(sets.truth, sets.judge, confidence)
    return dict(zip(("half_tau", "part", "part_low", "part_high"), values, strict=True))
