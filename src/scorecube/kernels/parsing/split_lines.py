"""Lines of run files and of judgements, parsed into columns in one pass."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Int32Array1,
    Int32Array2,
    Int64Array1,
    Int64Array2,
    Integer,
    UInt8Array1,
    UInt64Array1,
)
from scorecube.kernels.intrinsics import bytes_below, load_byte, load_word, trailing_zeros
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.parsing.byte_words import compare_texts, hash_text, read_number

GOOD, SHORT_LINE, OTHER_TAG, LONG_LINE = 0, 1, 2, 3
"""Results of `parse_lines`: no error, a line with too few fields, a second run tag, a line with too many fields."""
SYSDESC = np.uint64(0x5359533C)
"""The letters <SYS, as a word."""


class LineColumns(NamedTuple):
    """Columns of a file's lines, written by `parse_lines`.

    Each has room for as many entries as the file has lines.

    Parameters
    ----------
    topic_of
        int32 (line,): number of the line's topic, in order of first appearance.
    topics, hashes
        int64 (topic, 2) and uint64 (topic,): start and end of each topic's name in the text, and its hash.
    documents
        int32 (line, 2): start and end of the document ids.
    values, ranks
        float64 (line,); NaN where `read_number` is not exact. Ranks are not written without a rank field.
    numbers
        int32 (line,): line numbers in the file, from 1.
    """

    topic_of: Int32Array1
    topics: Int64Array2
    hashes: UInt64Array1
    documents: Int32Array2
    values: Float64Array1
    ranks: Float64Array1
    numbers: Int32Array1


@inlined
def letter_at(base: np.uint64, place: Integer) -> np.uint8:
    """Return the byte at a position."""
    return load_byte(base + np.uint64(place))


@inlined
def is_blank(letter: np.uint8) -> bool:
    """Return whether a byte separates fields."""
    return bool(letter == 32 or (9 <= letter <= 13 and letter != 10))


@inlined
def is_skipped(base: np.uint64, start: Integer, stop: Integer) -> bool:
    """Return whether a first field marks a line without data: #, <SYSDESC> (NTCIR)."""
    sysdesc = (
        stop - start >= 8 and load_word(base + np.uint64(start)) & np.uint64(0xFFFFFFFF) == SYSDESC
    )
    return bool(sysdesc or letter_at(base, start) == 35)


@compiled
def count_lines(text: UInt8Array1, length: int) -> int:
    """Return the number of newlines among the first `length` bytes, plus one."""
    total = 1
    for place in range(length):
        total += text[place] == 10
    return total


@inlined
def next_break(
    base: np.uint64, place: Integer, origin: Integer, breaks: np.uint64
) -> tuple[Integer, Integer, np.uint64]:
    """Find the first byte below 33 from `place` on.

    Parameters
    ----------
    base
        Address of the text.
    place
        First position.
    origin, breaks
        Start of the 64 bytes examined last, and one bit for each of them that is below 33.

    Returns
    -------
    place, origin, breaks
        Position of the byte, and the 64 bytes that hold it.
    """
    ahead = place - origin
    left = breaks >> np.uint64(ahead) if ahead < 64 else np.uint64(0)
    while left == 0:
        origin = place if ahead >= 64 else origin + 64
        breaks = bytes_below(base + np.uint64(origin), np.uint8(33))
        place, ahead, left = origin, 0, breaks
    return place + trailing_zeros(left), origin, breaks


@inlined
def split_line(
    base: np.uint64, start: Integer, length: int, starts: Int64Array1, stops: Int64Array1
) -> tuple[int, Integer, bool]:
    """Split a line into fields.

    Parameters
    ----------
    base, length
        Address of the text, and its number of bytes.
    start
        First byte of the line.
    starts, stops
        int64 (field,), written: start and end of as many fields as they have room for.

    Returns
    -------
    found, place, more
        Number of these fields that the line has; where the next line begins; whether the line has further fields.
    """
    place, found, width, more = start, 0, starts.shape[0], False
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
        begin = place + 1
        place, origin, breaks = next_break(base, begin, origin, breaks)
        letter = letter_at(base, place)
        other = place > begin or not (is_blank(letter) or letter == 10)
        more = more or bool(other if place < length else begin < length)
    return found, place + 1, bool(more)


