"""Plan a sweep: one task per entry and collection; impossible plans are reported with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.errors import BadName, BadPlan
from scorecube.storage import Study
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_sources import matching
from scorecube.workflow.tasks import ReadCubes, Task, plan_in_study


@dataclass(frozen=True)
class SweepPlan:
    """Tasks of a sweep.

    Parameters
    ----------
    tasks
        In the order of the entries and collections.
    skipped
        Collection, analysis and reason of each impossible plan.
    """

    tasks: tuple[Task, ...]
    skipped: tuple[tuple[str, str, str], ...]


def plan_sweep(
    study: Study,
    entries: Iterable[Entry],
    *,
    collections: Sequence[str] | None = None,
    impossible: str = "skip",
) -> SweepPlan:
    """Plan all analyses of all collections.

    Parameters
    ----------
    study
        Study that holds the collections.
    entries
        Analyses with their options and collections.
    collections
        Names of the collections of the sweep; by default all of the study.
    impossible
        What to do if a collection is too small or lacks scores: ``skip`` adds the plan to `skipped`, ``stop`` raises an error.

    Returns
    -------
    plan
        Tasks, and skipped plans with the reasons.

    Raises
    ------
    BadPlan
        Patterns that match no collection; with ``stop``, the first impossible plan.
    BadName
        With ``stop``, a collection without the selected metrics, gain settings, runs or topics.
    """
    known = list(collections) if collections is not None else list(study)
    tasks: dict[tuple[str, str], Task] = {}
    skipped: list[tuple[str, str, str]] = []
    cubes = ReadCubes()
    for entry in entries:
        matches = matching(known, entry.collections)
        if not matches:
            raise BadPlan(
                f"{entry.analysis.name}: no collection matches {', '.join(entry.collections)}; there are {', '.join(known) or 'none'}"
            )
        groups = [matches] if entry.analysis.n_collections == 2 else [[name] for name in matches]
        for group in groups:
            try:
                planned = _plan_group(study, entry, group, cubes)
            except (BadPlan, BadName) as error:
                if impossible == "stop":
                    raise
                reason = str(error).removeprefix(f"{group[0]}: ")
                skipped.append((", ".join(group), entry.analysis.name, reason))
                continue
            for task in planned:
                tasks.setdefault((task.collection.name, task.plan.digest), task)
    return SweepPlan(tuple(tasks.values()), tuple(skipped))


def _plan_group(study: Study, entry: Entry, group: Sequence[str], cubes: ReadCubes) -> list[Task]:
    selection = restricted(entry.selection, cubes.whole(study[group[0]]))
    tasks = plan_in_study(
        study,
        entry.analysis,
        collections=group,
        trials=entry.trials,
        seed=entry.seed,
        cubes=cubes,
        **selection,
    )
    return [replace(task, until=entry.until) for task in tasks]


def restricted(selection: Mapping[str, Any], cube: xr.Dataset) -> dict[str, Any]:
    """Return a selection without the metrics, gain settings, runs and topics that a cube lacks.

    Raises
    ------
    BadName
        The cube has none of the selected ones.
    """
    result = dict(selection)
    for key, dim in (
        ("metrics", names.METRIC),
        ("gains", names.GAIN),
        ("runs", names.RUN),
        ("topics", names.TOPIC),
    ):
        if key not in selection:
            continue
        labels = set(labels_of(cube, dim))
        result[key] = [
            label
            for label in selection[key]
            if (str(parse_known(label)) if dim == names.METRIC else label) in labels
        ]
        if not result[key]:
            raise BadName(
                f"the collection has none of the {key} {', '.join(map(str, selection[key]))}"
            )
    return result
