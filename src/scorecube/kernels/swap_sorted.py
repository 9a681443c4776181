"""Swap counting without visiting pairs: for many runs.

The runs are sorted by their sums on either sample. On the first, the runs that lie k bins or more below a run are a beginning of
that order; its end is looked up, and differences of such ends are counts of bins. Walking the runs in the order of the
second, the number of them passed so far in every beginning of the first order is kept: those are the pairs that both samples order alike.
A trial takes time R log R + R * bins + R**2 / 32 instead of R**2 / 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined

KEY_BITS = 63
MOST_RUNS = 2**15 - 1
"""Prefix counts are 16-bit integers."""
FEW = 24
"""Of tied runs that are compared one by one."""
PLACES_PER_RUN = 8
"""Entries of the look-up table, so that few of them hold more than one run."""


def fits(n_runs: int, largest_sum: float, units_per_bin: Any, tolerance: float) -> bool:
    """Tell whether sums and run numbers fit into the sort keys, and ties into the first bin."""
    key_bits = int(largest_sum + tolerance).bit_length() + run_bits(n_runs)
    return n_runs <= MOST_RUNS and key_bits <= KEY_BITS and bool(np.all(units_per_bin > 2 * tolerance))


def count_swaps_sorted(
    keys: Any, half: int, units_per_bin: Any, tolerance: float, count: Any, swap: Any, both_zero: Any
) -> None:
    """Do what `kernels.swap.count_swaps` does.

    Parameters
    ----------
    keys
        Of `sort_keys`.
    half
        Which half is the first sample, 0 or 1.
    units_per_bin, tolerance, count, swap, both_zero
        As of `count_swaps`; the sums must pass `fits`.
    """
    _count(keys[half], keys[1 - half], units_per_bin.astype(np.int64), int(tolerance), count, swap, both_zero)


def sort_keys(sums: Any) -> Any:
    """Return the sort keys ``sum * 2**bits + run``, sorted: int64 of the shape of the sums, (half, trial, cell, run)."""
    keys = sums.astype(np.int64)
    keys <<= run_bits(sums.shape[-1])
    keys |= np.arange(sums.shape[-1])
    keys.sort(axis=-1)
    return keys


def run_bits(n_runs: int) -> int:
    """Return the bits of a run number in a sort key."""
    return (n_runs - 1).bit_length()


def extremes_sorted(keys: Any, largest: Any, widest: Any) -> None:
    """Do what `kernels.swap.extremes` does for sorted keys."""
    bits = run_bits(keys.shape[-1])
    low, high = keys[..., 0] >> bits, keys[..., -1] >> bits
    np.maximum(largest, high.max(axis=(0, 1)), out=largest)
    np.maximum(widest, (high - low).max(axis=(0, 1)), out=widest)


@compiled
def _count(first: Any, second: Any, units_per_bin: Any, tolerance: int, count: Any, swap: Any, both_zero: Any) -> None:
    n_trials, n_cells, n_runs = first.shape
    n_bins = count.shape[1]
    bits = np.int64(0)
    while (np.int64(1) << bits) < n_runs:
        bits += np.int64(1)
    # Per run in the order of the first sample: column 0 tells how many runs lie below it and are not tied with it,
    # column k how many lie k bins or more below it.
    below = np.zeros((n_runs, n_bins), np.int32)
    sums = np.empty(n_runs + 2, np.int64)
    other = np.empty(n_runs, np.int64)
    position = np.empty(n_runs, np.int32)
    table = np.empty(PLACES_PER_RUN * n_runs + 4, np.int32)
    passed = np.empty(n_runs + 1, np.int16)
    all_below, agreeing = np.zeros(n_bins + 1, np.int64), np.zeros(n_bins + 1, np.int64)
    for cell in range(n_cells):
        all_below[:] = 0
        agreeing[:] = 0
        tied = np.int64(0)
        for trial in range(n_trials):
            _place(first[trial, cell], bits, sums, position)
            _find_edges(sums, np.int64(units_per_bin[cell]), np.int64(tolerance), table, below)
            for run in range(n_runs):
                for k in range(n_bins):
                    all_below[k] += below[run, k]
            _walk(second[trial, cell], bits, np.int64(tolerance), position, below, passed, other, agreeing)
            tied += _both_tied(sums[1 : n_runs + 1], other, np.int64(tolerance))
        pairs = np.int64(n_trials) * n_runs * (n_runs - 1) // 2
        count[cell, 0] += pairs - all_below[1]
        swap[cell, 0] += (all_below[0] - agreeing[0]) - (all_below[1] - agreeing[1]) + (pairs - all_below[0]) - tied
        both_zero[cell] += tied
        for k in range(1, n_bins):
            count[cell, k] += all_below[k] - all_below[k + 1]
            swap[cell, k] += (all_below[k] - agreeing[k]) - (all_below[k + 1] - agreeing[k + 1])


@inlined
def _place(keys: Any, bits: Any, sums: Any, position: Any) -> None:
    """Write the sums above the smallest in ascending order, between a low and a high guard, and each run's position."""
    n_runs = keys.shape[0]
    mask = (np.int64(1) << bits) - np.int64(1)
    smallest = keys[0] >> bits
    sums[0] = -1
    for i in range(n_runs):
        sums[i + 1] = (keys[i] >> bits) - smallest
        position[keys[i] & mask] = i
    sums[n_runs + 1] = np.int64(1) << np.int64(62)


