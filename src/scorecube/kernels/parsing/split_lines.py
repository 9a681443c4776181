"""Lines of run files and of judgements, parsed into columns in one pass."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array2,
    Int32Array1,
    Int32Array2,
    Int64Array1,
    Int64Array2,
    Integer,
    UInt8Array1,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.parsing.byte_words import hash_text, read_number, same_bytes
from scorecube.kernels.workspace import Workspace

GOOD, SHORT_LINE, OTHER_TAG, LONG_LINE = 0, 1, 2, 3
"""Results of `parse_lines`: no error, a line with too few fields, a second run tag, a line with too many fields."""
FEWEST_SLOTS = 64
LETTER, BLANK, NEWLINE = 0, 1, 2
KINDS = np.zeros(256, np.uint8)
KINDS[[9, 11, 12, 13, 32]] = BLANK
KINDS[10] = NEWLINE
"""Kind of each byte: letters of fields, blanks between fields, ends of lines."""
SHARP, SYSTEM = ord("#"), np.frombuffer(b"<SYS", np.uint8)


class LineColumns(NamedTuple):
    """Columns of a file's lines, written by `parse_lines`.

    Each has room for as many entries as the file has lines.

    topic_of: int32 (line,): number of the line's topic, in order of first appearance.
    topics, hashes: int64 (topic, 2) and int64 (topic,): start and end of each topic's name in the text, and its hash.
    documents: int32 (line, 2): start and end of the document ids.
    values: float64 (field, line): the numbers in one field or in two; NaN where `read_number` is not exact.
    numbers: int32 (line,): line numbers in the file, from 1.
    """

    topic_of: Int32Array1
    topics: Int64Array2
    hashes: Int64Array1
    documents: Int32Array2
    values: Float64Array2
    numbers: Int32Array1


@compiled
def count_lines(text: UInt8Array1) -> int:
    """Return the number of newlines in a text, plus one."""
    total = 1
    for k in range(text.shape[0]):
        total += text[k] == 10
    return total


@compiled
def split_line(
    text: UInt8Array1, start: Integer, length: int, fields: Int64Array2
) -> tuple[int, Integer, bool]:
    """Split a line into fields.

    text, length: Padded text, and its number of bytes without the padding.
    start: First byte of the line.
    fields: int64 (field, 2), written: start and end of as many fields as it has room for.
    Returns found, place, more: Number of these fields that the line has; where the next line begins; whether the line
        has further fields.
    """
    place, found, more = start, 0, False
    while True:
        kind = KINDS[text[np.uint64(place)]]
        while kind == BLANK:
            place += 1
            kind = KINDS[text[np.uint64(place)]]
        if place >= length or kind == NEWLINE:
            return found, place + 1, more
        begin = place
        while kind == LETTER and place < length:
            place += 1
            kind = KINDS[text[np.uint64(place)]]
        if found < fields.shape[0]:
            fields[found, 0], fields[found, 1] = begin, place
            found += 1
        else:
            more = True


@compiled
def is_skipped(text: UInt8Array1, start: Integer, stop: Integer) -> bool:
    """Return whether a first field marks a line without data: #, <SYSDESC> (NTCIR)."""
    tagged = stop - start >= 8
    for k in range(SYSTEM.shape[0]):
        tagged = tagged and text[start + k] == SYSTEM[k]
    return bool(tagged or text[start] == SHARP)


@compiled
def number_topic(
    text: UInt8Array1,
    start: Integer,
    size: Integer,
    topics: Int64Array2,
    hashes: Int64Array1,
    slots: Int32Array1,
    n_topics: Integer,
) -> np.int64:
    """Return the number of the topic with a name; a new one is added to the arrays, as number `n_topics`.

    At least half of the slots that are used, `FEWEST_SLOTS` times a power of two, are empty.
    """
    mask = FEWEST_SLOTS - 1
    while mask + 1 < 2 * n_topics:
        mask = 2 * mask + 1
    hashed = hash_text(text, start, size)
    slot = (hashed >> 20) & mask
    while slots[slot] >= 0:
        k = slots[slot]
        if (
            hashes[k] == hashed
            and topics[k, 1] - topics[k, 0] == size
            and same_bytes(text, topics[k, 0], text, start, size)
        ):
            return np.int64(k)
        slot = (slot + 1) & mask
    slots[slot] = n_topics
    topics[n_topics, 0], topics[n_topics, 1], hashes[n_topics] = start, start + size, hashed
    if mask + 1 < 2 * (n_topics + 1):
        mask = 2 * mask + 1
        for place in range(mask + 1):
            slots[place] = -1
        for topic in range(n_topics + 1):
            slot = (hashes[topic] >> 20) & mask
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = topic
    return np.int64(n_topics)


