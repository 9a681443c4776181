"""Rank correlation by bit matrices: which pairs of runs do two rankings order alike, differently, or not at all?

Run x of a ranking's matrix has a bit for every run that stands strictly above run x. It is built once, by walking the runs from the
best one down; then the bits common to two matrices are the pairs that both order alike, in total (Kendall) and run by run (tau-AP).
So one matrix serves all comparisons of a ranking, ties cost next to nothing, and all counts are integers.

Use `compare` for counts of many pairs of rankings in many trials, and the functions below it for coefficients:

>>> means = np.array([[[5.0, 3.0, 2.0, 1.0], [6.0, 1.0, 2.0, 1.0]]])  # (trial, ranking, run), larger is better
>>> found = compare(means, np.zeros(2), np.array([0]), np.array([1]))
>>> found.concordant.tolist(), found.discordant.tolist(), found.tied.tolist()
([[4]], [[1]], [[0, 1]])
>>> tau_a(found.concordant, found.discordant, pairs_of(4)).tolist()
[[0.5]]

References: Yilmaz, Aslam and Robertson 2008, "A new rank correlation coefficient for information retrieval"; Urbano and Marrero 2017,
"The treatment of ties in AP correlation" (its R package ircor); Kendall 1970, "Rank correlation methods".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scorecube.kernels.intrinsics import count_ones
from scorecube.kernels.jit import compiled, inlined

WORD = 64
KEY_BITS = 62
"""Of a sort key: a value and, in its last bits, the number of the run."""


class Concordance(NamedTuple):
    """What pairs of rankings have in common; integers are exact, and all numbers are free of the order of trials and pairs.

    A comparison is of rankings a and b; a "pair" is of runs. Every one of R (R - 1) / 2 pairs is concordant, discordant, tied in a, or
    tied in b (`tied_both` of them in both): concordant + discordant + tied[a] + tied[b] - tied_both = R (R - 1) / 2.

    Parameters
    ----------
    concordant, discordant
        int64 (trial, comparison): pairs that both rankings order, alike or differently.
    tied_both
        int64 (trial, comparison): pairs tied in both.
    rank_products
        int64 (trial, comparison): 4 x sum over runs of the product of both centred average ranks.
    ap_accuracy
        float64 (trial, comparison): tau-AP with the tie rule a, the first ranking the truth: ties are averaged over their orders
        (Urbano and Marrero 2017, section 3; they know no ties of the truth, which are averaged over as well).
    ap_strict
        float64 (trial, comparison): tau-AP of runs that are not tied, the first ranking the truth: ties of the second are passed over, of the
        first they are never concordant. NaN if all runs are tied.
    ap_agreement
        float64 (trial, comparison): tau-AP with the tie rule b, the mean of `ap_strict` in both directions (section 4).
    tied
        int64 (trial, ranking): tied pairs.
    rank_squares
        int64 (trial, ranking): 4 x sum over runs of the squared centred average rank.
    """

    concordant: np.ndarray[Any, Any]
    discordant: np.ndarray[Any, Any]
    tied_both: np.ndarray[Any, Any]
    rank_products: np.ndarray[Any, Any]
    ap_accuracy: np.ndarray[Any, Any]
    ap_strict: np.ndarray[Any, Any]
    ap_agreement: np.ndarray[Any, Any]
    tied: np.ndarray[Any, Any]
    rank_squares: np.ndarray[Any, Any]


def compare(values: Any, tolerances: Any, first: Any, second: Any) -> Concordance:
    """Compare pairs of rankings of the same runs, trial by trial.

    Parameters
    ----------
    values
        float64 (trial, ranking, run): what runs are ranked by, larger is better; integers, e.g. sums in units of `kernels.exact`.
    tolerances
        float64 (ranking,): neighbours in the order that differ by no more are tied; 0 for exact values.
    first, second
        int (comparison,): the rankings of each comparison; the first is the truth of `ap_accuracy`.
    """
    keys = sort_keys(values, tolerances)
    limits = np.zeros(values.shape[1]) if keys[1] else np.asarray(tolerances, np.float64)
    n_trials, n_rankings, n_runs = values.shape
    shape, width = (n_trials, len(first)), (n_trials, n_rankings)
    found = Concordance(
        np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.int64),
        np.empty(shape), np.empty(shape), np.empty(shape), np.empty(width, np.int64), np.empty(width, np.int64),
    )  # fmt: skip
    if n_runs > 0:
        places = (np.ascontiguousarray(first, dtype=np.int64), np.ascontiguousarray(second, dtype=np.int64))
        _compare_all(keys[0], run_bits(n_runs), limits.astype(np.int64), *places, *found)
    return found


def sort_keys(values: Any, tolerances: Any) -> tuple[Any, bool]:
    """Return ``value * 2**bits + run``, sorted along the last axis, and whether values had to be replaced by ranks.

    Parameters
    ----------
    values
        float64 (..., ranking, run). Values that are no integers, or too large to leave room for the run, are replaced by the number
        of their tie group, so that no tolerance is needed any more.
    tolerances
        float64 (ranking,).
    """
    bits = run_bits(values.shape[-1])
    largest = float(np.abs(values).max(initial=0.0))
    replaced = not (largest < 2.0 ** (KEY_BITS - bits) and bool((np.rint(values) == values).all()))
    keys = tie_groups(values, tolerances) if replaced else values.astype(np.int64)
    keys <<= bits
    keys |= np.arange(values.shape[-1])
    keys.sort(axis=-1)
    return keys, replaced


def tie_groups(values: Any, tolerances: Any) -> Any:
    """Return the number of each value's tie group, from 0 for the smallest: int64 of the shape of the values, (..., ranking, run)."""
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    number = np.zeros(values.shape, np.int64)
    steps = np.diff(ordered, axis=-1) > np.asarray(tolerances)[:, np.newaxis]
    np.cumsum(steps, axis=-1, out=number[..., 1:])
    groups = np.empty(values.shape, np.int64)
    np.put_along_axis(groups, order, number, axis=-1)
    return groups


