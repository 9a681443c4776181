"""What a sweep will take, from some of its collections, which are read and timed, not stored."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import NamedTuple

import numpy as np

from scorecube.execute.forecast import DOUBT, forecast
from scorecube.storage import Study, open_study
from scorecube.storage.place import Place
from scorecube.workflow.sweep_run import (
    READING,
    Outcome,
    Problem,
    SweepTask,
    read_source,
    sizes_of,
    stored_for,
)
from scorecube.workflow.tasks import Cubes, plan_in_study

TIMED = 3
"""Collections that are timed: the largest, the smallest, and between them."""


class SweepForecast(NamedTuple):
    """What is left of a sweep.

    collections: Those that lack a result.
    timed: Names of those that were read and timed.
    seconds: Processor time, of reading and of analyses of single collections.
    n_bytes: Memory of a task, of the largest collection timed.
    n_files: Files that will be stored.
    joined: Analyses of several collections, which are not predicted.
    problems: Of those that were timed.
    """

    collections: int
    timed: list[str]
    seconds: float
    n_bytes: int
    n_files: int
    joined: list[str]
    problems: list[Problem]

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the most processor time that are expected, in seconds."""
        return self.seconds / DOUBT, self.seconds * DOUBT


class Timed(NamedTuple):
    """What one collection takes, see `SweepForecast`."""

    seconds: float
    n_bytes: int
    n_files: int


def forecast_sweep(study: Study | None, tasks: Sequence[SweepTask]) -> SweepForecast:
    """Predict what is left of the tasks of a sweep; what is between those timed is interpolated.

    study: What is stored already; None for nothing.
    """
    left = [task for task in tasks if _is_left(study, task)]
    entries = [task.entries.values() for task in left if len(task.collections) > 1]
    single = [task for task in left if len(task.collections) == 1]
    sizes = sizes_of(study, single)
    ordered = sorted(single, key=lambda task: sizes[task.collections[0]])
    places = np.linspace(0, len(ordered) - 1, min(TIMED, len(ordered))).round().astype(int)
    found = dict[str, Timed]()
    outcome = Outcome()
    for number, place in enumerate([*places[:1], *places]):
        task = ordered[place]
        if number == 1:  # the first time imports, and loads kernels
            outcome = Outcome()
        with outcome.noting(task.collections[0], READING):
            found[task.collections[0]] = _time(study, task, outcome)
    seconds = {name: of.seconds for name, of in found.items()}
    files = {name: of.n_files for name, of in found.items()}
    return SweepForecast(
        collections=len(ordered),
        timed=list(found),
        seconds=_interpolated(sizes, seconds),
        n_bytes=max((of.n_bytes for of in found.values()), default=0),
        n_files=round(_interpolated(sizes, files)),
        joined=[of.analysis.name for of in chain.from_iterable(entries)],
        problems=[*outcome.failed, *outcome.left_out],
    )


def _is_left(study: Study | None, task: SweepTask) -> bool:
    """Whether a task lacks a collection, or a result."""
    if study is None or not all(name in study for name in task.collections):
        return True
    found = (stored_for(study, task.collections, entry) for entry in task.entries.values())
    return not all(digest for _, digest in found)


def _time(study: Study | None, task: SweepTask, outcome: Outcome) -> Timed:
    """Return what a collection takes, read into a temporary study unless it is stored."""
    name = task.collections[0]
    begin = time.thread_time()
    seconds = 0.0
    needed = 0
    with tempfile.TemporaryDirectory(prefix="scorecube-") as folder:
        place = study
        if place is None or name not in place:
            place = open_study(folder, mode="a")
            read_source(place, task, outcome, 1)
        n_files = len(Place(folder).files(""))
        cubes = Cubes()
        for entry in task.entries.values():
            with outcome.noting(name, entry.analysis.name):
                settings = {"trials": entry.trials, "seed": entry.seed, **entry.selection}
                planned = plan_in_study(
                    place, entry.analysis, collections=[name], cubes=cubes, **settings
                )
                for work in planned:
                    if work.is_stored():
                        continue
                    started = time.thread_time()
                    of = forecast(work.plan, units_left=work.plan.n_units - work.recorded())
                    begin += time.thread_time() - started
                    seconds += of.seconds
                    needed = max(needed, of.n_bytes)
                    n_files += of.n_files
    return Timed(seconds + time.thread_time() - begin, needed, n_files)


def _interpolated(sizes: Mapping[str, int], values: Mapping[str, float]) -> float:
    """Return the sum over all sizes of values that are known for some, by name."""
    if not values:
        return 0.0
    of_size = dict[int, list[float]]()
    for name, value in values.items():
        of_size.setdefault(sizes[name], []).append(value)
    known = sorted(of_size)
    means = [fmean(of_size[size]) for size in known]
    return float(np.interp([*sizes.values()], known, means).sum())
