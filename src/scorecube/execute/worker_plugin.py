"""A dask plugin that compiles kernels on workers before their first block."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from distributed import WorkerPlugin

from scorecube.execute.executor import Blocks, Interval


class CompileKernels(WorkerPlugin):
    """Compute one unit of an analysis on every worker and discard the result.

    Workers that connect later do so, too. The package is imported, and kernels are compiled or loaded from the cache.

    blocks: To be run; unpickling it imports the package, and nothing more is done without inputs.
    unit: The interval to compute.
    """

    def __init__(self, blocks: Blocks, unit: Interval) -> None:
        self.name = f"scorecube-compile-{uuid.uuid4().hex}"
        self.blocks, self.unit = blocks, unit

    async def setup(self, worker: Any) -> None:  # noqa: ARG002
        """Compute on a thread, so that the worker keeps sending heartbeats."""
        if self.blocks.inputs:
            await asyncio.to_thread(self.blocks, self.unit)
