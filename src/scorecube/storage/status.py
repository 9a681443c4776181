"""The status of a long command: a small JSON file or object beside the study, replaced as a whole by the process that runs it.

It is not part of the study, and nothing is computed from it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from scorecube.storage.location import LocalDirectory, Location, is_url
from scorecube.storage.lock import is_stale, this_process

SUFFIX = ".status"
"""Of its name, behind that of the study."""
BEAT = "beat"
"""Time of the last sign of life, in seconds since 1970."""
SECONDS, STORE_SECONDS = 1.0, 5.0
"""Time between two signs of life in a directory, and in an object store, where each is a request."""


def beat_seconds(location: Location) -> float:
    """Return the time between two signs of life beside a study."""
    return STORE_SECONDS if is_url(location.name) else SECONDS


def process_facts() -> dict[str, Any]:
    """Return the facts from which another process can find out whether this one still runs, and when it gave a sign of life."""
    return {**this_process(), BEAT: time.time()}


def has_ended(status: dict[str, Any]) -> bool:
    """Whether the process that wrote a status has ended, or has given no sign of life for too long."""
    return is_stale(json.dumps(status), time.time() - float(status.get(BEAT, 0)))


def write_status(location: Location, status: dict[str, Any]) -> None:
    """Replace the status beside a study."""
    content = json.dumps(status, ensure_ascii=False).encode()
    parent, name = location.parent()
    with location.failures():
        if isinstance(parent, LocalDirectory):  # the study may not be there yet
            Path(parent.name).mkdir(parents=True, exist_ok=True)
        parent.write_cached(name + SUFFIX, content)


def read_status(location: Location) -> dict[str, Any] | None:
    """Return the status beside a study; None if there is none that can be read."""
    parent, name = location.parent()
    with location.failures():
        content = parent.read(name + SUFFIX)
    try:
        status = json.loads(content or b"")
    except (ValueError, RecursionError):
        return None
    return status if isinstance(status, dict) else None


def names_with_status(location: Location) -> list[str]:
    """Return the names of all studies in the folder of a study that have a status, sorted."""
    parent, _ = location.parent()
    with location.failures():
        names = parent.children("")
    return [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
