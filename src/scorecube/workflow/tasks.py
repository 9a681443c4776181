"""Tasks: plans of an analysis for collections of a study, and their runs."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from scorecube.analyses.base import ALL_COLLECTIONS, ANY_NUMBER, Analysis
from scorecube.analyses.plan import Plan, PreparedPlan, check_analysis, cube_digest, make_plan
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
from scorecube.report.stored_tables import GAP, result_facts
from scorecube.storage import BlockStore, Collection, NewResult, Study, Writer, select_disjoint

LOGGER = logging.getLogger("scorecube")
REQUEST = "request"
"""Fact of a result of a sweep: digest of what was asked for."""


class ReadCubes:
    """Cubes of a study that several plans share: each is read once, with its version.

    among: How many are in use together at most, see `Collection.cube_among`.
    """

    def __init__(self, among: int) -> None:
        self._among = among
        self._whole: dict[str, tuple[str, xr.Dataset]] = {}
        self._selected: dict[str, xr.Dataset] = {}

    def whole(self, collection: Collection) -> xr.Dataset:
        """Return the cube of a collection."""
        if collection.name not in self._whole:
            # The version first: if the cube is replaced between the two, it differs from that of the scores.
            version = collection.cube_version
            self._whole[collection.name] = version, collection.cube_among(self._among)
        return self._whole[collection.name][1]

    def version(self, collection: Collection) -> str:
        """Return the version of a cube that was read."""
        self.whole(collection)
        return self._whole[collection.name][0]

    def selected(
        self, collection: Collection, selection: dict[str, Any], *, rankings: bool
    ) -> xr.Dataset:
        """Return the selected part of a collection's cube, with the rankings if they are asked for."""
        chosen = {
            argument: value for argument, value in selection.items() if value not in (None, False)
        }
        key = json.dumps([collection.name, rankings, chosen])
        if key not in self._selected:
            cube = select(self.whole(collection), **selection)
            self._selected[key] = with_rankings(cube, collection.rankings) if rankings else cube
        return self._selected[key]


@dataclass(frozen=True)
class Origin:
    """Where the scores of a plan were read.

    versions: Collections and the versions of their cubes when they were read.
    read: Reads and selects the scores.
    labels: Of the scores that were read, by dim: metrics and gain settings that were added since do not matter.
    digest: Of these scores.
    """

    versions: tuple[tuple[Collection, str], ...]
    read: Callable[[ReadCubes], xr.Dataset]
    labels: Mapping[str, Sequence[str]]
    digest: str

    def refuse_changed(self) -> None:
        """Refuse to store a result of scores that have been replaced (BadStudy)."""
        changed = [
            collection
            for collection, version in self.versions
            if collection.cube_version != version
        ]
        if changed and not self._is_same(self.read(ReadCubes(len(self.versions)))):
            raise BadStudy(
                f"{changed[0].study.path}: {changed[0].name}: its scores were replaced while this command ran, so its result is not "
                "stored; run the same command again"
            )

    def _is_same(self, cube: xr.Dataset) -> bool:
        known = all(set(labels) <= set(labels_of(cube, dim)) for dim, labels in self.labels.items())
        return known and cube_digest(cube.sel(self.labels)) == self.digest


