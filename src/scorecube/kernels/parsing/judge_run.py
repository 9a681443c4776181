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
    UInt64Array1,
    UInt64Array2,
)
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.parsing.byte_words import compare_texts, hash_text, masked_word

BY_SCORE_DESCENDING, BY_SCORE_ASCENDING, BY_SCORE_STABLE, BY_RANK, BY_FILE = 0, 1, 2, 3, 4
"""Order of documents: by score, with ties by document id descending, ascending or in file order; by rank; in file
order."""
REFUSE, FIRST, KEEP = 0, 1, 2
"""A repeated document in a topic of a run: an error, the first line counts, or both lines count (as in NTCIREVAL)."""
MOST_WORDS = 7
"""Words of an id in a slot: with the word for its line and length, 64 bytes."""
LINE = np.uint64(0xFFFFFFFF)
"""Mask of the part of a slot's first word that holds the line + 1; the length of the id is above it."""


class RunColumns(NamedTuple):
    """Lines of a run.

    Parameters
    ----------
    text
        uint8 (byte,), padded: the run file.
    documents
        int32 (line, 2): start and end of the document ids in it.
    topic_of
        int32 (line,): number of the line's topic.
    keys
        float64 (line,): larger is ranked before; not used with `BY_FILE`.
    """

    text: UInt8Array1
    documents: Int32Array2
    topic_of: Int32Array1
    keys: Float64Array1


class JudgedDocuments(NamedTuple):
    """Judgements and the hash tables of their documents.

    Parameters
    ----------
    text
        uint8 (byte,), padded: the judgement file.
    documents
        int32 (line, 2): start and end of the document ids in it.
    levels
        int16 (line,): relevance levels, negative for pooled but not judged.
    entries, bounds
        Of `judgement_tables`.
    numbers
        int32 (line,): of `document_numbers`.
    """

    text: UInt8Array1
    documents: Int32Array2
    levels: Int16Array1
    entries: UInt64Array2
    bounds: Int64Array2
    numbers: Int32Array1


class RankingRules(NamedTuple):
    """How the documents of a topic are ranked.

    Parameters
    ----------
    single
        Whether keys are compared as 32-bit floats.
    order
        `BY_SCORE_DESCENDING` or another order of this module.
    repeats
        `REFUSE`, `FIRST` or `KEEP`.
    depth
        Ranks kept per topic.
    """

    single: bool
    order: int
    repeats: int
    depth: int


@inlined
def table_length(count: Integer) -> int:
    """Return a power of two, at least twice the number of entries."""
    length = 4
    while length < 2 * count:
        length *= 2
    return length


@inlined
def same_text(
    base_a: np.uint64,
    places_a: Int32Array2,
    a: Integer,
    base_b: np.uint64,
    places_b: Int32Array2,
    b: Integer,
) -> bool:
    """Return whether two documents have the same id."""
    return (
        compare_texts(
            base_a, places_a[a, 0], places_a[a, 1], base_b, places_b[b, 0], places_b[b, 1]
        )
        == 0
    )


@inlined
def id_word(base: np.uint64, start: Integer, stop: Integer, number: int) -> np.uint64:
    """Return eight bytes of an id, with zeros after its end."""
    place = start + 8 * number
    return masked_word(base, place, stop) if place < stop else np.uint64(0)


@inlined
def holds(
    entries: UInt64Array2,
    slot: Integer,
    base: np.uint64,
    start: Integer,
    stop: Integer,
    judged_base: np.uint64,
    judged_documents: Int32Array2,
) -> bool:
    """Return whether a slot that is not empty holds an id."""
    if np.int64(entries[slot, 0] >> np.uint64(32)) != stop - start:
        return False
    n_words = entries.shape[1] - 1
    for number in range(n_words):
        if entries[slot, 1 + number] != id_word(base, start, stop, number):
            return False
    if stop - start <= 8 * n_words:
        return True
    line = np.int64(entries[slot, 0] & LINE) - 1
    return (
        compare_texts(
            base, start, stop, judged_base, judged_documents[line, 0], judged_documents[line, 1]
        )
        == 0
    )


