"""Run every analysis on small collections, so that numba's cache holds its kernels; says what is left to the first use."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import matplotlib.font_manager  # noqa: F401 - finds the fonts once
import xarray as xr
from numba.core.dispatcher import Dispatcher

import scorecube as sc
from scorecube import kernels, metrics
from scorecube.analyses import Analysis, registry
from scorecube.errors import ScorecubeError
from scorecube.testing import simulate_rankings

N_RUNS, N_TOPICS, TRIALS = 6, 12, 20
OTHER_WAYS: tuple[Analysis, ...] = (
    *(sc.Swap(sampling=sampling) for sampling in ("replacement", "independent")),
    sc.Swap(signed=True),
    sc.Bootstrap(precision="mixed"),
    sc.Bootstrap(studentised=False),
)
"""Kernels that no analysis uses by default."""


def write_files(folder: Path) -> None:
    """Write a small collection as run files and judgements, for the readers' kernels."""
    (folder / "runs").mkdir()
    topics = range(1, N_TOPICS + 1)
    judged = (f"{topic} 0 d{k} {k % 4}\n" for topic in topics for k in range(40))
    (folder / "qrels.txt").write_text("".join(judged))
    for run in range(N_RUNS):
        found = (
            f"{topic} Q0 d{(k * (run + 2) + topic) % 41} {k} {30 - k / 7:.4f} run{run}\n"
            for topic in topics
            for k in range(30)
        )
        (folder / "runs" / f"run{run}.txt").write_text("".join(found))


def collections() -> Iterator[xr.Dataset]:
    """Yield cubes that take different ways: from files, with many runs, with area measures, of two sets of judgements."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        small = sc.read_rankings([str(folder / "runs")], str(folder / "qrels.txt"))
    yield sc.evaluate(
        small, ("AP", "Q", "nDCG@10", "P+", "AP(judged_only=True)"), ("auto", "1:1:1")
    )
    by_intents = simulate_rankings(n_runs=4, n_intents=3)
    for metric, cutoff in sc.list_metrics()[["name", "cutoff"]].to_numpy():
        label = f"{metric}@10" if cutoff == "required" else str(metric)
        with suppress(
            ScorecubeError
        ):  # those by intents need judgements by intents, and the other way round
            sc.evaluate(small, (label,), ("auto",))
        with suppress(ScorecubeError):
            sc.evaluate(by_intents, (label,), ("auto",))
    yield sc.evaluate(small, ("AP", "geo:AP", "area:AP"), ("auto",))
    many = simulate_rankings(n_runs=250)
    yield sc.evaluate(many, ("AP", "nERR@10"), ("3:2:1",))
    few = many.isel(run=slice(12))
    yield sc.judgement_sets(
        sc.evaluate(few, ("AP", "Q"), ("3:2:1",)), sc.evaluate(few, ("AP", "Q"), ("1:1:1",))
    )


def uncompiled() -> list[str]:
    """Return the kernels that nothing above has used."""
    names: list[str] = []
    for package in (kernels, metrics):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            names += [
                f"{module.__name__}.{name}"
                for name, each in vars(module).items()
                if isinstance(each, Dispatcher)
                and each.py_func.__module__ == module.__name__
                and not each.signatures
            ]
    return names


def main() -> int:
    """Compile."""
    ran: set[str] = set()
    for cube in collections():
        for analysis in (*(registry.load(name)() for name in registry.names()), *OTHER_WAYS):
            try:
                sc.analyse(cube, analysis, trials=TRIALS, seed=1)
            except ScorecubeError:
                continue  # an analysis that does not suit this collection
            ran.add(analysis.name)
    lines = [f"not run: {name}\n" for name in sorted(set(registry.names()) - ran)]
    lines += [f"left to its first use: {name}\n" for name in uncompiled()]
    sys.stderr.writelines(lines)
    return int(not ran)


if __name__ == "__main__":
    sys.exit(main())
