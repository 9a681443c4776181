"""Lines of a run -> relevance levels in ranked order: ordering, duplicates, and the join with the judgements.

Judged documents stand in open-addressing tables, one slice per topic. A slot holds the document id itself, or its beginning, so that a
lookup touches one place in memory, and two documents are never confused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.parsing.byte_words import compare_texts, hash_text, masked_word

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


@inlined
def same_text(base_a: Any, places_a: Any, a: int, base_b: Any, places_b: Any, b: int) -> Any:
    """Whether two documents have the same id."""
    return compare_texts(base_a, places_a[a, 0], places_a[a, 1], base_b, places_b[b, 0], places_b[b, 1]) == 0


MOST_WORDS = 7
"""Words of an id that stand in a slot: with its line, 64 bytes."""
LINE = np.uint64(0xFFFFFFFF)
"""Part of a slot's first word with the line + 1; above it, the length of the id."""


@inlined
def id_word(base: Any, start: int, stop: int, number: int) -> Any:
    """Eight bytes of an id, zeros behind its end."""
    place = start + 8 * number
    return masked_word(base, place, stop) if place < stop else np.uint64(0)


@inlined
def holds(entries: Any, slot: Any, base: Any, start: int, stop: int, judged_base: Any, judged_documents: Any) -> Any:
    """Whether a slot that is not empty holds an id."""
    if np.int64(entries[slot, 0] >> np.uint64(32)) != stop - start:
        return False
    n_words = entries.shape[1] - 1
    for number in range(n_words):
        if entries[slot, 1 + number] != id_word(base, start, stop, number):
            return False
    if stop - start <= 8 * n_words:
        return True
    line = np.int64(entries[slot, 0] & LINE) - 1
    return compare_texts(base, start, stop, judged_base, judged_documents[line, 0], judged_documents[line, 1]) == 0


@inlined
def look_up(
    base: Any, documents: Any, hashes: Any, lines: Any, judged_base: Any, judged_documents: Any, entries: Any, bounds: Any, out: Any
) -> None:  # fmt: skip
    """Write, for some lines of a run, the line that judges their document in the table within `bounds`, -1 for none."""
    start, mask = bounds[0], bounds[1] - bounds[0] - 1
    # First all slots are asked for, one after the other, so that memory answers while others are under way.
    for k in range(lines.shape[0]):
        out[k] = np.int64(entries[start + (np.int64(hashes[lines[k]] >> np.uint64(20)) & mask), 0] & LINE) - 1
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
    entries
        uint64 (slot, 1 + word): length << 32 | line + 1 of a document, 0 for an empty slot; its id.
    bounds
        int64 (topic, 2): the slice of each topic, a power of two long.
    repeated
        A line that judges a document again, -1 for none.
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
def key_of(keys: Any, line: int, single: bool) -> float:
    """What a line is ordered by; as a 32-bit float, nearly equal scores are ties."""
    return np.float64(np.float32(keys[line])) if single else keys[line]


@inlined
def stands_before(base: Any, documents: Any, keys: Any, single: bool, order: int, a: int, b: int) -> Any:
    """Whether line `a` is ranked before line `b`; equal lines keep their order."""
    key_a, key_b = key_of(keys, a, single), key_of(keys, b, single)
    if key_a != key_b:
        return key_a > key_b
    if order > BY_SCORE_ASCENDING:
        return a <= b
    side = compare_texts(base, documents[a, 0], documents[a, 1], base, documents[b, 0], documents[b, 1])
    return (side >= 0) if order == BY_SCORE_DESCENDING else (side <= 0)


@inlined
def put_in_order(base: Any, documents: Any, keys: Any, single: bool, order: int, lines: Any, spare: Any) -> None:
    """Sort the line numbers in `lines`; nothing is moved where they are in order already, as in most runs."""
    n = lines.shape[0]
    sorted_up_to = 1
    while sorted_up_to < n and stands_before(
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
                    right >= high or stands_before(base, documents, keys, single, order, lines[left], lines[right])
                ):
                    spare[k] = lines[left]
                    left += 1
                else:
                    spare[k] = lines[right]
                    right += 1
        lines[:] = spare[:n]
        width *= 2


@inlined
def group_lines(topic_of: Any, n_topics: int, grouped: Any) -> Any:
    """Write the line numbers by topic, in the order of the file; return where each topic's begin."""
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
def document_numbers(text: Any, documents: Any, topic_of: Any, n_topics: int) -> Any:
    """Number the judged documents of each topic by their ids, sorted as bytes.

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
        put_in_order(base, documents, keys, False, BY_SCORE_ASCENDING, lines, spare)
        number = -1
        for k in range(lines.shape[0]):
            if k == 0 or not same_text(base, documents, lines[k - 1], base, documents, lines[k]):
                number += 1
            numbers[lines[k]] = number
    return numbers


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
    mask = table_length(2 * lines.shape[0]) - 1
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
    text: Any, documents: Any, topic_of: Any, keys: Any, single: bool, order: int, repeats: int, judged_topic: Any, depth: int,
    judged_text: Any, judged_documents: Any, judged_levels: Any, entries: Any, bounds: Any, numbers: Any,
    grouped: Any, hashes: Any,
) -> Any:  # fmt: skip
    """Put the documents of every topic in order and look up their levels.

    Parameters
    ----------
    text, documents, topic_of
        Of the run, as from `parse_lines`.
    keys
        float64 (line,): larger is ranked before; unused with `BY_FILE`.
    single
        Whether keys are compared as 32-bit floats.
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
    entries, bounds
        Their tables.
    numbers
        int32 (line,): number of each judged document, to be told for each rank.
    grouped, hashes
        int64 (line,), uint64 (line,): room to work in.

    Returns
    -------
    levels
        int8 (judged topic, rank): -1 for unjudged and behind the end.
    found
        int32 (judged topic, rank): the number of the judged document, in the same sense.
    lengths
        int32 (judged topic,): documents returned, at most `depth`.
    repeated, first
        A line whose document stands in its topic already, and where; -1 for none.
    """
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
            put_in_order(base, documents, keys, single, order, lines, spare)
        lengths[row] = min(depth, lines.shape[0])
        look_up(
            base, documents, hashes, lines[: lengths[row]], judged_base, judged_documents, entries, bounds[row], slots
        )
        for k in range(lengths[row]):
            if slots[k] >= 0:
                levels[row, k] = max(judged_levels[slots[k]], -1)
                found[row, k] = numbers[slots[k]]
    return levels, found, lengths, -1, -1


@compiled
def keep_first_of_class(levels: Any, found: Any, classes: Any) -> None:
    """Lower, in place, relevant documents of a class of which one stands at an earlier rank to level 0.

    Parameters
    ----------
    levels, found
        As from `judge_run`.
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
