"""Plan a sweep: one task per entry and collection; impossible plans are reported with the reason."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import xarray as xr

from scorecube import names
from scorecube.analyses.plan import request_digest
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.errors import BadName, BadPlan, BadStudy, CorruptStudy
from scorecube.storage import VERSIONS, Row, Study
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_journal import FAILED, READING, Ending, Journal, message_of
from scorecube.workflow.sweep_sources import matching
from scorecube.workflow.tasks import REQUEST, ReadCubes, Task, plan_in_study


class Request(NamedTuple):
    """A result that an entry asks for, with its digest (see `digest_of_request`), and that of the stored plan if there is one."""

    entry: Entry
    collections: list[str]
    digest: str
    stored: str | None


@dataclass(frozen=True)
class SweepPlan:
    """Tasks of a sweep.

    tasks: Those to be run, in the order of the entries and collections.
    skipped: Collection, analysis and reason of each impossible plan.
    stored: Collection, analysis and plan digest of results that are stored already, and need no task.
    """

    tasks: tuple[Task, ...]
    skipped: tuple[tuple[str, str, str], ...]
    stored: tuple[tuple[str, str, str], ...] = ()


def requests_of(
    entries: Iterable[Entry],
    known: Sequence[str],
    rows: Mapping[str, Row],
    unread: Container[str] = (),
) -> list[Request]:
    """Return what entries ask for, in the order of the entries and of the known collections, without those that could not be read.

    Raises BadPlan: Patterns that match no collection.
    """
    found = []
    for entry in entries:
        matches = matching(known, entry.collections)
        if not matches:
            raise BadPlan(
                f"{entry.analysis.name}: no collection matches {', '.join(entry.collections)}; there are {', '.join(known) or 'none'}"
            )
        groups = [matches] if entry.analysis.n_collections != 1 else [[name] for name in matches]
        record = record_of(entry)
        for group in groups:
            if any(name in unread for name in group):
                continue
            digest = digest_of_request(record, [rows.get(name) for name in group])
            stored = stored_for(digest, entry, rows.get(group[0]))
            found.append(Request(entry, group, digest, stored))
    return found


def plan_sweep(study: Study, entries: Iterable[Entry], *, impossible: str = "skip") -> SweepPlan:
    """Plan all analyses of all collections of a study; see `requests_of` and `plan_requests`."""
    requests = requests_of(entries, list(study), study.rows())
    return plan_requests(study, requests, impossible=impossible)


def plan_requests(
    study: Study,
    requests: Iterable[Request],
    *,
    impossible: str = "skip",
    journal: Journal | None = None,
    cubes: ReadCubes | None = None,
) -> SweepPlan:
    """Plan what is not stored yet.

    study: Study that holds the collections.
    requests: As of `requests_of`.
    impossible: What to do if a collection is too small or lacks scores: ``skip`` adds the plan to `skipped`, ``stop``
        raises an error.
    journal: Takes the collections whose scores are damaged; None raises the error.
    cubes: Cubes that several calls share.
    Raises BadPlan: With ``stop``, the first impossible plan.
    Raises BadName: With ``stop``, a collection without the selected metrics, gain settings, runs or topics.
    """
    tasks: dict[tuple[str, str], Task] = {}
    skipped: list[tuple[str, str, str]] = []
    stored: dict[tuple[str, str, str], None] = {}
    requests, damaged = list(requests), set[str]()
    if cubes is None:
        cubes = ReadCubes(len({name for request in requests for name in request.collections}))
    for entry, group, request, known in requests:
        if known is not None:
            stored[group[0], entry.analysis.name, known] = None
        if known is not None or not damaged.isdisjoint(group):
            continue
        try:
            planned = _plan_group(study, entry, group, cubes)
        except (BadPlan, BadName) as error:
            if impossible == "stop":
                raise
            reason = error.in_file().removeprefix(f"{group[0]}: ")
            skipped.append((", ".join(group), entry.analysis.name, reason))
            continue
        except (CorruptStudy, BadStudy) as error:
            if journal is None:
                raise
            damaged.add(group[0])
            journal.fail(Ending(group[0], READING, message_of(error), FAILED))
            continue
        for task in planned:
            name = task.collection.name
            if task.is_stored():
                stored[name, task.plan.analysis.name, task.plan.digest] = None
            else:
                tasks.setdefault((name, task.plan.digest), replace(task, request=request))
    return SweepPlan(tuple(tasks.values()), tuple(skipped), tuple(stored))


def record_of(entry: Entry) -> dict[str, Any]:
    """Return what an entry asks for, as JSON values."""
    return {
        "analysis": entry.analysis.name,
        "options": entry.analysis.options(),
        "trials": entry.trials,
        "seed": entry.seed,
        "selection": {key: str(value) for key, value in entry.selection.items()},
    }


def digest_of_request(record: Mapping[str, Any], rows: Sequence[Row | None]) -> str:
    """Return the digest of an entry for collections with the scores that they have now; empty if these have no digest.

    Equal digests have equal results, so a repeated sweep need not read the scores to find its plans.

    record: Of the entry, see `record_of`.
    rows: Of the collections in the index; None for one without.
    """
    scores = [[] if row is None else [row.collection, *row.facts[VERSIONS]] for row in rows]
    if not all(each and each[1] for each in scores):
        return ""
    return request_digest({**record, "scores": scores})


def stored_for(request: str, entry: Entry, row: Row | None) -> str | None:
    """Return the plan digest of the result that was stored for a request; None if there is none."""
    if not request or row is None:
        return None
    results = row.results(entry.analysis.name)
    return next((each for each, facts in results.items() if facts.get(REQUEST) == request), None)


def _plan_group(study: Study, entry: Entry, group: Sequence[str], cubes: ReadCubes) -> list[Task]:
    selection = restricted(entry.selection, cubes.whole(study[group[0]]))
    return plan_in_study(
        study,
        entry.analysis,
        collections=group,
        trials=entry.trials,
        seed=entry.seed,
        cubes=cubes,
        **selection,
    )


def restricted(selection: Mapping[str, Any], cube: xr.Dataset) -> dict[str, Any]:
    """Return a selection without the metrics, gain settings, runs and topics that a cube lacks.

    Raises BadName: The cube has none of the selected ones.
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
