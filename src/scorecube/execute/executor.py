"""The executor of a run: where its blocks are computed, and with how many resources."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Executor:
    """Where blocks are computed; results are bit-identical on every executor.

    Parameters
    ----------
    client
        Of a cluster; None for local threads.
    workers
        Number of blocks at a time.
    memory
        Limit of the memory of all work in bytes, see `execute.memory`; None if unknown.
    pool
        Local threads that are shared with other runs (see `concurrent_runs.py`); None starts new ones.
    program
        Part of `memory` that is in use before the work; None to measure it at the start.
    """

    client: Client | None = None
    workers: int = 1
    memory: int | None = None
    pool: ThreadPoolExecutor | None = None
    program: float | None = None


CALLING_THREAD = Executor()
