"""Relevance levels of a run in ranked order: ranking, duplicates, join with qrels.

Judged documents are stored in hash tables with open addressing, one slice per topic. A slot holds the document id
itself, or its first bytes, so that most lookups read one place in memory; ids are compared in full, so that equal
hashes do not confuse documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Int8Array2,
    Int16Array1,
    Int32Array1,
    Int32Array2,
    Int64Array1,
    Int64Array2,
    Integer,
    UInt8Array1,
    UInt64Array2,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.parsing.byte_words import (
    hash_text,
    is_before,
    masked_word,
    read_only,
    same_bytes,
)
from scorecube.kernels.workspace import Workspace

BY_SCORE_DESCENDING, BY_SCORE_ASCENDING, BY_SCORE_STABLE, BY_RANK, BY_FILE = 0, 1, 2, 3, 4
"""Order of documents: by score, with ties by document id descending, ascending or in file order; by rank; in file
order."""
REFUSE, FIRST, KEEP = 0, 1, 2
"""A repeated document in a topic of a run: an error, the first line counts, or both lines count (as in NTCIREVAL)."""
MOST_WORDS = 7
"""Words of an id in a slot: with the word for its line and length, 64 bytes."""
LINE = np.uint64(0xFFFFFFFF)
"""Mask of the part of a slot's first word that holds the line + 1; the length of the id is above it."""
_HALF, _EMPTY = np.uint64(32), np.uint64(0)


class RunColumns(NamedTuple):
    """Lines of a run.

    text: uint8 (byte,), padded: the run file.
    documents: int32 (line, 2): start and end of the document ids in it.
    topic_of: int32 (line,): number of the line's topic.
    keys: float64 (line,): larger is ranked before; not used with `BY_FILE`.
    """

    text: UInt8Array1
    documents: Int32Array2
    topic_of: Int32Array1
    keys: Float64Array1


class JudgedDocuments(NamedTuple):
    """Judgements and the hash tables of their documents.

    text: uint8 (byte,), padded: the judgement file.
    documents: int32 (line, 2): start and end of the document ids in it.
    levels: int16 (line,): relevance levels, negative for pooled but not judged.
    entries, bounds: Of `judgement_tables`.
    numbers: int32 (line,): of `document_numbers`.
    """

    text: UInt8Array1
    documents: Int32Array2
    levels: Int16Array1
    entries: UInt64Array2
    bounds: Int64Array2
    numbers: Int32Array1


class RankingRules(NamedTuple):
    """How the documents of a topic are ranked.

    single: Whether keys are compared as 32-bit floats.
    order: `BY_SCORE_DESCENDING` or another order of this module.
    repeats: `REFUSE`, `FIRST` or `KEEP`.
    depth: Ranks kept per topic.
    """

    single: bool
    order: int
    repeats: int
    depth: int


class LineGroups(NamedTuple):
    """Lines grouped by topic.

    lines: int64 (line,): line numbers by topic.
    starts: int64 (topic + 1,): where the lines of each topic start.
    stops: int64 (topic,): where they end.
    """

    lines: Int64Array1
    starts: Int64Array1
    stops: Int64Array1


@compiled
def same_document(
    text: UInt8Array1, documents: Int32Array2, a: Integer, b: Integer
) -> bool | np.bool:
    """Return whether two lines have the same document id."""
    size = np.int64(documents[a, 1] - documents[a, 0])
    return size == documents[b, 1] - documents[b, 0] and same_bytes(
        text, np.int64(documents[a, 0]), text, np.int64(documents[b, 0]), size
    )


@compiled
def id_word(text: UInt8Array1, place: Integer, size: Integer, number: Integer) -> np.uint64:
    """Return eight bytes of an id, with zeros after its end."""
    left = size - 8 * number
    return masked_word(text, place + 8 * number, left) if left > 0 else _EMPTY


