"""Versions of the programs that determine results: those of this process, and those of workers.

A worker with other versions may compute other bits: those of a running scheduler are asked for
their packages at the start, and all state their versions with every block; blocks of other versions are refused before they are recorded.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from scorecube.errors import ClusterFailed

Versions = Mapping[str, str]
PACKAGES = ("scorecube", "numpy", "numba", "scipy")
ROOMS = ("statistics", "kernels", "metrics", "collection", "analyses")
"""Folders of the package whose code computes results."""


class Stated(NamedTuple):
    """A value that a worker computed, with the worker's address and versions."""

    worker: str
    versions: Versions
    value: Any


@cache
def own_versions() -> dict[str, str]:
    """Return the versions of this process: of packages, of Python without its patch level, and a digest of the code that computes results."""
    found: dict[str, str] = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in PACKAGES:
        found[name] = version(name)
    package, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (package / room).rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(path.read_bytes() + b"\0")
    return found | {"source": digest.hexdigest()[:12]}


def stated(item: Any, function: Callable[[Any], Any]) -> Stated:
    """Return what this worker computes of an item by a function, with its address and versions.

    Raises ClusterFailed: In place of an error of the function that cannot be sent.
    """
    from distributed import get_worker

    address = get_worker().address
    try:
        return Stated(address, own_versions(), function(item))
    except Exception as error:
        if _can_be_sent(error):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
    raise ClusterFailed(  # here, as the other error would be sent with it as its context
        f"the worker at {address} failed with {reason}. The error cannot be sent; the worker's log says more. Recorded blocks are "
        "kept; rerun the same command to resume"
    )


def _can_be_sent(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - its own
    except Exception:
        return False
    return True


def check_versions(worker: str, versions: Versions) -> None:
    """Refuse a worker whose versions differ from those of this process.

    worker: Its address.
    versions: Stated by it.
    Raises ClusterFailed: The message names the worker and all versions that differ.
    """
    own = own_versions()
    different = [
        f"{name} {versions.get(name, 'none')} (here {own[name]})"
        for name in own
        if versions.get(name) != own[name]
    ]
    if different:
        raise ClusterFailed(
            f"the worker at {worker} has other versions than this program, and may compute other results: {', '.join(different)}. "
            "Stop it, or start it in the same environment. Nothing that it computed is recorded; recorded blocks are kept; rerun the "
            "same command to resume"
        )
