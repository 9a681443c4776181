"""Which layout a score file has, and reading all files of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest import ir_measures, ntcireval_scores
from scorecube.ingest.delimited import DECIMAL_COMMA, TOPIC_HEADERS, Row, is_score, read_text, split_rows
from scorecube.ingest.files import PathLike
from scorecube.ingest.gdeval import GDEVAL_TOOL, NDEVAL_TOOL, read_gdeval, tool_of
from scorecube.ingest.in_memory import Matrices
from scorecube.ingest.ir_measures import read_ir_measures
from scorecube.ingest.long import NEEDED, columns_of, read_long
from scorecube.ingest.matrix import metric_of_file, read_matrix
from scorecube.ingest.ntcireval_scores import read_nev
from scorecube.ingest.trec_eval import ALL, RUNID, read_trec_eval
from scorecube.ingest.trec_eval_o import is_old

AUTO, MATRIX, LONG, TREC_EVAL, NEV = ("auto", "matrix", "long", "trec_eval", "nev")
IR_MEASURES, GDEVAL, NDEVAL = ("ir_measures", GDEVAL_TOOL, NDEVAL_TOOL)
OUTPUTS: dict[str, Callable[[Sequence[PathLike], str | None], Matrices]] = {
    TREC_EVAL: read_trec_eval,
    NEV: read_nev,
    IR_MEASURES: read_ir_measures,
    GDEVAL: partial(read_gdeval, tool=GDEVAL),
    NDEVAL: partial(read_gdeval, tool=NDEVAL),
}
"""What tools print."""
LAYOUTS = (AUTO, MATRIX, LONG, *OUTPUTS)
BEGINNING = 50
"""Lines that are looked at to tell layouts apart."""


def read_scores(
    paths: Sequence[PathLike], *, layout: str = AUTO, metric: str | None = None, transpose: bool = False
) -> dict[str, Matrices]:
    """Read files of per-topic scores that other tools computed.

    Parameters
    ----------
    paths
        Files of one layout, plain or gzip.
    layout
        ``matrix``: see `read_matrix`, one file a metric; ``long``: see `read_long`; ``trec_eval``: see `read_trec_eval`,
        one file a run; ``nev``: see `read_nev`, one file a run; ``ir_measures``: see `read_ir_measures`, one file a run;
        ``gdeval`` and ``ndeval``: see `read_gdeval`; ``auto``: whichever the content shows.
    metric
        Name of the metric where the file does not tell it, else the only one to take.
    transpose
        Matrices have runs down and topics across.

    Returns
    -------
    matrices
        Gain setting ('' where the files name none) -> metric -> data frame of runs x topics, NaN for missing.

    Raises
    ------
    BadInput
        With file and line; files whose layout cannot be told, or of several layouts.
    BadPlan
        An unknown layout; options that do not fit it; two matrices of one metric.
    """
    if layout not in LAYOUTS:
        raise BadPlan(f"no layout {layout!r}; known: {', '.join(LAYOUTS)}")
    if layout == AUTO:
        layout = MATRIX if transpose else _common_layout(paths)
    if transpose and layout != MATRIX:
        raise BadPlan(
            f"{option('transpose', True)} applies to matrices, and the layout is {layout}", option="transpose"
        )
    if layout == MATRIX:
        return {"": _read_matrices(paths, metric, transpose)}
    if layout == LONG:
        return read_long(paths, metric)
    return {"": OUTPUTS[layout](paths, metric)}


def detect(path: PathLike) -> str:
    """Return the layout of a file by its first lines.

    Parameters
    ----------
    path
        Plain or gzip.

    Returns
    -------
    layout
        One of `LAYOUTS`.

    Raises
    ------
    BadInput
        A file that cannot be read, or whose layout cannot be told.
    """
    whole = read_text(path)
    lines = [line for line in whole.split("\n") if line.strip()]
    text = "\n".join(lines[:BEGINNING]) + "\n"
    fields = [line.split() for line in text.splitlines()]
    told = [line for line in fields if not ntcireval_scores.is_comment(line)]
    if told and ntcireval_scores.is_line(told[0]):
        return NEV
    if is_old(text):
        return TREC_EVAL
    if all(ir_measures.is_line(ir_measures.fields_of(line.strip())) for line in text.splitlines()[:2]):
        return IR_MEASURES
    word = fields[0][0].lower()
    named = any(line[:2] == [RUNID, ALL] for line in fields)
    if named or (word not in TOPIC_HEADERS and all(_is_trec_eval(line) for line in fields[:2])):
        return TREC_EVAL
    try:
        rows = split_rows(whole if len(lines) <= BEGINNING else text, path)
    except BadInput:
        if len(lines) <= BEGINNING:
            raise
        # A quoted cell that goes on beyond the lines looked at; reading the whole file will tell.
        rows = []
    return _detect_table(rows, path)


def _is_trec_eval(fields: list[str]) -> bool:
    return len(fields) == 3 and not is_score(fields[0]) and is_score(fields[2])


def _detect_table(rows: list[Row], path: PathLike) -> str:
    header = rows[0][1] if rows else []
    tool = tool_of(header)
    if tool is not None:
        return tool
    columns = columns_of(header)
    if all(columns[role] for role in NEEDED):
        return LONG
    if columns["run"] and columns["topic"]:
        raise BadInput(
            f"columns for run and topic and none for the score: call it score ({option('layout', 'long')}), or, if these "
            f"are names of runs, use {option('layout', 'matrix')}", path, rows[0][0],
        )  # fmt: skip
    if columns["run"] == [0]:
        return MATRIX  # runs down; its reader says what to do
    topics = bool(header) and header[0].lower() in ("", *TOPIC_HEADERS)
    if (topics and len(header) > 1) or (len(rows) > 1 and any(_looks_like_score(cell) for cell in rows[1][1])):
        return MATRIX
    raise BadInput(
        f"cannot tell the layout; use {option('layout', 'matrix')} (topics down, runs across), long (columns run, topic, score) "
        f"or the tool whose output it is: {', '.join(OUTPUTS)} (NTCIREVAL)", path,
    )  # fmt: skip


def _looks_like_score(cell: str) -> bool:
    """Whether a cell is a number, also with a decimal comma, which the matrix reader explains."""
    return bool(cell) and (is_score(cell) or DECIMAL_COMMA.fullmatch(cell) is not None)


def _common_layout(paths: Sequence[PathLike]) -> str:
    found: dict[str, PathLike] = {}
    for path in paths:
        found.setdefault(detect(path), path)
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise BadInput(
            f"looks like layout {other}, and {first} like {one}; import them one after the other, or choose the {option('layout')}",
            second,
        )
    return next(iter(found))


def _read_matrices(paths: Sequence[PathLike], metric: str | None, transpose: bool) -> Matrices:
    if metric is not None and len(paths) != 1:
        raise BadPlan(
            f"{option('metric')} names the metric of one file, and there are {len(paths)} files", option="metric"
        )
    matrices: Matrices = {}
    for path in paths:
        label = metric or metric_of_file(path)
        if label in matrices:
            raise BadPlan(f"two files hold metric {label}: {path} is the second")
        matrices[label] = read_matrix(path, transpose=transpose)
    return matrices
