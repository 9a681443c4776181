"""Tasks: analyses of collections of a study, planned, computed and stored."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from scorecube.storage import Collection, NewResult, Study, Writer, select_disjoint

LOGGER = logging.getLogger("scorecube")
REQUEST = "request"
"""Attribute of a result of a sweep: digest of what was asked for, see `sweep_tasks`."""
Selection = Mapping[str, Any]
"""Arguments of `scorecube.collection.selection.select`."""


class Cubes:
    """Cubes of a study that several plans share: each is read once, with its version.

    study: That holds them.
    among: How many are in use together at most, see `Collection.cube_among`.
    """

    def __init__(self, study: Study, among: int) -> None:
        self.study, self._among = study, among
        self._whole: dict[str, tuple[str, xr.Dataset]] = {}
        self._selected: dict[str, xr.Dataset] = {}

    def whole(self, name: str) -> xr.Dataset:
        """Return the cube of a collection."""
        if name not in self._whole:
            # The version first: a cube that is replaced between the two has another.
            version = self.study[name].cube_version
            self._whole[name] = version, self.study[name].cube_among(self._among)
        return self._whole[name][1]

    def version(self, name: str) -> str:
        """Return the version of a cube that was read."""
        self.whole(name)
        return self._whole[name][0]

    def selected(self, name: str, selection: Selection, *, rankings: bool) -> xr.Dataset:
        """Return the selected part of a cube, with its rankings if they are asked for."""
        chosen = {key: value for key, value in selection.items() if value not in (None, False)}
        key = json.dumps([name, rankings, chosen])
        if key not in self._selected:
            cube = select(self.whole(name), **chosen)
            if rankings:
                cube = with_rankings(cube, self.study[name].rankings)
            self._selected[key] = cube
        return self._selected[key]


@dataclass(frozen=True)
class Origin:
    """Where the scores of a plan were read.

    versions: Of the cubes of its collections when they were read.
    read: Reads and selects the scores.
    labels: Of these scores, by dim: metrics and gain settings that are added later do not matter.
    """

    versions: Mapping[str, str]
    read: Callable[[Cubes], xr.Dataset]
    labels: Mapping[str, Sequence[str]]

    def changed(self, study: Study, digest: str) -> list[str]:
        """Return the collections whose scores were replaced by others than those of a digest."""
        changed = [
            name for name, version in self.versions.items() if study[name].cube_version != version
        ]
        if not changed:
            return []
        cube = self.read(Cubes(study, len(self.versions)))
        there = all(set(own) <= set(labels_of(cube, dim)) for dim, own in self.labels.items())
        return [] if there and cube_digest(cube.sel(self.labels)) == digest else changed


@dataclass(frozen=True)
class Task:
    """A plan for one collection of a study, or for several that are compared.

    study: That holds the collections.
    collection: Where the result is stored.
    prepared: The plan with its prepared scores.
    origin: Where these were read.
    request: Digest of the entry of a sweep that it was planned for; empty for none.
    """

    study: Study
    collection: Collection
    prepared: PreparedPlan
    origin: Origin
    request: str = ""

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
        with self.study.lock(self.collection.name) as writer:
            self._refuse_changed()
            blocks = writer.blocks(name, self.plan.work_digest)
            result = run(
                self.prepared, executor, blocks=blocks, block_units=block_units, progress=progress
            )
            asked = {REQUEST: self.request} if self.request else {}
            result = result.assign_attrs(collection=self.collection.name, **asked)
            self._refuse_changed()
            self._store(writer, result)
            blocks.finish()
        return result

    def _refuse_changed(self) -> None:
        if changed := self.origin.changed(self.study, self.plan.cube_digest):
            raise BadStudy(
                f"{self.study.path}: {changed[0]}: its scores were replaced while this command "
                "ran, so its result is not stored; run the same command again"
            )

    def _store(self, writer: Writer, result: xr.Dataset) -> None:
        name, facts = self.plan.analysis.name, result_facts(result)
        if GAP in facts:
            LOGGER.warning(
                "%s: the result of %s is stored, and cannot be described: %s",
                *(self.collection.name, name, facts[GAP]),
            )
        writer.write_results([NewResult(name, self.plan.digest, result, facts)])


def plan_in_study(
    study: Study,
    analysis: Analysis,
    *,
    collections: Sequence[str] | None = None,
    trials: int | None = None,
    seed: int = 1,
    cubes: Cubes | None = None,
    **selection: Any,
) -> list[Task]:
    """Plan an analysis of all or some collections of a study.

    study: Study that holds the collections.
    analysis: Record with its options.
    collections: Names; by default all of the study.
    trials, seed: As of `scorecube.analyse`.
    cubes: Cubes that several calls share.
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
        versions = {name: shared.version(name) for name in group}
        dims = {dim: labels_of(cube, dim) for dim in (METRIC, GAIN, RUN, TOPIC)}
        tasks.append(Task(study, study[group[0]], prepared, Origin(versions, read, dims)))
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
    has = f"{study.path} has {', '.join(study)}"
    if not analysis.truth and not named:
        raise BadPlan(
            f"which collection is the truth is not known: name it with {option('truth', 'A')}; "
            f"{has}",
            option="truth",
        )
    truth = analysis.truth or chosen[0]
    judges = list(analysis.judges or [name for name in chosen if name != truth])
    if truth in judges or not judges or len(set(judges)) < len(judges):
        raise BadPlan(
            f"judges are other collections than the truth {truth}, each once; found "
            f"{', '.join(judges) or 'no judge'}: name them with {option('judges', ['B', 'C'])}; "
            f"{has}",
            option="judges",
        )
    return [truth, *judges]


def _read(analysis: Any, group: list[str], selection: Selection, cubes: Cubes) -> xr.Dataset:
    """Return the selected scores of the collections of a task."""
    if analysis.n_collections == ANY_NUMBER:
        return _of_judges(group, selection, cubes)
    if analysis.n_collections == ALL_COLLECTIONS:
        return joined_cubes(group, selection, cubes)
    return cubes.selected(group[0], selection, rankings=analysis.uses_rankings)


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
    for key in ("top_runs", "by"):
        if key in options:
            raise BadPlan(
                f"{option(key, options[key])}: a board ranks all runs; name some with "
                f"{option('runs')}",
                option=key,
            )
    joining = {key: options.pop(key) for key in ("missing", "by_topic") if key in options}
    topics = options.pop("topics", None)
    parts = {}
    for name in group:
        try:
            parts[name] = select(cubes.whole(name), **options)
        except (BadName, BadPlan) as error:
            raise type(error)(f"{name}: {error.marked}", option=error.option) from None
    return select(join_collections(parts, **joining), topics=topics)
