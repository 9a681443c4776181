"""Tasks: analyses of collections of a study, planned, computed and stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import xarray as xr

from scorecube.analyses.plan import Plan, PreparedPlan, check_analysis, cube_digest, make_plan
from scorecube.analyses.protocol import ALL_COLLECTIONS, ANY_NUMBER, Analysis
from scorecube.collection.arguments import labels
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.collection.many_collections import in_board_order, join_collections
from scorecube.collection.rankings import with_rankings
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import select
from scorecube.errors import BadName, BadPlan, BadStudy, nearest, option
from scorecube.execute.executor import CALLING_THREAD, Executor, Progress
from scorecube.execute.run import run
from scorecube.names import GAIN, METRIC, RUN, SETTING, TOPIC
from scorecube.storage import Collection, NewResult, Study, select_disjoint

REQUEST = "request"
"""Attribute of a result of a sweep: digest of what was asked for, see `sweep_tasks`."""
PRESET = "preset"
"""Attribute of a result: the paper whose settings it was asked for with."""
Selection = Mapping[str, Any]
"""Arguments of `scorecube.collection.selection.select`."""


class Cubes:
    """Cubes of a study that several plans share: each is read once, with its version.

    study: That holds them.
    among: How many are in use together at most, see `Collection.cube_among`.
    """

    def __init__(self, study: Study, among: int) -> None:
        self.study, self.versions = study, dict[str, str]()
        self._among, self._cubes = among, dict[str, xr.Dataset]()

    def whole(self, name: str) -> xr.Dataset:
        """Return the cube of a collection."""
        if name not in self._cubes:
            # The version first: a cube that is replaced between the two has another.
            self.versions[name] = self.study[name].cube_version
            self._cubes[name] = self.study[name].cube_among(self._among)
        return self._cubes[name]


@dataclass(frozen=True)
class Task:
    """A plan for one collection of a study, or for several that are compared.

    study: That holds the collections.
    collection: Where the result is stored.
    prepared: The plan with its prepared scores.
    versions: Of the cubes of its collections when they were read.
    read: Reads and selects its scores.
    labels: Of these, by dim: metrics and gain settings that are added later do not matter.
    request: Digest of the entry of a sweep that it was planned for; empty for none.
    preset: Paper whose settings the analysis has, which the result names; None for no paper.
    """

    study: Study
    collection: Collection
    prepared: PreparedPlan
    versions: Mapping[str, str]
    read: Callable[[Cubes], xr.Dataset]
    labels: Mapping[str, Sequence[str]]
    request: str = ""
    preset: str | None = None

    @property
    def plan(self) -> Plan:
        """Plan to compute."""
        return self.prepared.plan

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user."""
        return self.prepared.warnings

    def stored(self) -> xr.Dataset | None:
        """Return the stored result, or None; its values are loaded when they are used."""
        if not self.is_stored():
            return None
        return self.collection.open_result(self.plan.analysis.name, self.plan.digest)

    def is_stored(self) -> bool:
        """Whether the result is stored."""
        return self.collection.has_result(self.plan.analysis.name, self.plan.digest)

    def recorded(self) -> int:
        """Return the number of the plan's units (trials, or pairs of runs) in recorded blocks."""
        blocks = self.collection.blocks(self.plan.analysis.name, self.plan.work_digest)
        records = select_disjoint(blocks.records(), self.prepared.n_units)
        return sum(record.stop - record.start for record in records)

    def run(
        self,
        executor: Executor = CALLING_THREAD,
        *,
        block_units: int | None = None,
        progress: Progress | None = None,
    ) -> xr.Dataset:
        """Run the plan, record its blocks, and store and return its result.

        executor, block_units, progress: As of `scorecube.execute.run.run`.
        Raises BadStudy: Scores were replaced since they were read.
        """
        name = self.plan.analysis.name
        self._refuse_changed()
        blocks = self.collection.blocks(name, self.plan.work_digest)
        result = run(
            self.prepared, executor, blocks=blocks, block_units=block_units, progress=progress
        )
        asked = {REQUEST: self.request} if self.request else {}
        asked |= {PRESET: self.preset} if self.preset else {}
        result = result.assign_attrs(collection=self.collection.name, **asked)
        self._refuse_changed()
        version = self.versions[self.collection.name]
        new = NewResult(name, self.plan.digest, result, version=version)
        self.collection.write_results([new])
        return result

    def _refuse_changed(self) -> None:
        changed = [
            name
            for name, version in self.versions.items()
            if self.study[name].cube_version != version
        ]
        if not changed:
            return
        cube = self.read(Cubes(self.study, len(self.versions)))
        there = all(set(kept) <= set(labels_of(cube, dim)) for dim, kept in self.labels.items())
        if not there or cube_digest(cube.sel(self.labels)) != self.plan.cube_digest:
            raise BadStudy(
                f"{self.study.path}: {changed[0]}: its scores were replaced while this command "
                "ran, so its result is not stored; run the same command again"
            )


