"""The record: 250 million p-values, all tables of type I error rates of Urbano, Lima and Hanjalic (SIGIR 2019) at their full size.

``python -m tests.benchmarks record`` times a small part of it on one core and says what the whole takes. The whole is
``python -m tests.simulations.errors DATA 1667000``; each collection of it by itself, resumable, is ``scorecube errors STUDY --n 25,50,100 --delta 0 --trials N``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import xarray as xr

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.analyses.simulation.decisions import TESTS as ALL
from scorecube.analyses.simulation.errors import GROUP
from scorecube.execute.blas_threads import one_blas_thread
from scorecube.testing import simulate_cube

TRIALS, TABLES, TESTS = 1_667_000, 15, 10
GROUPS = 2
"""Of trials, which are timed."""


def seconds_of(function: Callable[[], object]) -> float:
    """Return the time of a call on one core."""
    started = time.process_time()
    function()
    return time.process_time() - started


def per_experiment(cube: xr.Dataset, analysis: sc.Errors) -> float:
    """Return seconds of a trial, without those of the model."""
    trials = GROUPS * GROUP
    prepared = make_plan(cube, analysis, trials=trials, seed=1)
    inputs = analysis.inputs(prepared.prepared, trials, 1)
    analysis.block(inputs, 0, 10)  # compiles
    return min(seconds_of(lambda: analysis.block(inputs, 0, trials)) for _ in range(2)) / trials


def main() -> None:
    """Print p-values per second and core, and the time of the record."""
    cube: xr.Dataset = simulate_cube(metrics=("AP",), n_runs=40, seed=1)
    rates = {}
    with one_blas_thread():
        for name, tests in (("all tests", ALL), ("without resampling", ALL[:3])):
            rates[name] = per_experiment(cube, sc.Errors(tests=tests, deltas=(0.0,)))
            print(
                f"{name}: {rates[name] * 1e6:.0f} us of a core for an experiment with 25, one with 50 and one with 100 topics"
            )
        rate = 3 * TESTS / rates["all tests"]
        total = TRIALS * TABLES / 3 * rates["all tests"]
        print(f"{rate:,.0f} p-values per second and core, of B = 10,000 resamples; all {TRIALS * TABLES * TESTS / 1e6:,.0f} million: "
              f"{total / 3600:.2f} core-hours, {total / 7200 * 60:.0f} min on two cores, {total / 1000:.1f} s on 1,000")  # fmt: skip
        population = sc.simulate
        wide = simulate_cube(
            metrics=("AP", "P@10", "nDCG@10", "RR", "RBP(p=0.8)"), n_runs=100, seed=1
        )
        topics = 20_000
        small = seconds_of(lambda: population(wide, topics=2))
        taken = seconds_of(lambda: population(wide, topics=topics)) - small
        size = wide.sizes["run"] * wide.sizes["metric"]
        print(f"simulate, {wide.sizes['run']} runs x {wide.sizes['metric']} metrics jointly: {small:.0f} s for the model, then "
              f"{taken / topics / size * 1e9:.0f} ns a score: {small + taken / topics * 100_000:.0f} s of a core for 100,000 topics")  # fmt: skip


if __name__ == "__main__":
    main()
