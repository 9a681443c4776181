"""The executor of a run: where its blocks are computed, and with how many resources."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

Progress = Callable[[int, int], None]
"""Takes what is done, and all."""


def unreported(done: int, total: int) -> None:
    """Report no progress."""


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Executor:
    """Where blocks are computed; results are bit-identical on every executor.

    client: Of a cluster; None for threads of this process.
    workers: Number of blocks at a time.
    memory: Limit of the memory of this process in bytes; None for four fifths of the machine's.
    """

    client: Client | None = None
    workers: int = 1
    memory: int | None = None


CALLING_THREAD = Executor()
