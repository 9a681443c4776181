"""Tasks: analyses of collections of a study, planned, computed and stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import xarray as xr

from scorecube.analyses.plan import Plan, check_analysis, make_plan
from scorecube.analyses.protocol import ALL_COLLECTIONS, ANY_NUMBER, Analysis
from scorecube.collection.arguments import labels
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.collection.rankings import with_rankings
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import select
from scorecube.errors import BadName, BadPlan, BadStudy, option
from scorecube.execute.executor import CALLING_THREAD, Executor, Progress
from scorecube.execute.run import run
from scorecube.methods.leaderboard.collections import in_board_order, join_collections
from scorecube.names import GAIN, SETTING, TOPIC
from scorecube.storage import Collection, Study, select_disjoint
from scorecube.workflow.presets import preset_of, selection_of

REQUEST = "request"
"""Attribute of a result of a sweep: digest of what was asked for, see `sweep`."""
PRESET = "preset"
"""Attribute of a result: the paper whose settings it was asked for with."""
ADAPTED = "adapted"
"""Attribute of a result: what differs from the paper whose settings it was asked for with."""
Cubes = dict[str, tuple[str, xr.Dataset]]
"""Version and cube of collections, which several plans share: each is read once."""


@dataclass(frozen=True)
class Task:
    """A plan for one collection of a study, or for several that are compared.

    collection: Where the result is stored.
    versions: Of the cubes of its collections when they were read.
    asked: Attributes of the result that tell what was asked for: `REQUEST` and `PRESET`.
    """

    collection: Collection
    plan: Plan
    versions: Mapping[str, str]
    asked: Mapping[str, Any]

    def stored(self) -> xr.Dataset:
        """Return the stored result (BadStudy for none)."""
        return self.collection.result(self.plan.analysis.name, self.plan.digest)

    def is_stored(self) -> bool:
        """Whether the result is stored."""
        return self.collection.has_result(self.plan.analysis.name, self.plan.digest)

    def recorded(self) -> int:
        """Return the number of the plan's units (trials, or pairs of runs) in recorded blocks."""
        blocks = self.collection.blocks(self.plan.analysis.name, self.plan.work_digest)
        chosen = select_disjoint(blocks.intervals(), self.plan.n_units)
        return sum(stop - start for start, stop in chosen)

    def run(
        self,
        executor: Executor = CALLING_THREAD,
        *,
        block_units: int | None = None,
        progress: Progress | None = None,
    ) -> xr.Dataset:
        """Run the plan, record its blocks, and store and return its result.

        Raises BadStudy: Scores were replaced since they were read.
        """
        blocks = self.collection.blocks(self.plan.analysis.name, self.plan.work_digest)
        result = run(self.plan, executor, blocks=blocks, block_units=block_units, progress=progress)
        result.attrs |= {"collection": self.collection.name, **self.asked}
        study = self.collection.study
        for name, version in self.versions.items():
            if version not in study[name].head.contains:
                raise BadStudy(
                    f"{study.path}: {name}: its scores were replaced while this command "
                    "ran, so its result is not stored; run the same command again"
                )
        self.collection.write_result(result, self.versions[self.collection.name])
        return result