@inlined
def _find_edges(guarded: Any, units_per_bin: Any, tolerance: Any, table: Any, below: Any) -> None:
    """Fill `below`: for every run the number of runs that lie 0, 1, 2, ... bins below it."""
    n_runs, n_bins = below.shape
    sums = guarded[1:]
    highest = sums[n_runs - 1]
    shift = _fill_table(sums, table)
    not_tied = 0
    for i in range(n_runs):
        reach = sums[i] + tolerance
        while sums[i] - sums[not_tied] > tolerance:
            not_tied += 1
        row = below[i]
        row[0] = not_tied
        used = min(np.int64(n_bins), reach // units_per_bin + 1)
        mixed = np.int32(0)
        for k in range(1, used):
            edge = reach - np.int64(k) * units_per_bin
            entry = np.uint64(min(edge, highest) >> shift)
            low, high = table[entry], table[entry + np.uint64(1)]
            # All runs of a table entry lie below the edge, or none, or the lowest one; else it is searched. No branch: it would
            # be taken at random.
            whole = np.int32(guarded[np.uint64(high)] <= edge)
            found = whole * high + (np.int32(1) - whole) * (low + np.int32(sums[np.uint64(low)] <= edge))
            mixed |= np.int32(sums[np.uint64(found)] <= edge)
            row[k] = found
        if mixed:
            for k in range(1, used):
                edge = reach - np.int64(k) * units_per_bin
                if sums[row[k]] <= edge:
                    end = table[(min(edge, highest) >> shift) + 1]
                    row[k] += np.searchsorted(sums[row[k] : end], edge, side="right")
        for k in range(used, n_bins):
            row[k] = 0


@inlined
def _fill_table(sums: Any, table: Any) -> Any:
    """Fill in how many runs have a smaller ``sum >> shift`` than each entry's number; return the shift."""
    n_runs = sums.shape[0] - 1
    shift = np.int64(0)
    while (sums[n_runs - 1] >> shift) >= PLACES_PER_RUN * n_runs:
        shift += np.int64(1)
    n_entries = (sums[n_runs - 1] >> shift) + 3
    table[:n_entries] = 0
    for i in range(n_runs):
        table[(sums[i] >> shift) + 1] += 1
    total = np.int32(0)
    for entry in range(n_entries):
        total += table[entry]
        table[entry] = total
    return shift


@inlined
def _walk(
    keys: Any, bits: Any, tolerance: Any, position: Any, below: Any, passed: Any, other: Any, agreeing: Any
) -> None:
    """Add to `agreeing`, per edge, the pairs whose lower run on the first sample is also the lower on the second."""
    n_runs, n_bins = below.shape
    mask = (np.int64(1) << bits) - np.int64(1)
    passed[:] = 0
    one = np.int16(1)
    next_run = 0
    for j in range(n_runs):
        at = position[keys[j] & mask]
        mine = keys[j] >> bits
        other[at] = mine
        while (keys[next_run] >> bits) < mine - tolerance:
            behind = passed[position[keys[next_run] & mask] + 1 :]
            for i in range(behind.shape[0]):
                behind[i] += one
            next_run += 1
        row = below[at]
        for k in range(n_bins):
            agreeing[k] += passed[np.uint32(row[k])]


@inlined
def _both_tied(sums: Any, other: Any, tolerance: Any) -> Any:
    """Count the pairs that are tied on both samples; `other` are the second sample's sums in the order of the first's."""
    n_runs = sums.shape[0]
    total = np.int64(0)
    begin = 0
    while begin < n_runs:
        end = begin + 1
        while end < n_runs and sums[end] - sums[end - 1] <= tolerance:
            end += 1
        # In a chain of ties the ends need not be tied themselves; it takes rounding of unequal means to make one.
        if end - begin <= FEW or sums[end - 1] - sums[begin] > tolerance:
            for i in range(begin + 1, end):
                for j in range(begin, i):
                    total += sums[i] - sums[j] <= tolerance and abs(other[i] - other[j]) <= tolerance
        else:
            ordered = np.sort(other[begin:end])
            low = 0
            for i in range(end - begin):
                while ordered[i] - ordered[low] > tolerance:
                    low += 1
                total += i - low
        begin = end
    return total
