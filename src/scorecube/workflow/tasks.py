"""Plans for the collections of a study: what a command is about to do, and doing it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from scorecube.analyses.base import Analysis
from scorecube.analyses.monte_carlo_error import monte_carlo_width
from scorecube.analyses.plan import Plan, PreparedPlan, make_plan, new_seed
from scorecube.analyses.rank_agreement.agreement import Agreement
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.collection.rankings import with_rankings
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import select
from scorecube.errors import BadName, BadPlan, BadStudy, nearest, option
from scorecube.execute.estimate import Estimate, estimate
from scorecube.execute.executor import CALLING_THREAD, Executor
from scorecube.execute.run import Progress, on_pool, run
from scorecube.names import GAIN, SETTING
from scorecube.storage import Collection, Study
from scorecube.storage.blocks import BlockStore, select_disjoint


@dataclass(frozen=True)
class Until:
    """How precise a result must be, and how many trials that may take at most; see `monte_carlo_width`."""

    width: float
    most_trials: int

    def __post_init__(self) -> None:
        if not 0 < self.width < 1:
            raise BadPlan(f"a width of {self.width} to be reached; it must lie between 0 and 1, e.g. 0.01")


@dataclass(frozen=True)
class Task:
    """A plan for one collection of a study: what a command is about to do.

    With `until`, the plan's trials are doubled until the result is precise enough. How many that takes depends on the plan and the width
    alone, so it is the same everywhere.
    """

    collection: Collection
    prepared: PreparedPlan
    until: Until | None = None

    def __post_init__(self) -> None:
        if self.until is not None and self.prepared.samples is not None:
            raise BadPlan(
                f"{option('until_width')} draws as many trials as it takes; given samples have their own number",
                option="until_width",
            )

    @property
    def plan(self) -> Plan:
        """What is to be computed."""
        return self.prepared.plan

    @property
    def cube(self) -> xr.Dataset:
        """Scores that the plan is for."""
        return self.prepared.prepared.cube

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know of the plan."""
        return self.prepared.warnings

    def stored(self) -> xr.Dataset | None:
        """Return the result if it is there already; its values are read when they are used."""
        name = self.plan.analysis.name
        found = (self.collection.open_result(name, step.plan.digest) for step in self._steps() if step._is_there())
        return next((result for result in found if self._precise(result)), None)

    def is_stored(self) -> bool:
        """Whether the result is there already."""
        return self._is_there() if self.until is None else self.stored() is not None

    def recorded(self) -> int:
        """Return how many of the plan's units (trials, or pairs of runs) are recorded already."""
        kept = select_disjoint(self._blocks().records(), self.prepared.n_units)
        return sum(record.stop - record.start for record in kept)

    def estimate(self, workers: int, memory: int | None = None) -> Estimate:
        """Return the work to be expected."""
        return estimate(self.prepared, workers, memory=memory)

    def run(
        self,
        executor: Executor = CALLING_THREAD,
        *,
        block_units: int | None = None,
        progress: Progress | None = None,
        before_finalize: Callable[[], None] | None = None,
    ) -> xr.Dataset:
        """Run the plan, recording blocks in the study, and store its result; arguments as of `execute.run.run`."""
        steps = self._steps()
        with self.collection.study.lock(self.collection.name):
            for step in steps:
                last = step is steps[-1]
                # Blocks of pairs have all their trials and serve no later step.
                result = run(
                    step.prepared,
                    executor,
                    blocks=step._blocks() if last or step.plan.analysis.unit == "trials" else None,
                    block_units=block_units,
                    progress=progress,
                    before_finalize=before_finalize,
                )
                if last or self._precise(result):
                    break
            result = result.assign_attrs(collection=self.collection.name)
            on_pool(executor.pool, self.collection.write_result, self.plan.analysis.name, step.plan.digest, result)
        return result

    def _steps(self) -> list[Task]:
        """Return this task with as many trials as are tried in turn."""
        trials = [self.plan.trials]
        while self.until is not None and trials[-1] < self.until.most_trials:
            trials.append(min(2 * trials[-1], self.until.most_trials))
        if len(trials) == 1:  # given samples have their own number of trials
            return [dataclasses.replace(self, until=None)]
        return [Task(self.collection, self.prepared.with_trials(n)) for n in trials]

    def _precise(self, result: xr.Dataset) -> bool:
        until = self.until
        return (
            until is None
            or int(result.attrs["trials"]) >= until.most_trials
            or monte_carlo_width(result) <= until.width
        )

    def _is_there(self) -> bool:
        return self.collection.has_result(self.plan.analysis.name, self.plan.digest)

    def _blocks(self) -> BlockStore:
        return self.collection.blocks(self.plan.analysis.name, self.plan.work_digest)


