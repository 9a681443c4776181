"""Swap counts from sorted runs, without visiting pairs: for many runs.

The runs are sorted by their sums on each sample. In the order of the first sample, the runs that are k bins or more
below a run form a prefix, and differences of prefix lengths are the counts of bins. All bin edges of a run have the
same distance from the multiples of the bin width below them. Runs are processed in the order of that distance: then the
prefix lengths are those of the multiples plus the number of runs processed so far, and are adjacent in memory for all
k. A second pass processes the runs in the order of the second sample, and maintains the number of processed runs in
every prefix of the first order: these are the pairs that both samples order alike. A trial takes time R log R + R *
bins + R**2 / 32 instead of R**2 / 2.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array4,
    Int8Array2,
    Int16Array1,
    Int32Array1,
    Int32Array2,
    Int32Array3,
    Int64Array1,
    Int64Array3,
    Int64Array4,
)
from scorecube.kernels.jit import compiled, inlined

KEY_BITS = 63
MOST_RUNS = 2**15 - 1
"""Prefix counts are 16-bit integers."""
FEW = 24
"""Number of tied runs up to which pairs are compared one by one."""
BLOCK_BITS = np.uint32(6)
BLOCK = 64
"""Runs whose prefix counts are 8-bit integers relative to the start of the block."""
MOST_MULTIPLES = 2**14
"""Limit of the multiples of the bin width between the smallest and the largest sum, which every trial counts."""


def fits(n_runs: int, largest_sum: float, units_per_bin: Float64Array1, tolerance: float) -> bool:
    """Return whether sums and runs fit into sort keys, and ties into the first bin."""
    key_bits = int(largest_sum + tolerance).bit_length() + run_bits(n_runs)
    multiples = 2 * (largest_sum + tolerance) / float(np.min(units_per_bin))
    fitting = key_bits <= KEY_BITS and multiples <= MOST_MULTIPLES
    return n_runs <= MOST_RUNS and fitting and bool(np.all(units_per_bin > 2 * tolerance))


def count_swaps_sorted(
    keys: Int64Array4,
    half: int,
    units_per_bin: Float64Array1,
    tolerance: float,
    counted: Int32Array3,
) -> None:
    """Do what `count_swaps` does.

    Parameters
    ----------
    keys
        int64 (half, trial, cell, run): of `sort_keys`.
    half
        Which half is the first sample, 0 or 1.
    units_per_bin, tolerance, counted
        As of `count_swaps`; `fits` must be true of the sums.
    """
    widths, bits = units_per_bin.astype(np.int64), run_bits(keys.shape[-1])
    offsets = _offsets(keys[half], widths, bits)
    offsets.sort(axis=-1)
    ends = keys[half][..., [0, -1]] >> bits
    multiples = int(((ends[..., 1] - ends[..., 0]) // widths).max()) + 2
    _count(keys[half], keys[1 - half], offsets, multiples, widths, np.int64(tolerance), counted)


def sort_keys(sums: Float64Array4) -> Int64Array4:
    """Return sort keys ``sum * 2**bits + run`` in ascending order.

    Sums and keys are (half, trial, cell, run).
    """
    keys = sums.astype(np.int64)
    keys <<= run_bits(sums.shape[-1])
    keys |= np.arange(sums.shape[-1])
    keys.sort(axis=-1)
    return keys


def run_bits(n_runs: int) -> int:
    """Return the number of bits of a run number in a sort key."""
    return (n_runs - 1).bit_length()


def extremes_sorted(keys: Int64Array4, largest: Int64Array1, widest: Int64Array1) -> None:
    """Do what `extremes` does, for sorted keys (half, trial, cell, run)."""
    bits = run_bits(keys.shape[-1])
    low, high = keys[..., 0] >> bits, keys[..., -1] >> bits
    np.maximum(largest, high.max(axis=(0, 1)), out=largest)
    np.maximum(widest, (high - low).max(axis=(0, 1)), out=widest)


@compiled
def _offsets(keys: Int64Array3, widths: Int64Array1, bits: int) -> Int64Array3:
    """Return ``(sum % width) * 2**bits + position`` in the order of the keys.

    Keys are (trial, cell, run); widths (cell,) are powers of two.
    """
    offsets = np.empty_like(keys)
    for trial in range(keys.shape[0]):
        for cell in range(keys.shape[1]):
            row, rest = offsets[trial, cell], widths[cell] - np.int64(1)
            for i in range(keys.shape[2]):
                row[i] = (((keys[trial, cell, i] >> bits) & rest) << bits) | i
    return offsets


@compiled
def _count(
    first: Int64Array3,
    second: Int64Array3,
    offsets: Int64Array3,
    multiples: int,
    widths: Int64Array1,
    tolerance: np.int64,
    counted: Int32Array3,
) -> None:
    """Add the counts of `count_swaps_sorted`.

    Parameters
    ----------
    first, second
        int64 (trial, cell, run): sort keys of the first and the second sample.
    offsets
        int64 (trial, cell, run): of `_offsets`, sorted.
    multiples
        Multiples of the bin width from the smallest to the largest sum, at most.
    widths
        int64 (cell,): units per bin.
    tolerance, counted
        As of `count_swaps`.
    """
    n_trials, n_cells, n_runs = first.shape
    n_bins = (counted.shape[2] - 1) // 2
    pairs = np.int64(n_runs) * (n_runs - 1) // 2
    bits = np.int64(0)
    while (np.int64(1) << bits) < n_runs:
        bits += np.int64(1)
    # Per run in the order of the first sample: the last column is the number of runs below it that are not tied with
    # it, the k-th column before the last the number of runs k bins or more below it.
    below = np.zeros((n_runs, n_bins), np.int32)
    sums = np.empty(n_runs, np.int64)
    other = np.empty(n_runs, np.int64)
    position = np.empty(n_runs, np.int32)
    ends = np.empty(multiples + n_bins + 1, np.int32)
    n_blocks = n_runs // BLOCK + 1
    passed, blocks = np.empty((n_blocks, BLOCK), np.int8), np.empty(n_blocks, np.int16)
    all_below, agreeing = np.zeros(n_bins, np.int64), np.zeros(n_bins, np.int64)
    for cell in range(n_cells):
        for trial in range(n_trials):
            all_below[:] = 0
            agreeing[:] = 0
            _place(first[trial, cell], bits, sums, position)
            _find_edges(
                sums, offsets[trial, cell], bits, np.int64(widths[cell]), tolerance, ends, below
            )
            for run in range(n_runs):
                for k in range(n_bins):
                    all_below[k] += below[run, k]
            row = second[trial, cell]
            _walk(row, bits, tolerance, position, below, passed, blocks, other, agreeing)
            tied = _both_tied(sums, other, tolerance)
            places = counted[cell, trial]
            beyond, beyond_agreeing = np.int64(0), np.int64(0)
            for column in range(n_bins):
                k = n_bins - 1 - column
                agree = agreeing[column] - beyond_agreeing
                places[k] += agree
                places[n_bins + k] += all_below[column] - beyond - agree
                beyond, beyond_agreeing = all_below[column], agreeing[column]
            # Pairs tied on the first sample only are swaps.
            places[n_bins] += pairs - beyond - tied
            places[2 * n_bins] += tied


@inlined
def _place(keys: Int64Array1, bits: np.int64, sums: Int64Array1, position: Int32Array1) -> None:
    """Write the sums (run,) in ascending order, and the position of each run (run,)."""
    mask = (np.int64(1) << bits) - np.int64(1)
    for i in range(keys.shape[0]):
        sums[i] = keys[i] >> bits
        position[keys[i] & mask] = i


@inlined
def _find_edges(
    sums: Int64Array1,
    offsets: Int64Array1,
    bits: np.int64,
    width: np.int64,
    tolerance: np.int64,
    ends: Int32Array1,
    below: Int32Array2,
) -> None:
    """Count the runs at least n_bins - 1, ..., 1, 0 bins below every run.

    `sums` (run,) are ascending, `offsets` (run,) those of `_offsets`, sorted; `ends` (multiple,) is overwritten,
    `below` (run, bin) written.
    """
    n_runs, n_bins = below.shape
    mask, rest = (np.int64(1) << bits) - np.int64(1), width - np.int64(1)
    shift = np.int64(0)
    while (np.int64(1) << shift) < width:
        shift += np.int64(1)
    lowest = (sums[0] >> shift) - np.int64(n_bins)
    # Number of runs below each multiple of the width; later, at or below that multiple plus the current offset.
    ends[:] = 0
    for i in range(n_runs):
        ends[(sums[i] >> shift) - lowest + 1] += 1
    for multiple in range(1, ends.shape[0]):
        ends[multiple] += ends[multiple - 1]
    # The offsets that exceed a multiple with the tolerance come first.
    lifted = n_runs
    while lifted > 0 and (offsets[lifted - 1] >> bits) + tolerance > rest:
        lifted -= 1
    reached = 0
    for step in range(n_runs):
        i = offsets[(lifted + step) % n_runs if lifted < n_runs else step] & mask
        reach = sums[i] + tolerance
        while reached < n_runs and (offsets[reached] >> bits) <= (reach & rest):
            ends[(sums[offsets[reached] & mask] >> shift) - lowest] += 1
            reached += 1
        row, begin = below[i], np.uint64((reach >> shift) - lowest - n_bins + 1)
        for k in range(n_bins - 1):
            row[k] = ends[begin + np.uint64(k)]
    not_tied = 0
    for i in range(n_runs):
        while sums[i] - sums[not_tied] > tolerance:
            not_tied += 1
        below[i, n_bins - 1] = not_tied


@inlined
def _walk(
    keys: Int64Array1,
    bits: np.int64,
    tolerance: np.int64,
    position: Int32Array1,
    below: Int32Array2,
    passed: Int8Array2,
    blocks: Int16Array1,
    other: Int64Array1,
    agreeing: Int64Array1,
) -> None:
    """Count the pairs whose lower run on the first sample is also lower on the second.

    Parameters
    ----------
    keys
        int64 (run,): sort keys of the second sample.
    bits, tolerance
        Bits of a run number; of the grid.
    position
        int32 (run,): position of each run in the order of the first sample.
    below
        int32 (run, bin): of `_find_edges`.
    passed, blocks
        int8 (block, BLOCK) and int16 (block,), overwritten: processed runs at earlier positions, within the block and
        in earlier blocks.
    other
        int64 (run,), written: sums of the second sample in the order of the first.
    agreeing
        int64 (bin,), added to: pairs that are at least n_bins - 1, ..., 1, 0 bins apart.
    """
    n_runs, n_bins = below.shape
    mask = (np.int64(1) << bits) - np.int64(1)
    flat = passed.reshape(-1)
    flat[:] = 0
    blocks[:] = 0
    next_run = 0
    for j in range(n_runs):
        at = position[keys[j] & mask]
        mine = keys[j] >> bits
        other[at] = mine
        while (keys[next_run] >> bits) < mine - tolerance:
            place = np.uint32(position[keys[next_run] & mask])
            block, inside = np.int16(place >> BLOCK_BITS), np.int8(place & np.uint32(BLOCK - 1))
            begin = np.uint64(place & ~np.uint32(BLOCK - 1))
            for i in range(BLOCK):
                flat[begin + np.uint64(i)] += np.int8(np.int8(i) > inside)
            for i in range(blocks.shape[0]):
                blocks[i] += np.int16(np.int16(i) > block)
            next_run += 1
        row = below[at]
        for k in range(n_bins):
            end = np.uint32(row[k])
            agreeing[k] += np.int64(flat[end]) + np.int64(blocks[end >> BLOCK_BITS])


@inlined
def _both_tied(sums: Int64Array1, other: Int64Array1, tolerance: np.int64) -> np.int64:
    """Count the pairs that are tied on both samples.

    `sums` and `other` (run,) are the sums of the first and the second sample, in the order of the first.
    """
    n_runs = sums.shape[0]
    total = np.int64(0)
    begin = 0
    while begin < n_runs:
        end = begin + 1
        while end < n_runs and sums[end] - sums[end - 1] <= tolerance:
            end += 1
        # The first and the last run of a chain of ties may differ by more than the tolerance, if rounding made unequal
        # means tie.
        if end - begin <= FEW or sums[end - 1] - sums[begin] > tolerance:
            for i in range(begin + 1, end):
                for j in range(begin, i):
                    total += (
                        sums[i] - sums[j] <= tolerance and abs(other[i] - other[j]) <= tolerance
                    )
        else:
            ordered = np.sort(other[begin:end])
            low = 0
            for i in range(end - begin):
                while ordered[i] - ordered[low] > tolerance:
                    low += 1
                total += i - low
        begin = end
    return total
