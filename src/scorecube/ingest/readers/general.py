"""Formats that no tool has for itself, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorecube.ingest.formats import File, reader

if TYPE_CHECKING:
    from scorecube.ingest.scores import Part

MATRIX, NUMBERS, LONG, NESTED = "matrix", "numbers", "long", "pytrec_eval"


def _is_nested(file: File) -> bool:
    return bool(file.nested)


@reader(
    NESTED,
    "dictionaries of pytrec_eval or ranx as JSON, one file a run or of runs",
    _is_nested,
    is_general=True,
)
def read_nested(file: File) -> Part:
    """Return the scores of a run, which the file is named after, or of runs by name."""
    from scorecube.ingest.objects import scores_of_file

    return scores_of_file(file)


def _is_table(file: File) -> bool:
    from scorecube.ingest.roles import LATER_TOPICS, PYTERRIER_RUN, ROLES, RUNS, header_word

    if file.kind or file.is_json:
        return True
    words = {header_word(cell) for cell in file.rows[0]} if file.rows else set()
    topics = (ROLES["topic"] | ROLES["collection"]).union(*LATER_TOPICS)
    return bool(words & {*RUNS, PYTERRIER_RUN} and words & topics)


@reader(
    LONG,
    "columns of run and topic, and of a score or of metrics, also as JSON lines or Parquet",
    _is_table,
    is_general=True,
)
def read_table(file: File) -> Part:
    """Return the scores of a table."""
    from scorecube.ingest.tabular import read_long

    return read_long(file.table, file.path, file.asked.metric, file.asked.chosen)


def _is_headerless(file: File) -> bool:
    from scorecube.ingest.tabular import is_headerless

    return bool(file.rows) and any(file.rows[0]) and is_headerless(file.rows)


@reader(
    NUMBERS,
    "a matrix without a header, as of NTCIREVAL: runs are numbered",
    _is_headerless,
    is_general=True,
)
def read_numbers(file: File) -> Part:
    """Return the scores of a matrix without a header."""
    from scorecube.ingest.tabular import read_matrix

    return read_matrix(file, file.asked.metric, has_header=False)


def _is_matrix(file: File) -> bool:
    from scorecube.ingest.tabular import is_matrix

    return is_matrix(file.rows)


@reader(
    MATRIX, "topics down, runs across, or exchanged, one file a metric", _is_matrix, is_general=True
)
def read_matrix_file(file: File) -> Part:
    """Return the scores of a matrix."""
    from scorecube.ingest.tabular import read_matrix

    return read_matrix(file, file.asked.metric)
