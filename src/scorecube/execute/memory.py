"""Memory: sizes, the default limit, and what a plan needs.

A limit is the largest resident size of the process: the program, loaded data, blocks and results.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from scorecube.analyses.plan import PreparedPlan
from scorecube.analyses.protocol import Concat
from scorecube.collection.rows import is_loaded
from scorecube.errors import BadPlan, counted, option
from scorecube.names import SCORE

DEFAULT_SHARE = 0.8
"""Of the memory of the machine, or of the control group of this process."""
OWN_GROUPS = Path("/proc/self/cgroup")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
KERNEL_BYTES = 125 * 10**6
"""Memory of kernels, of their compiler, and of libraries that are imported while blocks run."""
RELEASED_BYTES = 2**30
"""Memory of a process from which on freed memory is returned before it is measured."""
STORING_BYTES = 2**26
"""Largest memory for what is compressed at a time while a result is stored."""


def parse_memory(text: str) -> int:
    """Return the bytes of a size.

    Examples
    --------
    >>> parse_memory("4GB"), parse_memory("512 MiB"), parse_memory("1.5g")
    (4000000000, 536870912, 1500000000)
    """
    from dask.utils import parse_bytes

    with suppress(ValueError):
        if (size := int(parse_bytes(text))) > 0:
            return size
    raise BadPlan(
        f"{option('memory', text)} is not a size; expected a number with a unit, such as 4GB, "
        "512MiB or 1.5G",
        option="memory",
    )


def default_memory() -> int:
    """Return four fifths of the memory of the machine, container or batch job."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 8 * 2**30
    return int(DEFAULT_SHARE * min([total, *_control_group_limits()]))


def _control_group_limits() -> Iterator[int]:
    """Yield the memory limits of the control groups of this process and of all above them.

    Containers see their own group as the root; jobs of SLURM have groups below the root, each of
    which may have a limit. No folder: the root of a container is not the machine's.
    """
    lines = OWN_GROUPS.read_text().splitlines() if OWN_GROUPS.exists() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        file = "memory/{}/memory.limit_in_bytes" if controllers else "{}/memory.max"  # version 1, 2
        group = PurePosixPath(path.lstrip("/"))
        for above in (group, *group.parents):
            with suppress(OSError, ValueError):
                yield int((CONTROL_GROUPS / file.format(above)).read_text())


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 on systems without ``/proc``."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def program_bytes() -> float:
    """Return the memory of this process without any work: program, loaded data, and kernels."""
    if resident_bytes() > RELEASED_BYTES:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # glibc keeps much of what is freed
    import_module("numba")  # takes memory, too
    return float(resident_bytes() + KERNEL_BYTES)


class Needs(NamedTuple):
    """What a plan needs at once, in bytes.

    program: The process without work.
    computing: Tables, combined parts, and the blocks of all workers, until the result is made.
    result: The combined parts and the result.
    workers: Blocks that are computed at a time.
    """

    program: float
    computing: float
    result: float
    workers: int

    @property
    def storing(self) -> float:
        """Memory while the result is made and stored, beside that of the program."""
        return self.result + min(self.result / 2, STORING_BYTES)

    @property
    def peak(self) -> float:
        """Largest resident size of the process."""
        return self.program + max(self.computing, self.storing)

    def text(self) -> str:
        """Return what is needed, for the terminal."""
        peak, result = self.peak / 2**20, self.result / 2**20
        return f"about {peak:,.0f} MiB in all, {result:,.0f} MiB of it for the result"

    def check(self, allowed: float | None) -> None:
        """Raise BadPlan for more than is allowed; `default_memory` for None."""
        allowed = default_memory() if allowed is None else allowed
        if self.peak > allowed:
            raise BadPlan(
                f"this needs about {_size(self.peak)} (the program and the loaded scores "
                f"{_size(self.program)}, computing with {counted(self.workers, 'worker')} "
                f"{_size(self.computing)}, the results {_size(self.storing)}), and "
                f"{_size(allowed)} are allowed; use fewer {option('metrics')}, {option('trials')} "
                f"or {option('workers')}, or raise {option('memory')}",
                option="memory",
            )


def _size(n_bytes: float) -> str:
    """Return a size in decimal units, as limits are stated."""
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 1e10 else f"{n_bytes / 1e9:,.1f} GB"


def needs_of(prepared: PreparedPlan, workers: int, program: float | None = None) -> Needs:
    """Return what a plan needs, before any block is computed.

    workers: Blocks that are computed at the same time.
    program: Memory that is in use before the work; `program_bytes` for None.
    """
    analysis, table, cube = prepared.plan.analysis, prepared.table, prepared.cube
    n_groups = len(np.unique(table.group_left_out)) if analysis.jackknife else 0
    of_units = of_block = 0
    for part in analysis.block(table, 0, 0).values():
        if isinstance(part, Concat):
            shape = part.array.shape[:-1]
            of_units += part.array.itemsize * prepared.n_units * math.prod(shape)
        else:
            of_block += part.array.nbytes * (1 + n_groups)
    combined = float(of_units + of_block)
    # A table has its scores, and these on the grid; each of n groups leaves out an n-th.
    held = 2.0 * table.nbytes * max(n_groups - 1, 1) + combined
    program = program_bytes() if program is None else program
    return Needs(
        program=program + (0 if is_loaded(cube) else cube[SCORE].nbytes),
        computing=held + workers * (analysis.block_bytes(table) + 2.0 * of_block),
        result=combined + analysis.result_bytes(table, combined),
        workers=workers,
    )