def run_bits(n_runs: int) -> int:
    """Return the bits of a run number."""
    return max(1, (n_runs - 1).bit_length())


def pairs_of(n_runs: Any) -> Any:
    """Return the number of pairs."""
    return n_runs * (n_runs - 1) // 2


def tau_a(concordant: Any, discordant: Any, pairs: Any) -> Any:
    """Return Kendall's tau as the papers have it: ties count in the denominator only (S1 equation 8); NaN without pairs."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (np.asarray(concordant) - discordant) / pairs


def tau_b(concordant: Any, discordant: Any, pairs: Any, tied_a: Any, tied_b: Any) -> Any:
    """Return Kendall's tau-b, corrected for ties (Kendall 1970, chapter 3); NaN if all runs are tied."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # In floats: the integers' product may be too large, and the root of a rounded square is exact.
        untied = np.subtract(pairs, tied_a, dtype=np.float64) * np.subtract(pairs, tied_b, dtype=np.float64)
        return (np.asarray(concordant) - discordant) / np.sqrt(untied)


def spearman(rank_products: Any, squares_a: Any, squares_b: Any) -> Any:
    """Return Spearman's rho with average ranks; NaN if all runs are tied."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return rank_products / np.sqrt(np.multiply(squares_a, squares_b, dtype=np.float64))


@compiled
def _compare_all(
    keys: Any, bits: int, tolerances: Any, first: Any, second: Any, concordant: Any, discordant: Any, tied_both: Any,
    rank_products: Any, ap_accuracy: Any, ap_strict: Any, ap_agreement: Any, tied: Any, rank_squares: Any,
) -> None:  # fmt: skip
    n_trials, n_rankings, n_runs = keys.shape
    n_words = (n_runs + WORD - 1) // WORD
    above = np.zeros((n_rankings, n_words, n_runs), np.uint64)
    runs, higher = np.empty((n_rankings, n_runs), np.int32), np.empty((n_rankings, n_runs), np.int32)
    ranks = np.empty((n_rankings, n_runs), np.int32)
    weights, within, below_top = np.empty((2, n_rankings, n_runs)), np.empty(n_rankings), np.empty(n_rankings, np.int64)
    counts, inverses = np.empty(n_runs, np.int32), np.zeros(n_runs + 1)
    for place in range(1, n_runs + 1):
        inverses[place] = 1.0 / place
    all_pairs = np.int64(n_runs) * (n_runs - 1) // 2
    for trial in range(n_trials):
        for each in range(n_rankings):
            tied[trial, each], within[each], below_top[each] = order_runs(
                keys[trial], each, bits, tolerances[each], inverses, above, runs, higher, ranks, weights
            )
            rank_squares[trial, each] = multiply(ranks, each, each)
        for k in range(first.shape[0]):
            a, b = first[k], second[k]
            alike = common_bits(above, a, b, counts)
            accuracy, forth, back = weigh(counts, weights, a, b)
            both, halves = np.int64(0), 0.0
            if tied[trial, a] > 0:
                both, halves = tied_pairs(runs[a], higher[a], higher[b], weights[0, b])
            concordant[trial, k], tied_both[trial, k] = alike, both
            discordant[trial, k] = all_pairs - tied[trial, a] - tied[trial, b] + both - alike
            rank_products[trial, k] = multiply(ranks, a, b)
            ap_accuracy[trial, k] = 2.0 * (accuracy + halves + within[b]) / (n_runs - 1) - 1.0
            ap_strict[trial, k] = 2.0 * forth / below_top[b] - 1.0
            ap_agreement[trial, k] = forth / below_top[b] + back / below_top[a] - 1.0


@inlined
def order_runs(
    keys: Any, each: int, bits: int, tolerance: int, inverses: Any, above: Any, runs: Any, higher: Any, ranks: Any,
    weights: Any,
) -> Any:  # fmt: skip
    """Write down one ranking, in the row `each` of the arrays.

    Parameters
    ----------
    keys
        int64 (ranking, run), of `sort_keys`.
    tolerance
        Neighbours that differ by no more are tied.
    inverses
        float64 (run + 1,): 0, 1 / 1, ... 1 / R.
    above
        uint64 (ranking, word, run), written: bit y % 64 of word y // 64 of run x tells whether run y is strictly above run x.
    runs
        int32 (ranking, run), written: the runs, best first.
    higher
        int32 (ranking, run), written: number of runs strictly above each; equal for tied runs only.
    ranks
        int32 (ranking, run), written: average rank, centred and doubled.
    weights
        float64 (rule, ranking, run), written: what a concordant run above is worth in tau-AP, rule a (mean of 1 / (rank - 1) over the
        orders of the tied) and rule b (1 / number of runs above).

    Returns
    -------
    tied, within, below_top
        Tied pairs; rule a's sum for pairs of tied runs; number of runs that are not at the top.
    """
    n_runs = keys.shape[1]
    mask = (np.int64(1) << bits) - np.int64(1)
    tied, begin, last = np.int64(0), np.int64(0), keys[each, n_runs - 1] >> bits
    for place in range(n_runs):
        key = keys[each, n_runs - 1 - place]
        begin = begin if last - (key >> bits) <= tolerance else np.int64(place)
        last = key >> bits
        run = np.uint64(key & mask)
        runs[each, place], higher[each, run] = run, begin
        ranks[each, run] = 2 * place + 1 - n_runs
        weights[0, each, run] = weights[1, each, run] = inverses[place]
        tied += place - begin
    for word in range(above.shape[1]):
        fill_word(runs, each, word, above)
    within, top = (0.0, np.int64(1)) if tied == 0 else join_ties(runs, higher, each, inverses, above, ranks, weights)
    return tied, within, n_runs - top


@inlined
def fill_word(runs: Any, each: int, word: int, above: Any) -> None:
    """Write one word of every run of a matrix, see `order_runs`, as if no runs were tied."""
    passed = np.uint64(0)
    for place in range(runs.shape[1]):
        run = np.uint64(runs[each, place])
        above[each, word, run] = passed
        passed |= np.uint64(run >> np.uint64(6) == np.uint64(word)) << (run & np.uint64(63))


@inlined
def join_ties(runs: Any, higher: Any, each: int, inverses: Any, above: Any, ranks: Any, weights: Any) -> Any:
    """Give tied runs the same bits, average ranks and weights; return rule a's sum for their pairs, and the number at the top."""
    n_runs = runs.shape[1]
    within, top, begin = 0.0, np.int64(0), np.int64(0)
    while begin < n_runs:
        end, share = begin, 0.0
        while end < n_runs and higher[each, runs[each, end]] == begin:
            within += 0.5 * (end - begin) * inverses[end]
            share += inverses[end]
            end += 1
        if begin == 0:
            share, top = 0.0, end
        for place in range(begin, end):
            run = runs[each, place]
            ranks[each, run] = begin + end - n_runs
            weights[0, each, run], weights[1, each, run] = share / (end - begin), inverses[begin]
            for word in range(above.shape[1]):
                above[each, word, run] = above[each, word, runs[each, begin]]
        begin = end
    return within, top


