"""What is refused, and what is noted, of tests with few runs or topics."""

from __future__ import annotations

import numpy as np

from scorecube.analyses.table import Table
from scorecube.errors import BadName, BadPlan, counted, nearest

REFUSED_BINARY, FEW_BINARY = 5, 10
"""Numbers of units up to which scores 0 and 1 are refused, and noted: a difference on all of so few
is no rare event, and has an infinite t."""
FEW_TOPICS = 25
"""Number of topics below which error rates of the bootstrap are not known."""


def fewest_units(table: Table) -> int:
    """Return the number of units of the smallest collection."""
    return min(part.size() for part in table.strata)


def check_pairs(table: Table, name: str, baseline: str | None) -> None:
    """Refuse fewer than 2 runs or units of a collection, and an unknown baseline."""
    n_runs, n_units = len(table.runs), fewest_units(table)
    if n_runs < 2 or n_units < 2:
        raise BadPlan(
            f"{name} needs 2 runs and 2 topics of each collection; "
            f"found {counted(n_runs, 'run')} and {counted(n_units, 'topic')}"
        )
    if baseline is not None and baseline not in table.runs:
        runs = nearest(baseline, list(table.runs))
        raise BadName(f"no run {baseline!r} in the scores; nearest: {runs}", option="baseline")


def binary_notes(table: Table) -> list[str]:
    """Refuse scores 0 and 1 of up to 5 units, and return the notes, with one of up to 10."""
    n_units, varied = fewest_units(table), np.ptp(table.scores, axis=(1, 2)) > 0
    topics = counted(n_units, "topic")
    text = f"scores 0 and 1 of {topics}: some pair of many equal runs differs on all of so few"
    if n_units > FEW_BINARY or not (table.binary & varied).any():
        return list(table.notes)
    if n_units <= REFUSED_BINARY:
        raise BadPlan(text)
    return [*table.notes, text]


def family_notes(table: Table) -> list[str]:
    """Return the notes of tests of all pairs together."""
    notes, n_units = binary_notes(table), fewest_units(table)
    if n_units < FEW_TOPICS:
        notes.append(
            f"{counted(n_units, 'topic')}: with fewer than {FEW_TOPICS} the family-wise error rate "
            "is not known to be close to alpha"
        )
    return notes
