"""Formats that no tool has for itself, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorecube.ingest.formats import LONG, MATRIX, File, never, reader
from scorecube.ingest.input_files import FILE

if TYPE_CHECKING:
    from scorecube.ingest.delimited import CellTable
    from scorecube.ingest.scores import ScorePart

NUMBERS = "numbers"


@reader(
    "pytrec_eval",
    "dictionaries of pytrec_eval or ranx (JSON)",
    lambda file: bool(file.nested) and file.asked.chosen in ({}, {"run": FILE}),
    is_general=True,
    form="",
)
def read_nested(file: File) -> ScorePart:
    """Return scores of a run, which the file names, or of runs by name."""
    from scorecube.ingest.objects import scores_of_file

    return scores_of_file(file)


def _is_headerless(file: File) -> bool:
    from scorecube.ingest.score_tables import is_headerless

    return bool(file.rows) and any(file.rows[0]) and is_headerless(file.rows)


@reader(
    NUMBERS,
    "a matrix without a header, as of NTCIREVAL",
    _is_headerless,
    is_general=True,
    form=MATRIX,
)
def read_numbers(file: File) -> CellTable:
    """Return scores of runs across, which are numbered; topics are a first column, or lines."""
    from scorecube.ingest.score_tables import without_header

    return without_header(file.text, file.path)


def _is_table(file: File) -> bool:
    from scorecube.ingest.cells import is_score

    if file.kind or file.is_json:
        return True
    is_wide = any(len(row) > 1 for row in file.rows)
    scores = [cell for row in file.rows[1:] for cell in row if cell]
    return is_wide or any(map(is_score, scores))


@reader("table", "a table with headings: CSV, JSON, Parquet", _is_table, is_general=True, form="")
def read_table(file: File) -> CellTable:
    """Return scores of the columns that headings, cells and options tell."""
    return file.table


@reader(
    LONG, "a table with a row for each score, or run and topic", never, is_general=True, form=LONG
)
def read_long(file: File) -> CellTable:
    """Return columns of run and topic, and of a score or of metrics."""
    return file.table


@reader(MATRIX, "a table for each metric", never, is_general=True, form=MATRIX)
def read_matrix(file: File) -> CellTable:
    """Return scores of topics down and runs across, or exchanged; the file names the metric."""
    return file.table