@inlined
def common_bits(above: Any, first: int, second: int, counts: Any) -> Any:
    """Count the bits common to two matrices, run by run; return the total: the concordant pairs."""
    n_words, n_runs = above.shape[1], above.shape[2]
    for run in range(n_runs):
        counts[run] = count_ones(above[first, 0, run] & above[second, 0, run])
    for word in range(1, n_words):
        for run in range(n_runs):
            counts[run] += count_ones(above[first, word, run] & above[second, word, run])
    total = np.int64(0)
    for run in range(n_runs):
        total += np.int64(counts[run])
    return total


@inlined
def weigh(counts: Any, weights: Any, first: int, second: int) -> Any:
    """Return the concordant runs above each run, weighted: by rule a, by rule b, and by rule b the other way round."""
    accuracy, forth, back = 0.0, 0.0, 0.0
    for run in range(counts.shape[0]):
        count = float(counts[run])
        accuracy += count * weights[0, second, run]
        forth += count * weights[1, second, run]
        back += count * weights[1, first, run]
    return accuracy, forth, back


@inlined
def multiply(ranks: Any, first: int, second: int) -> Any:
    """Return the sum of products of two rows of integers."""
    total = np.int64(0)
    for run in range(ranks.shape[1]):
        total += np.int64(ranks[first, run]) * np.int64(ranks[second, run])
    return total


@inlined
def tied_pairs(runs: Any, higher: Any, other: Any, worth: Any) -> Any:
    """Visit the pairs that are tied in one ranking.

    Parameters
    ----------
    runs, higher
        Of this ranking.
    other, worth
        Number of runs above each, and weights of rule a, in another ranking.

    Returns
    -------
    both, halves
        How many are tied in the other, too; what the others add to tau-AP if half of them count as concordant.
    """
    n_runs = runs.shape[0]
    both, halves = np.int64(0), 0.0
    begin = 0
    while begin < n_runs:
        end = begin + 1
        while end < n_runs and higher[runs[end]] == begin:
            end += 1
        for i in range(begin + 1, end):
            for j in range(begin, i):
                x, y = other[runs[i]], other[runs[j]]
                both += x == y
                halves += 0.5 * (worth[runs[i]] if x > y else (worth[runs[j]] if y > x else 0.0))
        begin = end
    return both, halves
