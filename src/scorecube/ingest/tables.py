"""Tables of scores as they are stored: CSV and TSV, a JSON object a line, Parquet, and data frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import pandas as pd

from scorecube.errors import BadInput, counted, kind_of
from scorecube.ingest.cells import Chunk, Table
from scorecube.ingest.delimited import (
    Row,
    delimited,
    first_row,
    lines_of,
    raw_rows,
    read_text,
    regular_columns,
    text_blocks,
)
from scorecube.ingest.files import LARGEST_TABLE, PathLike, is_parquet
from scorecube.ingest.layouts import Layout, LayoutReader, layout_of
from scorecube.ingest.tool_objects import package_of

ROWS = 2**12
"""Rows that are Python objects at a time: few, so that these are not searched for garbage again and again."""
MOST_PROBLEMS = 1000
"""Lines that are no JSON, after which a file is not read on."""
NOT_OF_TOOL = "not a file of the layout {}"
Marks = dict[tuple[str, str], str]
"""Collection and topic -> mark, such as the hash of its document."""


def open_table(path: PathLike, layout: Layout | None = None, known: Marks | None = None) -> Table:
    """Return the table of a file; its format is found from its first bytes.

    layout: Of whose records a table is made; None for a table of scores as it is.
    known: Marks of topics in the files that were read before, of layouts with marks.
    Raises BadInput: A file that cannot be read; Parquet without pyarrow; a file of another tool.
    """
    if layout is not None and layout.records is not None:
        document = read_document(path)
        if isinstance(document, dict) and not layout.fits(document):
            raise BadInput(NOT_OF_TOOL.format(layout.name), path)
        records = layout.records(document)
        return _table_of_records(enumerate(records, 1), path, layout, known=known)
    if is_parquet(path):
        return _as_table(_parquet(path), layout, known)
    blocks = text_blocks(path, LARGEST_TABLE)
    first = next(blocks, "")
    if first.lstrip().startswith("{"):
        problems: list[BadInput] = []
        return _table_of_records(
            _objects(chain([first], blocks), path, problems), path, layout, problems, known
        )
    if first.lstrip().startswith("["):
        return _table_of_records(enumerate(read_document(path), 1), path, layout, known=known)
    return _as_table(_delimited(chain([first], blocks), path), layout, known)


def read_document(path: PathLike) -> Any:
    """Return the content of a file of JSON: an object, or a list.

    Raises BadInput: A file that cannot be read, or is no JSON.
    """
    text = read_text(path)
    try:
        found = json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise BadInput("the JSON is nested too deeply for a table", path) from None
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        end = "" if text.rstrip().endswith(("]", "}")) else "; the file may be cut off"
        raise BadInput(f"not JSON: {error}{end}", path, line) from None
    if not isinstance(found, dict | list):
        raise BadInput(f"an object or a list of JSON is expected; found {kind_of(found)}", path)
    return found


def header_of(path: PathLike) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    return list(_parquet(path).header)


def _parquet(path: PathLike) -> Table:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise BadInput(
            "a Parquet file needs pyarrow, which is not installed: pip install pyarrow, or save the table as CSV or JSONL",
            path,
        ) from None

    def chunks() -> Iterator[Chunk]:
        start = 1
        with _undamaged(path):
            for batch in file.iter_batches(batch_size=ROWS):
                columns = [column.to_pylist() for column in batch.columns]
                yield Chunk(columns, range(start, start + batch.num_rows))
                start += batch.num_rows

    with _undamaged(path):
        file = ParquetFile(path)
        return Table(path, file.schema_arrow.names, 1, chunks())


@contextmanager
def _undamaged(path: PathLike) -> Iterator[None]:
    """Translate errors of pyarrow, which are of many types."""
    try:
        yield
    except Exception as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(f"the Parquet file is damaged: {text}", path) from None


def is_frame(value: Any) -> bool:
    """Return whether something is a data frame of pandas, or of another library that shares its columns."""
    return isinstance(value, pd.DataFrame) or (
        hasattr(value, "columns") and hasattr(value, "__arrow_c_stream__")
    )


def table_of_frame(frame: Any) -> Table:
    """Return the table of a data frame, of a tool or any other; named labels of its rows are columns.

    Raises BadInput: A frame that needs pyarrow, which is not installed.
    """
    if isinstance(frame, pd.DataFrame):
        named = [name for name in frame.index.names if name is not None]
        whole = frame.reset_index(level=named) if named else frame
        objects = (whole.iloc[:, k].astype(object) for k in range(whole.shape[1]))
        values = [column.where(column.notna(), None).tolist() for column in objects]
        table = _whole(None, list(map(str, whole.columns)), values, range(1, len(whole) + 1))
        return _as_table(table, layout_of(table.header))
    if package_of(frame) == "polars":
        found = frame.to_dict(as_series=False)
    else:
        try:
            import pyarrow as pa
        except ImportError:
            raise BadInput(
                f"{kind_of(frame)} needs pyarrow, which is not installed: pip install pyarrow, or pass a data frame of pandas",
                option="scores",
            ) from None
        found = pa.table(frame).to_pydict()
    columns: Any = list(found.values())
    table = _whole(None, list(found), columns, range(1, len(columns[0] if columns else ()) + 1))
    return _as_table(table, layout_of(found))


def _whole(
    path: PathLike | None,
    header: Sequence[str],
    columns: Sequence[Sequence[Any]],
    lines: Sequence[int],
    problems: Iterable[BadInput] = (),
) -> Table:
    """Return a table whose rows are in memory."""
    parts = (slice(start, start + ROWS) for start in range(0, len(lines), ROWS))
    chunks = (Chunk([column[part] for column in columns], lines[part]) for part in parts)
    return Table(path, header, 1, chain(problems, chunks))


def _delimited(blocks: Iterable[str], path: PathLike) -> Table:
    """Return the table in a text with cells between commas, tabs or semicolons."""
    parts, delimiter = delimited(blocks)
    line = 1
    text = next(parts, "")
    head, newline, body = text.partition("\n")
    if newline and head.strip() and '"' not in head:
        header = first_row(raw_rows([head], delimiter, line, path), path)[1]
        chunks = _columns(chain([body], parts), delimiter, line + 1, len(header), path)
    else:
        rows = raw_rows(chain([text], parts), delimiter, line, path)
        line, header = first_row(rows, path)
        chunks = _chunks(rows, len(header), path)
    return Table(path, [cell.strip() for cell in header], line, chunks)


def _columns(
    blocks: Iterator[str], delimiter: str, line: int, width: int, path: PathLike
) -> Iterator[Chunk | BadInput]:
    """Yield the rows of a delimited file behind its header by column; `line` is the number of the first."""
    for block in filter(None, blocks):
        columns = regular_columns(block, delimiter, width)
        if columns is not None:
            yield Chunk(columns, range(line, line + len(columns[0])))
        else:
            # A quoted cell may end in a later block.
            whole = chain([block], blocks) if '"' in block else [block]
            yield from _chunks(raw_rows(whole, delimiter, line, path), width, path)
        line += block.count("\n")


def _chunks(rows: Iterator[Row], width: int, path: PathLike) -> Iterator[Chunk | BadInput]:
    """Yield the rows of a delimited file by column."""
    while part := list(islice(rows, ROWS)):
        if any(len(cells) != width for _, cells in part):
            for line, row in part:
                if len(row) != width:
                    text = f"{counted(len(row), 'cell')}, the header has {width}"
                    yield BadInput(text, path, line)
            part = [row for row in part if len(row[1]) == width]
        if part:
            lines, cells = zip(*part, strict=True)
            yield Chunk(list(zip(*cells, strict=True)), lines)


def _objects(
    blocks: Iterable[str], path: PathLike, problems: list[BadInput]
) -> Iterator[tuple[int, Any]]:
    """Yield objects that stand a line each, with the numbers of their lines; add what is wrong with other lines."""
    for number, line in enumerate(chain.from_iterable(map(lines_of, blocks)), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.strip(), object_pairs_hook=_object)
            if not isinstance(row, dict):
                raise ValueError(f"found {kind_of(row)}")
        except (ValueError, RecursionError) as error:
            end = "" if line.rstrip().endswith("}") else "; the line may be cut off"
            text = f"not an object of JSON, which stands on one line: {error}{end}"
            problems.append(BadInput(text, path, number))
            if len(problems) == MOST_PROBLEMS:
                problems.append(BadInput("lines from here on were not read", path, number + 1))
                break
            continue
        yield number, row


def _as_table(table: Table, layout: Layout | None, known: Marks | None = None) -> Table:
    """Return the table of the rows of a file or frame of a tool."""
    if layout is None:
        return table
    problems: list[BadInput] = []

    def records() -> Iterator[tuple[int, Any]]:
        for chunk in table.chunks:
            if isinstance(chunk, BadInput):
                problems.append(chunk)
                continue
            for line, *cells in zip(chunk.lines, *chunk.columns, strict=True):
                yield line, dict(zip(table.header, cells, strict=True))

    return _table_of_records(records(), table.path, layout, problems, known)


def _table_of_records(
    records: Iterable[tuple[int, Any]],
    path: PathLike | None,
    layout: Layout | None,
    problems: list[BadInput] | None = None,
    known: Marks | None = None,
) -> Table:
    """Return the table of records with their lines; a name that a record lacks is a missing value.

    problems: What is wrong with the file, complete once the records were read.
    """
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    problems = [] if problems is None else problems
    reader = None if layout is None else LayoutReader(layout, path, {} if known is None else known)
    for number, record in records:
        if not isinstance(record, dict):
            text = f"an object is expected; found {kind_of(record)}"
            problems.append(BadInput(text, path, number))
            continue
        row: Mapping[str, Any] = record
        if reader is not None:
            place, row = reader.placed(record, columns, len(lines))
            if place < len(lines):
                for name, value in row.items():
                    columns.setdefault(name, [None] * len(lines))[place] = value
            if place != len(lines):
                continue
        for name in [name for name in row if name not in columns]:
            columns[name] = [None] * len(lines)
        for name, values in columns.items():
            values.append(row.get(name))
        lines.append(number)
    table = _whole(path, list(columns), list(columns.values()), lines, problems)
    if reader is None:
        return table
    if not columns and not problems:
        raise BadInput("no samples", path)
    reader.refuse_lacking(columns)
    return replace(
        table,
        roles=reader.layout.roles,
        unread=reader.unread,
        notes=reader.notes,
        advice=reader.layout.advice,
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON (ValueError for two values of a name)."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"{len(pairs) - len(found) + 1} values of one name")
    return found
