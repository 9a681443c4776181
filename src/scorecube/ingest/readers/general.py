"""Formats that no tool has for itself, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorecube.ingest.formats import File, reader

if TYPE_CHECKING:
    from scorecube.ingest.delimited import Table
    from scorecube.ingest.scores import Part

TABLE, MATRIX, NUMBERS, LONG, NESTED = "table", "matrix", "numbers", "long", "pytrec_eval"


@reader(
    NESTED,
    "dictionaries of pytrec_eval or ranx as JSON, one file a run or of runs",
    lambda file: bool(file.nested),
    is_general=True,
)
def read_nested(file: File) -> Part:
    """Return the scores of a run, which the file is named after, or of runs by name."""
    from scorecube.ingest.objects import scores_of_file

    return scores_of_file(file)


def _is_headerless(file: File) -> bool:
    from scorecube.ingest.tabular import is_headerless

    return bool(file.rows) and any(file.rows[0]) and is_headerless(file.rows)


@reader(
    NUMBERS,
    "a matrix without a header, as of NTCIREVAL: runs are numbered",
    _is_headerless,
    is_general=True,
)
def read_numbers(file: File) -> Table:
    """Return a matrix without a header."""
    from scorecube.ingest.tabular import without_header

    return without_header(file.text, file.path)


def _is_table(file: File) -> bool:
    from scorecube.ingest.cells import is_score

    if file.kind or file.is_json:
        return True
    is_wide = any(len(row) > 1 for row in file.rows)
    scores = [cell for row in file.rows[1:] for cell in row if cell]
    return len(file.rows) > 1 and (is_wide or any(map(is_score, scores)))


@reader(TABLE, "a table with headings, long or a matrix, as these tell", _is_table, is_general=True)
def read_table(file: File) -> Table:
    """Return a table, whose columns are decided with those of other files."""
    return file.whole_table


reader(
    LONG,
    "columns of run and topic, and of a score or of metrics, also as JSON lines or Parquet",
    lambda _: False,
    is_general=True,
)(read_table)
reader(
    MATRIX,
    "topics down, runs across, or exchanged, one file a metric",
    lambda _: False,
    is_general=True,
)(read_table)
