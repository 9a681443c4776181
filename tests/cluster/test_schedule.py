"""The simulated schedules of `tests/benchmarks/scaling.py`, where they can be told by hand."""

from __future__ import annotations

import pytest

from tests.benchmarks.scaling import Costs, makespan, sweep_seconds


def test_cores_share_blocks_until_the_scheduler_or_the_driver_is_the_limit() -> None:
    assert makespan(1, 20, 0.5, 0, 0) == pytest.approx(10)
    assert makespan(5, 20, 0.5, 0, 0) == pytest.approx(2)
    assert makespan(5, 21, 0.5, 0, 0) == pytest.approx(2.5), "the last block is alone"
    assert makespan(100, 20, 0.5, 0, 0) == pytest.approx(0.5), "more cores than blocks"
    assert makespan(100, 20, 0.5, 0.1, 0) == pytest.approx(20 * 0.1 + 0.5), "handed out one by one"
    assert makespan(100, 20, 0.5, 0, 1) == pytest.approx(20 * 1 + 1), "recorded one by one"


def test_drivers_share_collections() -> None:
    costs = Costs(trial=0.001, task=0, record=0, collection=1)
    one, blocks = sweep_seconds(costs, 10, 1, 1.0)
    assert blocks == 100
    assert one == pytest.approx(1000 * (10 + 1))
    ten, _ = sweep_seconds(costs, 10, 10, 1.0)
    assert ten == pytest.approx(100 * (100 + 1))
