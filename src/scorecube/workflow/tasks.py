"""Tasks: analyses of collections of a study, planned, computed and stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from scorecube.analyses.plan import Plan, check_analysis, make_plan
from scorecube.analyses.protocol import Analysis
from scorecube.collection.arguments import labels
from scorecube.errors import BadStudy, about
from scorecube.execute.executor import CALLING_THREAD, Executor, Progress
from scorecube.execute.run import check_reading, run
from scorecube.names import TOPIC
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

    def make_latest(self, result: xr.Dataset) -> None:
        """Make the stored result the latest of its analysis (StoreFailed where none is written)."""
        if self.collection.latest(self.plan.analysis.name).digest != self.plan.digest:
            self.collection.write_result(result, self.versions[self.collection.name])

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
    for name in chosen:
        if name not in read:  # the version first: a cube that is replaced has another
            read[name] = study[name].head.cube, study[name].cube_among(len(chosen))
    of_each = {name: read[name][1] for name in chosen}
    chosen, left_out = analysis.chosen(of_each, named=collections is not None)
    record, groups = analysis.grouped(chosen, named=collections is not None)
    of_paper = preset_of(preset, record.name) if preset else None
    tasks = []
    for group in groups:
        whole = {name: read[name][1] for name in group}
        part = dict(selection)
        said = list[str]()
        fitted = record
        if of_paper is not None:
            part, said = selection_of(of_paper, whole[group[0]], part)
        cube = record.join(whole, _Rankings(study, group), part)
        if of_paper is not None:
            fitted, remarks = record.fitted(of_paper, cube.sizes[TOPIC])
            said += remarks
        with about(group[0]):
            check_reading(cube, CALLING_THREAD)
            plan = make_plan(cube, fitted, trials=trials, seed=seed, said=[*left_out, *said])
        asked = {PRESET: preset, ADAPTED: said} if preset else {}
        versions = {name: read[name][0] for name in group}
        tasks.append(Task(study[group[0]], plan, versions, asked))
    return tasks


class _Rankings(Mapping[str, xr.Dataset]):
    """Rankings of the collections of a study that have some, opened when they are used."""

    def __init__(self, study: Study, collections: Sequence[str]) -> None:
        self._study = study
        self._names = [name for name in collections if study[name].head.rankings]

    def __getitem__(self, name: str) -> xr.Dataset:
        return self._study[name].rankings

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
