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
    Int8Array1,
    Int16Array1,
    Int32Array1,
    Int32Array2,
    Int32Array3,
    Int64Array1,
    Int64Array2,
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
    keys: Int64Array4, units_per_bin: Float64Array1, tolerance: float, counted: Int32Array3
) -> None:
    """Do what `count_swaps` does.

    keys: int64 (half, trial, cell, run): of `sort_keys`.
    units_per_bin, tolerance, counted: As of `count_swaps`; `fits` must be true of the sums.
    """
    n_runs, n_bins = keys.shape[-1], (counted.shape[2] - 1) // 2
    widths, bits = units_per_bin.astype(np.int64), run_bits(n_runs)
    offsets = np.empty_like(keys[0])
    _write_offsets(keys[0], widths, bits, offsets)
    offsets.sort(axis=-1)
    ends = keys[0][..., [0, -1]] >> bits
    multiples = int(((ends[..., 1] - ends[..., 0]) // widths).max()) + 2
    shifts = np.array([int(width).bit_length() - 1 for width in widths])
    n_blocks = n_runs // BLOCK + 1
    chains = np.full((3, n_runs), -1, np.int32)
    _count(
        keys,
        offsets,
        bits,
        shifts,
        int(tolerance),
        counted,
        np.empty((3, n_runs), np.int64),
        np.empty(n_runs, np.int32),
        np.empty(multiples + n_bins + 1, np.int32),
        np.empty((n_runs, n_bins), np.int32),
        np.empty(n_blocks * BLOCK, np.int8),
        np.empty(n_blocks, np.int16),
        chains,
        np.empty((2, n_bins), np.int64),
    )


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
def _write_offsets(keys: Int64Array3, widths: Int64Array1, bits: int, offsets: Int64Array3) -> None:
    """Write ``(sum % width) * 2**bits + position`` in the order of the keys.

    Keys and offsets are (trial, cell, run); widths (cell,) are powers of two.
    """
    for trial in range(keys.shape[0]):
        for cell in range(keys.shape[1]):
            rest = widths[cell] - np.int64(1)
            for i in range(keys.shape[2]):
                offsets[trial, cell, i] = (((keys[trial, cell, i] >> bits) & rest) << bits) | i


@compiled
def _count(
    keys: Int64Array4,
    offsets: Int64Array3,
    bits: int,
    shifts: Int64Array1,
    tolerance: int,
    counted: Int32Array3,
    sums: Int64Array2,
    position: Int32Array1,
    ends: Int32Array1,
    below: Int32Array2,
    passed: Int8Array1,
    blocks: Int16Array1,
    chains: Int32Array2,
    totals: Int64Array2,
) -> None:
    """Add the counts of `count_swaps_sorted`; the arrays after `counted` are work arrays.

    keys, tolerance, counted: As of `count_swaps_sorted`.
    offsets: int64 (trial, cell, run): of `_write_offsets`, sorted.
    bits: Of `run_bits`.
    shifts: int64 (cell,): binary logarithms of the units per bin.
    sums: int64 (3, run): sums of the first and the second sample in the order of the first; of `_both_tied`.
    position: int32 (run,): position of each run in the order of the first sample.
    ends: int32 (multiple,): of `_find_edges`; at least as many as multiples of the bin width from n_bins below the
        smallest sum to the largest sum.
    below: int32 (run, bin): per run in the order of the first sample; the last column is the number of runs below it
        that are not tied with it, the k-th column before the last the number of runs k bins or more below it.
    passed, blocks: int8 (block * BLOCK,) and int16 (block,): of `_walk`.
    chains: int32 (3, run): of `_both_tied`.
    totals: int64 (2, bin): sums of `below` over runs; pairs that both samples order alike, by the same columns.
    """
    n_bins = totals.shape[1]
    n_runs = np.int64(position.shape[0])
    mask = (np.int64(1) << bits) - np.int64(1)
    for cell in range(counted.shape[0]):
        for trial in range(counted.shape[1]):
            first, second = keys[0, trial, cell], keys[1, trial, cell]
            for i in range(n_runs):
                sums[0, i] = first[i] >> bits
                position[first[i] & mask] = i
            _find_edges(sums, offsets[trial, cell], bits, shifts[cell], tolerance, ends, below)
            _walk(second, bits, tolerance, position, below, passed, blocks, sums, totals)
            tied = _both_tied(second, mask, tolerance, position, sums, chains)
            beyond, beyond_agreeing = np.int64(0), np.int64(0)
            for column in range(n_bins):
                k = n_bins - 1 - column
                agree = totals[1, column] - beyond_agreeing
                counted[cell, trial, k] += agree
                counted[cell, trial, n_bins + k] += totals[0, column] - beyond - agree
                beyond, beyond_agreeing = totals[0, column], totals[1, column]
            # Pairs tied on the first sample only are swaps.
            counted[cell, trial, n_bins] += ((n_runs * (n_runs - 1)) >> 1) - beyond - tied
            counted[cell, trial, 2 * n_bins] += tied


@inlined
def _find_edges(
    sums: Int64Array2,
    offsets: Int64Array1,
    bits: int,
    shift: np.int64,
    tolerance: int,
    ends: Int32Array1,
    below: Int32Array2,
) -> None:
    """Count the runs at least n_bins - 1, ..., 1, 0 bins below every run.

    `sums` (0, run) are ascending, `offsets` (run,) those of `_write_offsets`, sorted; `ends` (multiple,) is
    overwritten, `below` (run, bin) written.
    """
    n_runs, n_bins = below.shape
    mask, rest = (np.int64(1) << bits) - np.int64(1), (np.int64(1) << shift) - np.int64(1)
    lowest = (sums[0, 0] >> shift) - np.int64(n_bins)
    # Number of runs below each multiple of the width; later, at or below that multiple plus the current offset.
    for multiple in range(ends.shape[0]):
        ends[multiple] = 0
    for i in range(n_runs):
        ends[(sums[0, i] >> shift) - lowest + 1] += 1
    for multiple in range(1, ends.shape[0]):
        ends[multiple] += ends[multiple - 1]
    # The offsets that exceed a multiple with the tolerance come first.
    lifted = n_runs
    while lifted > 0 and (offsets[lifted - 1] >> bits) + tolerance > rest:
        lifted -= 1
    reached = 0
    for step in range(n_runs):
        place = lifted + step
        i = offsets[place if place < n_runs else place - n_runs] & mask
        reach = sums[0, i] + tolerance
        while reached < n_runs and (offsets[reached] >> bits) <= (reach & rest):
            ends[(sums[0, offsets[reached] & mask] >> shift) - lowest] += 1
            reached += 1
        begin = np.uint64((reach >> shift) - lowest - n_bins + 1)
        for k in range(n_bins - 1):
            below[i, k] = ends[begin + np.uint64(k)]
    not_tied = 0
    for i in range(n_runs):
        while sums[0, i] - sums[0, not_tied] > tolerance:
            not_tied += 1
        below[i, n_bins - 1] = not_tied


@inlined
def _walk(
    keys: Int64Array1,
    bits: int,
    tolerance: int,
    position: Int32Array1,
    below: Int32Array2,
    passed: Int8Array1,
    blocks: Int16Array1,
    sums: Int64Array2,
    totals: Int64Array2,
) -> None:
    """Count the pairs whose lower run on the first sample is also lower on the second.

    keys: int64 (run,): sort keys of the second sample.
    bits, tolerance: Bits of a run number; of the grid.
    position: int32 (run,): position of each run in the order of the first sample.
    below: int32 (run, bin): of `_find_edges`.
    passed, blocks: int8 (block * BLOCK,) and int16 (block,), overwritten: processed runs at earlier positions, within
        the block and in earlier blocks.
    sums: int64 (3, run), row 1 written: sums of the second sample in the order of the first.
    totals: int64 (2, bin), written: pairs that are at least n_bins - 1, ..., 1, 0 bins apart, all and those ordered
        alike.
    """
    n_runs, n_bins = below.shape
    mask = (np.int64(1) << bits) - np.int64(1)
    for k in range(n_bins):
        totals[0, k] = 0
        totals[1, k] = 0
    for i in range(passed.shape[0]):
        passed[i] = 0
    for i in range(blocks.shape[0]):
        blocks[i] = 0
    next_run = 0
    for j in range(n_runs):
        at = position[keys[j] & mask]
        mine = keys[j] >> bits
        sums[1, at] = mine
        while (keys[next_run] >> bits) < mine - tolerance:
            place = np.uint32(position[keys[next_run] & mask])
            block, inside = np.int16(place >> BLOCK_BITS), np.int8(place & np.uint32(BLOCK - 1))
            begin = np.uint64(place & ~np.uint32(BLOCK - 1))
            for i in range(BLOCK):
                passed[begin + np.uint64(i)] += np.int8(np.int8(i) > inside)
            for i in range(blocks.shape[0]):
                blocks[i] += np.int16(np.int16(i) > block)
            next_run += 1
        for k in range(n_bins):
            end = np.uint32(below[at, k])
            totals[0, k] += np.int64(end)
            totals[1, k] += np.int64(passed[end]) + np.int64(blocks[end >> BLOCK_BITS])


@inlined
def _both_tied(
    keys: Int64Array1,
    mask: np.int64,
    tolerance: int,
    position: Int32Array1,
    sums: Int64Array2,
    chains: Int32Array2,
) -> np.int64:
    """Count the pairs that are tied on both samples.

    keys, tolerance, position, sums: As of `_walk`; row 2 of the sums is overwritten.
    mask: Bits of a run number in a key.
    chains: int32 (3, run): row 0 is -1 before and after, the others are overwritten.
    """
    n_runs = position.shape[0]
    total = np.int64(0)
    begin, many = 0, False
    while begin < n_runs:
        end = begin + 1
        while end < n_runs and sums[0, end] - sums[0, end - 1] <= tolerance:
            end += 1
        # The first and the last run of a chain of ties may differ by more than the tolerance, if rounding made unequal
        # means tie.
        if end - begin <= FEW or sums[0, end - 1] - sums[0, begin] > tolerance:
            for i in range(begin + 1, end):
                for j in range(begin, i):
                    total += (
                        sums[0, i] - sums[0, j] <= tolerance
                        and abs(sums[1, i] - sums[1, j]) <= tolerance
                    )
        else:
            many = True
            chains[1, begin] = chains[2, begin] = begin
            for i in range(begin, end):
                chains[0, i] = begin
        begin = end
    # The order of the second sample is also that within each chain: no chain needs sorting.
    for j in range(n_runs if many else 0):
        at = position[keys[j] & mask]
        chain = chains[0, at]
        if chain >= 0:
            chains[0, at] = -1
            place, low = chains[1, chain], chains[2, chain]
            sums[2, place] = sums[1, at]
            while sums[1, at] - sums[2, low] > tolerance:
                low += 1
            total += place - low
            chains[1, chain], chains[2, chain] = place + 1, low
    return total
