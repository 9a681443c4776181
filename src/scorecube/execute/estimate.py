"""What a plan will cost, and how its trials are cut into blocks."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import xarray as xr

from scorecube import names
from scorecube.cube import cells
from scorecube.errors import BadPlan
from scorecube.plan import Plan

BLOCK_SECONDS = 0.5
"""Aimed length of a block: long against the cost of scheduling and recording it, short against a whole run."""
MIN_BLOCKS_PER_WORKER = 4
INLINE_SECONDS = 0.05
"""Below this no scheduler is worth its start."""


@dataclass(frozen=True)
class Estimate:
    """Planned work: for people, before a run; not a promise."""

    trials: int
    comparisons: int
    seconds: float
    blocks: int
    block_trials: int
    bytes_per_worker: float

    def text(self, workers: int) -> str:
        """Return one line for the screen."""
        return (
            f"{self.trials:,} trials x {self.comparisons:,} comparisons in {self.blocks} block{'s' if self.blocks > 1 else ''}; "
            f"about {max(self.seconds / workers, 0.001):.2g} s on {workers} workers, {self.bytes_per_worker / 2**20:.0f} MiB each"
        )


def default_workers() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def estimate(plan: Plan, cube: xr.Dataset, workers: int, block_trials: int | None = None) -> Estimate:
    """Estimate tasks, memory and time of a plan.

    Parameters
    ----------
    block_trials
        Trials per block, if the caller fixes it; any value gives the same results.
    """
    if block_trials is not None and block_trials < 1:
        raise BadPlan(f"block_trials={block_trials}: a block needs at least 1 trial")
    cost = plan.analysis.cost(cube)
    if block_trials is None:
        by_time = max(1, int(BLOCK_SECONDS / cost.seconds))
        by_workers = math.ceil(plan.trials / (MIN_BLOCKS_PER_WORKER * workers))
        small = cost.seconds * plan.trials <= INLINE_SECONDS
        block_trials = plan.trials if small else max(1, min(by_time, by_workers))
    n_runs = cube.sizes[names.RUN]
    n_cells = int(cells(cube)[1].max()) + 1
    return Estimate(
        trials=plan.trials,
        comparisons=n_cells * n_runs * (n_runs - 1) // 2,
        seconds=cost.seconds * plan.trials,
        blocks=math.ceil(plan.trials / block_trials),
        block_trials=block_trials,
        bytes_per_worker=cost.fixed_bytes + cost.bytes * block_trials,
    )