@inlined
def find_slot(
    base: np.uint64,
    places: Int64Array2,
    hashes: UInt64Array1,
    slots: Int32Array1,
    start: Integer,
    stop: Integer,
) -> np.int64:
    """Return the slot that holds the number of the topic with this name, or the empty slot for it."""
    hashed, mask = hash_text(base, start, stop), slots.shape[0] - 1
    slot = np.int64(hashed >> np.uint64(20)) & mask
    while slots[slot] >= 0:
        k = slots[slot]
        if (
            hashes[k] == hashed
            and compare_texts(base, places[k, 0], places[k, 1], base, start, stop) == 0
        ):
            break
        slot = (slot + 1) & mask
    return slot


@inlined
def longer_table(slots: Int32Array1, hashes: UInt64Array1, n_topics: int) -> Int32Array1:
    """Return a table of twice the length with the same topics."""
    result = np.full(2 * slots.shape[0], -1, np.int32)
    mask = result.shape[0] - 1
    for k in range(n_topics):
        slot = np.int64(hashes[k] >> np.uint64(20)) & mask
        while result[slot] >= 0:
            slot = (slot + 1) & mask
        result[slot] = k
    return result


@compiled
def parse_lines(
    text: UInt8Array1,
    length: int,
    columns: Int64Array1,
    one_tag: bool,
    more: bool,
    lines: LineColumns,
) -> tuple[int, int, int, int, Int64Array1]:
    """Read the lines of a run or of judgements.

    Parameters
    ----------
    text
        uint8 (byte,), padded: see `byte_words`.
    length
        Number of bytes without the padding.
    columns
        int64 (6,): number of fields that a line must have; then the fields (from 0) with the topic, the document, the
        number (score or level), the rank and the run tag, -1 for none.
    one_tag
        Whether a second run tag is an error.
    more
        Whether further fields of a line are ignored; if not, they are an error.
    lines
        Written.

    Returns
    -------
    status, bad_line
        `GOOD` or the kind of error; the number of the line with the error, from 1.
    n_rows, n_topics
        Number of entries in `lines` by line, and by topic.
    tag
        int64 (2,): start and end of the first line's tag.
    """
    topic_of, topics, hashes, documents, values, ranks, numbers = lines
    base = np.uint64(text.ctypes.data)
    width, topic_at, document_at, value_at, rank_at, tag_at = columns
    tag, starts, stops = np.zeros(2, np.int64), np.empty(width, np.int64), np.empty(width, np.int64)
    slots = np.full(64, -1, np.int32)
    place: Integer
    n_rows, n_topics, current, place, line, status = 0, 0, 0, 0, 0, GOOD
    while place < length:
        line += 1
        found, place, longer = split_line(base, place, length, starts, stops)
        if found == 0 or is_skipped(base, starts[0], stops[0]):
            continue
        if found < width or (longer and not more):
            status = SHORT_LINE if found < width else LONG_LINE
            break
        if tag_at >= 0 and n_rows == 0:
            tag[0], tag[1] = starts[tag_at], stops[tag_at]
        if (
            tag_at >= 0
            and one_tag
            and compare_texts(base, tag[0], tag[1], base, starts[tag_at], stops[tag_at]) != 0
        ):
            status = OTHER_TAG
            break
        start, stop = starts[topic_at], stops[topic_at]
        if (
            n_topics == 0
            or compare_texts(base, topics[current, 0], topics[current, 1], base, start, stop) != 0
        ):
            slot = find_slot(base, topics, hashes, slots, start, stop)
            if slots[slot] < 0:
                slots[slot] = n_topics
                topics[n_topics, 0], topics[n_topics, 1] = start, stop
                hashes[n_topics] = hash_text(base, start, stop)
                n_topics += 1
                if 2 * n_topics > slots.shape[0]:
                    slots = longer_table(slots, hashes, n_topics)
                current = n_topics - 1
            else:
                current = slots[slot]
        topic_of[n_rows], numbers[n_rows] = current, line
        documents[n_rows, 0], documents[n_rows, 1] = starts[document_at], stops[document_at]
        value, exact = read_number(base, starts[value_at], stops[value_at])
        values[n_rows] = value if exact else math.nan
        if rank_at >= 0:
            value, exact = read_number(base, starts[rank_at], stops[rank_at])
            ranks[n_rows] = value if exact else math.nan
        n_rows += 1
    return status, line, n_rows, n_topics, tag