@compiled
def find_entry(
    text: UInt8Array1,
    place: Integer,
    size: Integer,
    slot: Integer,
    start: Integer,
    mask: Integer,
    judged_text: UInt8Array1,
    judged_documents: Int32Array2,
    entries: UInt64Array2,
) -> np.int64:
    """Return the entry of the table of a topic that holds an id, or the empty entry for it.

    text, place, size: Where the id is, and its length.
    slot: Where it is looked for first, within the table.
    start, mask: First entry of the table, and its length - 1.
    judged_text, judged_documents, entries: Of the judgements.
    """
    n_words = entries.shape[1] - 1
    while True:
        entry = np.int64(start + slot)
        head = entries[entry, 0]
        if head == 0:
            return entry
        if np.int64(head >> _HALF) == size:
            number = np.int64(0)
            while number < n_words and entries[entry, 1 + number] == id_word(
                text, place, size, number
            ):
                number += 1
            if number == n_words:
                judged = np.int64(judged_documents[np.int64(head & LINE) - 1, 0])
                if size <= 8 * n_words or same_bytes(text, place, judged_text, judged, size):
                    return entry
        slot = (slot + 1) & mask


@compiled
def fill_tables(
    text: UInt8Array1,
    documents: Int32Array2,
    topic_of: Int32Array1,
    bounds: Int64Array2,
    entries: UInt64Array2,
) -> int:
    """Write the tables of judged documents, whose entries are 0 before.

    Returns repeated: A line that repeats a document of its topic, -1 for none.
    """
    for line in range(topic_of.shape[0]):
        place = np.int64(documents[line, 0])
        size = np.int64(documents[line, 1] - documents[line, 0])
        start = bounds[topic_of[line], 0]
        mask = bounds[topic_of[line], 1] - start - 1
        slot = (hash_text(text, place, size) >> 20) & mask
        entry = np.int64(start + slot)
        if entries[entry, 0] != 0:
            entry = find_entry(text, place, size, slot, start, mask, text, documents, entries)
            if entries[entry, 0] != 0:
                return line
        entries[entry, 0] = (np.uint64(size) << _HALF) | np.uint64(line + 1)
        for number in range(entries.shape[1] - 1):
            entries[entry, 1 + number] = id_word(text, place, size, number)
    return -1