def plan_in_study(
    study: Study,
    analysis: Analysis,
    *,
    collections: Sequence[str] | None = None,
    trials: int = 1000,
    seed: int | None = None,
    samples: xr.Dataset | None = None,
    cubes: dict[str, xr.Dataset] | None = None,
    **selection: Any,
) -> list[Task]:
    """Plan an analysis of all or some collections of a study; `selection` as of `cube.select`.

    Plans that are given the same dictionary of `cubes`, empty at first, share those of equal selections.

    Without a seed, that of a stored result which differs in nothing else but the number of trials is taken, so that a repeated command finds it.
    """
    chosen = list(dict.fromkeys(collections)) if collections is not None else list(study)
    if collections is not None and not chosen:
        raise BadStudy("no collection given: name some, or leave the choice out to take all")
    if not chosen:
        raise BadStudy(
            f"{study.path}: the study has no collection yet; add one with scorecube evaluate or scorecube import"
        )
    if samples is not None and len(chosen) > 1 and not isinstance(analysis, Agreement):
        raise BadPlan(f"given samples are topics of one collection; name it with {option('collection')}")
    if isinstance(analysis, Agreement):
        if len(chosen) != 2:
            raise BadPlan(
                f"two sets of judgements are two collections of the study, and {len(chosen)} are chosen: name the one that is the truth and "
                f"the other with {option('collections', ['A', 'B'])}; {study.path} has {', '.join(study)}"
            )
        analysis = dataclasses.replace(analysis, first=chosen[0], second=chosen[1])
        chosen_cubes = {
            chosen[0]: select_joined(judgement_sets(study[chosen[0]].cube, study[chosen[1]].cube, chosen), **selection)
        }
    else:
        chosen_cubes = {
            name: _selected(study, name, analysis, selection, {} if cubes is None else cubes) for name in chosen
        }
    tasks = []
    fresh = new_seed() if seed is None else seed
    for name, cube in chosen_cubes.items():
        collection = study[name]
        try:
            prepared = make_plan(cube, analysis, trials=trials, seed=fresh, samples=samples)
        except BadPlan as error:
            raise BadPlan(f"{name}: {error.marked}", option=error.option) from None
        if seed is None:
            prepared = prepared.with_seed(_seed_of_stored(collection, prepared.plan))
        tasks.append(Task(collection, prepared))
    return tasks


def _selected(
    study: Study, name: str, analysis: Analysis, selection: dict[str, Any], cubes: dict[str, xr.Dataset]
) -> xr.Dataset:
    given = {option: value for option, value in selection.items() if value not in (None, False)}
    key = json.dumps([name, analysis.uses_rankings, given])
    if key not in cubes:
        cube = select(study[name].cube, **selection)
        cubes[key] = with_rankings(cube, study[name].rankings) if analysis.uses_rankings else cube
    return cubes[key]


def select_joined(cube: xr.Dataset, *, gains: Sequence[str] | None = None, **selection: Any) -> xr.Dataset:
    """Return part of a cube of two sets of judgements; gain settings by their name within a set, the top runs of the first set."""
    if gains is not None:
        settings = labels_of(cube, SETTING)
        for gain in gains:
            if gain not in settings:
                raise BadName(
                    f"no gain setting {gain!r} in both sets of judgements; nearest: {nearest(gain, settings)}"
                )
        cube = cube.isel({GAIN: [k for k, setting in enumerate(settings) if setting in set(gains)]})
    return select(cube, **selection)


def _seed_of_stored(collection: Collection, plan: Plan) -> int:
    def without(record: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in record.items() if key not in ("seed", "trials")}

    for facts in reversed(collection.result_attributes(plan.analysis.name)):
        stored = json.loads(facts["plan"])
        if without(stored) == without(plan.record()) and stored["seed"]:
            return int(stored["seed"])
    return plan.seed
