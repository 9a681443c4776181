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
    versions = {"python": ".".join(platform.python_version_tuple()[:2])}
    versions |= {name: version(name) for name in PACKAGES}
    package, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (package / room).rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(path.read_bytes() + b"\0")
    return versions | {"source": digest.hexdigest()[:12]}


def check_versions(
    worker: str, there: Mapping[str, str], here: Mapping[str, str] | None = None
) -> None:
    """Refuse a worker whose versions are not those of the driver: it may compute other bits.

    worker: Its address.
    there, here: Versions of the worker, and of the driver; those of this process by default.

    Raises
    ------
    ClusterFailed
        The message names the worker and all versions that differ.
    """
    expected = own_versions() if here is None else here
    different = [
        f"{name} {there.get(name, 'none')} (here {known})"
        for name, known in expected.items()
        if there.get(name) != known
    ]
    if different:
        raise ClusterFailed(
            f"the worker at {worker} has other versions than this program, and may compute other "
            f"results: {', '.join(different)}. Stop it, or start it in the same environment. "
            "Nothing that it computed is recorded; recorded blocks are kept; rerun the same "
            "command to resume"
        )
