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
    Int32Array3,
    Int64Array1,
    Int64Array2,
    Int64Array3,
    UInt64Array2,
    UInt64Array3,
)
from scorecube.kernels.bits import count_ones
from scorecube.kernels.jit import compiled

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

    concordant, discordant: int64 (trial, comparison): pairs without ties that both rankings order alike, or
        differently.
    tied_both: int64 (trial, comparison): pairs tied in both.
    rank_products: int64 (trial, comparison): 4 times the sum over runs of the products of both centred average ranks.
    ap_accuracy: float64 (trial, comparison): tau-AP with tie rule a and the first ranking as the truth: the mean over
        the orders of tied runs (Urbano and Marrero 2017, section 3, where only the second ranking has ties; ties of the
        first are averaged likewise).
    ap_agreement: float64 (trial, comparison): tau-AP with tie rule b (section 4): the mean of both directions, each of untied runs
        with one ranking as the truth: pairs tied in the other are left out, pairs tied in the truth are not concordant. NaN if all runs are tied.
    tied: int64 (trial, ranking): tied pairs.
    rank_squares: int64 (trial, ranking): 4 times the sum over runs of the squared centred average ranks.
    """

    concordant: Int64Array2
    discordant: Int64Array2
    tied_both: Int64Array2
    rank_products: Int64Array2
    ap_accuracy: Float64Array2
    ap_agreement: Float64Array2
    tied: Int64Array2
    rank_squares: Int64Array2


def compare(
    values: Float64Array3, tolerances: Float64Array1, first: Int64Array1, second: Int64Array1
) -> Concordance:
    """Compare pairs of rankings of the same runs, trial by trial.

    values: float64 (trial, ranking, run): scores by which runs are ranked, larger is better; fastest for integers, e.g.
        sums in the units of `scorecube.statistics.integer_scores`.
    tolerances: float64 (ranking,): neighbours in the order that differ by no more are tied; 0 for exact values.
    first, second: int64 (comparison,): the rankings of each comparison; the first is the truth of `ap_accuracy`.
    """
    keys = sort_keys(values, tolerances)
    limits = np.zeros(values.shape[1]) if keys[1] else np.asarray(tolerances, np.float64)
    n_trials, n_rankings, n_runs = values.shape
    n_words = (n_runs + WORD - 1) // WORD
    counted = np.empty((4, n_trials, len(first)), np.int64)
    weighed = np.empty((2, n_trials, len(first)))
    ordered = np.empty((2, n_trials, n_rankings), np.int64)
    if n_runs > 0:
        _compare_all(
            keys[0],
            run_bits(n_runs),
            limits.astype(np.int64),
            np.array([first, second], dtype=np.int64),
            counted,
            weighed,
            ordered,
            np.concatenate([np.zeros(1), 1.0 / np.arange(1, n_runs + 1)]),
            np.empty((n_rankings, n_words, n_runs), np.uint64),
            np.empty((n_rankings, 3, n_runs), np.int32),
            np.empty((n_rankings, 2, n_runs)),
            np.empty((2, n_rankings)),
            np.empty(n_runs, np.int32),
        )
    return Concordance(*counted, *weighed, *ordered)


def sort_keys(
    values: NDArray[np.float64], tolerances: Float64Array1
) -> tuple[NDArray[np.int64], bool]:
    """Return sort keys ``value * 2**bits + run``, sorted along the last axis.

    values: float64 (..., ranking, run). If some are not integers, or too large to leave bits for the run, all are
        replaced by the number of their tie group, and no tolerance is needed.
    tolerances: float64 (ranking,): see `compare`.
    Returns keys, replaced: int64 of the shape of the values; whether values were replaced.
    """
    bits = run_bits(values.shape[-1])
    largest = float(np.abs(values).max(initial=0.0))
    replaced = not (largest < 2.0 ** (KEY_BITS - bits) and bool((np.rint(values) == values).all()))
    keys = tie_groups(values, tolerances) if replaced else values.astype(np.int64, order="C")
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
    compared: Int64Array2,
    counted: Int64Array3,
    weighed: Float64Array3,
    ordered: Int64Array3,
    inverses: Float64Array1,
    above: UInt64Array3,
    places: Int32Array3,
    weights: Float64Array3,
    tops: Float64Array2,
    shared: Int32Array1,
) -> None:
    """Write the results of `compare`; the arrays after `inverses` are work arrays.

    keys: int64 (trial, ranking, run): of `sort_keys`.
    bits, tolerances: Of `run_bits`; int64 (ranking,): as of `compare`.
    compared: int64 (2, comparison): the rankings of each comparison.
    counted, weighed, ordered: int64 (4, trial, comparison), float64 (2, trial, comparison) and int64 (2, trial,
        ranking), written: the results in the order of `Concordance`.
    inverses: float64 (run + 1,): 0, 1 / 1, ..., 1 / R.
    above, places, weights: (ranking, ...): of `order_runs`.
    tops: float64 (2, ranking): sums of rule a over pairs of tied runs; numbers of runs below the top.
    shared: int32 (run,): of `compare_two`.
    """
    n_runs = np.int64(shared.shape[0])
    for trial in range(keys.shape[0]):
        for each in range(keys.shape[1]):
            tied, squares, within, top = order_runs(
                keys[trial, each],
                bits,
                tolerances[each],
                inverses,
                above[each],
                places[each],
                weights[each],
            )
            ordered[0, trial, each], ordered[1, trial, each] = tied, squares
            tops[0, each], tops[1, each] = within, n_runs - top
        for k in range(compared.shape[1]):
            a, b = compared[0, k], compared[1, k]
            order_a, order_b, weights_b = places[a], places[b], weights[b]
            alike, products, accuracy, forth, back = compare_two(
                above[a], above[b], order_a, order_b, weights[a], weights_b, shared
            )
            tied, both, halves = ordered[0, trial, a], np.int64(0), 0.0
            if tied > 0:
                both, halves = tied_pairs(order_a, order_b, weights_b)
            tied += ordered[0, trial, b]
            counted[0, trial, k], counted[2, trial, k], counted[3, trial, k] = alike, both, products
            counted[1, trial, k] = ((n_runs * (n_runs - 1)) >> 1) - tied + both - alike
            forth, back = forth / tops[1, b], back / tops[1, a]
            weighed[0, trial, k] = 2.0 * (accuracy + halves + tops[0, b]) / (n_runs - 1) - 1.0
            weighed[1, trial, k] = forth + back - 1.0


@compiled
def order_runs(
    keys: Int64Array1,
    bits: int,
    tolerance: int,
    inverses: Float64Array1,
    above: UInt64Array2,
    places: Int32Array2,
    weights: Float64Array2,
) -> tuple[np.int64, np.int64, float, np.int64]:
    """Write one ranking.

    keys: int64 (run,), of `sort_keys`.
    bits: Of `run_bits`.
    tolerance: Neighbours that differ by no more are tied.
    inverses: float64 (run + 1,): 0, 1 / 1, ..., 1 / R.
    above: uint64 (word, run), written: bit y % 64 of word y // 64 of run x is set if run y is ranked strictly above run
        x.
    places: int32 (3, run), written: the runs from best to worst; by run, the number of runs ranked strictly above it
        (equal for tied runs only); by run, 2 times its centred average rank.
    weights: float64 (rule, run), written: weight of a concordant run above in tau-AP by rule a (mean of 1 / (rank - 1)
        over the orders of tied runs) and rule b (1 / number of runs above).
    Returns tied, squares, within, top: Number of tied pairs; sum of the squares of the last row of `places`; sum of
        rule a over pairs of tied runs; number of runs at the top.
    """
    n_runs = keys.shape[0]
    mask = (np.int64(1) << bits) - np.int64(1)
    tied, squares, begin = np.int64(0), np.int64(0), np.int64(0)
    last = keys[n_runs - 1] >> bits
    for place in range(n_runs):
        key = keys[n_runs - 1 - place]
        begin = begin if last - (key >> bits) <= tolerance else np.int64(place)
        last = key >> bits
        run, rank = np.uint64(key & mask), 2 * place + 1 - n_runs
        places[0, place], places[1, run], places[2, run] = run, begin, rank
        weights[0, run] = weights[1, run] = inverses[place]
        tied += place - begin
        squares += rank * rank
    # Bits as if no runs were tied.
    for word in range(above.shape[0]):
        passed = np.uint64(0)
        for place in range(n_runs):
            run = np.uint64(places[0, place])
            above[word, run] = passed
            passed |= np.uint64(run >> np.uint64(6) == np.uint64(word)) << (run & np.uint64(63))
    within, top = 0.0, np.int64(1)
    if tied > 0:
        squares, within, top = join_ties(inverses, above, places, weights)
    return tied, squares, within, top


@compiled
def join_ties(
    inverses: Float64Array1, above: UInt64Array2, places: Int32Array2, weights: Float64Array2
) -> tuple[np.int64, float, np.int64]:
    """Assign equal bits, average ranks and weights to tied runs; see `order_runs`.

    Returns squares, within, top: As of `order_runs`.
    """
    n_runs = places.shape[1]
    squares, within, top, begin = np.int64(0), 0.0, np.int64(0), np.int64(0)
    while begin < n_runs:
        end, share = begin, 0.0
        while end < n_runs and places[1, places[0, end]] == begin:
            within += 0.5 * (end - begin) * inverses[end]
            share += inverses[end]
            end += 1
        if begin == 0:
            share, top = 0.0, end
        first, rank, share = places[0, begin], begin + end - n_runs, share / (end - begin)
        squares += (end - begin) * rank * rank
        for place in range(begin, end):
            run = places[0, place]
            places[2, run], weights[0, run], weights[1, run] = rank, share, inverses[begin]
            for word in range(above.shape[0]):
                above[word, run] = above[word, first]
        begin = end
    return squares, within, top


@compiled
def compare_two(
    first: UInt64Array2,
    second: UInt64Array2,
    first_places: Int32Array2,
    second_places: Int32Array2,
    first_weights: Float64Array2,
    second_weights: Float64Array2,
    shared: Int32Array1,
) -> tuple[np.int64, np.int64, float, float, float]:
    """Count the bits common to two rankings, and return sums over runs.

    first, second, first_places, second_places, first_weights, second_weights: Of `order_runs`.
    shared: int32 (run,), written: number of common bits, the concordant runs above each run.
    Returns alike, products: Concordant pairs; sum of the products of both ranks.
    Returns accuracy, forth, back: Sums of concordant runs above each, with the weights of rule a, of rule b, and of
        rule b with the rankings exchanged.
    """
    for word in range(first.shape[0]):
        for run in range(shared.shape[0]):
            common = count_ones(first[word, run] & second[word, run])
            shared[run] = common if word == 0 else common + shared[run]
    alike, products = np.int64(0), np.int64(0)
    accuracy, forth, back = 0.0, 0.0, 0.0
    for run in range(shared.shape[0]):
        alike += np.int64(shared[run])
        products += np.int64(first_places[2, run]) * np.int64(second_places[2, run])
        count = float(shared[run])
        accuracy += count * second_weights[0, run]
        forth += count * second_weights[1, run]
        back += count * first_weights[1, run]
    return alike, products, accuracy, forth, back


@compiled
def tied_pairs(
    places: Int32Array2, other: Int32Array2, weights: Float64Array2
) -> tuple[np.int64, float]:
    """Visit the pairs that are tied in one ranking.

    places: Of `order_runs` of this ranking.
    other, weights: Of `order_runs` of another ranking.
    Returns both, halves: Number of pairs tied in both rankings; tau-AP of the others, counting half of them as
        concordant.
    """
    both, halves = np.int64(0), 0.0
    for i in range(places.shape[1]):
        lower = places[0, i]
        for j in range(places[1, lower], i):
            upper = places[0, j]
            x, y = other[1, lower], other[1, upper]
            if x == y:
                both += 1
            else:
                halves += 0.5 * weights[0, lower if x > y else upper]
    return both, halves
