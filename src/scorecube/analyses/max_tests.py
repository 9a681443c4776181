"""Largest statistics over families of pairs in bootstrap trials: what max-T tests and leaderboards count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scorecube import names
from scorecube.analyses.leader import ends_in_units, largest_of_means, varied_runs
from scorecube.analyses.pairs import binary_notes
from scorecube.analyses.protocol import Concat, Part, Sum
from scorecube.analyses.step_down import Family, counted_maxima, family_inputs, trial_groups
from scorecube.analyses.table import Table
from scorecube.errors import counted
from scorecube.kernels.random.draws import bootstrap_samples, multiplicity_columns

TRIALS_AT_ONCE = 512
"""Trials whose resamples are in memory at a time."""
FEW_TOPICS = 25
"""Number of topics below which error rates are not known."""
FamiliesOf = Callable[[Table, int], list[Family]]
"""Makes the families of a cell."""


def families_of_cells(table: Table, make: FamiliesOf) -> list[list[Family]]:
    """Return the families of each cell, made once."""
    return table.once("families", lambda: [make(table, k) for k in range(len(table.scores))])


def notes_on_few(table: Table) -> list[str]:
    """Return the notes of a table, and what is not known with few topics; refuse scores 0 and 1 of very few."""
    notes, n_units = [*table.notes, *binary_notes(table)], min(p.size() for p in table.strata)
    if n_units < FEW_TOPICS:
        notes.append(
            f"{counted(n_units, 'topic')}: with fewer than {FEW_TOPICS} the family-wise error rate is not known to be close to alpha"
        )
    return notes


def maxima_block(
    table: Table,
    sizes: Sequence[int],
    make: FamiliesOf,
    start: int,
    stop: int,
    *,
    of_means: bool = False,
) -> dict[str, Part]:
    """Return in how many of some trials the maximum reaches each pair, and the largest statistic of each trial.

    sizes: Pairs of each family.
    of_means: Whether the largest t of the means of runs is computed, too.
    Returns reached: int64 (cell, pair), those of families behind each other; pairs that vary in ascending order, then zeros.
    Returns largest, largest_t: float64 (cell, family, trial) and (cell, trial).
    """
    n_cells, stops = len(table.scores), np.cumsum(sizes)
    reached = np.zeros((n_cells, stops[-1]), np.int64)
    largest = np.empty((n_cells, len(sizes), stop - start))
    largest_t = np.empty((n_cells, stop - start))
    strata = [(part.weight, part.units) for part in table.strata]
    for low, high in trial_groups(start, stop, TRIALS_AT_ONCE):
        counts, here = drawn_counts(table, low, high), slice(low - start, high - start)
        for cell, units in enumerate(table.units):
            inputs = table.once(f"inputs {cell}", lambda k=cell: _inputs(table, k, make))  # type: ignore[misc]
            for k, family in enumerate(inputs):
                found, largest[cell, k, here] = counted_maxima(units, strata, counts, family)
                first = stops[k] - sizes[k]
                reached[cell, first : first + len(found)] += found
            if of_means:
                ends, varied = table.once(f"ends {cell}", lambda k=cell: _ends(table, k))  # type: ignore[misc]
                largest_t[cell, here] = largest_of_means(units[varied], strata, counts, ends)
    parts: dict[str, Part] = {"reached": Sum(reached, most=1), "largest": Concat(largest)}
    return parts | ({"largest_t": Concat(largest_t)} if of_means else {})


def _inputs(table: Table, cell: int, make: FamiliesOf) -> list[dict[str, Any]]:
    families = families_of_cells(table, make)[cell]
    return [family_inputs(table, cell, family) for family in families]


def _ends(table: Table, cell: int) -> tuple[Any, Any]:
    return ends_in_units(table, cell), varied_runs(table, cell)


def drawn_counts(table: Table, start: int, stop: int) -> list[Any]:
    """Return how often each of some trials draws each unit of each collection, float64 (unit, trial)."""
    found = []
    for k, part in enumerate(table.strata):
        key, n = table.key(names.Purpose.BOOTSTRAP_TOPICS, k), part.size()
        found.append(multiplicity_columns(bootstrap_samples(key, n, start, stop), n))
    return found


def block_bytes(table: Table) -> float:
    """Return the memory of a block."""
    n_runs, n_units = len(table.runs), table.sizes.size
    return 8.0 * TRIALS_AT_ONCE * (3 * 128 + 2 * n_runs + n_units) + 2.0 * table.nbytes
