"""Results made on several threads are those made on one."""

from __future__ import annotations

import threading

import numba
import pytest
import xarray as xr

from scorecube.analyses import Analysis, Bootstrap, Randomisation
from scorecube.kernels import threads
from scorecube.kernels.threads import on_threads
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 3)


@pytest.mark.usefixtures("three_threads")
def test_items_keep_their_order_and_share_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        on_threads(lambda _: threading.current_thread(), range(3), 10)
        == [threading.current_thread()] * 3
    )
    monkeypatch.setattr(threads, "LEAST", 0)
    together = threading.Barrier(3)  # passed only by three at the same time

    def square(number: int) -> int:
        together.wait(30)
        return number * number

    assert on_threads(square, range(3), 10) == [0, 1, 4]


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("analysis", [Bootstrap(), Bootstrap(plus_one=False), Randomisation()])
def test_results_are_the_same(analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    cube = simulate_cube(metrics=("AP", "RR", "P@10", "Q"), n_runs=9, seed=2)
    found = []
    for least in (threads.LEAST, 0):
        monkeypatch.setattr(threads, "LEAST", least)
        found.append(analyse(cube, analysis, trials=60, seed=1).drop_attrs())
    xr.testing.assert_identical(*found)
