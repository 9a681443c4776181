"""Rank correlation by bit matrices: concordant, discordant and tied pairs of runs.

Each run x of a ranking has a bit for every run that is ranked strictly above x. These bits are written once per
ranking, from the best run to the worst; the bits common to two rankings are their concordant pairs, in total (Kendall)
and run by run (tau-AP). So one matrix serves all comparisons of a ranking, ties take little additional time, and all
counts are integers.

`compare` counts pairs for many pairs of rankings in many trials, and the functions below it compute coefficients:

>>> means = np.array([[[5.0, 3.0, 2.0, 1.0], [6.0, 1.0, 2.0, 1.0]]])  # (trial, ranking, run), larger is better
>>> found = compare(means, np.zeros(2), np.array([0]), np.array([1]))
>>> found.concordant.tolist(), found.discordant.tolist(), found.tied.tolist()
([[4]], [[1]], [[0, 1]])
>>> tau_a(found.concordant, found.discordant, pairs_of(4)).tolist()
[[0.5]]

References: Yilmaz, Aslam and Robertson 2008, "A new rank correlation coefficient for information retrieval"; Urbano and
Marrero 2017, "The treatment of ties in AP correlation" (its R package ircor); Kendall 1970, "Rank correlation methods".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Float64Array3,
    Int32Array1,
    Int32Array2,
    Int64Array1,
    Int64Array2,
    Int64Array3,
    Integer,
    UInt64Array3,
)
from scorecube.kernels.intrinsics import count_ones
from scorecube.kernels.jit import compiled, inlined

Counts = NDArray[np.integer[Any]] | int
"""Numbers of pairs of runs, of any shape."""
WORD = 64
KEY_BITS = 62
"""Bits of a sort key: a value and, in the last bits, the number of the run."""


class Concordance(NamedTuple):
    """Pairs of runs by their order in two rankings, and tau-AP.

    A comparison has two rankings, a and b. Each of the R (R - 1) / 2 pairs of runs is concordant, discordant, tied in
    a, or tied in b (`tied_both` of them in both): concordant + discordant + tied[a] + tied[b] - tied_both = R (R - 1) /
    2. Integers are exact, and no number depends on the order of trials and comparisons.

    Parameters
    ----------
    concordant, discordant
        int64 (trial, comparison): pairs without ties that both rankings order alike, or differently.
    tied_both
        int64 (trial, comparison): pairs tied in both.
    rank_products
        int64 (trial, comparison): 4 times the sum over runs of the products of both centred average ranks.
    ap_accuracy
        float64 (trial, comparison): tau-AP with tie rule a and the first ranking as the truth: the mean over the orders
        of tied runs (Urbano and Marrero 2017, section 3, where only the second ranking has ties; ties of the first are
        averaged likewise).
    ap_strict
        float64 (trial, comparison): tau-AP of untied runs, the first ranking as the truth: pairs tied in the second are
        left out, pairs tied in the first are not concordant. NaN if all runs are tied.
    ap_agreement
        float64 (trial, comparison): tau-AP with tie rule b, the mean of `ap_strict` in both directions (section 4).
    tied
        int64 (trial, ranking): tied pairs.
    rank_squares
        int64 (trial, ranking): 4 times the sum over runs of the squared centred average ranks.
    """

    concordant: Int64Array2
    discordant: Int64Array2
    tied_both: Int64Array2
    rank_products: Int64Array2
    ap_accuracy: Float64Array2
    ap_strict: Float64Array2
    ap_agreement: Float64Array2
    tied: Int64Array2
    rank_squares: Int64Array2


def compare(
    values: Float64Array3, tolerances: Float64Array1, first: Int64Array1, second: Int64Array1
) -> Concordance:
    """Compare pairs of rankings of the same runs, trial by trial.

    Parameters
    ----------
    values
        float64 (trial, ranking, run): scores by which runs are ranked, larger is better; fastest for integers, e.g.
        sums in the units of `scorecube.statistics.integer_scores`.
    tolerances
        float64 (ranking,): neighbours in the order that differ by no more are tied; 0 for exact values.
    first, second
        int64 (comparison,): the rankings of each comparison; the first is the truth of `ap_accuracy`.
    """
    keys = sort_keys(values, tolerances)
    limits = np.zeros(values.shape[1]) if keys[1] else np.asarray(tolerances, np.float64)
    n_trials, n_rankings, n_runs = values.shape
    shape, width = (n_trials, len(first)), (n_trials, n_rankings)
    found = Concordance(
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
    )
    if n_runs > 0:
        places = (
            np.ascontiguousarray(first, dtype=np.int64),
            np.ascontiguousarray(second, dtype=np.int64),
        )
        _compare_all(keys[0], run_bits(n_runs), limits.astype(np.int64), *places, found)
    return found


def sort_keys(
    values: NDArray[np.float64], tolerances: Float64Array1
) -> tuple[NDArray[np.int64], bool]:
    """Return sort keys ``value * 2**bits + run``, sorted along the last axis.

    Parameters
    ----------
    values
        float64 (..., ranking, run). If some are not integers, or too large to leave bits for the run, all are replaced
        by the number of their tie group, and no tolerance is needed.
    tolerances
        float64 (ranking,): see `compare`.

    Returns
    -------
    keys, replaced
        int64 of the shape of the values; whether values were replaced.
    """
    bits = run_bits(values.shape[-1])
    largest = float(np.abs(values).max(initial=0.0))
    replaced = not (largest < 2.0 ** (KEY_BITS - bits) and bool((np.rint(values) == values).all()))
    keys = tie_groups(values, tolerances) if replaced else values.astype(np.int64)
    keys <<= bits
    keys |= np.arange(values.shape[-1])
    keys.sort(axis=-1)
    return keys, replaced


def tie_groups(values: NDArray[np.float64], tolerances: Float64Array1) -> NDArray[np.int64]:
    """Return the number of each value's tie group, from 0 for the smallest value.

    Values and numbers are (..., ranking, run).
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    number = np.zeros(values.shape, np.int64)
    steps = np.diff(ordered, axis=-1) > np.asarray(tolerances)[:, np.newaxis]
    np.cumsum(steps, axis=-1, out=number[..., 1:])
    groups = np.empty(values.shape, np.int64)
    np.put_along_axis(groups, order, number, axis=-1)
    return groups


