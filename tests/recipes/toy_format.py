"""A format of score files: one record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import FileHead, Format, register_format
from scorecube.ingest.in_memory import Matrices, matrices_of

HEADER = "%toy"


def is_toy(head: FileHead) -> bool:
    """Return whether a file begins like this format."""
    return head.lines[0] == HEADER


def read_toy(paths: Sequence[PathLike], metric: str | None) -> dict[str, Matrices]:
    """Read lines such as ``AP/run/topic=0.5``."""
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for path in paths:
        for line in Path(path).read_text().splitlines()[1:]:
            labels, score = line.split("=")
            measure, run, topic = labels.split("/")
            if metric in (None, measure):
                scores.setdefault(measure, {}).setdefault(run, {})[topic] = float(score)
    return {"": matrices_of(scores)}


register_format(Format("toy", "lines of metric/run/topic=score", is_toy, read_toy))