def plan_in_study(
    study: Study,
    analysis: Analysis,
    *,
    collections: Sequence[str] | None = None,
    trials: int | None = None,
    seed: int = 1,
    cubes: Cubes | None = None,
    preset: str | None = None,
    **selection: Any,
) -> list[Task]:
    """Plan an analysis of all or some collections of a study.

    study: Study that holds the collections.
    analysis: Record with its options.
    collections: Names; by default all of the study.
    trials, seed: As of `scorecube.analyse`.
    cubes: Cubes that several calls share.
    preset: Paper whose settings the analysis has, which results name.
    selection: Arguments of `scorecube.select`.
    Returns tasks: One per collection; one in all for an analysis that compares collections.
    Raises BadStudy: No collections.
    Raises BadPlan: Options that are invalid or impossible for a collection.
    """
    check_analysis(analysis)
    chosen = _chosen(study, collections)
    shared = Cubes(study, len(chosen)) if cubes is None else cubes
    analysis, groups = _grouped(study, analysis, chosen, named=collections is not None)
    tasks = []
    for group in groups:
        read = partial(_read, analysis, group, selection)
        cube = read(shared)
        try:
            prepared = make_plan(cube, analysis, trials=trials, seed=seed)
        except BadPlan as error:
            raise BadPlan(f"{group[0]}: {error.marked}", option=error.option) from None
        versions = {name: shared.versions[name] for name in group}
        kept = {dim: labels_of(cube, dim) for dim in (METRIC, GAIN, RUN, TOPIC)}
        tasks.append(Task(study, study[group[0]], prepared, versions, read, kept, preset=preset))
    return tasks


def _chosen(study: Study, collections: Sequence[str] | None) -> list[str]:
    """Return the named collections once each, by default all of the study."""
    if collections is None:
        chosen = list(study)
        if not chosen:
            raise BadStudy(
                f"{study.path}: the study has no collections; add one with scorecube evaluate or "
                "scorecube import"
            )
        return chosen
    chosen = list(dict.fromkeys(labels("collections", collections)))
    if not chosen:
        raise BadStudy(
            f"no collection is named; name at least one, or omit {option('collection')} to use all"
        )
    return chosen


def _grouped(
    study: Study, analysis: Any, chosen: list[str], *, named: bool
) -> tuple[Any, list[list[str]]]:
    """Return the analysis with the names of collections that it compares, and those of each task.

    named: Whether collections were named.
    """
    if analysis.n_collections == ALL_COLLECTIONS:
        group = in_board_order(chosen)
        return dataclasses.replace(analysis, collections=tuple(group)), [group]
    if analysis.n_collections == ANY_NUMBER:
        group = _truth_and_judges(study, analysis, chosen, named)
        return dataclasses.replace(analysis, truth=group[0], judges=tuple(group[1:])), [group]
    return analysis, [[name] for name in chosen]


def _truth_and_judges(study: Study, analysis: Any, chosen: list[str], named: bool) -> list[str]:
    """Return the truth and the judges; where only collections are named, the first is the truth."""
    truth = analysis.truth or (chosen[0] if named else "")
    judges = list(analysis.judges or [name for name in chosen if name != truth])
    if not truth or truth in judges or not judges or len(set(judges)) < len(judges):
        problem = f"{truth} and {', '.join(judges) or 'no judge'}" if truth else "no truth"
        raise BadPlan(
            f"expected a truth, and judges that are other collections, each once; found {problem}: "
            f"name them with {option('truth', 'A')} and {option('judges', ['B', 'C'])}; "
            f"{study.path} has {', '.join(study)}",
            option="judges" if truth else "truth",
        )
    return [truth, *judges]


def _read(analysis: Any, group: list[str], selection: Selection, cubes: Cubes) -> xr.Dataset:
    """Return the selected scores of the collections of a task."""
    if analysis.n_collections == ANY_NUMBER:
        return _of_judges(group, selection, cubes)
    if analysis.n_collections == ALL_COLLECTIONS:
        return joined_cubes(group, selection, cubes)
    cube = select(cubes.whole(group[0]), **selection)
    if not analysis.uses_rankings:
        return cube
    return with_rankings(cube, cubes.study[group[0]].rankings)


def _of_judges(group: Sequence[str], selection: Selection, cubes: Cubes) -> xr.Dataset:
    """Return the selected scores of the truth and of judges, with counts of their labels."""
    study, options = cubes.study, dict(selection)
    whole = {name: cubes.whole(name) for name in group}
    if options.pop("missing", None) == "drop":
        whole = {name: select(cube, missing="drop") for name, cube in whole.items()}
    rankings = {name: study[name].rankings for name in group if study[name].contents()["rankings"]}
    cube = judgement_sets(whole, rankings)
    gains = options.pop("gains", None)
    if gains is not None:
        settings = labels_of(cube, SETTING)
        for gain in gains:
            if gain not in settings:
                raise BadName(
                    f"no gain setting {gain!r} in all sets of judgements; "
                    f"nearest: {nearest(gain, settings)}"
                )
        cube = cube.isel({GAIN: [k for k, setting in enumerate(settings) if setting in gains]})
    return select(cube, **options)


def joined_cubes(group: Sequence[str], selection: Selection, cubes: Cubes) -> xr.Dataset:
    """Return the selected scores of collections, joined along topic; BadPlan for top runs."""
    options = {key: value for key, value in selection.items() if value not in (None, False)}
    for key in options.keys() & {"top_runs", "by"}:
        raise BadPlan(
            f"{option(key, options[key])}: a board ranks all runs; name some with {option('runs')}",
            option=key,
        )
    joining = {key: options.pop(key) for key in ("missing", "by_topic") if key in options}
    whole = {key: options.pop(key) for key in ("topics", "bags") if key in options}
    parts = {}
    for name in group:
        try:
            parts[name] = select(cubes.whole(name), **options)
        except (BadName, BadPlan) as error:
            raise type(error)(f"{name}: {error.marked}", option=error.option) from None
    return select(join_collections(parts, **joining), **whole)
