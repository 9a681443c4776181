"""What compiles all kernels: small work of every kind."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import xarray as xr

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.base import Analysis
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.collection.rankings import with_rankings
from scorecube.collection.schema import label_array
from scorecube.errors import ScorecubeError
from scorecube.metrics import DEFINITIONS, parse_metric
from scorecube.testing import simulate_rankings
from scorecube.workflow import api

N_RUNS, N_TOPICS, TRIALS = 6, 12, 20
JUDGED = tuple((15 + topic, 10 + topic % 5, 4) for topic in range(N_TOPICS))
"""Number of relevant documents by topic and level of simulated collections."""
METRICS_AT_A_TIME = 8
OTHER_OPTIONS: dict[str, tuple[dict[str, object], ...]] = {
    "swap": (
        {"sampling": "replacement"},
        {"sampling": "independent"},
        {"signed": True},
        {"share": "none"},
    ),
    "maxt": ({"resampling": "gaussian"},),
}
"""Options of analyses that take other kernels than the defaults."""
TOGETHER = {"leaderboard": ("ranks", "maxt", "board")}
"""Analyses with the same kernels, which processes side by side would compile several times."""


def parts() -> dict[str, Callable[[], None]]:
    """Return independent parts of about the same length by name, the longest first."""
    families = list(DEFINITIONS)
    chunks = [
        families[start : start + METRICS_AT_A_TIME]
        for start in range(0, len(families), METRICS_AT_A_TIME)
    ]
    later = {name for names in TOGETHER.values() for name in names}
    analyses: dict[str, Callable[[], None]] = {
        name: partial(_analyse, name, *TOGETHER.get(name, ()))
        for name in registry.names()
        if name not in later
    }
    first = [name for name in ("teams", "bootstrap") if name in analyses]
    return (
        {name: analyses[name] for name in first}
        | {"readers": _read, "fonts": _find_fonts}
        | {f"metrics {k}": partial(_score, chunk) for k, chunk in enumerate(chunks, 1)}
        | analyses
    )


def _find_fonts() -> None:
    """Let matplotlib list the fonts of this machine, which takes seconds at its first use."""
    import_module("matplotlib.font_manager")


def _read() -> None:
    """Read a small collection from run files and judgements."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
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
        given = partial(api.read_rankings, [str(folder / "runs")], folder / "qrels.txt", workers=1)
        for precision in ("single", "double"):
            given(precision=precision)
        given(dialect="trec-classes")


def _score(families: Sequence[str]) -> None:
    """Score small rankings with metrics."""
    rankings = simulate_rankings(JUDGED, n_runs=4)
    for name in families:
        label = f"{name}@10" if DEFINITIONS[name].cutoff == "required" else name
        for judged_only in (False, True):
            metric = dataclasses.replace(parse_metric(label), judged_only=judged_only)
            with suppress(ScorecubeError):
                api.evaluate(rankings, (str(metric),), ("auto",))


def _analyse(*names: str) -> None:
    """Run analyses of small collections with all options that take kernels of their own."""
    for name in names:
        kind: Callable[..., Analysis] = registry.load(name)
        for options in ({}, *OTHER_OPTIONS.get(name, ())):
            for cube in _cubes():
                # An analysis that does not suit a collection.
                with suppress(ScorecubeError):
                    api.analyse(cube, kind(**options), trials=TRIALS, seed=1)


@cache
def _cubes() -> tuple[xr.Dataset, ...]:
    """Return cubes that take different ways: with rankings, of few, more and many runs, with area measures, of two sets of judgements, of systems with two runs."""
    few, more, many = (simulate_rankings(JUDGED, n_runs=n, depth=50) for n in (12, 110, 250))
    systems = label_array(f"s{k // 2}" for k in range(12))
    return (
        with_rankings(api.evaluate(few, ("AP", "Q", "nDCG@10", "RBP"), ("3:2:1", "1:1:1")), few),
        api.evaluate(few, ("AP", "geo:AP", "area:AP"), ("3:2:1",)),
        api.evaluate(more, ("AP",), ("3:2:1",)),
        api.evaluate(many, ("AP", "nDCG@10"), ("3:2:1",)),
        judgement_sets(
            api.evaluate(few, ("AP", "Q"), ("3:2:1",)), api.evaluate(few, ("AP", "Q"), ("1:1:1",))
        ),
        api.evaluate(few, ("AP",)).assign_coords({names.SYSTEM: (names.RUN, systems)}),
    )
