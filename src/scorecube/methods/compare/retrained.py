"""Training runs in comparisons: what the means of systems vary by beside their topics.

Reference: Miller 2024, "Adding error bars to evals", section 3 (variance between answers of one
system, and what items explain of it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.preparation import limits_over
from scorecube.analyses.repetitions import Repetitions, repetitions_of
from scorecube.analyses.table import ScoreTable
from scorecube.errors import BadPlan, option
from scorecube.methods.compare.rows import Asked, CellScores, TrainingRuns
from scorecube.statistics.intervals import Source
from scorecube.statistics.variance import components


def check_training_runs(cubes: Mapping[str, xr.Dataset], asked: Asked) -> None:
    """Refuse systems that have one training run everywhere (BadPlan)."""
    for cube in cubes.values():
        if any(len(runs) > 1 for runs in repetitions_of(cube, asked.systems).values()):
            return
    retrained = option("retrained")
    text = (
        f"{retrained}: expected two or more training runs of {' or '.join(asked.systems)}; found "
        f"one of each; import them with {option('seed_column')}, or leave {retrained} out, for "
        "limits that are about these training runs"
    )
    raise BadPlan(text, option="retrained")


def with_training_runs(part: CellScores, repetitions: Repetitions, cell: int) -> CellScores:
    """Return the scores of a cell with the training runs of each system."""
    sides = []
    for system, labels in repetitions.by_system.items():
        values = repetitions.values(cell, system)
        explained = float(components(values)[-1]) / values.shape[1]
        sides.append(TrainingRuns(labels, values.mean(axis=1), explained))
    return part._replace(sides=tuple(sides))


def sources_of(parts: Sequence[CellScores]) -> list[Source] | str:
    """Return what training runs add to the squared error of a mean over collections, of each side.

    The variance of the runs' means of that quantity, less what topics explain, over their number;
    or why it is unknown. Where one side has one run, the variance of the other serves both.
    """
    of_parts = [part.sides for part in parts]
    sides = [_of_mean(side) for side in zip(*of_parts, strict=True)]
    known = [side for side in sides if side is not None]
    several = [side for side in known if side.number > 1]
    if len(known) < len(sides):
        return "training runs differ between collections"
    if sides and not several:
        return "a single training run"
    sources = []
    for side in several:
        share = 1 / side.number + (len(known) - len(several))
        square = float(np.var(side.means, ddof=1))
        variance = max(0.0, square - side.explained)
        sources.append(Source(share * variance, share * square, side.number - 1))
    return sources


def _of_mean(parts: Sequence[TrainingRuns]) -> TrainingRuns | None:
    """Return the means over collections of a side's training runs; None where these differ."""
    labels = parts[0].labels
    if any(part.labels != labels for part in parts):
        return None
    means = np.mean([part.means for part in parts], axis=0)
    return TrainingRuns(labels, means, sum(part.explained for part in parts) / len(parts) ** 2)


def notes_of(table: ScoreTable, repetitions: Repetitions) -> Iterator[str]:
    """Yield the notes of the means, with limits over training runs; and which serve two systems."""
    over = limits_over(table.nouns)
    repetition = table.nouns.repetition
    for note in table.notes:
        yield note.replace(over, f"{over} and {names.plural(repetition)}")
    counts = {system: len(runs) for system, runs in repetitions.by_system.items()}
    single = [system for system, number in counts.items() if number == 1]
    several = [system for system, number in counts.items() if number > 1]
    if single and several:
        yield (
            f"{single[0]} has one {repetition}: the variance between the {counts[several[0]]} "
            f"{names.plural(repetition)} of {several[0]} serves both."
        )
