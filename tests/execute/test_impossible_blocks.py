"""Blocks that no computation returns, of a worker that computes something else or lies, end a run, and nothing of them is stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.analyses.base import Arrays, Combine, Output
from scorecube.analyses.plan import PreparedPlan, make_plan
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.errors import ClusterFailed
from scorecube.execute import run as run_module
from scorecube.execute.executor import Blocks, Interval
from scorecube.execute.run import run
from scorecube.testing import simulate_cube, simulate_rankings
from scorecube.workflow.api import open_study, plan_in_study

Lie = Callable[[Arrays], object]


def subject(name: str) -> xr.Dataset:
    """Return a small cube that an analysis takes."""
    if registry.load(name).uses_rankings:
        rankings = simulate_rankings(n_runs=8, n_teams=3, seed=7)
        return sc.with_rankings(sc.evaluate(rankings, ["nDCG@1", "nDCG@2"], ["3:2:1"]), rankings)
    if name == "judges":
        first, second = (simulate_cube(n_runs=8, seed=seed) for seed in (1, 2))
        return judgement_sets({"truth": first, "judge": second})
    return simulate_cube(n_runs=8, seed=1)


def send(monkeypatch: pytest.MonkeyPatch, lie: Lie) -> None:
    """Let every block be changed on its way."""

    class Lying(Blocks):
        def __call__(self, interval: Interval) -> Arrays:
            block = {name: np.array(array) for name, array in super().__call__(interval).items()}
            lie(block)
            return block

    monkeypatch.setattr(run_module, "Blocks", Lying)


def lies(outputs: tuple[Output, ...], n_units: int) -> list[tuple[str, float]]:
    """Return values that are just out of the range of each output."""
    found = []
    for each in outputs:
        times = n_units if each.combine is Combine.ADD else 1
        step = 1.0 if np.dtype(each.dtype).kind in "iu" else 1e-6
        found += [(each.name, times * each.least - step)] if math.isfinite(each.least) else []
        found += [(each.name, times * each.most + step)] if math.isfinite(each.most) else []
    return found


@pytest.mark.parametrize("name", registry.names())
def test_values_out_of_their_range_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan: PreparedPlan = make_plan(subject(name), registry.load(name)(), trials=4, seed=1)
    run(plan)  # what is computed is possible
    for output, value in lies(plan.plan.analysis.outputs(plan.prepared), plan.n_units):

        def lie(block: Arrays, output: str = output, value: float = value) -> None:
            block[output].flat[-1] = value

        send(monkeypatch, lie)
        with pytest.raises(ClusterFailed, match=rf"^{name}: the block .* has values of {output} "):
            run(plan)


def both_better_in_all_trials(block: Arrays) -> None:
    block["first_better"][:] = block["second_better"][:] = 4


def one_more(block: Arrays) -> None:
    block["counts"][..., 0] += 1


def beyond_all_trials(block: Arrays) -> None:
    block["reached"][:] = 5


@pytest.mark.parametrize(
    ("analysis", "lie"),
    [
        (sc.Swap(), one_more),
        (sc.Swap(share="none"), one_more),
        (sc.Stability(), both_better_in_all_trials),
        (sc.Bootstrap(), beyond_all_trials),
        (sc.Randomisation(), beyond_all_trials),
        (sc.Unpaired(), beyond_all_trials),
    ],
)
def test_counts_that_do_not_add_up_are_refused(
    analysis: Any, lie: Lie, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(simulate_cube(n_runs=6, seed=1), analysis, trials=4, seed=1)
    run(plan)
    send(monkeypatch, lie)
    with pytest.raises(ClusterFailed, match="has counts that do not add up; nothing of it is"):
        run(plan)


@pytest.mark.parametrize("lie", [lambda block: block.pop("counts"), one_more, dict.clear])
def test_nothing_of_them_is_stored(
    lie: Lie, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "study.zarr"
    open_study(path, mode="a").add("demo", cube=simulate_cube(n_runs=6, seed=1))
    (task,) = plan_in_study(open_study(path, mode="a"), sc.Swap(), trials=40, seed=3)
    send(monkeypatch, lie)
    with pytest.raises(ClusterFailed, match=r"^swap: the block of the trials 0 to 10 that was com"):
        task.run(block_units=10)
    assert not list(path.glob("demo/blocks/*/*/record/c/*"))
    assert not list(path.glob("demo/results/*"))


def test_recorded_blocks_are_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.zarr"
    open_study(path, mode="a").add("demo", cube=simulate_cube(n_runs=6, seed=1))
    (task,) = plan_in_study(open_study(path, mode="a"), sc.Swap(), trials=40, seed=3)

    def stop() -> None:
        raise InterruptedError

    with monkeypatch.context() as believing:
        send(believing, one_more)
        believing.setattr(sc.Swap, "adds_up", lambda *_: True)
        with pytest.raises(InterruptedError):
            task.run(block_units=10, before_finalize=stop)
    with pytest.raises(ClusterFailed, match=r"the trials 0 to 10 that was recorded has counts"):
        task.run()
