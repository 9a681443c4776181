"""Memory: plans that obviously cannot fit in the machine, or in a control group, are refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from math import prod
from pathlib import Path, PurePosixPath

from scorecube.analyses.plan import PreparedPlan
from scorecube.analyses.protocol import Concat

OWN_GROUPS, CONTROL_GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def refuse_too_large(prepared: PreparedPlan, workers: int, processes: int = 1) -> None:
    """Raise MemoryError where the tables of workers and the combined parts of blocks cannot fit."""
    needed = prepared.cube.nbytes * (2 + workers)
    for part in prepared.declared.values():
        shape = part.array.shape
        size = prepared.n_units * prod(shape[:-1]) if isinstance(part, Concat) else prod(shape)
        needed += part.array.itemsize * size
    if needed > (there := min(_limits()) // processes):
        raise MemoryError(f"at least {needed / 1e9:,.1f} of {there / 1e9:,.1f} GB are needed")


def _limits() -> Iterator[int]:
    """Yield the memory of the machine, and of the control groups of this process and above them."""
    yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for line in OWN_GROUPS.read_text().splitlines() if OWN_GROUPS.exists() else []:
        _, controllers, path = line.split(":", 2)
        file = "memory/{}/memory.limit_in_bytes" if controllers else "{}/memory.max"  # version 1, 2
        group = PurePosixPath(path.lstrip("/"))
        for above in (group, *group.parents):
            with suppress(OSError, ValueError):
                yield int((CONTROL_GROUPS / file.format(above)).read_text())
