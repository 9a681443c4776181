"""Tables of scores as they are stored: CSV and TSV, a JSON object a line, Parquet, and data frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import pandas as pd

from scorecube.errors import BadInput, counted, kind_of
from scorecube.ingest.delimited import Row, first_row, lines_of, raw_rows, text_blocks
from scorecube.ingest.files import LARGEST_TABLE, PathLike, is_parquet
from scorecube.ingest.records import Chunk, Table
from scorecube.ingest.tool_objects import package_of

ROWS = 2**12
"""Rows that are Python objects at a time: few, so that these are not searched for garbage again and again."""
MOST_PROBLEMS = 1000
"""Lines that are no JSON, after which a file is not read on."""


def open_table(path: PathLike) -> Table:
    """Return the table of a file; its format is found from its first bytes.

    Raises BadInput: A file that cannot be read; Parquet without pyarrow.
    """
    if is_parquet(path):
        return _parquet(path)
    blocks = text_blocks(path, LARGEST_TABLE)
    first = next(blocks, "")
    if first.lstrip().startswith("{"):
        return _json_lines(chain([first], blocks), path)
    rows = raw_rows(chain([first], blocks), path)
    line, header = first_row(rows, path)
    return Table(path, [cell.strip() for cell in header], line, _chunks(rows, len(header), path))


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
    """Return the table of a data frame; named labels of its rows are columns.

    Raises BadInput: A frame that needs pyarrow, which is not installed.
    """
    if isinstance(frame, pd.DataFrame):
        named = [name for name in frame.index.names if name is not None]
        whole = frame.reset_index(level=named) if named else frame
        objects = (whole.iloc[:, k].astype(object) for k in range(whole.shape[1]))
        values = [column.where(column.notna(), None).tolist() for column in objects]
        return _whole(None, list(map(str, whole.columns)), values, range(1, len(whole) + 1))
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
    return _whole(None, list(found), columns, range(1, len(columns[0] if columns else ()) + 1))


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


def _json_lines(blocks: Iterable[str], path: PathLike) -> Table:
    """Return the table of objects that stand a line each; a name that an object lacks is a missing value."""
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    problems: list[BadInput] = []
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
        for name in [name for name in row if name not in columns]:
            columns[name] = [None] * len(lines)
        for name, values in columns.items():
            values.append(row.get(name))
        lines.append(number)
    return _whole(path, list(columns), list(columns.values()), lines, problems)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON (ValueError for two values of a name)."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"{len(pairs) - len(found) + 1} values of one name")
    return found
