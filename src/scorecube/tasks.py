"""Plans for the collections of a study: what a command is about to do, and doing it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from scorecube.analyses import Agreement, Analysis, judgement_sets
from scorecube.cube import select
from scorecube.errors import BadName, BadPlan, BadStudy, nearest
from scorecube.execute.estimate import Estimate, estimate
from scorecube.execute.run import run
from scorecube.names import GAIN, SETTING
from scorecube.plan import Plan, make_plan, new_seed
from scorecube.schema import labels_of
from scorecube.storage import Collection, Study
from scorecube.storage.results import choose


@dataclass(frozen=True)
class Task:
    """A plan for one collection of a study: what a command is about to do."""

    collection: Collection
    cube: xr.Dataset
    plan: Plan
    warnings: tuple[str, ...]
    samples: xr.Dataset | None = None

    def stored(self) -> xr.Dataset | None:
        """Return the plan's result if it is there already."""
        return self.collection.find_result(self.plan.analysis.name, self.plan.digest)

    def is_stored(self) -> bool:
        """Whether the plan's result is there already."""
        return self.collection.has_result(self.plan.analysis.name, self.plan.digest)

    def recorded(self) -> int:
        """Return how many of the plan's units (trials, or pairs of runs) are recorded already."""
        blocks = self.collection.blocks(self.plan.analysis.name, self.plan.work_digest)
        kept = choose(blocks.records(), self.plan.analysis.units(self.cube, self.plan.trials))
        return sum(record.stop - record.start for record in kept)

    def estimate(self, workers: int, memory: int | None = None) -> Estimate:
        """Return the work to be expected."""
        return estimate(self.plan, self.cube, workers, memory=memory)

    def run(self, **how: Any) -> xr.Dataset:
        """Run the plan, recording blocks in the study, and store its result; arguments as of `execute.run.run`."""
        name = self.plan.analysis.name
        blocks = self.collection.blocks(name, self.plan.work_digest)
        result = run(self.cube, self.plan, samples=self.samples, blocks=blocks, **how)
        result = result.assign_attrs(collection=self.collection.name)
        self.collection.write_result(name, self.plan.digest, result)
        return result


def plan_in_study(
    study: Study,
    analysis: Analysis,
    *,
    collections: Sequence[str] | None = None,
    trials: int = 1000,
    seed: int | None = None,
    samples: xr.Dataset | None = None,
    **selection: Any,
) -> list[Task]:
    """Plan an analysis of all or some collections of a study; `selection` as of `cube.select`.

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
        raise BadPlan("given samples are topics of one collection; name it with --collection")
    if isinstance(analysis, Agreement):
        if len(chosen) != 2:
            raise BadPlan(
                f"two sets of judgements are two collections of the study, and {len(chosen)} are chosen: name the one that is the truth and "
                f"the other with --collections A,B; {study.path} has {', '.join(study)}"
            )
        analysis = dataclasses.replace(analysis, first=chosen[0], second=chosen[1])
        cubes = {
            chosen[0]: select_joined(judgement_sets(study[chosen[0]].cube, study[chosen[1]].cube, chosen), **selection)
        }
    else:
        cubes = {name: select(study[name].cube, **selection) for name in chosen}
    tasks = []
    fresh = new_seed() if seed is None else seed
    for name, cube in cubes.items():
        collection = study[name]
        try:
            plan = make_plan(cube, analysis, trials=trials, seed=fresh, samples=samples)
        except BadPlan as error:
            raise BadPlan(f"{name}: {error}") from None
        if seed is None:
            plan = make_plan(cube, analysis, trials=trials, seed=_seed_of_stored(collection, plan), samples=samples)
        tasks.append(Task(collection, cube, plan, tuple(analysis.check(cube)), samples))
    return tasks


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

    for facts in reversed(collection.result_facts(plan.analysis.name)):
        stored = json.loads(facts["plan"])
        if without(stored) == without(plan.record()) and stored["seed"]:
            return int(stored["seed"])
    return plan.seed
