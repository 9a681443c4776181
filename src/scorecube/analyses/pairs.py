"""Pairs of runs: which there are, how they are labelled, and what they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scorecube import names
from scorecube.analyses.differences import RunPairs
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import IntArray
from scorecube.collection.schema import label_array
from scorecube.errors import BadPlan, UnknownName, counted, nearest
from scorecube.kernels.ranks import ranks_above

REFUSED_BINARY = 5
FEW_BINARY = 10
"""Numbers of units up to which scores 0 and 1 are refused, and noted: a difference on all of so few
is no rare event, and has an infinite t."""


def pairs_of(runs: Sequence[Any], baseline: str | None = None) -> RunPairs:
    """Return first and second runs of all pairs, in label order; or of all others with one."""
    first, second = np.triu_indices(len(runs), 1)
    if baseline is not None:
        base = runs.index(baseline)
        first = np.delete(np.arange(len(runs)), base)
        second = np.full(len(runs) - 1, base)
    return first.astype(np.int32), second.astype(np.int32)


def pair_labels(runs: Sequence[str], pairs: RunPairs) -> dict[str, Any]:
    """Return the coordinates `run_a` and `run_b` of pairs of runs."""
    first, second = (label_array(runs)[places] for places in pairs)
    return {names.RUN_A: (names.PAIR, first), names.RUN_B: (names.PAIR, second)}


def check_pairs(
    table: ScoreTable, name: str, baseline: str | None = None, *, least_units: int = 2
) -> ScoreTable:
    """Return the table; refuse fewer than 2 runs, or units, and no such baseline."""
    n_runs = len(table.runs)
    n_units = table.sizes.size
    nouns = table.nouns
    if n_runs < 2 or n_units < least_units:
        raise BadPlan(
            f"{name} needs 2 {nouns.runs} and {counted(least_units, nouns.topic)}; "
            f"found {counted(n_runs, nouns.run)} and {counted(n_units, nouns.topic)}"
        )
    if baseline is not None and baseline not in table.runs:
        close = nearest(baseline, list(table.runs))
        text = f"no {nouns.run} {baseline!r} in the scores; nearest: {close}"
        raise UnknownName(text, option="baseline")
    return table


def fewest_units(table: ScoreTable) -> int:
    """Return the number of units of the smallest collection."""
    return min(part.size() for part in table.strata)


def binary_notes(table: ScoreTable, *, refuse: bool = True) -> list[str]:
    """Return the notes, with one on scores 0 and 1 of up to 10 units; perhaps refuse up to 5."""
    varied = np.ptp(table.scores, axis=(1, 2)) > 0
    if not (table.binary & varied).any():
        return list(table.notes)
    notes = list(table.notes)
    for part in table.strata:
        topics = counted(part.size(), table.nouns.topic)
        pair = f"some pair of many equal {table.nouns.runs}"
        text = f"scores 0 and 1 of {topics}: {pair} differs on all of so few"
        if refuse and table.sizes.size <= REFUSED_BINARY:
            raise BadPlan(text)
        if 1 < part.size() <= FEW_BINARY:
            notes.append(f"{part.name}: {text}" if len(table.strata) > 1 else text)
    return notes


def above_by_cell(table: ScoreTable) -> IntArray:
    """Return how many runs have a better mean than each, by over a unit: int64 (cell, run)."""
    sums = table.units.sum(axis=-1) * np.where(table.higher, 1.0, -1.0)[:, np.newaxis]
    return ranks_above(sums, table.sizes.size)
