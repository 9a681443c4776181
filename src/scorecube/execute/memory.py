"""Memory limits: parsing sizes, the default limit, and the memory of this process."""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress
from pathlib import Path

from scorecube.errors import BadPlan, option

DEFAULT_SHARE = 0.8
"""Of the machine's memory."""
UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")


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
    """Return four fifths of the memory of the machine or container."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 8 * 2**30
    with suppress(OSError, ValueError):  # no container, or no limit
        total = min(total, int(CONTROL_GROUP.read_text()))
    return int(DEFAULT_SHARE * total)


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 on systems without ``/proc``."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def release_memory() -> None:
    """Return freed memory to the system, much of which glibc would keep."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
