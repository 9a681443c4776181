"""One pass over the bytes of a run file, and the documents of each topic in rank order.

What these kernels do not decide exactly as the plain reader does (`scorecube.ingest.runs`), which
also has the messages, they leave to it: `read_lines` returns -1, and `rank_documents` False.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.arrays import (
    Array1,
    Int32Array1,
    Int32Array2,
    Int64Array1,
    Integer,
    UInt8Array1,
)
from scorecube.kernels.jit import compiled

LINE = np.dtype(
    [
        ("topic", np.int64),
        ("document", np.int64),
        ("score_at", np.int64),
        ("tag", np.int64),
        ("hash", np.uint64),
        ("topic_length", np.int32),
        ("document_length", np.int32),
        ("score_length", np.int32),
        ("tag_length", np.int32),
        ("score", np.float32),
        ("is_decided", np.bool_),
        ("is_first", np.bool_),
        ("has_first_tag", np.bool_),
    ],
    align=True,
)
"""A line: where its fields begin and their bytes; hash of the document; the score, and whether that
is the nearest float32; whether its topic is another one than that of the line before, and its tag
that of the first line."""
JUDGEMENT = np.dtype(
    [
        ("document", np.int64),
        ("document_length", np.int32),
        ("topic", np.int32),
        ("number", np.int32),
        ("hash", np.uint64),
    ],
    align=True,
)
"""A judgement: where the document begins, and its bytes; its topic; its number in the topic."""
LineArray = Array1[Any]
Truth = bool | np.bool_
N_FIELDS = 6
NEWLINE, COMMENT, TITLE, POINT, PLUS, MINUS = (ord(letter) for letter in "\n#<.+-")
POWERS = 10.0 ** np.arange(281)
"""Those up to 1e22 are exact."""
EXACT_POWER = 22
LARGEST_POWER = 280
EXACT_DIGITS = np.uint64(2**53)
"""Integers below are exact as float64."""
ENOUGH = np.uint64(10**18)
"""Further digits do not change more than the last bits."""
ERROR = 2.0**-50
"""Bound of the relative error of a number that is not exact: four roundings of 2^-53 and the digits
left out."""
MOST_PROBES = 64
"""Entries of a table that are compared before ids are taken to be made to collide."""
SPARSE = 4
"""Entries of a table for each that is filled, at least."""
MOST_STEPS = 10**7
"""Exchanges of documents with equal scores in a topic."""
STABLE = 0
DESCENDING = 1
ASCENDING = 2
"""Order of documents with equal scores: that of the file, or by id as bytes."""


@compiled
def _is_blank(byte: np.uint8) -> Truth:
    return byte == 32 or (9 <= byte <= 13)


@compiled
def hash_of(text: UInt8Array1, start: int, length: int) -> np.uint64:
    """Return a hash of some bytes: FNV-1a, with its upper bits mixed into the lower ones."""
    value = np.uint64(14695981039346656037)
    for at in range(start, start + length):
        value = (value ^ np.uint64(text[at])) * np.uint64(1099511628211)
    return value ^ (value >> np.uint64(29))


@compiled
def _difference(text: UInt8Array1, a: int, a_length: int, b: int, b_length: int) -> Integer:
    """Return a number below, equal to or above 0 as part a is before, equal to or behind b."""
    for k in range(min(a_length, b_length)):
        if text[a + k] != text[b + k]:
            return np.int64(text[a + k]) - np.int64(text[b + k])
    return a_length - b_length


@compiled
def _read_score(text: UInt8Array1, line: Any) -> bool:
    """Read the score of a line; return whether it may be a decimal number of an ordinary size.

    One with an exponent is not decided here.
    """
    at = line.score_at
    stop = line.score_at + line.score_length
    is_negative = text[at] == MINUS
    if is_negative or text[at] == PLUS:
        at += 1
    digits = np.uint64(0)
    exponent = 0
    n_digits = 0
    has_point = False
    while at < stop and text[at] | 32 != 101:  # neither e nor E
        if text[at] == POINT and not has_point:
            has_point = True
        elif 48 <= text[at] <= 57:
            n_digits += 1
            if digits < ENOUGH:
                digits = digits * np.uint64(10) + np.uint64(text[at] - 48)
                exponent -= has_point
            else:
                exponent += not has_point
        else:
            return False
        at += 1
    if n_digits == 0:
        return False
    if abs(exponent) > LARGEST_POWER:
        return False
    value = np.float64(digits)
    value = value * POWERS[exponent] if exponent >= 0 else value / POWERS[-exponent]
    if is_negative:
        value = -value
    is_exact = digits < EXACT_DIGITS and abs(exponent) <= EXACT_POWER
    line.score = np.float32(value)
    line.is_decided = at == stop and (
        is_exact or np.float32(value * (1 - ERROR)) == np.float32(value * (1 + ERROR))
    )
    return True


@compiled
def read_lines(text: UInt8Array1, lines: LineArray) -> int:
    """Find the fields of the lines of a run file.

    text: uint8: its bytes.
    lines: Of `LINE`: filled; as many as there can be.
    Returns n_lines: Those that are not blank; -1 where a line has not six fields or begins as a
        comment does, or a score is no plain number.
    """
    starts = np.empty(N_FIELDS, np.int64)
    lengths = np.empty(N_FIELDS, np.int32)
    n_lines = 0
    at = 0
    end = len(text)
    while at < end:
        n_fields = 0
        while at < end and text[at] != NEWLINE:
            if _is_blank(text[at]):
                at += 1
                continue
            if n_fields == N_FIELDS:
                return -1
            starts[n_fields] = at
            while at < end and not _is_blank(text[at]):
                at += 1
            lengths[n_fields] = at - starts[n_fields]
            n_fields += 1
        at += 1
        if n_fields == 0:
            continue
        if n_fields < N_FIELDS or text[starts[0]] == COMMENT or text[starts[0]] == TITLE:
            return -1
        line = lines[n_lines]
        line.topic = starts[0]
        line.topic_length = lengths[0]
        line.document = starts[2]
        line.document_length = lengths[2]
        line.score_at = starts[4]
        line.score_length = lengths[4]
        line.tag = starts[5]
        line.tag_length = lengths[5]
        line.hash = hash_of(text, line.document, line.document_length)
        if not _read_score(text, line):
            return -1
        last = lines[max(n_lines - 1, 0)]
        line.is_first = (
            n_lines == 0
            or _difference(text, line.topic, line.topic_length, last.topic, last.topic_length) != 0
        )
        first = lines[0]
        line.has_first_tag = (
            _difference(text, line.tag, line.tag_length, first.tag, first.tag_length) == 0
        )
        n_lines += 1
    return n_lines


@compiled
def enter(text: UInt8Array1, judgements: LineArray, table: Int32Array1) -> bool:
    """Enter judgements into a table by hash and topic; return whether none took many probes.

    text: uint8: ids of documents.
    judgements: Of `JUDGEMENT`, whose hashes are filled.
    table: int32, of -1, a power of two long and sparse: filled with places of judgements.
    """
    mask = np.uint64(len(table) - 1)
    for k in range(len(judgements)):
        judged = judgements[k]
        judged.hash = hash_of(text, judged.document, judged.document_length)
        place = _place(judged.hash, judged.topic, mask)
        n_probes = 0
        while table[place] >= 0:
            place = (place + np.uint64(1)) & mask
            n_probes += 1
            if n_probes == MOST_PROBES:
                return False
        table[place] = k
    return True


@compiled
def _place(hashed: np.uint64, topic: int, mask: np.uint64) -> np.uint64:
    """Return where to look for a document of a topic first."""
    mixed = hashed ^ (np.uint64(topic + 1) * np.uint64(0x9E3779B97F4A7C15))
    return (mixed ^ (mixed >> np.uint64(32))) & mask


@compiled
def _number_of(
    text: UInt8Array1,
    line: Any,
    topic: int,
    judged_text: UInt8Array1,
    judgements: LineArray,
    table: Int32Array1,
) -> Any:
    """Return the number of the document of a line in a topic; -1 if it is not judged."""
    mask = np.uint64(len(table) - 1)
    place = _place(line.hash, topic, mask)
    while table[place] >= 0:
        judged = judgements[table[place]]
        if (
            judged.hash == line.hash
            and judged.topic == topic
            and judged.document_length == line.document_length
        ):
            k = 0
            while k < line.document_length and (
                text[line.document + k] == judged_text[judged.document + k]
            ):
                k += 1
            if k == line.document_length:
                return judged.number
        place = (place + np.uint64(1)) & mask
    return -1


@compiled
def _has_repeated(text: UInt8Array1, lines: LineArray, seen: Int64Array1, topic: int) -> bool:
    """Whether a document stands twice, or ids collide so often that this takes long.

    lines: Those of a topic.
    seen: int64, a power of two long: number of the topic times 2^32, plus the line; below for none.
    """
    mask = np.uint64(len(seen) - 1)
    base = np.int64(topic + 1) << 32
    for k in range(len(lines)):
        line = lines[k]
        place = _place(line.hash, 0, mask)
        n_probes = 0
        while seen[place] >= base:
            other = lines[seen[place] - base]
            if (
                line.hash == other.hash
                and _difference(
                    text, line.document, line.document_length, other.document, other.document_length
                )
                == 0
            ):
                return True
            place = (place + np.uint64(1)) & mask
            n_probes += 1
            if n_probes == MOST_PROBES:
                return True
        seen[place] = base + k
    return False


@compiled
def _order(text: UInt8Array1, lines: LineArray, ties: int) -> Int64Array1:
    """Return the places of the lines of a topic in rank order; none where ties take too long."""
    keys = np.empty(len(lines), np.float32)
    for k in range(len(lines)):
        keys[k] = -lines[k].score
    order = np.argsort(keys, kind="mergesort")  # stable
    if ties == STABLE:
        return order
    n_steps = 0
    for k in range(1, len(order)):
        place = k
        while place > 0 and keys[order[place - 1]] == keys[order[place]]:
            a = lines[order[place - 1]]
            b = lines[order[place]]
            apart = _difference(text, a.document, a.document_length, b.document, b.document_length)
            if (apart < 0) == (ties == ASCENDING):
                break
            order[place - 1], order[place] = order[place], order[place - 1]
            place -= 1
            n_steps += 1
        if n_steps > MOST_STEPS:
            return order[:0]
    return order


@compiled
def rank_documents(
    text: UInt8Array1,
    lines: LineArray,
    bounds: Int64Array1,
    topics: Int32Array1,
    judged: tuple[UInt8Array1, LineArray, Int32Array1],
    ties: int,
    numbers: Int32Array2,
) -> bool:
    """Write the numbers of documents, (judged topic, rank).

    bounds: int64: the lines of a topic of the run lie between two neighbours.
    topics: int32: number of the judged topic, -1 for others.
    judged: Bytes of ids, judgements and their table, see `enter`.
    ties: `DESCENDING`, `ASCENDING` or `STABLE`; -1 for the order of the file whatever the scores.
    numbers: int32 (judged topic, rank): filled as far as documents go.
    Returns is_done: False if a document stands twice, or ties take too long.
    """
    judged_text, judgements, table = judged
    longest = 1
    for k in range(len(topics)):
        longest = max(longest, bounds[k + 1] - bounds[k])
    n_seen = SPARSE
    while n_seen < SPARSE * longest:
        n_seen *= 2
    seen = np.zeros(n_seen, np.int64)
    for k in range(len(topics)):
        if topics[k] < 0:
            continue
        part = lines[bounds[k] : bounds[k + 1]]
        if _has_repeated(text, part, seen, k):
            return False
        order = _order(text, part, ties) if ties >= 0 else np.arange(len(part))
        if len(order) < len(part):
            return False
        for rank in range(min(len(part), numbers.shape[1])):
            numbers[topics[k], rank] = _number_of(
                text, part[order[rank]], topics[k], judged_text, judgements, table
            )
    return True