@dataclass(frozen=True)
class Task:
    """A plan for one collection of a study."""

    study: Study
    collection: Collection
    prepared: PreparedPlan
    origin: Origin | None = None
    request: str = ""
    """Digest of the entry of a sweep that it was planned for, see `scorecube.workflow.sweep_plan`; stored with the result."""

    @property
    def plan(self) -> Plan:
        """Plan to compute."""
        return self.prepared.plan

    @property
    def cube(self) -> xr.Dataset:
        """Selected scores, ``score[metric, gain, run, topic]``."""
        prepared = self.prepared.prepared
        return prepared.cube if prepared.source is None else prepared.source

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
        records = select_disjoint(self._blocks(self.collection).records(), self.prepared.n_units)
        return sum(record.stop - record.start for record in records)

    def run(
        self,
        executor: Executor = CALLING_THREAD,
        *,
        block_units: int | None = None,
        progress: Progress | None = None,
        before_finalize: Callable[[], None] | None = None,
    ) -> xr.Dataset:
        """Run the plan, record its blocks, and store and return its result; arguments as of `execute.run.run`."""
        with self.study.lock(self.collection.name) as writer:
            computed = self.compute(
                writer,
                executor,
                block_units=block_units,
                progress=progress,
                before_finalize=before_finalize,
            )
            executor.call(store_computed, writer, [computed])
        return computed.result

    def compute(
        self,
        writer: Writer,
        executor: Executor = CALLING_THREAD,
        *,
        block_units: int | None = None,
        progress: Progress | None = None,
        before_finalize: Callable[[], None] | None = None,
    ) -> Computed:
        """Run the plan and record its blocks with the writer of its collection; store the result with `store_computed`."""
        self.refuse_changed()
        blocks = self._blocks(writer)
        result = run(
            self.prepared,
            executor,
            blocks=blocks,
            block_units=block_units,
            progress=progress,
            before_finalize=before_finalize,
        )
        return Computed(self, result.assign_attrs(collection=self.collection.name), blocks)

    def new_result(self, result: xr.Dataset) -> NewResult:
        """Return the result with what the index says of it."""
        name, facts, digest = self.plan.analysis.name, result_facts(result), self.plan.digest
        if GAP in facts:
            LOGGER.warning(
                "%s: the result of %s is stored, and cannot be described: %s",
                *(self.collection.name, name, facts[GAP]),
            )
        return NewResult(
            name, digest, result, facts | ({REQUEST: self.request} if self.request else {})
        )

    def refuse_changed(self) -> None:
        """Refuse scores that have been replaced since the plan (BadStudy)."""
        if self.origin is not None:
            self.origin.refuse_changed()

    def _blocks(self, collection: Collection) -> BlockStore:
        return collection.blocks(self.plan.analysis.name, self.plan.work_digest)


@dataclass(frozen=True)
class Computed:
    """A result that was computed and is not stored yet.

    result: Values with provenance.
    blocks: Its recorded blocks, which are not needed any more when it is stored.
    """

    task: Task
    result: xr.Dataset
    blocks: BlockStore | None


def store_computed(writer: Writer, computed: Sequence[Computed], *, packed: bool = False) -> None:
    """Store results of one collection together, see `Writer.write_results`.

    Raises BadStudy: Scores have been replaced since they were read.
    """
    for each in computed:
        each.task.refuse_changed()  # those of another collection may have been, too
    results = [each.task.new_result(each.result) for each in computed]
    writer.write_results(results, packed=packed)
    for each in computed:
        if each.blocks is not None:
            each.blocks.finish()


def plan_in_study(
    study: Study,
    analysis: Analysis,
    *,
    collections: Sequence[str] | None = None,
    trials: int | None = None,
    seed: int = 1,
    cubes: ReadCubes | None = None,
    **selection: Any,
) -> list[Task]:
    """Plan an analysis of all or some collections of a study.

    study: Study that holds the collections.
    analysis: Record with its options.
    collections: Names; by default all of the study.
    trials, seed: As of `scorecube.analyse`.
    cubes: Cubes that several calls share.
    selection: Arguments of `scorecube.collection.selection.select`.
    Returns tasks: One per collection; one in total for an analysis that compares collections.
    Raises BadStudy: No collections.
    Raises BadPlan: Options that are invalid or impossible for a collection.
    """
    check_analysis(analysis)
    chosen = _chosen_collections(study, collections)
    cache = ReadCubes(len(chosen)) if cubes is None else cubes
    analysis, used, selected = _readers(study, analysis, chosen, collections is not None, selection)
    tasks = []
    for name, read in selected.items():
        collection, cube = study[name], read(cache)
        try:
            prepared = make_plan(cube, analysis, trials=trials, seed=seed)
        except BadPlan as error:
            raise BadPlan(f"{name}: {error.marked}", option=error.option) from None
        versions = tuple((study[each], cache.version(study[each])) for each in used or [name])
        known = {dim: labels_of(cube, dim) for dim in (METRIC, GAIN, RUN, TOPIC)}
        origin = Origin(versions, read, known, prepared.plan.cube_digest)
        tasks.append(Task(study, collection, prepared, origin=origin))
    return tasks


