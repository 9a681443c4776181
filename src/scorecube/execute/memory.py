"""Memory limits: parsing sizes, the default limit, and the memory of this process.

A limit is the largest resident size of the process: the program, loaded data, blocks and results.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path, PurePosixPath

from scorecube.errors import BadPlan, option
from scorecube.execute.kernel_state import is_loaded

DEFAULT_SHARE = 0.8
"""Of the memory of the machine, or of the control group of this process."""
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
OWN_GROUPS = Path("/proc/self/cgroup")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
KERNEL_BYTES = 125 * 10**6
"""Memory for the kernels of an analysis, for LLVM, and for other libraries that are imported while it runs."""

WORKER_BYTES = 320 * 10**6
"""Memory of a worker process without work."""


def parse_memory(text: str) -> int:
    """Return the bytes of a size.

    Examples
    --------
    >>> parse_memory("4GB"), parse_memory("512 MiB"), parse_memory("1.5g")
    (4000000000, 536870912, 1500000000)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]I?)?B?\s*", text.upper())
    if found is None or float(found[1]) == 0:
        raise BadPlan(
            f"{option('memory', text)} is not a size; expected a number with a unit, such as 4GB, 512MiB or 1.5G",
            option="memory",
        )
    return int(float(found[1]) * UNITS[found[2] or ""])


def default_memory() -> int:
    """Return four fifths of the memory of the machine, container or batch job."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 8 * 2**30
    return int(DEFAULT_SHARE * min([total, *_control_group_limits()]))


def _control_group_limits() -> Iterator[int]:
    """Yield the memory limits of the control groups of this process and of all groups above them.

    Containers see their own group as the root; jobs of SLURM have groups below the root, each of which may have a limit.
    """
    try:
        lines = OWN_GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            folder, name = CONTROL_GROUPS, "memory.max"
        elif "memory" in controllers.split(","):  # version 1
            folder, name = CONTROL_GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = PurePosixPath(path.lstrip("/"))
        for each in (group, *group.parents):
            # No such folder: the root of a container is not that of the machine. No number: no limit.
            with suppress(OSError, ValueError):
                yield int((folder / each / name).read_text())


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 on systems without ``/proc``."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def program_bytes(analysis: type) -> int:
    """Return the memory of this process without any work: interpreter, libraries, loaded data, and kernels.

    analysis: Class whose kernels will be loaded or compiled.
    """
    if is_loaded(analysis):
        return resident_bytes()
    import_module("numba")  # takes memory, too
    return resident_bytes() + KERNEL_BYTES


def release_memory() -> None:
    """Return freed memory to the system, much of which glibc would keep."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