def run_bits(n_runs: int) -> int:
    """Return the number of bits of a run number."""
    return max(1, (n_runs - 1).bit_length())


def pairs_of(n_runs: int) -> int:
    """Return the number of pairs of runs."""
    return n_runs * (n_runs - 1) // 2


def tau_a(concordant: Counts, discordant: Counts, pairs: Counts) -> NDArray[np.float64]:
    """Return Kendall's tau-a; NaN without pairs (Sakai 2007, equation 8).

    Ties count in the denominator only.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: NDArray[np.float64] = np.subtract(concordant, discordant) / pairs
    return tau


def tau_b(
    concordant: Counts, discordant: Counts, pairs: Counts, tied_a: Counts, tied_b: Counts
) -> NDArray[np.float64]:
    """Return Kendall's tau-b (1970, chapter 3); NaN if all runs are tied."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # As floats: the product of the integers may overflow, and the square root of a rounded square is exact.
        untied = np.subtract(pairs, tied_a, dtype=np.float64) * np.subtract(
            pairs, tied_b, dtype=np.float64
        )
        tau: NDArray[np.float64] = np.subtract(concordant, discordant) / np.sqrt(untied)
    return tau


def spearman(rank_products: Counts, squares_a: Counts, squares_b: Counts) -> NDArray[np.float64]:
    """Return Spearman's rho with average ranks; NaN if all runs are tied."""
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: NDArray[np.float64] = rank_products / np.sqrt(
            np.multiply(squares_a, squares_b, dtype=np.float64)
        )
    return rho


