"""How much memory there is, and the refusal of what needs more, before anything is allocated."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

OWN_GROUPS: Final = Path("/proc/self/cgroup")
CONTROL_GROUPS: Final = Path("/sys/fs/cgroup")
AVAILABLE: Final = Path("/proc/meminfo")


def memory_limits() -> Iterator[int]:
    """Yield the memory of the machine, and what this process and its control groups may have."""
    yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        yield limit
    yield from _limits_of_groups(OWN_GROUPS, CONTROL_GROUPS)


@cache
def _limits_of_groups(own: Path, control: Path) -> list[int]:
    """Return what control groups may have; asked once, as small analyses take as long."""
    limits = list[int]()
    for line in own.read_text().splitlines() if own.exists() else []:
        _, controllers, path = line.split(":", 2)
        file = "memory/{}/memory.limit_in_bytes" if controllers else "{}/memory.max"  # version 1, 2
        group = PurePosixPath(path.lstrip("/"))
        for above in (group, *group.parents):
            with suppress(OSError, ValueError):
                limits.append(int((control / file.format(above)).read_text()))
    return limits


def memory_there() -> int:
    """Return the bytes of memory that this process may take: what is available, within limits."""
    available = min(memory_limits())
    with suppress(OSError):
        for line in AVAILABLE.read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return min(available, int(rest.split()[0]) * 1024)
    return available


def refuse_too_large(n_bytes: int, what: str) -> None:
    """Refuse what takes more bytes than there is memory (MemoryError).

    what: Its path, in the message.
    """
    small = 2**20
    if n_bytes > small and n_bytes > (there := memory_there()):
        raise MemoryError(f"{what}: {n_bytes / 1e9:,.1f} of {there / 1e9:,.1f} GB are needed")
