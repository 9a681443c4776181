"""Labels that two sets of judgements give the same documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema

IntArray = np.ndarray[Any, np.dtype[np.int64]]


def label_counts(truth: xr.Dataset, judge: xr.Dataset, topics: Sequence[str]) -> IntArray:
    """Count documents by topic and by their levels under two sets of judgements.

    truth, judge: Rankings under both sets, as from `read_rankings`.
    topics: Topics to count; one that a set lacks has no documents.
    Returns counts: int64 (topic, level under the truth, level under the judge). Documents are matched by their keys, a
        hash of their ids (`names.DOCUMENT_KEY`); in rankings of earlier versions, which have none, by the runs: the
        document at a rank of a run is the same under both sets. Documents that are in no run are then left out.
    """
    by_key = all(names.DOCUMENT_KEY in each for each in (truth, judge))
    if not all(names.LEVEL_OF_DOCUMENT in each for each in (truth, judge)):
        return np.zeros((len(topics), 1, 1), np.int64)
    n_levels = max(
        int(each[names.LEVEL_OF_DOCUMENT].values.max(initial=0)) + 1 for each in (truth, judge)
    )
    counts = np.zeros((len(topics), n_levels, n_levels), np.int64)
    places = [
        {topic: k for k, topic in enumerate(schema.labels_of(each, names.TOPIC))}
        for each in (truth, judge)
    ]
    match = _by_key if by_key else _by_rank
    for k, topic in enumerate(topics):
        if topic not in places[0] or topic not in places[1]:
            continue
        at = places[0][topic], places[1][topic]
        first, second = match(truth, judge, at)
        levels = [
            each[names.LEVEL_OF_DOCUMENT].values[place][documents].astype(np.int64)
            for each, place, documents in ((truth, at[0], first), (judge, at[1], second))
        ]
        judged = (levels[0] >= 0) & (levels[1] >= 0)
        np.add.at(counts[k], (levels[0][judged], levels[1][judged]), 1)
    return counts


def _by_key(truth: xr.Dataset, judge: xr.Dataset, at: tuple[int, int]) -> tuple[IntArray, IntArray]:
    """Return the numbers of the documents of a topic that both sets judge."""
    keys = [
        each[names.DOCUMENT_KEY].values[place]
        for each, place in zip((truth, judge), at, strict=True)
    ]
    known = [np.flatnonzero(each) for each in keys]  # 0 is behind the last document
    _, first, second = np.intersect1d(keys[0][known[0]], keys[1][known[1]], return_indices=True)
    return known[0][first], known[1][second]


def _by_rank(
    truth: xr.Dataset, judge: xr.Dataset, at: tuple[int, int]
) -> tuple[IntArray, IntArray]:
    """Return the numbers of the documents of a topic that both sets judge and a run of both retrieves."""
    runs = [schema.labels_of(each, names.RUN) for each in (truth, judge)]
    common = [run for run in runs[0] if run in set(runs[1])]
    depth = min(each.sizes[names.RANK] for each in (truth, judge))
    listed = [
        each[names.DOCUMENT_AT_RANK]
        .values[[own.index(run) for run in common], place, :depth]
        .ravel()
        for each, own, place in zip((truth, judge), runs, at, strict=True)
    ]
    both = (listed[0] >= 0) & (listed[1] >= 0)
    pairs = np.unique(np.stack([listed[0][both], listed[1][both]]).astype(np.int64), axis=1)
    return pairs[0], pairs[1]