@compiled
def _compare_all(
    keys: Int64Array3,
    bits: int,
    tolerances: Int64Array1,
    first: Int64Array1,
    second: Int64Array1,
    found: Concordance,
) -> None:
    """Write the results of `compare`; keys are of `sort_keys`, tolerances integers."""
    (
        concordant,
        discordant,
        tied_both,
        rank_products,
        ap_accuracy,
        ap_strict,
        ap_agreement,
        tied,
        rank_squares,
    ) = found
    n_trials, n_rankings, n_runs = keys.shape
    n_words = (n_runs + WORD - 1) // WORD
    above = np.zeros((n_rankings, n_words, n_runs), np.uint64)
    shape = (n_rankings, n_runs)
    runs, higher = np.empty(shape, np.int32), np.empty(shape, np.int32)
    ranks, weights = np.empty(shape, np.int32), np.empty((2, n_rankings, n_runs))
    within, below_top = np.empty(n_rankings), np.empty(n_rankings, np.int64)
    counts, inverses = np.empty(n_runs, np.int32), np.zeros(n_runs + 1)
    for place in range(1, n_runs + 1):
        inverses[place] = 1.0 / place
    all_pairs = np.int64(n_runs) * (n_runs - 1) // 2
    for trial in range(n_trials):
        for each in range(n_rankings):
            tied[trial, each], within[each], below_top[each] = order_runs(
                keys[trial],
                each,
                bits,
                tolerances[each],
                inverses,
                above,
                runs,
                higher,
                ranks,
                weights,
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
    keys: Int64Array2,
    each: int,
    bits: int,
    tolerance: int,
    inverses: Float64Array1,
    above: UInt64Array3,
    runs: Int32Array2,
    higher: Int32Array2,
    ranks: Int32Array2,
    weights: Float64Array3,
) -> tuple[np.int64, float, Integer]:
    """Write one ranking to row `each` of the arrays.

    Parameters
    ----------
    keys
        int64 (ranking, run), of `sort_keys`.
    each
        Number of the ranking.
    bits
        Of `run_bits`.
    tolerance
        Neighbours that differ by no more are tied.
    inverses
        float64 (run + 1,): 0, 1 / 1, ..., 1 / R.
    above
        uint64 (ranking, word, run), written: bit y % 64 of word y // 64 of run x is set if run y is ranked strictly
        above run x.
    runs
        int32 (ranking, run), written: the runs from best to worst.
    higher
        int32 (ranking, run), written: number of runs ranked strictly above each run; equal for tied runs only.
    ranks
        int32 (ranking, run), written: 2 times the centred average rank.
    weights
        float64 (rule, ranking, run), written: weight of a concordant run above in tau-AP by rule a (mean of 1 / (rank -
        1) over the orders of tied runs) and rule b (1 / number of runs above).

    Returns
    -------
    tied, within, below_top
        Number of tied pairs; sum of rule a over pairs of tied runs; number of runs below the top.
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
    within, top = (
        (0.0, np.int64(1))
        if tied == 0
        else join_ties(runs, higher, each, inverses, above, ranks, weights)
    )
    return tied, within, n_runs - top


@inlined
def fill_word(runs: Int32Array2, each: int, word: int, above: UInt64Array3) -> None:
    """Write one word of every run of ranking `each`, as if no runs were tied.

    `runs` and `above` are those of `order_runs`.
    """
    passed = np.uint64(0)
    for place in range(runs.shape[1]):
        run = np.uint64(runs[each, place])
        above[each, word, run] = passed
        passed |= np.uint64(run >> np.uint64(6) == np.uint64(word)) << (run & np.uint64(63))


@inlined
def join_ties(
    runs: Int32Array2,
    higher: Int32Array2,
    each: int,
    inverses: Float64Array1,
    above: UInt64Array3,
    ranks: Int32Array2,
    weights: Float64Array3,
) -> tuple[float, np.int64]:
    """Assign equal bits, average ranks and weights to tied runs; see `order_runs`.

    Returns
    -------
    within, top
        Sum of rule a over pairs of tied runs; number of runs at the top.
    """
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
def common_bits(above: UInt64Array3, first: int, second: int, counts: Int32Array1) -> np.int64:
    """Count the bits common to two rankings, by run; return the concordant pairs.

    `counts` (run,) is written.
    """
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
def weigh(
    counts: Int32Array1, weights: Float64Array3, first: int, second: int
) -> tuple[float, float, float]:
    """Return weighted sums over runs of the numbers of concordant runs above each.

    The weights are those of rule a, of rule b, and of rule b with the rankings exchanged.
    """
    accuracy, forth, back = 0.0, 0.0, 0.0
    for run in range(counts.shape[0]):
        count = float(counts[run])
        accuracy += count * weights[0, second, run]
        forth += count * weights[1, second, run]
        back += count * weights[1, first, run]
    return accuracy, forth, back


@inlined
def multiply(ranks: Int32Array2, first: int, second: int) -> np.int64:
    """Return the sum of products of two rows of integers (row, run)."""
    total = np.int64(0)
    for run in range(ranks.shape[1]):
        total += np.int64(ranks[first, run]) * np.int64(ranks[second, run])
    return total


@inlined
def tied_pairs(
    runs: Int32Array1, higher: Int32Array1, other: Int32Array1, worth: Float64Array1
) -> tuple[np.int64, float]:
    """Visit the pairs that are tied in one ranking.

    Parameters
    ----------
    runs, higher
        int32 (run,): rows of `order_runs` of this ranking.
    other, worth
        int32 and float64 (run,): number of runs above each run, and weights of rule a, in another ranking.

    Returns
    -------
    both, halves
        Number of pairs tied in both rankings; tau-AP of the others, counting half of them as concordant.
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
