"""One score a line, or those of a run on a topic: a header with columns of run and topic, and of scores or metrics, under many names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from scorecube.errors import BadInput, option
from scorecube.ingest.cells import Table
from scorecube.ingest.delimited import is_score
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, FileHead, Format
from scorecube.ingest.layouts import LAYOUTS, Layout
from scorecube.ingest.reading import Reading
from scorecube.ingest.records import Records
from scorecube.ingest.roles import (
    LAST_TOPIC_HEADERS,
    METRIC_HEADERS,
    PYTERRIER_RUN,
    ROLES,
    RUN_HEADERS,
    SCORE_HEADERS,
    header_word,
)
from scorecube.ingest.tables import Marks, open_table

TOPICS = (ROLES["topic"], *LAST_TOPIC_HEADERS)


def read_collections(
    paths: Iterable[PathLike],
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
    *,
    layout: Layout | None = None,
) -> Reading:
    """Read tables of scores, CSV, TSV, JSON objects a line or Parquet; several files are read as one.

    A header tells what a column is, see `scorecube.ingest.roles`. Columns of benchmarks, tasks or splits make collections. With a column of seeds,
    run and seed name the run (``a#1``), and the run is its system; with a column of systems beside that of runs, runs of one system are its
    repetitions. Scores are in a column beside one that names their metrics, or each further column of numbers, or of true and false, is a metric.
    Labels that `scorecube show` protected from spreadsheets lose their apostrophe. A metric without a gain setting, beside metrics that have one, applies to all gain settings.

    Parameters
    ----------
    paths
        Files with a header, plain or gzip.
    metric
        The only metric to read. Of a file without a metric column, the column of that name; without such a column, the name of the column score (by
        default, the name of the file).
    chosen
        Role (run, topic, collection, seed or score) -> its column.
    layout
        Of the tool that wrote the files; None for tables.

    Returns
    -------
    reading
        Matrices by collection, gain setting and metric, with NaN for combinations that no line has; what columns were taken for, and what was not read.

    Raises
    ------
    BadInput
        All problems of all files, the first by file and line: a header without run, topic or scores, or with two columns for one; a line of another
        length or that is no JSON; an empty run, topic or metric; a score that is not a number; a second score of one run, topic and metric.
    """
    return Records(metric, chosen).read(_tables(paths, layout))


def _tables(paths: Iterable[PathLike], layout: Layout | None) -> Iterator[Table | BadInput]:
    known: Marks = {}
    for path in paths:
        try:
            yield open_table(path, layout, known)
        except BadInput as error:
            yield error


def _format_of(layout: Layout) -> Format:
    """Return the format of the files of a tool."""
    read = partial(read_collections, layout=layout)
    return Format(
        layout.name, layout.about, lambda head: layout.fits(head.names), read, read_collections=read
    )


def _detect(head: FileHead) -> bool:
    if head.is_json:
        return True
    words = [header_word(cell) for cell in head.header]
    runs = [k for k, word in enumerate(words) if word in RUN_HEADERS or word == PYTERRIER_RUN]
    if not runs or not any(word in headers for word in words for headers in TOPICS):
        return False
    body = [cells for _, cells in head.rows[1:] if len(cells) == len(words)]
    if (
        not set(words) & {*SCORE_HEADERS, *METRIC_HEADERS}
        and body
        and all(is_score(cells[runs[0]]) for cells in body)
    ):
        raise BadInput(
            f"the column {head.header[runs[0]]} has only numbers: if they are the scores of a run of this name, use {option('layout', 'matrix')}; if they "
            f"name runs, use {option('layout', 'long')}",
            head.path,
            head.rows[0][0],
        )
    return True


FORMATS = {layout.name: _format_of(layout) for layout in LAYOUTS}
FORMAT = Format(
    "long", BUILT_IN["long"].about, _detect, read_collections, read_collections=read_collections
)
