"""Scores of one run from one file, and of many runs from many."""

from __future__ import annotations

from collections.abc import Iterable

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike
from scorecube.ingest.in_memory import Matrices, matrices_of


class Scores:
    """Scores of one run while its file is read: metric -> topic -> value."""

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self.found: dict[str, dict[str, float]] = {}
        self.others: set[str] = set()

    def add(self, metric: str, topic: str, value: float, line: int) -> None:
        """Add a score; BadInput if there is one already."""
        row = self.found.setdefault(metric, {})
        if topic in row:
            raise BadInput(f"a second value of {metric} on topic {topic!r}; one file holds one run", self.path, line)
        row[topic] = value

    def pass_over(self, metric: str) -> None:
        """Note a measure that nobody asked for."""
        self.others.add(metric)

    def complete(self, metric: str | None) -> Scores:
        """Return these scores; BadInput if there are none."""
        if not self.found:
            known = f"; there are {', '.join(sorted(self.others))}" if self.others else ""
            raise BadInput(f"no scores of {metric or 'topics'} in it{known}", self.path)
        return self


def gather(runs: Iterable[tuple[PathLike, str, Scores]]) -> Matrices:
    """Put runs together, each from its own file.

    Raises
    ------
    BadInput
        Two files of one run.
    """
    origin: dict[str, PathLike] = {}
    nested: dict[str, dict[str, dict[str, float]]] = {}
    for path, run, scores in runs:
        if run in origin:
            raise BadInput(f"run {run!r} stands in {origin[run]} already", path)
        origin[run] = path
        for metric, row in scores.found.items():
            nested.setdefault(metric, {})[run] = row
    return matrices_of(nested)
