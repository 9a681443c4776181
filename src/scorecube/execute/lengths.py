"""How long blocks are: from the time of the first ones, which are computed here."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from scorecube.execute.blocks import Combined

BLOCK_SECONDS = 0.5
"""Long compared with scheduling and recording a block, short compared with a run."""
INLINE_SECONDS = 0.4
"""Shorter work is one block, without a scheduler and without records: importing dask takes as
long."""
TIMED_SECONDS = 0.05
"""A block that takes so long is timed well enough."""
LONG_SECONDS = 0.25
"""Of a unit that takes longer, two are timed at most."""
GROWTH = 8
"""Times that a timed block is longer than the one before."""
FIXED_SHARE = 20
"""Smallest duration of a block, as a multiple of what does not depend on its length."""
MIN_BLOCKS_PER_WORKER = 4
MOST_BLOCKS = 1000
"""Each block is recorded separately, so more blocks only cost time."""


class Timing(NamedTuple):
    """Seconds of a unit, and of a block in addition to those of its units."""

    unit: float
    fixed: float = 0.0

    def seconds(self, n_units: int) -> float:
        """Return the seconds of a block of all units."""
        return self.fixed + self.unit * n_units

    def length(self, n_units: int, workers: int) -> int:
        """Return the units of a block, of so many that are left for so many workers."""
        work = self.unit * n_units
        target = max(BLOCK_SECONDS, FIXED_SHARE * self.fixed, work / MOST_BLOCKS)
        shared = math.ceil(n_units / (MIN_BLOCKS_PER_WORKER * workers))
        least = min(max(self.fixed, TIMED_SECONDS) / self.unit, math.ceil(n_units / workers))
        return max(1, int(least), min(int(target / self.unit), shared))


def time_first_blocks(combined: Combined) -> Timing:
    """Compute the first units of the first gap, and return how long others take."""
    timings: list[tuple[int, float]] = []
    (start, stop), length = combined.gaps()[0], 1
    while start < stop:
        begin, length = time.perf_counter(), min(length, stop - start)
        block = combined.compute((start, start + length))
        timings.append((length, time.perf_counter() - begin))
        combined.take(block)
        start += length
        timed = timings[1:]  # the first block loads or compiles kernels
        if len(timed) > 1 and timed[-1][1] >= TIMED_SECONDS:
            break
        if timed:
            length = 2 if timed[-1][1] > LONG_SECONDS else length * GROWTH
    (short, less), (long, more) = [timings[0], *timings][-2:]
    if long <= short:
        return Timing(max(more / long, 1e-9))
    unit = max((more - less) / (long - short), more / long / GROWTH, 1e-9)
    return Timing(unit, max(less - unit * short, 0.0))