@contextmanager
def _naming(subject: str) -> Iterator[None]:
    """Say what an error is about."""
    try:
        yield
    except (BadName, BadPlan) as error:
        raise type(error)(f"{subject}: {error.marked}", option=error.option) from None


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

    cubes: Cubes that several calls share.
    preset: Paper whose settings the analysis has, which results name; its runs and gain settings
        are chosen where none are, and what a collection does not have is adapted, and said.
    selection: Arguments of `scorecube.select`.
    Returns tasks: One per collection; one in all for an analysis that compares collections.
    """
    check_analysis(analysis)
    names = study if collections is None else labels("collections", collections)
    chosen = list(dict.fromkeys(names))
    if not chosen:
        raise BadStudy(f"{study.path}: no collections; add one with scorecube evaluate or import")
    read = Cubes() if cubes is None else cubes

    record, groups = _grouped(study, analysis, chosen, named=collections is not None)
    of_paper = preset_of(preset, record.name) if preset else None
    tasks = []
    for group in groups:
        for name in set(group) - read.keys():
            # The version first: a cube that is replaced between the two has another.
            read[name] = study[name].head.cube, study[name].cube_among(len(chosen))
        whole, part = {name: read[name][1] for name in group}, dict(selection)
        said, fitted = list[str](), record
        if of_paper is not None:
            part, said = selection_of(of_paper, whole[group[0]], part)
        if record.n_collections == ANY_NUMBER:
            cube = _of_judges(study, whole, part)
        elif record.n_collections == ALL_COLLECTIONS:
            cube = _of_board(whole, part)
        else:
            cube = select(whole[group[0]], **part)
            if record.uses_rankings:
                cube = with_rankings(cube, study[group[0]].rankings)
        if of_paper is not None:
            fitted, remarks = record.fitted(of_paper, cube.sizes[TOPIC])
            said += remarks
        with _naming(group[0]):
            plan = make_plan(cube, fitted, trials=trials, seed=seed, said=said)
        asked = {PRESET: preset, ADAPTED: said} if preset else {}
        versions = {name: read[name][0] for name in group}
        tasks.append(Task(study[group[0]], plan, versions, asked))
    return tasks


def _grouped(
    study: Study, analysis: Any, chosen: list[str], *, named: bool
) -> tuple[Any, list[list[str]]]:
    """Return the analysis with the names of what it compares, and the collections of each task."""
    if analysis.n_collections == ALL_COLLECTIONS:
        group = in_board_order(chosen)
        return dataclasses.replace(analysis, collections=tuple(group)), [group]
    if analysis.n_collections != ANY_NUMBER:
        return analysis, [[name] for name in chosen]
    truth = analysis.truth or (chosen[0] if named else "")
    judges = list(analysis.judges or [name for name in chosen if name != truth])
    if not truth or truth in judges or not judges or len(set(judges)) < len(judges):
        raise BadPlan(
            f"{option('truth', 'A')} and {option('judges', ['B', 'C'])}: expected other "
            f"collections, each once; {study.path} has {', '.join(study)}",
            option="judges" if truth else "truth",
        )
    return dataclasses.replace(analysis, truth=truth, judges=tuple(judges)), [[truth, *judges]]


def _of_judges(
    study: Study, cubes: Mapping[str, xr.Dataset], selection: Mapping[str, Any]
) -> xr.Dataset:
    """Return the selected scores of the truth and of judges, with counts of their labels."""
    options = dict(selection)
    if options.pop("missing", None) == "drop":
        cubes = {name: select(cube, missing="drop") for name, cube in cubes.items()}
    evaluated = {name: study[name].rankings for name in cubes if study[name].head.rankings}
    cube = judgement_sets(cubes, evaluated)
    if (gains := options.pop("gains", None)) is not None:
        settings = labels_of(cube, SETTING)
        if unknown := set(gains).difference(settings):
            raise BadName(f"no gain setting {', '.join(unknown)} in all sets of judgements")
        cube = cube.isel({GAIN: [k for k, setting in enumerate(settings) if setting in gains]})
    return select(cube, **options)


def _of_board(cubes: Mapping[str, xr.Dataset], selection: Mapping[str, Any]) -> xr.Dataset:
    """Return the selected scores of collections, joined along topic; BadPlan for top runs."""
    options = {key: value for key, value in selection.items() if value not in (None, False)}
    if key := next(iter(options.keys() & {"top_runs", "by"}), None):
        raise BadPlan(
            f"{option(key, options[key])}: a board ranks all runs; name some with {option('runs')}",
            option=key,
        )
    missing = options.pop("missing", "refuse")
    after = {key: options.pop(key) for key in ("topics", "bags") if key in options}
    parts = {}
    for name, cube in cubes.items():
        with _naming(name):
            parts[name] = select(cube, **options)
    return select(join_collections(parts, missing=missing), **after)
