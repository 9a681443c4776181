"""TREC run files, and the file of teams."""

from __future__ import annotations

import csv
import io

from scorecube.collection.judgements import RunLines
from scorecube.errors import BadInput
from scorecube.ingest.columns import Layout, finish_numbers, finite_number, number, read_columns
from scorecube.ingest.files import PathLike, bare_name, read_bytes
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
        Naming file and line: too few columns, a score or rank that is not a number, two tags in one file.
    """
    columns = read_columns(
        path, RUN, with_ranks=with_ranks, one_tag=run_name == "tag", workspace=workspace
    )
    finish_numbers(columns, columns.values, RUN.value, path, "score", "a number", number)
    finish_numbers(columns, columns.ranks, RUN.rank, path, "rank", "a number", finite_number)
    return RunLines(
        name=columns.word(columns.tag) if run_name == "tag" else bare_name(path),
        path=str(path),
        text=columns.text,
        topics=columns.topics,
        topic_of=columns.topic_of,
        documents=columns.documents,
        scores=columns.values,
        ranks=columns.ranks,
        numbers=columns.numbers,
    )


def read_teams(path: PathLike) -> dict[str, str]:
    """Read a CSV file with the header ``run,team[,...]`` into run -> team.

    Parameters
    ----------
    path
        Plain or gzip; further columns are ignored.

    Returns
    -------
    team_of
        Run -> team.

    Raises
    ------
    BadInput
        A header without run or team, a line without them, a run with two teams.
    """
    reader = csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8", "replace"), newline=None))
    if not {"run", "team"} <= set(reader.fieldnames or ()):
        raise BadInput(
            f"the header must have the columns run and team; found {','.join(reader.fieldnames or ())}",
            path,
            1,
        )
    teams: dict[str, str] = {}
    for row in reader:
        run, team = row["run"], row["team"]
        if not run or not team:
            raise BadInput("the run or the team is missing", path, reader.line_num)
        if teams.setdefault(run, team) != team:
            raise BadInput(
                f"run {run!r} has two teams: {team!r} here and {teams[run]!r} before",
                path,
                reader.line_num,
            )
    return teams
