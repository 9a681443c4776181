"""What a plan will take, from runs of it with few trials: time, memory, blocks, files.

Time is that of one processor. It grows in a straight line with the trials, which two runs give; the
limits are `DOUBT` times more and less, as load, caches and a second thread of a core change it.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import NamedTuple

from scorecube.analyses.plan import Plan
from scorecube.execute.executor import CALLING_THREAD
from scorecube.execute.run import (
    INLINE_SECONDS,
    Combined,
    Compute,
    bytes_needed,
    length_of_blocks,
    run,
    time_first_blocks,
)

DOUBT = 1.5
"""Ratio of either limit and what is predicted."""
FIRST_TRIALS = 10
GROWTH = 4
"""Times that a run has the trials of the one before."""
LONG_ENOUGH = 0.3
"""Seconds by which a run takes longer than the one before: enough to see how time grows."""
LONGEST = 5.0
"""Seconds of a run behind which no longer one follows."""


class Forecast(NamedTuple):
    """What a plan takes beside its cube.

    seconds: Processor time.
    n_bytes: Memory of a process of one thread.
    n_blocks: Blocks, which as many workers may compute.
    n_files: Files that stay.
    timed: Trials of the longest run that was timed; 0 where there are no trials.
    """

    seconds: float
    n_bytes: int
    n_blocks: int
    n_files: int
    timed: int

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the most processor time that are expected, in seconds."""
        return self.seconds / DOUBT, self.seconds * DOUBT


def forecast(plan: Plan, *, units_left: int | None = None, workers: int = 1) -> Forecast:
    """Predict what a plan takes; nothing of it is recorded.

    units_left: Those that are not recorded, by default all.
    workers: Threads of all processes that compute it.
    """
    needed = bytes_needed(plan, 1)
    timed = 0
    if plan.analysis.resamples:
        fixed, of_trial, timed = _time_trials(plan)
        of_unit = of_trial * plan.trials / max(plan.n_units, 1)
    elif plan.n_units > 1:
        declared = Combined(plan.declared, plan.n_units)
        fixed, of_unit = time_first_blocks(Compute(plan.analysis, plan.table), declared)
    else:
        fixed = _seconds_of(plan)
        of_unit = 0.0
    left = plan.n_units if units_left is None else units_left
    of_blocks = of_unit * left
    if of_blocks <= INLINE_SECONDS:
        return Forecast(fixed + of_blocks, needed, 1, 1, timed)
    length = length_of_blocks(0.0, of_unit, left, workers)
    return Forecast(fixed + of_blocks, needed, math.ceil(left / length), 2, timed)


def _time_trials(plan: Plan) -> tuple[float, float, int]:
    """Return seconds of a run without trials, those of each trial, and the most trials timed."""
    trials = min(FIRST_TRIALS, plan.trials)
    _seconds_of(plan, 1)  # loads or compiles kernels
    less = _seconds_of(plan, trials)
    before = 0
    more = less
    while trials < plan.trials and more < LONGEST:
        before = trials
        less = more
        trials = min(trials * GROWTH, plan.trials)
        more = _seconds_of(plan, trials)
        if more - less > max(LONG_ENOUGH, more / 2):
            break
    if not before:
        return 0.0, more / trials, trials
    of_trial = max((more - less) / (trials - before), 0.0)
    return max(more - of_trial * trials, 0.0), of_trial, trials


def _seconds_of(plan: Plan, trials: int | None = None) -> float:
    """Return the processor time of a run in one block, perhaps with fewer trials."""
    if trials is not None:
        plan = replace(plan, trials=trials, table=replace(plan.table, trials=trials))
    begin = time.thread_time()
    run(plan, CALLING_THREAD, block_units=max(plan.n_units, 1))
    return time.thread_time() - begin