@compiled
def parse_lines(
    text: UInt8Array1,
    length: int,
    columns: Int64Array1,
    one_tag: bool,
    more: bool,
    lines: LineColumns,
    slots: Int32Array1,
    fields: Int64Array2,
    tag: Int64Array1,
) -> tuple[int, int, int, Integer]:
    """Read the lines of a run or of judgements.

    text: Padded, see `byte_words`; of `read_only`.
    length: Number of bytes without the padding.
    columns: int64 (5,): the fields (from 0) with the topic, the document, the run tag (-1 for none) and the numbers:
        score or level, and, if `lines` has room for it, the rank.
    one_tag: Whether a second run tag is an error.
    more: Whether further fields of a line are ignored; if not, they are an error.
    lines: Written.
    slots: int32 (slot,), overwritten: a hash table of the topics, see `topic_table`.
    fields: int64 (field, 2), overwritten; its length is the number of fields that a line must have.
    tag: int64 (2,), written: start and end of the first line's tag.
    Returns status, bad_line: `GOOD` or the kind of error; the number of the line with the error, from 1.
    Returns n_rows, n_topics: Number of entries in `lines` by line, and by topic.
    """
    topic_of, topics, hashes, documents, values, numbers = lines
    topic_at, document_at, tag_at = columns[0], columns[1], columns[2]
    # numba compiles helpers once for literal numbers and once for others.
    place: Integer
    place, current, n_topics = np.int64(0), np.int64(0), np.int64(0)
    n_rows, line, status = 0, 0, GOOD
    while place < length:
        line += 1
        found, place, longer = split_line(text, place, length, fields)
        if found == 0 or is_skipped(text, fields[0, 0], fields[0, 1]):
            continue
        if found < fields.shape[0] or (longer and not more):
            status = SHORT_LINE if found < fields.shape[0] else LONG_LINE
            break
        if tag_at >= 0:
            start, size = fields[tag_at, 0], fields[tag_at, 1] - fields[tag_at, 0]
            if n_rows == 0:
                tag[0], tag[1] = start, start + size
            elif one_tag and not (
                size == tag[1] - tag[0] and same_bytes(text, tag[0], text, start, size)
            ):
                status = OTHER_TAG
                break
        start, size = fields[topic_at, 0], fields[topic_at, 1] - fields[topic_at, 0]
        if (
            n_topics == 0
            or topics[current, 1] - topics[current, 0] != size
            or not same_bytes(text, topics[current, 0], text, start, size)
        ):
            current = number_topic(text, start, size, topics, hashes, slots, n_topics)
            n_topics += current == n_topics
        topic_of[n_rows], numbers[n_rows] = current, line
        documents[n_rows, 0] = fields[document_at, 0]
        documents[n_rows, 1] = fields[document_at, 1]
        for k in range(values.shape[0]):
            value_at = columns[3 + k]
            value, exact = read_number(text, fields[value_at, 0], fields[value_at, 1])
            values[k, n_rows] = value if exact else math.nan
        n_rows += 1
    return status, line, n_rows, n_topics


def topic_table(space: Workspace, n_lines: int) -> Int32Array1:
    """Return an empty table with room to grow for as many topics as lines; it starts with `FEWEST_SLOTS`."""
    slots = space.array("topic_slots", max(FEWEST_SLOTS, 4 * n_lines), "int32")
    slots[:FEWEST_SLOTS] = -1
    return slots
