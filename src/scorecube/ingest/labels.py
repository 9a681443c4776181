"""Teams and systems of runs, and groups of topics, from CSV files."""

from __future__ import annotations

from typing import NamedTuple

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, refuse_unprintable
from scorecube.ingest.tables import columns_of


class RunLabels(NamedTuple):
    """Run -> team, and run -> system whose repetition it is; None without such a column."""

    teams: dict[str, str] | None
    systems: dict[str, str] | None


def read_run_labels(path: PathLike) -> RunLabels:
    """Read a CSV file with the columns run, and team or system or both."""
    teams, systems = (_labels(path, ("run",), (kind,)) for kind in ("team", "system"))
    if not teams and not systems:
        raise BadInput("no team, and no system: the columns are run and team", path, 1)
    return RunLabels(teams or None, systems or None)


def read_topic_groups(path: PathLike) -> dict[str, str]:
    """Read a CSV file with the columns topic and topic_group, which may be empty."""
    return _labels(path, ("topic", "topic_group"))


def _labels(
    path: PathLike, columns: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, str]:
    """Read the columns of a name and its label."""
    labels: dict[str, str] = {}
    of, kind = (*columns, *optional)
    for line, (name, label) in columns_of(path, columns, optional):
        refuse_unprintable(name, of, path, line)
        refuse_unprintable(label, kind, path, line)
        if label and labels.setdefault(name, label) != label:
            two = f"{label!r} here and {labels[name]!r} before"
            raise BadInput(f"{of} {name!r} has two {kind}s: {two}", path, line)
    return labels
