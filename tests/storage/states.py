"""Cubes and results, what a study holds, for comparisons; and failures of the file system, planted at one call."""

from __future__ import annotations

import dataclasses
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import scorecube as sc
from scorecube.errors import BadStudy
from scorecube.storage import Collection, open_study, verify_study
from scorecube.storage.codec import encode
from scorecube.storage.heads import commit, version_of
from scorecube.workflow.api import analyse, cube_from_scores
from tests.attributes import without_attrs

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.link", "os.scandir", "os.listdir"}
"""Of Python's audit hooks: calls of the file system, whichever library makes them."""
CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)
SOAK = bool(os.environ.get("SCORECUBE_SOAK"))
"""Whether tests run for an hour."""


def cube(seed: int = 0, metric: str = "m", n_topics: int = 24) -> xr.Dataset:
    values = np.random.default_rng(seed).random((3, n_topics))
    topics = [f"{topic:02d}" for topic in range(n_topics)]
    frame = pd.DataFrame(values, index=list("xyz"), columns=topics)
    made: xr.Dataset = cube_from_scores({metric: frame})
    return made


def new_result(of: Collection, trials: int = 10) -> xr.Dataset:
    return analyse(of.cube.sel(metric=["m"]), sc.Swap(size=10), trials=trials, seed=1, workers=1)


def note(collection: Collection, **facts: Any) -> None:
    """Commit a head with further notes."""
    commit(
        collection.place,
        collection.name,
        lambda head: dataclasses.replace(head, notes={**head.notes, **facts}),
    )


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


def state(path: Path | str) -> dict[str, Any]:
    """Return all that a study holds: content of cubes, rankings and results."""
    try:
        study = open_study(path)
    except BadStudy:
        return {}
    found = {}
    for name in study:
        collection = study[name]
        contents = collection.contents()
        held = [collection.cube, *([collection.rankings] if contents["rankings"] else [])]
        results = [collection.results(analysis) for analysis in contents["results"]]
        held += [result for several in results for result in several]
        found[name] = [contents, *sorted(version_of(encode(without_attrs(each))) for each in held)]
    return found


def is_whole(path: Path | str) -> bool:
    """Whether nothing of a study is damaged."""
    return verify_study(open_study(path))[1] == []
