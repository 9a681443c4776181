"""Lines of a run -> relevance levels in ranked order: ordering, duplicates, and the join with the judgements.

Judged documents stand in open-addressing tables, one slice per topic; bytes are compared after a hash has matched, so equal
hashes cannot confuse two documents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.words import compare_texts, hash_text

BY_SCORE_DESCENDING, BY_SCORE_ASCENDING, BY_SCORE_STABLE, BY_RANK, BY_FILE = 0, 1, 2, 3, 4
"""Order of documents: by score with ties by document id descending, ascending or as in the file; by rank; as in the file."""


REFUSE, FIRST, KEEP = 0, 1, 2
"""A document twice in a topic of a run: an error, the first line counts, or both count (as in NTCIREVAL)."""


@inlined
def table_length(count: int) -> int:
    """Return a power of two that holds `count` entries with room to spare."""
    length = 4
    while length < 2 * count:
        length *= 2
    return length


@compiled
def judgement_tables(text: Any, documents: Any, topic_of: Any, n_topics: int) -> Any:
    """Build the tables of judged documents.

    Parameters
    ----------
    text
        uint8, padded: the judgement file.
    documents
        int32 (line, 2): where the document ids stand in it.
    topic_of
        int32 (line,): topic number.
    n_topics
        Number of topics.

    Returns
    -------
    slots
        int32: line of the document in a slot, -1 for none.
    hashes
        uint64: its hash.
    bounds
        int64 (topic, 2): the slice of each topic, a power of two long.
    repeated
        A line that judges a document again, -1 for none.
    """
    base = np.uint64(text.ctypes.data)
    counts = np.zeros(n_topics, np.int64)
    for line in range(topic_of.shape[0]):
        counts[topic_of[line]] += 1
    bounds = np.zeros((n_topics, 2), np.int64)
    total = 0
    for topic in range(n_topics):
        bounds[topic, 0] = total
        total += table_length(counts[topic])
        bounds[topic, 1] = total
    slots, hashes = np.full(total, -1, np.int32), np.zeros(total, np.uint64)
    for line in range(topic_of.shape[0]):
        start = bounds[topic_of[line], 0]
        mask = bounds[topic_of[line], 1] - start - 1
        hashed = hash_text(base, documents[line, 0], documents[line, 1])
        place = np.int64(hashed >> np.uint64(20)) & mask
        while slots[start + place] >= 0:
            other = slots[start + place]
            if hashes[start + place] == hashed and (
                compare_texts(
                    base, documents[other, 0], documents[other, 1], base, documents[line, 0], documents[line, 1]
                )
                == 0
            ):
                return slots, hashes, bounds, line
            place = (place + 1) & mask
        slots[start + place], hashes[start + place] = line, hashed
    return slots, hashes, bounds, -1


@inlined
def stands_before(base: Any, documents: Any, keys: Any, order: int, a: int, b: int) -> Any:
    """Whether line `a` is ranked before line `b`; equal lines keep their order."""
    if keys[a] != keys[b]:
        return keys[a] > keys[b]
    if order > BY_SCORE_ASCENDING:
        return a <= b
    side = compare_texts(base, documents[a, 0], documents[a, 1], base, documents[b, 0], documents[b, 1])
    return (side >= 0) if order == BY_SCORE_DESCENDING else (side <= 0)


@inlined
def put_in_order(base: Any, documents: Any, keys: Any, order: int, lines: Any, spare: Any) -> None:
    """Sort the line numbers in `lines`; nothing is moved where they are in order already, as in most runs."""
    n = lines.shape[0]
    sorted_up_to = 1
    while sorted_up_to < n and stands_before(
        base, documents, keys, order, lines[sorted_up_to - 1], lines[sorted_up_to]
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
                    right >= high or stands_before(base, documents, keys, order, lines[left], lines[right])
                ):
                    spare[k] = lines[left]
                    left += 1
                else:
                    spare[k] = lines[right]
                    right += 1
        lines[:] = spare[:n]
        width *= 2


@inlined
def group_lines(topic_of: Any, n_topics: int) -> Any:
    """Return the line numbers by topic, in the order of the file, and where each topic's begin."""
    starts = np.zeros(n_topics + 1, np.int64)
    for line in range(topic_of.shape[0]):
        starts[topic_of[line] + 1] += 1
    for topic in range(n_topics):
        starts[topic + 1] += starts[topic]
    grouped, filled = np.empty(topic_of.shape[0], np.int64), starts[:-1].copy()
    for line in range(topic_of.shape[0]):
        grouped[filled[topic_of[line]]] = line
        filled[topic_of[line]] += 1
    return grouped, starts


