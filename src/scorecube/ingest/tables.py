"""Score matrices as CSV: topics down, runs across, with or without a topic column."""

from __future__ import annotations

import csv
import io
import math
import re

import numpy as np
import pandas as pd

from scorecube.errors import BadInput, BadName
from scorecube.ingest.files import PathLike, bare_name, read_bytes
from scorecube.metrics import parse_metric

TOPIC_HEADERS = {"", "topic", "topics", "topic_id", "query", "qid"}
MISSING = {"", "na", "nan", "null", "none"}
ALIASES = {
    "map": "AP",
    "ap": "AP",
    "rr": "RR",
    "recip_rank": "RR",
    "rprec": "Rprec",
    "p": "P",
    "ndcg": "nDCG",
    "ndcg_cut": "nDCG",
    "err": "ERR",
}


def read_matrix(path: PathLike) -> pd.DataFrame:
    """Read a score matrix.

    The header names the runs; each further line is a topic. A first column called topic (or nothing) holds the topic
    ids; without one, topics are numbered by line from 1, padded with zeros.

    Returns
    -------
    matrix
        Runs as index, topics as columns, NaN for missing cells.

    Raises
    ------
    BadInput
        Naming file and line: a line of another length than the header, a cell that is not a number, a repeated run or topic.
    """
    rows = [
        (k, row)
        for k, row in enumerate(csv.reader(io.StringIO(read_bytes(path).decode("utf-8", "replace"), newline=None)), 1)
        if row
    ]
    header, body = rows[0][1], rows[1:]
    if not body:
        raise BadInput("a header and no scores", path)
    skip = 1 if header[0].strip().lower() in TOPIC_HEADERS else 0
    runs = [name.strip() for name in header[skip:]]
    if not all(runs):
        raise BadInput(f"column {skip + runs.index('') + 1} of the header has no run name", path, rows[0][0])
    _refuse_repeated(runs, "run", path, rows[0][0])
    width = len(str(len(body)))
    topics, values = [], np.empty((len(body), len(runs)))
    for k, (number, row) in enumerate(body):
        if len(row) != len(header):
            raise BadInput(f"{len(row)} cells, the header has {len(header)}", path, number)
        topics.append(row[0].strip() if skip else f"{k + 1:0{width}d}")
        values[k] = [_cell(text, path, number) for text in row[skip:]]
    _refuse_repeated(topics, "topic", path, None)
    return pd.DataFrame(values.T, index=runs, columns=topics)


def metric_of_file(path: PathLike) -> str:
    """Guess a metric's name from a file name: ``p10.csv`` is ``P@10``; a stem that is no metric is its own name.

    Examples
    --------
    >>> [metric_of_file(name) for name in ("ap.csv", "P_10.csv.gz", "ndcg20.csv", "last_rel.csv")]
    ['AP', 'P@10', 'nDCG@20', 'last_rel']
    """
    stem = re.sub(r"\.(csv|tsv|txt)$", "", bare_name(path))
    shape = re.fullmatch(r"([a-z_]+?)_?(\d*)", stem.lower())
    name = ALIASES.get(shape[1], stem) if shape else stem
    if name == stem:
        return stem
    guess = name + (f"@{shape[2]}" if shape and shape[2] else "")
    try:
        return str(parse_metric(guess))
    except BadName:
        return stem


def _cell(text: str, path: PathLike, number: int) -> float:
    if text.strip().lower() in MISSING:
        return float("nan")
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput(f"score {text!r} is not a finite number", path, number)
    return value


def _refuse_repeated(labels: list[str], what: str, path: PathLike, line: int | None) -> None:
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise BadInput(f"{what} {', '.join(repeated[:5])} stands twice", path, line)