@inlined
def look_up(
    base: np.uint64,
    documents: Int32Array2,
    hashes: UInt64Array1,
    lines: Int64Array1,
    judged_base: np.uint64,
    judged_documents: Int32Array2,
    entries: UInt64Array2,
    bounds: Int64Array1,
    out: Int64Array1,
) -> None:
    """Write, for some lines of a run, the line that judges their document.

    Parameters
    ----------
    base, documents, hashes
        Of the run: address of its text, places and hashes of all document ids.
    lines
        int64 (some line,): lines of one topic.
    judged_base, judged_documents, entries
        Of the judgements.
    bounds
        int64 (2,): the slice of the table with the topic's documents.
    out
        int64 (some line,), written: lines of the judgements, -1 for none.
    """
    start, mask = bounds[0], bounds[1] - bounds[0] - 1
    # A first pass reads all first slots, so that the memory accesses overlap.
    for k in range(lines.shape[0]):
        out[k] = (
            np.int64(
                entries[start + (np.int64(hashes[lines[k]] >> np.uint64(20)) & mask), 0] & LINE
            )
            - 1
        )
    for k in range(lines.shape[0]):
        if out[k] < 0:
            continue
        begin, end = documents[lines[k], 0], documents[lines[k], 1]
        place = np.int64(hashes[lines[k]] >> np.uint64(20)) & mask
        out[k] = -1
        while entries[start + place, 0] != 0:
            if holds(entries, start + place, base, begin, end, judged_base, judged_documents):
                out[k] = np.int64(entries[start + place, 0] & LINE) - 1
                break
            place = (place + 1) & mask


