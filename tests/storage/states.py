"""What a study holds, for comparisons; and failures of the file system, planted at one call."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr

from scorecube.errors import BadStudy
from scorecube.storage import open_study, verify_study
from scorecube.storage.codec import encode
from scorecube.storage.sealed import digest_of

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.scandir", "os.listdir"}
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


def content_digest(dataset: xr.Dataset) -> str:
    """Return a digest of the values and labels of a dataset."""
    files = {key: digest_of(content) for key, content in encode(dataset.drop_attrs())}
    return digest_of(str(sorted(files.items())).encode())


def state(path: Path) -> dict[str, Any]:
    """Return all that a study holds: content of cubes, rankings and results."""
    try:
        study = open_study(path)
    except BadStudy:
        return {}
    found = {}
    for name in study:
        collection = study[name]
        contents = collection.contents()
        found[name] = [content_digest(collection.cube), contents]
        if contents["rankings"]:
            found[name].append(content_digest(collection.rankings))
        for analysis in contents["results"]:
            results = collection.results(analysis)
            found[name] += sorted(content_digest(result) for result in results)
    return found


def is_whole(path: Path | str) -> bool:
    """Whether nothing of a study is damaged."""
    return verify_study(open_study(path))[1] == []
