"""The studies of the golden corpus, and the commands that make their results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import xarray as xr

import scorecube as sc
from scorecube.testing import simulate_rankings
from tests.golden import shown
from tests.golden.dump import Parts

COMPUTED = ("scores", "design", "wcw")
"""Shown without being run."""
Make = Callable[[Path], None]


@dataclass(frozen=True)
class Golden:
    """A study whose results are shown.

    Parameters
    ----------
    make
        Writes the study.
    results
        Commands of analyses, without the study; all tables and the figure of each result are shown. ``scores``, ``design`` and ``wcw`` are
        shown without being run.
    also
        Further commands, of which the output is kept.
    brief
        Whether tables are kept in two forms instead of all.
    """

    make: Make
    results: tuple[str, ...]
    also: tuple[str, ...] = ()
    brief: bool = False


@cache
def rankings(n_topics: int = 12, n_runs: int = 7) -> xr.Dataset:
    """Return simulated rankings of runs of four teams."""
    judged = [(12 + 3 * k % 17, 8 + 5 * k % 11, k % 5) for k in range(n_topics)]
    return simulate_rankings(judged, n_runs=n_runs, n_teams=4, depth=30, seed=3)


def simulated(*names: str, gains: tuple[str, ...] = ("3:2:1",), **sizes: int) -> Make:
    """Return what makes a study of simulated collections."""

    def make(path: Path) -> None:
        study = sc.open_study(path, mode="a")
        for name in names:
            cube = sc.evaluate(rankings(**sizes), ("AP", "nDCG@10"), gains)
            study.add(name, cube=cube, rankings=rankings(**sizes))

    return make


STUDIES = {
    "splits": Golden(
        simulated("one"),
        (
            "splits",
            "splits --size 3,5",
            "splits --sampling replacement --size 4",
            "splits --sampling independent --thresholds 0.5,0.99",
        ),
    )
}


def parts_of(name: str, folder: Path) -> Parts:
    """Return everything that is shown of a study."""
    with contextlib.chdir(folder):
        return dict(_parts(STUDIES[name]))


def _parts(golden: Golden) -> Iterator[tuple[str, str]]:
    golden.make(Path(shown.STUDY))
    for command in golden.results:
        view = command.split()[0]
        if view not in COMPUTED:
            told = shown.analysed(command)
            yield f"{command}: said", told
            if told.startswith("status"):
                continue
        for part, text in shown.table_parts(view, brief=golden.brief):
            yield f"{command}: {part}", text
        yield f"{command}: figure", shown.figure(view)
    for command in golden.also:
        yield f"{command}: said", shown.said(*command.split())
    page = shown.page()
    yield "report: words", shown.words_of(page)
    yield "report: page", page
