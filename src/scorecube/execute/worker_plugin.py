"""A dask plugin that compiles kernels on workers before their first block."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from distributed import WorkerPlugin

from scorecube.analyses.base import Analysis, Arrays
from scorecube.execute.graph import compute_block


class CompileKernels(WorkerPlugin):
    """Compute one unit of an analysis on every worker and discard the result.

    Workers that connect later do so, too. The package is imported, and kernels are compiled or loaded from the cache.

    Parameters
    ----------
    analysis
        To be run; unpickling it imports the package.
    inputs
        Arrays of `Analysis.inputs`; None only imports the package.
    unit
        The unit to compute.
    """

    def __init__(self, analysis: Analysis, inputs: Arrays | None, unit: int) -> None:
        self.name = f"scorecube-compile-{uuid.uuid4().hex}"
        self.analysis, self.inputs, self.unit = analysis, inputs, unit

    async def setup(self, worker: Any) -> None:  # noqa: ARG002
        """Compute on a thread, so that the worker keeps sending heartbeats."""
        if self.inputs is not None:
            await asyncio.to_thread(
                compute_block, self.analysis, self.inputs, self.unit, self.unit + 1
            )
