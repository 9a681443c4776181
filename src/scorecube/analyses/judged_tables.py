"""The tables of a truth and of each judge, from a cube of several sets of judgements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.table import Table, make_table
from scorecube.analyses.units import IntArray
from scorecube.collection.judgement_sets import NOT_COMMON, sets_and_settings
from scorecube.collection.schema import label_array, labels_of
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.philox import stream_key
from scorecube.names import Purpose

LEAST = 2
"""Fewest common runs, topics of a set, and shared topics for a comparison topic by topic."""
SEED = 0
"""Of the topics whose labels are used, whatever the seed of the analysis."""


@dataclass(frozen=True, eq=False)
class JudgedTable:
    """A truth and a judge: scores of the runs of both, on shared topics if there are any.

    name: Of the judge.
    truth, judge: Of the same runs, and of the same units if `is_shared`.
    further: Of the judge on its other topics; None without any.
    is_shared: Whether scores are compared topic by topic.
    order: int64 (unit,): units of `truth` in the random order in which their labels are used.
    counts: int64 (topic, level, level): documents by their levels under the truth and the judge.
    facts: ``n_shared``, ``n_truth``, ``n_judged``: topics of both sets, of the truth, of the judge;
        ``n_common_runs``.
    """

    name: str
    truth: Table
    judge: Table
    further: Table | None
    is_shared: bool
    order: IntArray
    counts: IntArray
    facts: dict[str, int]


@dataclass(frozen=True, eq=False)
class JudgedTables:
    """All judges of a cube, in its order, with the trials and the seed of a plan."""

    truth: str
    judges: tuple[JudgedTable, ...]
    notes: tuple[str, ...]
    trials: int = 1
    seed: int = 1

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs that any judge shares with the truth."""
        return tuple(dict.fromkeys(run for judge in self.judges for run in judge.truth.runs))


def judged_tables(cube: xr.Dataset) -> JudgedTables:
    """Return the tables of a cube from `scorecube.judgement_sets`.

    Raises
    ------
    BadPlan
        Another cube; missing scores; fewer than 2 common runs, or 2 topics of each set.
    """
    sets, _ = sets_and_settings(cube)
    judges = [_judged(cube, sets[0], name, place) for place, name in enumerate(sets[1:])]
    return JudgedTables(sets[0], tuple(judges), tuple(cube.attrs.get(NOT_COMMON, [])))


def _judged(cube: xr.Dataset, truth: str, judge: str, place: int) -> JudgedTable:
    """Return the tables of a judge; its place is that among the judges of the cube."""
    of_gain = np.array(labels_of(cube, names.JUDGEMENTS), object)
    parts = [cube.isel(gain=of_gain == name) for name in (truth, judge)]
    scored: list[Any] = [
        part[names.SCORE].notnull().transpose(names.RUN, names.TOPIC, ...).values for part in parts
    ]
    runs = scored[0].any(axis=(1, 2, 3)) & scored[1].any(axis=(1, 2, 3))
    topics = [scores[runs].any(axis=(0, 2, 3)) for scores in scored]
    if not all(scores[runs][:, has].all() for scores, has in zip(scored, topics, strict=True)):
        raise BadPlan(
            f"scores of {truth} or {judge} are missing; "
            f"leave their topics out with {option('missing', 'drop')}"
        )
    if min(runs.sum(), topics[0].sum(), topics[1].sum()) < LEAST:
        raise BadPlan(f"{truth} and {judge} need {LEAST} common runs, and {LEAST} topics each")
    shared, further = topics[0] & topics[1], topics[1] & ~topics[0]
    is_shared = int(shared.sum()) >= LEAST
    of_truth, of_judge = (part.isel(run=np.flatnonzero(runs)) for part in parts)
    table = _table(of_truth, shared if is_shared else topics[0])
    # The random word of a topic does not depend on what is shared.
    key = stream_key(SEED, Purpose.LABELLED_TOPICS)
    words = np.random.Philox(counter=[0, 0, 0, 0], key=key).random_raw(len(shared))[shared]
    n_documents = cube.get(names.LABEL_COUNTS)
    nothing = np.zeros((len(shared), 1, 1), np.int64)
    return JudgedTable(
        name=judge,
        truth=table,
        judge=_table(of_judge, shared if is_shared else topics[1]),
        further=_table(of_judge, further) if is_shared and further.any() else None,
        is_shared=is_shared,
        order=np.argsort(words[: table.sizes.size], kind="stable"),
        counts=nothing if n_documents is None else n_documents.values[place],
        facts={
            "n_shared": int(shared.sum()),
            "n_truth": int(topics[0].sum()),
            "n_judged": int(topics[1].sum()),
            "n_common_runs": int(runs.sum()),
        },
    )


def _table(cube: xr.Dataset, topics: NDArray[np.bool_]) -> Table:
    """Return the table of one set on some topics."""
    part = cube.isel(topic=np.flatnonzero(topics)).assign_coords(
        {
            names.GAIN: label_array(labels_of(cube, names.SETTING)),
            names.USES_GAINS: (names.METRIC, cube[names.USES_SETTINGS].values),
        }
    )
    dropped = [names.JUDGEMENTS, names.SETTING, names.USES_SETTINGS]
    return make_table(part[[names.SCORE]].drop_vars(dropped), bags=False)