def _readers(
    study: Study, analysis: Any, chosen: list[str], named: bool, selection: dict[str, Any]
) -> tuple[Any, list[str], dict[str, Callable[[ReadCubes], xr.Dataset]]]:
    """Return the analysis with the names of the collections that it compares or joins, these names, and what reads the scores of each task.

    named: Whether collections were named.
    """
    selected: dict[str, Callable[[ReadCubes], xr.Dataset]]
    if analysis.n_collections == ANY_NUMBER:
        used = _truth_and_judges(study, analysis, chosen, named)
        analysis = dataclasses.replace(analysis, truth=used[0], judges=tuple(used[1:]))
        selected = {used[0]: lambda read: _selected_from_many(study, used, selection, read)}
    elif analysis.n_collections == ALL_COLLECTIONS:
        used = in_board_order(chosen)
        analysis = dataclasses.replace(analysis, collections=tuple(used))
        selected = {used[0]: lambda read: selected_from_all(study, used, selection, read)}
    else:
        selected = {
            name: lambda read, name=name: read.selected(  # type: ignore[misc]
                study[name], selection, rankings=analysis.uses_rankings
            )
            for name in chosen
        }
        used = []
    return analysis, used, selected


def _chosen_collections(study: Study, collections: Sequence[str] | None) -> list[str]:
    """Return the named collections once each, by default all of the study."""
    if collections is not None:
        chosen = list(dict.fromkeys(labels("collections", collections)))
        if not chosen:
            raise BadStudy(
                f"no collection is named; name at least one, or omit {option('collection')} to use all"
            )
        return chosen
    if not list(study):
        raise BadStudy(
            f"{study.path}: the study has no collections; add one with scorecube evaluate or scorecube import"
        )
    return list(study)


def _truth_and_judges(study: Study, analysis: Any, chosen: Sequence[str], named: bool) -> list[str]:
    """Return the names of the truth and of the judges; the first collection is the truth if only collections are named."""
    has = f"{study.path} has {', '.join(study)}"
    if not analysis.truth and not named:
        raise BadPlan(
            f"which collection counts as truth is not known: name it with {option('truth', 'A')}; {has}",
            option="truth",
        )
    truth = analysis.truth or chosen[0]
    judges = list(analysis.judges or [name for name in chosen if name != truth])
    if truth in judges or not judges or len(set(judges)) < len(judges):
        found = ", ".join(judges) or "no judge"
        raise BadPlan(
            f"judges are other collections than the truth {truth}, each once; found {found}: name them with {option('judges', ['B', 'C'])}; {has}",
            option="judges",
        )
    return [truth, *judges]


def _selected_from_many(
    study: Study, used: Sequence[str], selection: dict[str, Any], cubes: ReadCubes
) -> xr.Dataset:
    """Return the selected scores of the truth and of judges, with the counts of their labels where these are known."""
    whole = {name: cubes.whole(study[name]) for name in used}
    if selection.get("missing") == "drop":
        whole = {name: select(cube, missing="drop") for name, cube in whole.items()}
    rankings = {name: study[name].rankings for name in used if study[name].contents()["rankings"]}
    others = {key: value for key, value in selection.items() if key != "missing"}
    return select_from_sets(judgement_sets(whole, rankings), **others)


def selected_from_all(
    study: Study, chosen: Sequence[str], selection: dict[str, Any], cubes: ReadCubes
) -> xr.Dataset:
    """Return the selected scores of several collections, joined along topic; BadPlan for parts that a board has not."""
    given = {key: value for key, value in selection.items() if value not in (None, False)}
    for key in ("top_runs", "by"):
        if key in given:
            raise BadPlan(
                f"{option(key, given[key])}: a board ranks all runs; name some with {option('runs')}",
                option=key,
            )
    how = {key: given.pop(key) for key in ("missing", "by_topic") if key in given}
    topics = given.pop("topics", None)
    parts = {}
    for name in chosen:
        try:
            parts[name] = select(cubes.whole(study[name]), **given)
        except (BadName, BadPlan) as error:
            raise type(error)(f"{name}: {error.marked}", option=error.option) from None
    return select(join_collections(parts, **how), topics=topics)


def select_from_sets(
    cube: xr.Dataset, *, gains: Sequence[str] | None = None, **selection: Any
) -> xr.Dataset:
    """Return part of a cube of several sets of judgements.

    cube: As from `scorecube.judgement_sets`.
    gains: Gain settings by their names within a set.
    selection: Other arguments of `scorecube.collection.selection.select`; the top runs are those of the first set.
    Returns cube: ``score[metric, gain, run, topic]`` of all sets.
    Raises BadName: A gain setting that a set lacks.
    """
    if gains is not None:
        settings = labels_of(cube, SETTING)
        for gain in gains:
            if gain not in settings:
                raise BadName(
                    f"no gain setting {gain!r} in all sets of judgements; nearest: {nearest(gain, settings)}"
                )
        cube = cube.isel({GAIN: [k for k, setting in enumerate(settings) if setting in set(gains)]})
    return select(cube, **selection)
