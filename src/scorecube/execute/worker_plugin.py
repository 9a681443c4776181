"""Workers that are ready when their first block comes: imports done, kernels compiled or loaded from the cache."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from distributed import WorkerPlugin

from scorecube.analyses.base import Analysis, Arrays
from scorecube.execute.graph import compute_block


class WarmKernels(WorkerPlugin):
    """Computes one unit of an analysis on every worker that is there or comes later, and throws it away.

    Parameters
    ----------
    analysis
        What will be run; unpickling it imports the package.
    inputs
        Arrays of `Analysis.inputs`; None only imports.
    unit
        The unit to compute.
    """

    def __init__(self, analysis: Analysis, inputs: Arrays | None, unit: int) -> None:
        self.name = f"scorecube-warm-{uuid.uuid4().hex}"
        self.analysis, self.inputs, self.unit = analysis, inputs, unit

    async def setup(self, worker: Any) -> None:  # noqa: ARG002
        """Compute on a thread, so that the worker goes on telling the scheduler that it lives."""
        if self.inputs is not None:
            await asyncio.to_thread(compute_block, self.analysis, self.inputs, self.unit, self.unit + 1)