@inlined
def list_lengths(starts: Any, judged_topic: Any, depth: int) -> Any:
    """Return the longest list that is kept, of judged topics, and the longest of all."""
    longest, largest = 0, 0
    for topic in range(judged_topic.shape[0]):
        count = starts[topic + 1] - starts[topic]
        largest = max(largest, count)
        if judged_topic[topic] >= 0:
            longest = max(longest, min(depth, count))
    return longest, largest


@inlined
def find_repeated(base: Any, documents: Any, hashes: Any, lines: Any, seen: Any) -> Any:
    """Return a line whose document stands in an earlier one, and that line; -1 for none."""
    mask = table_length(lines.shape[0]) - 1
    seen[: mask + 1] = -1
    for line in lines:
        place = np.int64(hashes[line] >> np.uint64(20)) & mask
        while seen[place] >= 0:
            other = seen[place]
            if hashes[other] == hashes[line] and same_text(base, documents, other, base, documents, line):
                return line, other
            place = (place + 1) & mask
        seen[place] = line
    return -1, -1


@inlined
def drop_repeated(base: Any, documents: Any, hashes: Any, lines: Any, seen: Any) -> int:
    """Move the first line of every document to the front; return their number."""
    mask = table_length(lines.shape[0]) - 1
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


@inlined
def same_text(base_a: Any, places_a: Any, a: int, base_b: Any, places_b: Any, b: int) -> Any:
    """Whether two documents have the same id."""
    return compare_texts(base_a, places_a[a, 0], places_a[a, 1], base_b, places_b[b, 0], places_b[b, 1]) == 0


@compiled
def judge_run(
    text: Any, documents: Any, topic_of: Any, keys: Any, order: int, repeats: int, judged_topic: Any, depth: int,
    judged_text: Any, judged_documents: Any, judged_levels: Any, slots: Any, hashes: Any, bounds: Any,
) -> Any:  # fmt: skip
    """Put the documents of every topic in order and look up their levels.

    Parameters
    ----------
    text, documents, topic_of
        Of the run, as from `parse_lines`.
    keys
        float64 (line,): larger is ranked before; unused with `BY_FILE`.
    order
        One of this module's orders.
    repeats
        `REFUSE`, `FIRST` or `KEEP`.
    judged_topic
        int64 (run's topic,): its number among the judged topics, -1 for a topic that is not judged.
    depth
        Ranks kept per topic.
    judged_text, judged_documents, judged_levels
        The judgements; levels int16 (line,), negative for pooled but not judged.
    slots, hashes, bounds
        Their tables.

    Returns
    -------
    levels
        int8 (judged topic, rank): -1 for unjudged and behind the end.
    lengths
        int32 (judged topic,): documents returned, at most `depth`.
    repeated, first
        A line whose document stands in its topic already, and where; -1 for none.
    """
    base, judged_base = np.uint64(text.ctypes.data), np.uint64(judged_text.ctypes.data)
    grouped, starts = group_lines(topic_of, judged_topic.shape[0])
    longest, largest = list_lengths(starts, judged_topic, depth)
    levels = np.full((bounds.shape[0], longest), -1, np.int8)
    lengths = np.zeros(bounds.shape[0], np.int32)
    spare, seen = np.empty(largest, np.int64), np.empty(table_length(largest), np.int64)
    run_hashes = np.empty(topic_of.shape[0], np.uint64)
    for line in range(topic_of.shape[0]):
        run_hashes[line] = hash_text(base, documents[line, 0], documents[line, 1])
    for topic in range(judged_topic.shape[0]):
        lines = grouped[starts[topic] : starts[topic + 1]]
        if repeats == REFUSE:
            repeated, first = find_repeated(base, documents, run_hashes, lines, seen)
            if repeated >= 0:
                return levels, lengths, repeated, first
        elif repeats == FIRST:
            lines = lines[: drop_repeated(base, documents, run_hashes, lines, seen)]
        row = judged_topic[topic]
        if row < 0:
            continue
        if order != BY_FILE:
            put_in_order(base, documents, keys, order, lines, spare)
        lengths[row] = min(depth, lines.shape[0])
        start, mask = bounds[row, 0], bounds[row, 1] - bounds[row, 0] - 1
        for k in range(lengths[row]):
            line = lines[k]
            place = np.int64(run_hashes[line] >> np.uint64(20)) & mask
            judged = slots[start + place]
            while judged >= 0:
                if hashes[start + place] == run_hashes[line] and (
                    same_text(base, documents, line, judged_base, judged_documents, judged)
                ):
                    levels[row, k] = max(judged_levels[judged], -1)
                    break
                place = (place + 1) & mask
                judged = slots[start + place]
    return levels, lengths, -1, -1
