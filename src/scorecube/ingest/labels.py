"""Teams and systems of runs, and groups of topics, from CSV files."""

from __future__ import annotations

from typing import NamedTuple

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, read_text, refuse_unprintable
from scorecube.ingest.roles import header_word
from scorecube.ingest.tables import columns_of, table_of_text


class RunLabels(NamedTuple):
    """Run -> team, and run -> system whose repetition it is; None without such a column."""

    teams: dict[str, str] | None
    systems: dict[str, str] | None


def read_run_labels(path: PathLike) -> RunLabels:
    """Read a CSV file with the columns run, and team or system or both."""
    words = [header_word(cell) for cell in table_of_text(read_text(path), path).header]
    has_systems = words.count("system") == 1
    teams = read_labels(path, "run", "team") if "team" in words or not has_systems else None
    return RunLabels(teams, read_labels(path, "run", "system") if has_systems else None)


def read_topic_groups(path: PathLike) -> dict[str, str]:
    """Read a CSV file with the columns topic and topic_group, which may be empty."""
    return read_labels(path, "topic", "topic_group")


def read_labels(path: PathLike, of: str, kind: str) -> dict[str, str]:
    """Read the columns of a name and its label, which only a team must have."""
    labels: dict[str, str] = {}
    word = kind.removeprefix(f"{of}_")
    for line, (name, label) in columns_of(path, (of, kind)):
        refuse_unprintable(name, of, path, line)
        refuse_unprintable(label, word, path, line)
        if not name or (kind == "team" and not label):
            which = f"the {of} or the {word}" if kind == "team" else f"the {of}"
            raise BadInput(f"{which} is missing", path, line)
        if label and labels.setdefault(name, label) != label:
            two = f"{label!r} here and {labels[name]!r} before"
            raise BadInput(f"{of} {name!r} has two {word}s: {two}", path, line)
    return labels