def judgement_tables(
    text: UInt8Array1, documents: Int32Array2, topic_of: Int32Array1, n_topics: int
) -> tuple[UInt64Array2, Int64Array2, int]:
    """Build the tables of judged documents.

    text: uint8 (byte,), padded: the judgement file.
    documents: int32 (line, 2): start and end of the document ids in it.
    topic_of: int32 (line,): number of the line's topic.
    Returns entries: uint64 (slot, 1 + word): length << 32 | line + 1 of a document, 0 for an empty slot; then the words
        of its id.
    Returns bounds: int64 (topic, 2): the slice of each topic, whose length is a power of two, at least twice its number
        of lines.
    Returns repeated: A line that repeats a document of its topic, -1 for none.
    """
    counts = np.bincount(topic_of, minlength=n_topics)
    # The exponent of a number n is its number of bits.
    lengths = np.maximum(4, np.int64(1) << np.frexp(2 * counts - 1)[1].astype(np.int64))
    bounds = np.zeros((n_topics, 2), np.int64)
    bounds[:, 1] = np.cumsum(lengths)
    bounds[1:, 0] = bounds[:-1, 1]
    longest = int((documents[:, 1] - documents[:, 0]).max(initial=1))
    n_words = min((longest + 7) // 8, MOST_WORDS)
    entries = np.zeros((int(lengths.sum()), 1 + n_words), np.uint64)
    repeated = fill_tables(read_only(text), documents, topic_of, bounds, entries)
    return entries, bounds, repeated


@compiled
def is_ranked_before(
    text: UInt8Array1,
    documents: Int32Array2,
    keys: Float64Array1,
    rules: RankingRules,
    a: Integer,
    b: Integer,
) -> bool | np.bool:
    """Return whether line `a` is ranked before `b`; equal lines keep their order."""
    key_a, key_b = keys[a], keys[b]
    if rules.single:  # As 32-bit floats, nearly equal keys tie.
        key_a, key_b = np.float64(np.float32(key_a)), np.float64(np.float32(key_b))
    if key_a != key_b:
        return bool(key_a > key_b)
    if rules.order > BY_SCORE_ASCENDING:
        return a <= b
    if rules.order == BY_SCORE_DESCENDING:
        a, b = b, a
    return is_before(
        text,
        np.int64(documents[a, 0]),
        np.int64(documents[a, 1] - documents[a, 0]),
        np.int64(documents[b, 0]),
        np.int64(documents[b, 1] - documents[b, 0]),
    )


@compiled
def sort_lines(
    text: UInt8Array1,
    documents: Int32Array2,
    keys: Float64Array1,
    rules: RankingRules,
    lines: Int64Array1,
    spare: Int64Array1,
    start: np.int64,
    stop: np.int64,
) -> None:
    """Sort the line numbers start .. stop-1 in place; as many of `spare` are overwritten.

    Lines that are in order already, as in most runs, are not moved.
    """
    sorted_up_to = start + 1
    while sorted_up_to < stop and is_ranked_before(
        text, documents, keys, rules, lines[sorted_up_to - 1], lines[sorted_up_to]
    ):
        sorted_up_to += 1
    if sorted_up_to >= stop:
        return
    # Stable bottom-up merge sort.
    width = np.int64(1)
    while width < stop - start:
        low = start
        while low < stop:
            middle = low + width if low + width < stop else stop
            high = middle + width if middle + width < stop else stop
            left, right = low, middle
            for k in range(low, high):
                if left < middle and (
                    right >= high
                    or is_ranked_before(text, documents, keys, rules, lines[left], lines[right])
                ):
                    spare[k - start] = lines[left]
                    left += 1
                else:
                    spare[k - start] = lines[right]
                    right += 1
            low = high
        for k in range(start, stop):
            lines[k] = spare[k - start]
        width *= 2


@compiled
def first_lines(
    text: UInt8Array1,
    documents: Int32Array2,
    hashes: Int64Array1,
    lines: Int64Array1,
    seen: Int32Array1,
    start: np.int64,
    stop: np.int64,
) -> tuple[np.int64, np.int64, np.int64]:
    """Move the first line of every document to the front of the lines start .. stop-1.

    `seen`, a hash table of lines, is overwritten.

    Returns end: Where these lines end.
    Returns repeated, first: The first line that repeats a document, and the earlier line; -1 for none.
    """
    mask, end = 3, start
    repeated, first = np.int64(-1), np.int64(-1)
    while mask < 4 * (stop - start) - 1:
        mask = 2 * mask + 1
    for slot in range(mask + 1):
        seen[slot] = -1
    for k in range(start, stop):
        line = lines[k]
        place = (hashes[line] >> 20) & mask
        other = seen[place]
        while other >= 0 and not (
            hashes[other] == hashes[line] and same_document(text, documents, np.int64(other), line)
        ):
            place = (place + 1) & mask
            other = seen[place]
        if other < 0:
            seen[place] = line
            lines[end] = line
            end += 1
        elif repeated < 0:
            repeated, first = np.int64(line), np.int64(other)
    return end, repeated, first


@compiled
def rank_lines(
    text: UInt8Array1,
    documents: Int32Array2,
    topic_of: Int32Array1,
    keys: Float64Array1,
    rules: RankingRules,
    judged_topic: Int64Array1,
    groups: LineGroups,
    hashes: Int64Array1,
    numbers: Int32Array1,
    spare: Int64Array1,
    seen: Int32Array1,
) -> tuple[Integer, Integer]:
    """Group lines by topic, look for repeated documents, sort the lines of every topic, and number their documents.

    text, documents, topic_of, keys: See `RunColumns`; the text is of `read_only`.
    rules: How documents are ranked.
    judged_topic: int64 (topic,): negative for a topic whose lines need not be sorted.
    groups: Its `lines` and `stops` are written.
    hashes: int64 (line,), written: hashes of the document ids; empty if they are not needed, with the rule `KEEP`.
    numbers: int32 (line,), written: numbers of the documents within their topic, in the order of the lines after
        sorting; empty if they are not needed.
    spare, seen: Overwritten: int64 of the length of the longest topic, and int32 of eight times this length, plus 4.
    Returns repeated, first: With the rule `REFUSE`, a line that repeats a document of its topic, and the earlier line;
        -1 for none.
    """
    lines, starts, stops = groups
    for topic in range(stops.shape[0]):
        stops[topic] = starts[topic]
    for line in range(topic_of.shape[0]):
        topic = topic_of[line]
        lines[stops[topic]] = line
        stops[topic] += 1
    for line in range(hashes.shape[0]):
        hashes[line] = hash_text(
            text, np.int64(documents[line, 0]), np.int64(documents[line, 1] - documents[line, 0])
        )
    for topic in range(stops.shape[0]):
        start, stop = starts[topic], stops[topic]
        if rules.repeats != KEEP:
            stop, repeated, first = first_lines(text, documents, hashes, lines, seen, start, stop)
            if rules.repeats == REFUSE and repeated >= 0:
                return repeated, first
            stops[topic] = stop
        if rules.order != BY_FILE and judged_topic[topic] >= 0:
            sort_lines(text, documents, keys, rules, lines, spare, start, stop)
        if numbers.shape[0] > 0:
            number = -1
            for k in range(start, stop):
                if k == start or not same_document(text, documents, lines[k - 1], lines[k]):
                    number += 1
                numbers[lines[k]] = number
    return -1, -1


def _room(space: Workspace, counts: Int64Array1) -> tuple[LineGroups, Int64Array1, Int32Array1]:
    """Return the groups to be written by `rank_lines`, and what it overwrites."""
    n_lines, longest = int(counts.sum()), int(counts.max(initial=0))
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return (
        LineGroups(space.array("grouped", n_lines, "int64"), starts, np.empty_like(counts)),
        space.array("spare", longest, "int64"),
        space.array("seen", 8 * longest + 4, "int32"),
    )


def document_numbers(
    text: UInt8Array1, documents: Int32Array2, topic_of: Int32Array1, n_topics: int
) -> Int32Array1:
    """Number the judged documents of each topic in the order of their ids as bytes.

    text, documents, topic_of, n_topics: As of `judgement_tables`.
    Returns numbers: int32 (line,): lines of the same document have the same number.
    """
    groups, spare, seen = _room(Workspace(), np.bincount(topic_of, minlength=n_topics))
    rules = RankingRules(False, BY_SCORE_ASCENDING, KEEP, 0)
    keys, numbers = np.zeros(len(topic_of)), np.empty_like(topic_of)
    rank_lines(
        read_only(text),
        documents,
        topic_of,
        keys,
        rules,
        groups.stops,
        groups,
        np.empty(0, np.int64),
        numbers,
        spare,
        seen,
    )
    return numbers


@compiled
def look_up(
    text: UInt8Array1,
    documents: Int32Array2,
    hashes: Int64Array1,
    groups: LineGroups,
    judged_topic: Int64Array1,
    judged_text: UInt8Array1,
    judged_documents: Int32Array2,
    judged_levels: Int16Array1,
    entries: UInt64Array2,
    bounds: Int64Array2,
    numbers: Int32Array1,
    levels: Int8Array2,
    found: Int32Array2,
    lengths: Int32Array1,
    judged_lines: Int64Array1,
) -> None:
    """Write the levels and numbers of the documents of a run.

    text, documents, hashes, groups: Of the run, as `rank_lines` leaves them.
    judged_topic: See `judge_run`.
    judged_text, judged_documents, judged_levels, entries, bounds, numbers: See `JudgedDocuments`.
    levels, found, lengths: Results of `judge_run`, written; the first two are -1 before.
    judged_lines: int64 of the length of the longest topic, overwritten.
    """
    lines, starts, stops = groups
    for topic in range(judged_topic.shape[0]):
        row = judged_topic[topic]
        if row < 0:
            continue
        begin = starts[topic]
        count = stops[topic] - begin
        if count > levels.shape[1]:
            count = np.int64(levels.shape[1])
        lengths[row] = count
        start, mask = bounds[row, 0], bounds[row, 1] - bounds[row, 0] - 1
        # A first pass reads all first slots, so that the memory accesses overlap.
        for k in range(count):
            slot = (hashes[lines[begin + k]] >> 20) & mask
            judged_lines[k] = np.int64(entries[start + slot, 0] & LINE) - 1
        for k in range(count):
            if judged_lines[k] < 0:
                continue
            line = lines[begin + k]
            entry = find_entry(
                text,
                np.int64(documents[line, 0]),
                np.int64(documents[line, 1] - documents[line, 0]),
                (hashes[line] >> 20) & mask,
                start,
                mask,
                judged_text,
                judged_documents,
                entries,
            )
            judged_line = np.int64(entries[entry, 0] & LINE) - 1
            if judged_line >= 0:
                level = judged_levels[judged_line]
                levels[row, k] = level if level > -1 else -1
                found[row, k] = numbers[judged_line]


def judge_run(
    run: RunColumns,
    counts: Int64Array1,
    judged_topic: Int64Array1,
    judged: JudgedDocuments,
    rules: RankingRules,
    space: Workspace,
) -> tuple[Int8Array2, Int32Array2, Int32Array1, Integer, Integer]:
    """Rank the documents of every topic and look up their levels.

    run: Lines of the run.
    counts: int64 (topic of the run,): its number of lines.
    judged_topic: int64 (topic of the run,): its number among the judged topics, -1 for a topic that is not judged.
    judged: The judgements.
    rules: How documents are ranked.
    space: Arrays to be reused.
    Returns levels: int8 (judged topic, rank): -1 for unjudged documents and after the last rank.
    Returns found: int32 (judged topic, rank): number of the judged document, -1 likewise.
    Returns lengths: int32 (judged topic,): documents retrieved, at most `rules.depth`.
    Returns repeated, first: A line that repeats a document of its topic, and the earlier line; -1 for none.
    """
    n_topics = len(judged.bounds)
    longest = min(rules.depth, int(counts[judged_topic >= 0].max(initial=0)))
    levels = np.full((n_topics, longest), -1, np.int8)
    found = np.full((n_topics, longest), -1, np.int32)
    lengths = np.zeros(n_topics, np.int32)
    groups, spare, seen = _room(space, counts)
    text = read_only(run.text)
    hashes = space.array("document_hashes", len(run.topic_of), "int64")
    repeated, first = rank_lines(
        text,
        run.documents,
        run.topic_of,
        run.keys,
        rules,
        judged_topic,
        groups,
        hashes,
        np.empty(0, np.int32),
        spare,
        seen,
    )
    if repeated < 0:
        look_up(
            text,
            run.documents,
            hashes,
            groups,
            judged_topic,
            read_only(judged.text),
            *judged[1:],
            levels,
            found,
            lengths,
            spare,
        )
    return levels, found, lengths, repeated, first


@compiled
def keep_first_of_class(levels: Int8Array2, found: Int32Array2, classes: Int32Array2) -> None:
    """Set the level of a document to 0 if one of its class has an earlier rank.

    Only relevant documents change, in place.

    levels, found: Of `judge_run`.
    classes: int32 (judged topic, document): number of the document's class within the topic, -1 for none.
    """
    seen = np.empty(classes.shape[1], np.bool_)
    for topic in range(levels.shape[0]):
        seen[:] = False
        for k in range(levels.shape[1]):
            if levels[topic, k] > 0 and classes[topic, found[topic, k]] >= 0:
                number = classes[topic, found[topic, k]]
                if seen[number]:
                    levels[topic, k] = 0
                seen[number] = True
