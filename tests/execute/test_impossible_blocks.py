"""Blocks that no computation returns, of a worker that computes something else or lies, end a run, and nothing of them is stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scorecube as sc
from scorecube.analyses import registry
from scorecube.analyses.plan import make_plan
from scorecube.analyses.protocol import Arrays, Part, Sum, block_parts
from scorecube.errors import ClusterFailed
from scorecube.execute import blocks
from scorecube.execute.run import run
from scorecube.testing import simulate_cube
from scorecube.workflow.api import open_study, plan_in_study
from tests.analyses.test_protocol import subject

Lie = Callable[[Arrays], object]


def send(monkeypatch: pytest.MonkeyPatch, lie: Lie) -> None:
    """Let every block be changed on its way."""

    def lying(analysis: Any, table: Any, start: int, stop: int) -> dict[str, Part]:
        parts = block_parts(analysis, table, start, stop)
        arrays = {name: np.array(part.array) for name, part in parts.items()}
        lie(arrays)
        return {name: parts[name]._replace(array=array) for name, array in arrays.items()}

    monkeypatch.setattr(blocks, "block_parts", lying)


def lies(parts: dict[str, Part], n_units: int) -> list[tuple[str, float]]:
    """Return values that are just out of the range of each part."""
    found = []
    for name, part in parts.items():
        times = n_units if isinstance(part, Sum) else 1
        step = 1.0 if part.array.dtype.kind in "iu" else 1e-6
        found += [(name, times * part.least - step)] if math.isfinite(part.least) else []
        found += [(name, times * part.most + step)] if math.isfinite(part.most) else []
    return found


@pytest.mark.parametrize("name", registry.names())
def test_values_out_of_their_range_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(subject(name), registry.load(name)(), trials=4, seed=1)
    run(plan)  # what is computed is possible
    for output, value in lies(plan.declared, plan.n_units):

        def lie(block: Arrays, output: str = output, value: float = value) -> None:
            block[output].flat[-1] = value

        send(monkeypatch, lie)
        with pytest.raises(ClusterFailed, match=rf"^{name}: the block .* has values of {output} "):
            run(plan, block_units=plan.n_units)


def both_better_in_all_trials(block: Arrays) -> None:
    block["first_better"][:] = block["second_better"][:] = 4


def one_more(block: Arrays) -> None:
    block["counts"][..., 0] += 1


@pytest.mark.parametrize(
    ("analysis", "lie"),
    [
        (sc.Swap(), one_more),
        (sc.Swap(share="none"), one_more),
        (sc.Stability(), both_better_in_all_trials),
    ],
)
def test_counts_that_do_not_add_up_are_refused(
    analysis: Any, lie: Lie, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(simulate_cube(n_runs=6, seed=1), analysis, trials=4, seed=1)
    run(plan)
    send(monkeypatch, lie)
    with pytest.raises(ClusterFailed, match="has counts that do not add up; nothing of it is"):
        run(plan, block_units=4)


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
    assert not list(path.glob("demo/blocks/*/*/*.npz"))
    assert not list(path.glob("demo/results/*"))


def test_recorded_blocks_are_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.zarr"
    open_study(path, mode="a").add("demo", cube=simulate_cube(n_runs=6, seed=1))
    (task,) = plan_in_study(open_study(path, mode="a"), sc.Swap(), trials=40, seed=3)

    def stop(done: int, total: int) -> None:
        if done == total:
            raise InterruptedError

    with monkeypatch.context() as believing:
        send(believing, one_more)
        believing.setattr(sc.Swap, "adds_up", lambda *_: True)
        with pytest.raises(InterruptedError):
            task.run(block_units=10, progress=stop)
    with pytest.raises(ClusterFailed, match=r"the trials 0 to 10 that was recorded has counts"):
        task.run()