@compiled
def judgement_tables(
    text: UInt8Array1, documents: Int32Array2, topic_of: Int32Array1, n_topics: int
) -> tuple[UInt64Array2, Int64Array2, int]:
    """Build the tables of judged documents.

    Parameters
    ----------
    text
        uint8 (byte,), padded: the judgement file.
    documents
        int32 (line, 2): start and end of the document ids in it.
    topic_of
        int32 (line,): number of the line's topic.
    n_topics
        Number of topics.

    Returns
    -------
    entries
        uint64 (slot, 1 + word): length << 32 | line + 1 of a document, 0 for an empty slot; then the words of its id.
    bounds
        int64 (topic, 2): the slice of each topic, whose length is a power of two.
    repeated
        A line that repeats a document of its topic, -1 for none.
    """
    base = np.uint64(text.ctypes.data)
    counts = np.zeros(n_topics, np.int64)
    longest = 1
    for line in range(topic_of.shape[0]):
        counts[topic_of[line]] += 1
        longest = max(longest, documents[line, 1] - documents[line, 0])
    bounds = np.zeros((n_topics, 2), np.int64)
    total = 0
    for topic in range(n_topics):
        bounds[topic, 0] = total
        total += table_length(counts[topic])
        bounds[topic, 1] = total
    n_words = min((longest + 7) // 8, MOST_WORDS)
    entries = np.zeros((total, 1 + n_words), np.uint64)
    for line in range(topic_of.shape[0]):
        begin, end = documents[line, 0], documents[line, 1]
        start = bounds[topic_of[line], 0]
        mask = bounds[topic_of[line], 1] - start - 1
        place = np.int64(hash_text(base, begin, end) >> np.uint64(20)) & mask
        while entries[start + place, 0] != 0:
            if holds(entries, start + place, base, begin, end, base, documents):
                return entries, bounds, line
            place = (place + 1) & mask
        entries[start + place, 0] = (np.uint64(end - begin) << np.uint64(32)) | np.uint64(line + 1)
        for number in range(n_words):
            entries[start + place, 1 + number] = id_word(base, begin, end, number)
    return entries, bounds, -1


@inlined
def key_of(keys: Float64Array1, line: Integer, single: bool) -> float:
    """Return the key of a line; as 32-bit floats, nearly equal keys tie."""
    return np.float64(np.float32(keys[line])) if single else np.float64(keys[line])


@inlined
def is_ranked_before(
    base: np.uint64,
    documents: Int32Array2,
    keys: Float64Array1,
    single: bool,
    order: int,
    a: Integer,
    b: Integer,
) -> bool | np.bool:
    """Return whether line `a` is ranked before `b`; equal lines keep their order."""
    key_a, key_b = key_of(keys, a, single), key_of(keys, b, single)
    if key_a != key_b:
        return key_a > key_b
    if order > BY_SCORE_ASCENDING:
        return a <= b
    side = compare_texts(
        base, documents[a, 0], documents[a, 1], base, documents[b, 0], documents[b, 1]
    )
    return (side >= 0) if order == BY_SCORE_DESCENDING else (side <= 0)


@inlined
def sort_lines(
    base: np.uint64,
    documents: Int32Array2,
    keys: Float64Array1,
    single: bool,
    order: int,
    lines: Int64Array1,
    spare: Int64Array1,
) -> None:
    """Sort line numbers (line,) in place; `spare` (line,) is overwritten.

    Lines that are in order already, as in most runs, are not moved.
    """
    n = lines.shape[0]
    sorted_up_to = 1
    while sorted_up_to < n and is_ranked_before(
        base, documents, keys, single, order, lines[sorted_up_to - 1], lines[sorted_up_to]
    ):
        sorted_up_to += 1
    if sorted_up_to >= n:
        return
    # Stable bottom-up merge sort.
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            left, right = low, middle
            for k in range(low, high):
                if left < middle and (
                    right >= high
                    or is_ranked_before(
                        base, documents, keys, single, order, lines[left], lines[right]
                    )
                ):
                    spare[k] = lines[left]
                    left += 1
                else:
                    spare[k] = lines[right]
                    right += 1
        lines[:] = spare[:n]
        width *= 2


@inlined
def group_lines(topic_of: Int32Array1, n_topics: int, grouped: Int64Array1) -> Int64Array1:
    """Write the line numbers grouped by topic, in file order.

    Returns
    -------
    starts
        int64 (topic + 1,): where the lines of each topic start in `grouped` (line,).
    """
    starts = np.zeros(n_topics + 1, np.int64)
    for line in range(topic_of.shape[0]):
        starts[topic_of[line] + 1] += 1
    for topic in range(n_topics):
        starts[topic + 1] += starts[topic]
    filled = starts[:-1].copy()
    for line in range(topic_of.shape[0]):
        grouped[filled[topic_of[line]]] = line
        filled[topic_of[line]] += 1
    return starts


@compiled
def document_numbers(
    text: UInt8Array1, documents: Int32Array2, topic_of: Int32Array1, n_topics: int
) -> Int32Array1:
    """Number the judged documents of each topic in the order of their ids as bytes.

    Parameters
    ----------
    text, documents, topic_of, n_topics
        As of `judgement_tables`.

    Returns
    -------
    numbers
        int32 (line,): lines of the same document have the same number.
    """
    base = np.uint64(text.ctypes.data)
    n_lines = topic_of.shape[0]
    numbers, grouped = np.empty(n_lines, np.int32), np.empty(n_lines, np.int64)
    starts = group_lines(topic_of, n_topics, grouped)
    keys, spare = np.zeros(n_lines), np.empty(n_lines, np.int64)
    for topic in range(n_topics):
        lines = grouped[starts[topic] : starts[topic + 1]]
        sort_lines(base, documents, keys, False, BY_SCORE_ASCENDING, lines, spare)
        number = -1
        for k in range(lines.shape[0]):
            if k == 0 or not same_text(base, documents, lines[k - 1], base, documents, lines[k]):
                number += 1
            numbers[lines[k]] = number
    return numbers


@inlined
def list_lengths(starts: Int64Array1, judged_topic: Int64Array1, depth: int) -> tuple[int, int]:
    """Return the length of the longest list that is kept, and of the longest of all."""
    longest, largest = 0, 0
    for topic in range(judged_topic.shape[0]):
        count = starts[topic + 1] - starts[topic]
        largest = max(largest, count)
        if judged_topic[topic] >= 0:
            longest = max(longest, min(depth, count))
    return longest, largest


@inlined
def find_repeated(
    base: np.uint64,
    documents: Int32Array2,
    hashes: UInt64Array1,
    lines: Int64Array1,
    seen: Int32Array1,
) -> tuple[int, int]:
    """Return a line that repeats a document, and the earlier line; -1 for none.

    `seen`, a hash table of lines, is overwritten.
    """
    mask = table_length(2 * lines.shape[0]) - 1
    seen[: mask + 1] = -1
    for line in lines:
        place = np.int64(hashes[line] >> np.uint64(20)) & mask
        while seen[place] >= 0:
            other = seen[place]
            if hashes[other] == hashes[line] and same_text(
                base, documents, other, base, documents, line
            ):
                return int(line), int(other)
            place = (place + 1) & mask
        seen[place] = line
    return -1, -1


@inlined
def drop_repeated(
    base: np.uint64,
    documents: Int32Array2,
    hashes: UInt64Array1,
    lines: Int64Array1,
    seen: Int32Array1,
) -> int:
    """Move the first line of every document to the front; return their number.

    `seen`, a hash table of lines, is overwritten.
    """
    mask = table_length(2 * lines.shape[0]) - 1
    seen[: mask + 1] = -1
    kept = 0
    for line in lines:
        place = np.int64(hashes[line] >> np.uint64(20)) & mask
        known = False
        while seen[place] >= 0 and not known:
            known = hashes[seen[place]] == hashes[line] and same_text(
                base, documents, seen[place], base, documents, line
            )
            place = (place + 1) & mask
        if not known:
            seen[place] = line
            lines[kept] = line
            kept += 1
    return kept


@compiled
def judge_run(
    run: RunColumns,
    judged_topic: Int64Array1,
    judged: JudgedDocuments,
    rules: RankingRules,
    grouped: Int64Array1,
    hashes: UInt64Array1,
) -> tuple[Int8Array2, Int32Array2, Int32Array1, int, int]:
    """Rank the documents of every topic and look up their levels.

    Parameters
    ----------
    run
        Lines of the run.
    judged_topic
        int64 (topic of the run,): its number among the judged topics, -1 for a topic that is not judged.
    judged
        The judgements.
    rules
        How documents are ranked.
    grouped, hashes
        int64 (line,) and uint64 (line,), overwritten.

    Returns
    -------
    levels
        int8 (judged topic, rank): -1 for unjudged documents and after the last rank.
    found
        int32 (judged topic, rank): number of the judged document, -1 likewise.
    lengths
        int32 (judged topic,): documents retrieved, at most `rules.depth`.
    repeated, first
        A line that repeats a document of its topic, and the earlier line; -1 for none.
    """
    text, documents, topic_of, keys = run
    judged_text, judged_documents, judged_levels, entries, bounds, numbers = judged
    single, order, repeats, depth = rules
    base, judged_base = np.uint64(text.ctypes.data), np.uint64(judged_text.ctypes.data)
    starts = group_lines(topic_of, judged_topic.shape[0], grouped)
    longest, largest = list_lengths(starts, judged_topic, depth)
    levels = np.full((bounds.shape[0], longest), -1, np.int8)
    found = np.full((bounds.shape[0], longest), -1, np.int32)
    lengths = np.zeros(bounds.shape[0], np.int32)
    spare, seen = np.empty(largest, np.int64), np.empty(table_length(2 * largest), np.int32)
    slots = np.empty(largest, np.int64)
    for line in range(topic_of.shape[0]):
        hashes[line] = hash_text(base, documents[line, 0], documents[line, 1])
    for topic in range(judged_topic.shape[0]):
        lines = grouped[starts[topic] : starts[topic + 1]]
        if repeats == REFUSE:
            repeated, first = find_repeated(base, documents, hashes, lines, seen)
            if repeated >= 0:
                return levels, found, lengths, repeated, first
        elif repeats == FIRST:
            lines = lines[: drop_repeated(base, documents, hashes, lines, seen)]
        row = judged_topic[topic]
        if row < 0:
            continue
        if order != BY_FILE:
            sort_lines(base, documents, keys, single, order, lines, spare)
        lengths[row] = min(depth, lines.shape[0])
        look_up(
            base,
            documents,
            hashes,
            lines[: lengths[row]],
            judged_base,
            judged_documents,
            entries,
            bounds[row],
            slots,
        )
        for k in range(lengths[row]):
            if slots[k] >= 0:
                levels[row, k] = max(judged_levels[slots[k]], -1)
                found[row, k] = numbers[slots[k]]
    return levels, found, lengths, -1, -1


@compiled
def keep_first_of_class(levels: Int8Array2, found: Int32Array2, classes: Int32Array2) -> None:
    """Set the level of a document to 0 if one of its class has an earlier rank.

    Only relevant documents change, in place.

    Parameters
    ----------
    levels, found
        Of `judge_run`.
    classes
        int32 (judged topic, document): number of the document's class within the topic, -1 for none.
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
