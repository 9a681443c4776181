"""Entries of a sweep x collections of a study -> tasks; what a collection cannot do is told, not hidden."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.analyses.rank_agreement.agreement import Agreement
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.errors import BadName, BadPlan
from scorecube.storage import Study
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_sources import matching
from scorecube.workflow.tasks import Task, plan_in_study


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep is about to do.

    Parameters
    ----------
    tasks
        In the order in which they will be begun.
    skipped
        Collection, analysis and reason of what is impossible.
    """

    tasks: tuple[Task, ...]
    skipped: tuple[tuple[str, str, str], ...]


def plan_sweep(
    study: Study, entries: Iterable[Entry], *, collections: Sequence[str] | None = None, impossible: str = "skip"
) -> SweepPlan:
    """Plan all analyses of all collections.

    Parameters
    ----------
    study
        Holds the collections.
    entries
        Analyses with their options and the collections they are of.
    collections
        The collections of the sweep; all of the study by default.
    impossible
        ``skip``: what a collection is too small for, or lacks scores for, is left out and told in `skipped`. ``stop``: it is an error.

    Returns
    -------
    plan
        Tasks, and what is left out with the reason.

    Raises
    ------
    BadPlan, BadName
        Patterns that match nothing; with ``stop``, the first plan that is impossible.
    """
    known = list(collections) if collections is not None else list(study)
    tasks: dict[tuple[str, str], Task] = {}
    skipped: list[tuple[str, str, str]] = []
    cubes: dict[str, xr.Dataset] = {}
    for entry in entries:
        chosen = matching(known, entry.collections)
        if not chosen:
            raise BadPlan(
                f"{entry.analysis.name}: no collection matches {', '.join(entry.collections)}; there are {', '.join(known) or 'none'}"
            )
        groups = [chosen] if isinstance(entry.analysis, Agreement) else [[name] for name in chosen]
        for group in groups:
            try:
                found = _plan(study, entry, group, cubes)
            except (BadPlan, BadName) as error:
                if impossible == "stop":
                    raise
                reason = str(error).removeprefix(f"{group[0]}: ")
                skipped.append((", ".join(group), entry.analysis.name, reason))
                continue
            for task in found:
                tasks.setdefault((task.collection.name, task.plan.digest), task)
    return SweepPlan(tuple(tasks.values()), tuple(skipped))


def _plan(study: Study, entry: Entry, group: Sequence[str], cubes: dict[str, xr.Dataset]) -> list[Task]:
    whole = cubes.setdefault(f"{group[0]}/", study[group[0]].cube)
    selection = present(entry.selection, whole)
    found = plan_in_study(
        study, entry.analysis, collections=group, trials=entry.trials, seed=entry.seed, cubes=cubes, **selection
    )
    return [replace(task, until=entry.until) for task in found]


def present(selection: Mapping[str, Any], cube: xr.Dataset) -> dict[str, Any]:
    """Return a selection without the metrics, gain settings, runs and topics that a cube has not.

    Raises
    ------
    BadName
        The cube has none of them.
    """
    result = dict(selection)
    for key, dim in (("metrics", names.METRIC), ("gains", names.GAIN), ("runs", names.RUN), ("topics", names.TOPIC)):
        if key not in selection:
            continue
        has = set(labels_of(cube, dim))
        result[key] = [
            label for label in selection[key] if (str(parse_known(label)) if dim == names.METRIC else label) in has
        ]
        if not result[key]:
            raise BadName(f"it has none of the {key} {', '.join(map(str, selection[key]))}")
    return result
