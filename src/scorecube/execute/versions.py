"""Versions of the programs that determine results, which workers must share with the driver."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from scorecube.errors import ClusterFailed

PACKAGES = ("scorecube", "numpy", "numba", "scipy")
ROOMS = ("statistics", "kernels", "metrics", "collection", "analyses")
"""Folders of the package whose code computes results."""


@cache
def own_versions() -> dict[str, str]:
    """Return the versions of this process: of packages, and a digest of the code of results."""
    package, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (package / room).rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(path.read_bytes() + b"\0")
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in PACKAGES},
        "source": digest.hexdigest()[:12],
    }


def check_versions(worker: str, there: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Refuse a worker whose versions are not those of the driver (ClusterFailed).

    It may compute other bits; the message has its address, and all versions that differ.
    """
    different = [
        f"{name} {there.get(name, 'none')} (here {here[name]})"
        for name in here
        if there.get(name) != here[name]
    ]
    if different:
        raise ClusterFailed(
            f"the worker at {worker} has other versions than this program, and may compute other "
            f"results: {', '.join(different)}. Stop it, or start it in the same environment. "
            "Nothing that it computed is recorded; recorded blocks are kept; rerun the same "
            "command to resume"
        )
