"""Error rates of tests against the published ones: ``python -m tests.simulations.errors DATA [TRIALS [RESAMPLES]] > tables.md``.

DATA has the collections and the 45 tables of Urbano, Lima and Hanjalic (SIGIR 2019). Experiments of a table are divided among the collections of
a measure by their numbers of systems, as in the study; a table's standard error is that of the simulated rate.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube.analyses.simulation.decisions import TESTS
from scorecube.analyses.simulation.errors import Errors
from scorecube.analyses.simulation.pair_models import distinct_systems
from scorecube.ingest.in_memory import cube_from_scores
from scorecube.ingest.matrix import read_matrix
from scorecube.workflow.api import analyse

Array = np.ndarray[Any, Any]
ADHOC = ("adhoc5", "adhoc6", "adhoc7", "adhoc8")
WEB = ("web2010", "web2011", "web2012", "web2013")
MEASURES = {
    "ap": ("AP", ADHOC),
    "p10": ("P@10", ADHOC),
    "rr": ("RR", ADHOC),
    "ndcg20": ("nDCG@20", WEB),
    "err20": ("ERR@20", WEB),
}
PUBLISHED = "test-errors-2019"
SIZES, LEVEL = (25, 50, 100), 0.05
TOLERANCES = {
    "t": 0.003,
    "wilcoxon": 0.008,
    "sign": 0.008,
    "bootstrap": 0.003,
    "permutation": 0.003,
}
POWER_TOLERANCE, TYPE_3_TOLERANCE = 0.02, 0.002
DELTAS = (0.0, 0.01, 0.05)


def cube_of(data: Path, collection: str, measure: str) -> xr.Dataset:
    """Return the scores of one collection."""
    frame = read_matrix(data / collection / f"{measure}.csv")
    return cube_from_scores({MEASURES[measure][0]: frame})


def pooled(data: Path, measure: str, trials: int, **options: Any) -> xr.Dataset:
    """Return numbers of experiments and of significant ones, added up over the collections of a measure."""
    cubes = [cube_of(data, collection, measure) for collection in MEASURES[measure][1]]
    systems = np.array([len(distinct_systems(cube["score"].values[0, 0], 0.1)) for cube in cubes])
    shares = np.maximum(np.rint(trials * systems / systems.sum()), 1).astype(int)
    names = ["significant", "wrong_sign", "experiments"]
    results = [
        analyse(cube, Errors(n=SIZES, **options), trials=int(share), seed=seed)[names]
        for seed, (cube, share) in enumerate(zip(cubes, shares, strict=True), 1)
    ]
    total = results[0]
    for other in results[1:]:
        total = total + other
    return total.isel(metric=0, gain=0)


@cache
def published(data: Path, kind: str, measure: str, size: int) -> pd.DataFrame:
    """Return a published table by its first column."""
    return pd.read_csv(data / PUBLISHED / f"{kind}_{measure}_{size}.csv", index_col=0)


def cell(rate: float, known: float, tolerance: float) -> str:
    """Return a rate with the published one, in bold if it is farther from it than the tolerance."""
    text = f"{rate:.4f} ({known:.4f})"
    return f"**{text}**" if abs(rate - known) > tolerance else text


def line(first: str, size: int, cells: list[str], trials: int, largest: float) -> str:
    """Return a row of a table."""
    return "| " + " | ".join([first, str(size), *cells, f"{trials:,}", f"{largest:.4f}"]) + " |"


def rows(result: xr.Dataset, data: Path, measure: str, kind: str, delta: float) -> Iterator[str]:
    """Yield a row for each number of topics: simulated and published two-sided rates at .05."""
    for size in SIZES:
        at = result.sel(size=size, delta=delta).sel(alpha=LEVEL, method="nearest")
        counts = at["wrong_sign"] if kind == "type_3" else at["significant"].sel(sided=2)
        known = published(data, kind if kind == "type_1" else f"{kind}_by_delta", measure, size)
        row = known.iloc[np.abs(known.index.to_numpy() - (delta or LEVEL)).argmin()]
        cells, errors = [], []
        for test in TESTS:
            trials = int(at["experiments"].sel(test=test))
            rate = int(counts.sel(test=test)) / trials
            tolerance = {"type_1": TOLERANCES[test], "type_2": POWER_TOLERANCE}.get(
                kind, TYPE_3_TOLERANCE
            )
            cells.append(cell(rate, float(row[f"{test[0]}2"]), tolerance))
            errors.append((rate * (1 - rate) / trials) ** 0.5)
        yield line(MEASURES[measure][0], size, cells, int(at["experiments"].max()), max(errors))


def heading(title: str) -> str:
    """Return the first lines of a table."""
    columns = ["metric", "topics", *TESTS, "experiments", "largest standard error"]
    return f"\n### {title}\n\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|"


def main(data: Path, trials: int = 50_000, resamples: int = 10_000) -> None:
    """Print the tables: each rate with the published one, in bold beyond the tolerance."""
    logging.disable(logging.WARNING)
    tables: dict[str, list[str]] = {
        "Type I error rates at .05, two-sided": [],
        "The same for P@10, ties counting half": [],
        "Power at .05 for a difference of .05, two-sided": [],
        "Type III error rates at .05 for a difference of .01": [],
    }
    first, halves, power, third = tables.values()
    for measure in MEASURES:
        result = pooled(data, measure, trials, deltas=DELTAS, n_resamples=resamples)
        first += rows(result, data, measure, "type_1", 0.0)
        power += rows(result, data, measure, "type_2", 0.05)
        third += rows(result, data, measure, "type_3", 0.01)
        print(measure, *first[-3:], *power[-3:], *third[-3:], sep="\n", file=sys.stderr, flush=True)
    half = pooled(data, "p10", trials, deltas=(0.0,), n_resamples=resamples, ties="half")
    halves += rows(half, data, "p10", "type_1", 0.0)
    for title, lines in tables.items():
        print(heading(title), *lines, sep="\n", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
