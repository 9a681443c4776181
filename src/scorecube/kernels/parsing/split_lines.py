"""Lines of runs and of judgements as bytes -> columns, in one pass and without Python objects."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.kernels.intrinsics import bytes_below, load_byte, load_word, trailing_zeros
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.parsing.byte_words import compare_texts, hash_text, read_number

GOOD, SHORT_LINE, OTHER_TAG = 0, 1, 2
"""What `parse_lines` says of a file: fine, a line with too few fields, a second run tag."""
SYSDESC = np.uint64(0x5359533C)
"""The letters <SYS, as a word."""


@inlined
def letter_at(base: Any, place: int) -> Any:
    """Return the byte at a place."""
    return load_byte(base + np.uint64(place))


@inlined
def is_blank(letter: Any) -> Any:
    """Whether a byte separates fields."""
    return letter == 32 or (9 <= letter <= 13 and letter != 10)


@inlined
def is_skipped(base: Any, start: int, stop: int) -> Any:
    """Whether a field begins a line that is no data: a comment, or NTCIR's <SYSDESC>."""
    sysdesc = stop - start >= 8 and load_word(base + np.uint64(start)) & np.uint64(0xFFFFFFFF) == SYSDESC
    return sysdesc or letter_at(base, start) == 35


@compiled
def count_lines(text: Any, length: int) -> int:
    """Return the number of newlines, plus one."""
    total = 1
    for place in range(length):
        total += text[place] == 10
    return total


@inlined
def next_break(base: Any, place: int, origin: int, breaks: Any) -> Any:
    """Return the first byte below 33 from `place` on, and the 64 bytes it was seen in: where they begin, their mask."""
    ahead = place - origin
    left = breaks >> np.uint64(ahead) if ahead < 64 else np.uint64(0)
    while left == 0:
        origin = place if ahead >= 64 else origin + 64
        breaks = bytes_below(base + np.uint64(origin), np.uint8(33))
        place, ahead, left = origin, 0, breaks
    return place + trailing_zeros(left), origin, breaks


@inlined
def split_line(base: Any, start: int, length: int, starts: Any, stops: Any) -> Any:
    """Write where the first fields of a line begin and end; return their number and where the next line begins."""
    place, found, width = start, 0, starts.shape[0]
    origin, breaks = start, bytes_below(base + np.uint64(start), np.uint8(33))
    letter = letter_at(base, place)
    while found < width:
        while is_blank(letter):
            place += 1
            letter = letter_at(base, place)
        if place >= length or letter == 10:
            break
        starts[found] = place
        inside = True
        while inside:
            place, origin, breaks = next_break(base, place, origin, breaks)
            letter = letter_at(base, place)
            inside = not (is_blank(letter) or letter == 10 or place >= length)
            place += inside
        stops[found] = place = min(place, length)
        found += 1
    while place < length and letter != 10:
        place, origin, breaks = next_break(base, place + 1, origin, breaks)
        letter = letter_at(base, place)
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
def parse_lines(
    text: Any, length: int, columns: Any, one_tag: bool,
    topic_of: Any, topics: Any, hashes: Any, documents: Any, values: Any, ranks: Any, numbers: Any,
) -> Any:  # fmt: skip
    """Read the lines of a run or of judgements.

    Parameters
    ----------
    text
        uint8, padded.
    length
        Bytes of it that count.
    columns
        int64 (6,): fields that a line must have; then the fields (from 0) with the topic, the document, the number (score or level), the
        rank and the run tag, -1 for none. Further fields are passed over.
    one_tag
        Whether a second run tag ends the reading.

    topic_of
        int32 (line,), filled in: number of the line's topic, in order of first appearance. This and the others are as
        long as there are lines, or longer.
    topics, hashes
        int64 (line, 2), uint64 (line,), filled in: where each topic's name stands, and its hash.
    documents
        int32 (line, 2), filled in: where the document ids stand.
    values, ranks
        float64 (line,), filled in; NaN where `read_number` wants a slower look. Ranks are left alone without a rank field.
    numbers
        int32 (line,), filled in: line numbers, from 1.

    Returns
    -------
    status, bad_line
        `GOOD`, or what is wrong and the number of the line, from 1.
    n_rows, n_topics
        How much of the arrays is filled.
    tag
        int64 (2,): where the first line's tag stands.
    """
    base = np.uint64(text.ctypes.data)
    width, topic_at, document_at, value_at, rank_at, tag_at = columns
    tag, starts, stops = np.zeros(2, np.int64), np.empty(width, np.int64), np.empty(width, np.int64)
    n_rows, n_topics, current, place, line, status = 0, 0, 0, 0, 0, GOOD
    while place < length:
        line += 1
        found, place = split_line(base, place, length, starts, stops)
        if found == 0 or is_skipped(base, starts[0], stops[0]):
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
                topics[n_topics, 0], topics[n_topics, 1] = start, stop
                hashes[n_topics] = hash_text(base, start, stop)
                n_topics += 1
        topic_of[n_rows], numbers[n_rows] = current, line
        documents[n_rows, 0], documents[n_rows, 1] = starts[document_at], stops[document_at]
        value, exact = read_number(base, starts[value_at], stops[value_at])
        values[n_rows] = value if exact else math.nan
        if rank_at >= 0:
            value, exact = read_number(base, starts[rank_at], stops[rank_at])
            ranks[n_rows] = value if exact else math.nan
        n_rows += 1
    return status, line, n_rows, n_topics, tag
