"""What a study holds, for comparisons; and failures of the file system, planted at one call."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from scorecube.analyses import registry
from scorecube.storage import Study, open_study
from scorecube.storage.datasets import content_digest
from scorecube.storage.index import Row, row_of
from scorecube.storage.manifest import digest_of

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.utime", "os.scandir"}
"""Of Python's audit hooks: calls of the file system, whichever library makes them."""
CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)


class Killed(BaseException):
    """Stands for the death of the process."""


class Faults:
    """Counts the calls below a folder, and lets one of them fail, or kills the process there."""

    def __init__(self) -> None:
        self.folder, self.calls, self.fail_at, self.kill = "", 0, 0, False
        sys.addaudithook(self.on_event)  # for good: a hook cannot be removed

    def on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder and event in EVENTS and arguments and isinstance(arguments[0], str | Path):
            self.on_call(str(arguments[0]))

    def on_call(self, path: str) -> None:
        if not self.folder or not path.startswith(self.folder):
            return
        self.calls += 1
        if self.kill and 0 < self.fail_at <= self.calls:
            raise Killed  # a dead process does nothing more
        if self.calls == self.fail_at:
            code = CODES[self.calls % len(CODES)]
            raise OSError(code, os.strerror(code), path)

    @contextmanager
    def below(self, folder: Path, fail_at: int = 0, *, kill: bool = False) -> Iterator[None]:
        self.folder, self.calls, self.fail_at, self.kill = str(folder), 0, fail_at, kill
        try:
            yield
        finally:
            self.folder = ""


FAULTS = Faults()


def state(path: Path) -> dict[str, Any]:
    """Return all that a study holds: content of cubes, rankings and results."""
    if not path.exists() or not (path / "zarr.json").exists():
        return {}
    study = open_study(path)
    found = {}
    for name in study:
        collection = study[name]
        contents = collection.contents()
        found[name] = [content_digest(collection.cube), contents]
        if contents["rankings"]:
            found[name].append(content_digest(collection.rankings))
        for analysis in registry.names():
            results = collection.results(analysis)
            found[name] += sorted(content_digest(result) for result in results)
    return found


def without_stamps(rows: dict[str, Row]) -> dict[str, Row]:
    """Return rows that can be compared with those of other files."""
    return {name: replace(row, stamp="") for name, row in rows.items()}


def made_anew(study: Study) -> dict[str, Row]:
    """Return the rows of all manifests, without the index."""
    rows = {}
    for name in study:
        content = study.location.read(f"{study.path_of(name)}/zarr.json")
        assert content is not None
        rows[name] = row_of(study[name].manifest, digest_of(content), "")
    return rows
