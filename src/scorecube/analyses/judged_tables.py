"""The tables of a truth and of each judge, from a cube of several sets of judgements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.table import Table, make_table
from scorecube.collection.judgement_sets import NOT_COMMON, sets_and_settings
from scorecube.collection.schema import label_array, labels_of
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.philox import stream_key
from scorecube.names import Purpose

LEAST_SHARED = 2
"""Fewest shared topics for a comparison topic by topic."""
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
    n_shared, n_truth, n_judged: Topics of both sets, of the truth, of the judge.
    """

    name: str
    truth: Table
    judge: Table
    further: Table | None
    is_shared: bool
    order: NDArray[np.int64]
    counts: NDArray[np.int64]
    n_shared: int
    n_truth: int
    n_judged: int


@dataclass(frozen=True, eq=False)
class JudgedTables:
    """All judges of a cube.

    truth: Name of the truth.
    judges: In the order of the cube.
    notes: What is to be said of the result.
    trials, seed: Of the plan.
    """

    truth: str
    judges: tuple[JudgedTable, ...]
    notes: tuple[str, ...]
    trials: int = 1
    seed: int = 1

    @property
    def nbytes(self) -> int:
        """Memory of the scores."""
        return sum(each.truth.nbytes + each.judge.nbytes for each in self.judges)

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """Runs that any judge shares with the truth."""
        return tuple(dict.fromkeys(run for each in self.judges for run in each.truth.runs))


def judged_tables(cube: xr.Dataset) -> JudgedTables:
    """Return the tables of a cube from `scorecube.judgement_sets`.

    Raises
    ------
    BadPlan
        Another cube; missing scores; fewer than 2 common runs, or 2 topics of each set.
    """
    sets, _ = sets_and_settings(cube)
    of_set = np.array(labels_of(cube, names.JUDGEMENTS), object)
    scores = cube[names.SCORE].transpose(names.GAIN, names.METRIC, names.RUN, names.TOPIC).values
    known = [~np.isnan(scores[of_set == name]) for name in sets]
    judges = []
    for place, name in enumerate(sets[1:], 1):
        runs = known[0].any(axis=(0, 1, 3)) & known[place].any(axis=(0, 1, 3))
        of_truth, of_judge = (known[k][:, :, runs].any(axis=(0, 1, 2)) for k in (0, place))
        shared = of_truth & of_judge
        is_shared = int(shared.sum()) >= LEAST_SHARED
        for k, topics in ((0, of_truth), (place, of_judge)):
            if not known[k][:, :, runs][..., topics].all():
                raise BadPlan(
                    f"scores of {sets[0]} or {name} are missing; leave their topics out with {option('missing', 'drop')}"
                )
        if runs.sum() < 2 or min(of_truth.sum(), of_judge.sum()) < LEAST_SHARED:
            raise BadPlan(f"{sets[0]} and {name} need 2 common runs, and 2 topics each")
        parts = [
            cube.isel(gain=np.flatnonzero(of_set == each), run=np.flatnonzero(runs))
            for each in (sets[0], name)
        ]
        further = of_judge & ~shared
        truth = _table(parts[0], shared if is_shared else of_truth)
        judges.append(
            JudgedTable(
                name,
                truth,
                _table(parts[1], shared if is_shared else of_judge),
                _table(parts[1], further) if is_shared and further.any() else None,
                is_shared,
                _label_order(shared, truth.sizes.size),
                _label_counts(cube, place - 1),
                *(int(each.sum()) for each in (shared, of_truth, of_judge)),
            )
        )
    return JudgedTables(sets[0], tuple(judges), tuple(cube.attrs.get(NOT_COMMON, [])))


def _table(cube: xr.Dataset, topics: NDArray[np.bool_]) -> Table:
    """Return the table of one set on some topics."""
    part = cube.isel(topic=np.flatnonzero(topics)).assign_coords(
        {
            names.GAIN: label_array(labels_of(cube, names.SETTING)),
            names.USES_GAINS: (names.METRIC, cube[names.USES_SETTINGS].values),
        }
    )
    dropped = [names.JUDGEMENTS, names.SETTING, names.USES_SETTINGS]
    return make_table(part[[names.SCORE]].drop_vars(dropped), bags=None)


def _label_order(shared: NDArray[np.bool_], n_units: int) -> NDArray[np.int64]:
    """Return units in random order: a topic of the cube has the same word whatever topics are shared."""
    key = stream_key(SEED, Purpose.LABELLED_TOPICS)
    words = np.random.Philox(counter=[0, 0, 0, 0], key=key).random_raw(len(shared))[shared]
    return np.asarray(np.argsort(words[:n_units], kind="stable"))


def _label_counts(cube: xr.Dataset, judge: int) -> NDArray[np.int64]:
    """Return the counts of labels, (topic, level, level); no documents if labels are not known."""
    if names.LABEL_COUNTS in cube:
        return np.asarray(cube[names.LABEL_COUNTS].values[judge])
    return np.zeros((cube.sizes[names.TOPIC], 1, 1), np.int64)
