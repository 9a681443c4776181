"""The judged documents of a run file in rank order, in one pass over its bytes.

What is odd in a file - a comment, a topic in several parts, ranks as order, a mistake - is left to
the plain reader, `scorecube.ingest.runs`, which gives the same numbers and has the messages.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from scorecube.collection.judgements import Qrels
from scorecube.collection.rankings import FlagArray, JudgedRun, Order, empty_lists, with_levels
from scorecube.errors import BadInput
from scorecube.ingest.entries import label_text, number_in
from scorecube.ingest.input_files import PathLike, bare_name
from scorecube.kernels.run_lines import (
    ASCENDING,
    DESCENDING,
    LINE,
    STABLE,
    rank_documents,
    read_lines,
)

LineArray = NDArray[np.void]
"""Records of `LINE`."""
FILE_ORDER = -1
TIES = {
    Order.SCORE: DESCENDING,
    Order.SCORE_DOCNO_ASC: ASCENDING,
    Order.SCORE_STABLE: STABLE,
    Order.FILE: FILE_ORDER,
}
"""What decides between documents with equal scores."""


def judged_content(
    content: bytes, path: PathLike, qrels: Qrels, *, run_name: str, order: str, depth: int | None
) -> JudgedRun | None:
    """Return the judged run in the content of a file; None for an odd one."""
    ties = TIES.get(Order(order))
    table = qrels.table
    if ties is None or b"\0" in content or table is None:
        return None
    text = np.frombuffer(content, np.uint8)
    lines = np.empty(np.count_nonzero(text == ord("\n")) + 1, LINE)
    n_lines = read_lines(text, lines)
    lines = lines[:n_lines]
    if n_lines < 1 or (run_name == "tag" and not lines["has_first_tag"].all()):
        return None
    if not _decide_scores(content, lines):
        return None
    first = np.flatnonzero(lines["is_first"])
    try:
        topics = [label_text(_field(content, lines[k], "topic"), "topic", path) for k in first]
        label = label_text(_name(content, lines[0], path, run_name), "run", path)
    except BadInput:  # the plain reader names the line
        return None
    if len(set(topics)) < len(topics):
        return None
    bounds = np.append(first, n_lines)
    rows = np.array([qrels.number_of.get(topic, -1) for topic in topics], np.int32)
    counts = np.diff(bounds).astype(np.int32)
    numbers, lengths = empty_lists(str(path), qrels, rows, counts, depth)
    own = _own_documents(text, lines, first, rows, len(qrels.topics))
    if not rank_documents(text, lines, bounds, rows, table, ties, numbers):
        return None
    return with_levels(label, str(path), topics, qrels, numbers, lengths, own)


def _own_documents(
    text: NDArray[np.uint8],
    lines: LineArray,
    first: NDArray[np.intp],
    rows: NDArray[np.int32],
    n_topics: int,
) -> FlagArray:
    """Return in which judged topics a document has the id of the topic: bool (judged topic,).

    first, rows: First line, and number of the judged topic or -1, of each topic of the run.
    """
    own = np.zeros(n_topics, bool)
    length = lines["topic_length"]
    alike = np.flatnonzero(length == lines["document_length"])
    # Most are apart in their first or last byte.
    for at in (np.zeros_like(length), length - 1):
        pair = lines[alike]
        same = text[pair["topic"] + at[alike]] == text[pair["document"] + at[alike]]
        alike = alike[same]
    for k in alike.tolist():
        start = lines["document"][k]
        topic = lines["topic"][k]
        if (text[topic : topic + length[k]] == text[start : start + length[k]]).all():
            row = rows[np.searchsorted(first, k, "right") - 1]
            own[row] |= row >= 0
    return own


def _name(content: bytes, line: np.void, path: PathLike, run_name: str) -> bytes:
    """Return the name of a run: its tag, or that of its file."""
    if run_name == "tag":
        return _field(content, line, "tag")
    return os.fsencode(bare_name(path))


def _decide_scores(content: bytes, lines: LineArray) -> bool:
    """Read scores again that one pass does not decide, as the plain reader does; False for none."""
    for k in np.flatnonzero(~lines["is_decided"]):
        start = lines["score_at"][k]
        number = number_in(content[start : start + lines["score_length"][k]])
        if number is None:
            return False
        with np.errstate(over="ignore"):
            lines["score"][k] = np.float32(number)
    return True


def _field(content: bytes, line: np.void, field: str) -> bytes:
    """Return the topic or the tag of a line."""
    start = int(line[field])
    return content[start : start + int(line[f"{field}_length"])]
