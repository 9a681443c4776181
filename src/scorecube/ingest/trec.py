"""TREC run files, and the file of teams."""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

from scorecube.collection.judgements import RunLines
from scorecube.errors import BadInput
from scorecube.ingest.columns import (
    Layout,
    finish_numbers,
    finite_number,
    label_text,
    number,
    read_columns,
)
from scorecube.ingest.delimited import read_rows, read_table
from scorecube.ingest.files import PathLike, bare_name, refuse_unprintable
from scorecube.ingest.roles import header_word
from scorecube.kernels.workspace import Workspace

RUN = Layout("run", "topic Q0 document rank score tag", 0, 2, 4, 3, 5)


def read_run(
    path: PathLike,
    *,
    run_name: str = "tag",
    with_ranks: bool = False,
    workspace: Workspace | None = None,
) -> RunLines:
    """Read one run file, plain or gzip.

    Parameters
    ----------
    path
        Lines of topic, Q0, document, rank, score and tag.
    run_name
        ``tag`` names a run by its last column, ``file`` by its file name without .gz.
    with_ranks
        Whether the rank column must be numbers (it is ignored otherwise).
    workspace
        Memory for reuse: the lines are valid until the next file is read into it.

    Returns
    -------
    lines
        Columns of the file, not yet ordered.

    Raises
    ------
    BadInput
        Naming file and line: too few or too many columns, a score or rank that is not a number, two tags in one file, a tag
        or topic that is not UTF-8 or has control characters.
    """
    columns = read_columns(
        path, RUN, with_ranks=with_ranks, one_tag=run_name == "tag", workspace=workspace
    )
    name = (
        columns.run(path)
        if run_name == "tag"
        else label_text(os.fsencode(bare_name(path)), "file name", path)
    )
    for what, values, at, read in (
        ("score", columns.values, RUN.value, number),
        ("rank", columns.ranks, RUN.rank, finite_number),
    ):
        field = partial(columns.field, at)
        finish_numbers(values, field, columns.line, path, what, "a number", read)
    return RunLines(
        name=name,
        path=str(path),
        text=columns.text,
        topics=columns.topics(path),
        topic_of=columns.topic_of,
        documents=columns.documents,
        scores=columns.values,
        ranks=columns.ranks,
        numbers=columns.numbers,
    )


class RunLabels(NamedTuple):
    """Teams and systems of runs, as read from a table.

    Parameters
    ----------
    teams, systems
        Run -> team, and run -> system whose repetition it is; None without such a column.
    """

    teams: dict[str, str] | None
    systems: dict[str, str] | None


def read_run_labels(path: PathLike) -> RunLabels:
    """Read a CSV file with the header ``run,team``, ``run,system`` or both, in any order, see `read_teams`.

    Parameters
    ----------
    path
        As of `read_teams`; the cell of the system may be empty.

    Returns
    -------
    labels
        Teams and systems.

    Raises
    ------
    BadInput
        As of `read_teams`; a run with two systems.
    """
    words = [header_word(cell) for cell in read_rows(path)[0][1]]
    if words.count("system") != 1:
        return RunLabels(read_teams(path), None)
    systems = _read_labels(path, "run", "system", all_named=False)
    return RunLabels(read_teams(path) if "team" in words else None, systems)


def read_teams(path: PathLike) -> dict[str, str]:
    """Read a CSV file with the header ``run,team[,...]``, in any case, into run -> team.

    Parameters
    ----------
    path
        Plain or gzip, with cells between commas, semicolons or tabs; further columns are ignored.

    Returns
    -------
    team_of
        Run -> team.

    Raises
    ------
    BadInput
        A header without run or team, a line without them, a run with two teams.
    """
    return _read_labels(path, "run", "team")


def read_topic_groups(path: PathLike) -> dict[str, str]:
    """Read a CSV file with the header ``topic,topic_group[,...]`` into topic -> group, as `read_teams`; the cell of the group may be empty."""
    return _read_labels(path, "topic", "topic_group", all_named=False)


def _read_labels(path: PathLike, of: str, kind: str, *, all_named: bool = True) -> dict[str, str]:
    """Read the columns of a name and its label; a name without one is refused, or left out."""
    found: dict[str, str] = {}
    word = kind.removeprefix(f"{of}_")
    for line, (name, label) in read_table(path, (of, kind)):
        refuse_unprintable(name, of, path, line)
        refuse_unprintable(label, word, path, line)
        if not name or not (label or not all_named):
            which = f"the {of} or the {word} is" if all_named else f"the {of} is"
            raise BadInput(f"{which} missing", path, line)
        if label and found.setdefault(name, label) != label:
            raise BadInput(
                f"{of} {name!r} has two {word}s: {label!r} here and {found[name]!r} before",
                path,
                line,
            )
    return found
