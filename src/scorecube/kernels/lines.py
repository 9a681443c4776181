"""Lines of runs and of judgements as bytes -> columns, in one pass and without Python objects."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.words import compare_texts, hash_text, read_number

GOOD, SHORT_LINE, OTHER_TAG = 0, 1, 2
"""What `parse_lines` says of a file: fine, a line with too few fields, a second run tag."""


@inlined
def is_blank(letter: Any) -> Any:
    """Whether a byte separates fields."""
    return letter == 32 or letter == 9 or letter == 13 or letter == 11 or letter == 12


@inlined
def is_skipped(text: Any, start: int, stop: int) -> Any:
    """Whether a field begins a line that is no data: a comment, or NTCIR's <SYSDESC>."""
    if text[start] == 35:
        return True
    return (
        stop - start >= 8
        and text[start] == 60
        and text[start + 1] == 83
        and text[start + 2] == 89
        and text[start + 3] == 83
    )


@compiled
def count_lines(text: Any, length: int) -> int:
    """Return the number of newlines, plus one."""
    total = 1
    for place in range(length):
        total += text[place] == 10
    return total


@inlined
def split_line(text: Any, start: int, length: int, starts: Any, stops: Any) -> Any:
    """Write where the first fields of a line begin and end; return their number and where the next line begins."""
    place, found = start, 0
    while found < starts.shape[0]:
        while is_blank(text[place]):
            place += 1
        if place >= length or text[place] == 10:
            break
        starts[found] = place
        while text[place] > 32 or not (is_blank(text[place]) or text[place] == 10 or place >= length):
            place += 1
        stops[found] = place
        found += 1
    while place < length and text[place] != 10:
        place += 1
    return found, place + 1


@inlined
def find_topic(base: Any, places: Any, hashes: Any, n_topics: int, start: int, stop: int) -> int:
    """Return the number of the topic with this name among those seen, `n_topics` if it is new."""
    hashed = hash_text(base, start, stop)
    for k in range(n_topics):
        if hashes[k] == hashed and compare_texts(base, places[k, 0], places[k, 1], base, start, stop) == 0:
            return k
    return n_topics


@compiled
def parse_lines(text: Any, length: int, n_lines: int, columns: Any, one_tag: bool) -> Any:
    """Read the lines of a run or of judgements.

    Parameters
    ----------
    text
        uint8, padded.
    length
        Bytes of it that count.
    n_lines
        At least the number of lines.
    columns
        int64 (6,): fields that a line must have; then the fields (from 0) with the topic, the document, the number (score or level), the
        rank and the run tag, -1 for none. Further fields are passed over.
    one_tag
        Whether a second run tag ends the reading.

    Returns
    -------
    status, bad_line
        `GOOD`, or what is wrong and the number of the line, from 1.
    topic_of
        int32 (line,): number of the line's topic, in order of first appearance.
    topic_places
        int64 (topic, 2): where each topic's name stands.
    documents
        int32 (line, 2): where the document ids stand.
    values, ranks
        float64 (line,); NaN where `read_number` wants a slower look.
    numbers
        int32 (line,): line numbers, from 1.
    tag
        int64 (2,): where the first line's tag stands.
    """
    base = np.uint64(text.ctypes.data)
    width, topic_at, document_at, value_at, rank_at, tag_at = columns
    ranked = n_lines if rank_at >= 0 else 0
    topic_of, numbers = np.empty(n_lines, np.int32), np.empty(n_lines, np.int32)
    documents, ranks, values = np.empty((n_lines, 2), np.int32), np.empty(ranked), np.empty(n_lines)
    topics, hashes = np.empty((64, 2), np.int64), np.empty(64, np.uint64)
    tag = np.zeros(2, np.int64)
    starts, stops = np.empty(width, np.int64), np.empty(width, np.int64)
    n_rows, n_topics, current, place, line, status = 0, 0, 0, 0, 0, GOOD
    while place < length:
        line += 1
        found, place = split_line(text, place, length, starts, stops)
        if found == 0 or is_skipped(text, starts[0], stops[0]):
            continue
        if found < width:
            status = SHORT_LINE
            break
        if tag_at >= 0 and n_rows == 0:
            tag[0], tag[1] = starts[tag_at], stops[tag_at]
        if tag_at >= 0 and one_tag and compare_texts(base, tag[0], tag[1], base, starts[tag_at], stops[tag_at]) != 0:
            status = OTHER_TAG
            break
        start, stop = starts[topic_at], stops[topic_at]
        if n_topics == 0 or compare_texts(base, topics[current, 0], topics[current, 1], base, start, stop) != 0:
            current = find_topic(base, topics, hashes, n_topics, start, stop)
            if current == n_topics:
                if n_topics == hashes.shape[0]:
                    topics = np.concatenate((topics, np.empty_like(topics)))
                    hashes = np.concatenate((hashes, np.empty_like(hashes)))
                topics[n_topics, 0], topics[n_topics, 1] = start, stop
                hashes[n_topics] = hash_text(base, start, stop)
                n_topics += 1
        topic_of[n_rows], numbers[n_rows] = current, line
        documents[n_rows, 0], documents[n_rows, 1] = starts[document_at], stops[document_at]
        value, exact = read_number(text, starts[value_at], stops[value_at])
        values[n_rows] = value if exact else math.nan
        if rank_at >= 0:
            value, exact = read_number(text, starts[rank_at], stops[rank_at])
            ranks[n_rows] = value if exact else math.nan
        n_rows += 1
    return (
        status, line, topic_of[:n_rows], topics[:n_topics], documents[:n_rows], values[:n_rows],
        ranks[: min(ranked, n_rows)], numbers[:n_rows], tag,
    )  # fmt: skip
