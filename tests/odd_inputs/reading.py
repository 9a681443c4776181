"""What an odd input is, and reading it as the commands evaluate and import do."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import xarray as xr

from scorecube.errors import ScorecubeError
from scorecube.ingest.headings import TAKEN
from scorecube.workflow import api

RUN = b"1 Q0 d1 1 3 a\n1 Q0 d2 2 2 a\n2 Q0 d1 1 1 a\n"
QRELS = b"1 0 d1 1\n1 0 d2 0\n2 0 d2 1\n2 0 d1 1\n"
NAMES = {"runs": "odd.run", "qrels": "odd.qrels", "scores": "ap.csv"}
SHOWN = 200
"""Characters of a long outcome that are compared."""


@dataclass(frozen=True)
class Odd:
    """One input.

    role: runs, qrels or teams, which are read with plain files for the rest; or scores.
    content: Of the file, or what makes it.
    outcome: ``error FILE:LINE``, or runs with their teams and their scores by topic; the beginning of a long one. Of doubtful inputs, notes follow after `` | ``.
    options: Of `read_rankings` or `import_scores`.
    gains: Gain settings that runs are evaluated with.
    """

    role: str
    content: bytes | Callable[[], bytes]
    outcome: str
    name: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    gains: tuple[str, ...] = ("auto",)

    def write(self, folder: Path) -> dict[str, Path]:
        """Write the file and those that go with it; return their paths by role."""
        contents = {} if self.role == "scores" else {"runs": RUN, "qrels": QRELS}
        paths = {role: folder / f"plain.{role}" for role in contents}
        for role, path in paths.items():
            path.write_bytes(contents[role])
        content = self.content() if callable(self.content) else self.content
        odd = folder / (self.name or NAMES.get(self.role, f"{self.role}.csv"))
        odd.write_bytes(content)
        return paths | {self.role: odd}


def observe(case: Odd, folder: Path) -> str:
    """Read a case; return its outcome."""
    paths = case.write(folder)
    noted: list[str] = []
    try:
        cube = read(case, paths, noted.append)
        noted = [line for line in noted if not line.startswith(TAKEN)]
        if case.role != "scores":
            cube = api.evaluate(cube, ["AP"], gains=case.gains)
    except ScorecubeError as error:
        where = f"{getattr(error, 'path', None) or ''}:{getattr(error, 'line', None) or ''}"
        return f"error {where.strip(':')}".strip().replace(str(paths[case.role]), "FILE").replace(str(folder), "FOLDER")  # fmt: skip
    else:
        found = " | ".join([describe(cube), *noted])
    return found.replace(str(paths[case.role]), "FILE").replace(str(folder), "FOLDER")


def read(case: Odd, paths: dict[str, Path], notify: Callable[[str], None]) -> xr.Dataset:
    """Return the scores, or the rankings, of a case that is written."""
    if case.role == "scores":
        cube: xr.Dataset = api.import_scores([paths["scores"]], notify=notify, **case.options)
        return cube
    options: dict[str, Any] = paths | case.options
    return api.read_rankings(workers=1, notify=notify, **options)


def describe(cube: xr.Dataset) -> str:
    """Return the scores of the first metric as text, with teams that are not named after their run."""
    first = cube["score"].isel(gain=0, metric=0)
    lines = []
    for run, team, row in zip(cube["run"].values, cube["team"].values, first.values, strict=True):
        cells = " ".join(
            f"{topic}={'-' if math.isnan(value) else format(value, '.6g')}"
            for topic, value in zip(cube["topic"].values, row, strict=True)
        )
        lines.append(f"{run}{'' if run == team else f' ({team})'}: {cells}")
    metric = str(cube["metric"].values[0])
    return ("" if metric == "AP" else f"{metric}: ") + "; ".join(lines)


@cache
def bomb(length: int = 1 << 27) -> bytes:
    """Return a gzip file that decompresses to 1,000 times its size."""
    packed, zeros = io.BytesIO(), b" " * (1 << 20)
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        for _ in range(length >> 20):
            file.write(zeros)
    return packed.getvalue()


def wide(n_runs: int, n_topics: int) -> bytes:
    """Return a matrix of equal scores."""
    header = "topic," + ",".join(f"r{k}" for k in range(n_runs))
    row = ",0.5" * n_runs
    return "\n".join([header, *(f"{k}{row}" for k in range(n_topics))]).encode()


def ranked(score: Callable[[int], object], run: str = "a") -> bytes:
    """Return a run of 6 documents on each of 2 topics, whose scores are made of their ranks."""
    lines = [f"{topic} Q0 d{k} {k} {score(k)} {run}" for topic in (1, 2) for k in range(1, 7)]
    return "\n".join([*lines, ""]).encode()
