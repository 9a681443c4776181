"""Analyses against simulated truth: ``python -m tests.simulations.checks DATA [SAMPLES] > tables.md`` (about ten minutes of a core).

DATA has the collections. Claims that hold less often than promised are printed first, in bold if the limits of their rate over samples are below the promise.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import xarray as xr

import scorecube as sc
from scorecube.analyses.simulation.check import TEAMS
from scorecube.analyses.simulation.claims import SUBJECTS
from scorecube.analyses.simulation.families import FAMILIES
from scorecube.analyses.simulation.populations import fit_population
from scorecube.collection.rankings import with_rankings
from scorecube.ingest.in_memory import cube_from_scores
from scorecube.ingest.matrix import read_matrix

POPULATIONS = {
    "adhoc6": {"AP": "ap", "P@10": "p10", "RR": "rr"},
    "web2013": {"AP": "ap", "ERR@20": "err20", "nDCG@20": "ndcg20"},
}
RANKED = {"trec-covid-r5": "qrels.txt", "trec8-adhoc": "qrels.txt.gz"}
METRICS = ("AP", "P@10", "nDCG@10")
SAMPLES, SAMPLES_OF_TEAMS, SEED = 300, 1000, 1
BEST_RUNS = 30
"""Runs that are given equal means; the worst ones cannot have the mean of all."""
FAMILY: dict[str, Any] = {
    "tests": FAMILIES,
    "n": (25, 50),
    "alphas": (0.05,),
    "deltas": (0.0,),
    "n_resamples": 500,
    "drop_worst": 0.25,
    "copula": "gaussian",
}
"""Options of the family-wise error rates."""
MUCH = 0.01
"""How far the mean power may be below the promised one."""
LEAST_RATE = 0.005
"""Smallest true swap rate whose relative error is looked at."""
EQUAL = "ranks, equal means"
TITLES = {
    "swap": "Required differences of the swap method",
    "rates": "Swap rates of more topics",
    "correlate": "Tau over infinitely many topics",
    "design": "Topic set size design",
    "ranks": "Rank sets",
    EQUAL: "Rank sets where all means are equal",
    "reliability": "Reliability",
    "teams": "Leaving teams out",
    "families": "Family-wise error rates of tests of all pairs",
}


def cube_of(data: Path, name: str) -> xr.Dataset:
    """Return the scores of a population's collection, under all its metrics."""
    files = POPULATIONS[name]
    return cube_from_scores(
        {metric: read_matrix(data / name / f"{file}.csv") for metric, file in files.items()}
    )


def ranked_cube(data: Path, name: str) -> xr.Dataset:
    """Return scores with their rankings and teams."""
    folder = data / name
    runs = [str(folder / "runs")]
    rankings = sc.read_rankings(runs, folder / RANKED[name], teams=folder / "teams.csv")
    return with_rankings(sc.evaluate(rankings, METRICS, ("auto",)), rankings)


def table_of(name: str, cube: xr.Dataset, subject: str, samples: int, **options: Any) -> Any:
    """Return the table of one check."""
    started = time.process_time()
    analysis = sc.Check(subject=subject, **options)  # type: ignore[arg-type]
    result = sc.analyse(cube, analysis, trials=samples, seed=SEED)
    print(f"{name} {subject}: {time.process_time() - started:.0f} s of a core", file=sys.stderr)
    return sc.table(result.assign_attrs(collection=name))


def frames(data: Path, samples: int = SAMPLES) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of a table and its rows, for each subject and population."""
    logging.disable(logging.WARNING)
    fitted: dict[str, Any] = {}
    fit = fit_population

    def fit_once(scores: Any, **options: Any) -> Any:
        key = repr((name, scores.shape, options))
        if key not in fitted:
            fitted[key] = fit(scores, **options)
        return fitted[key]

    with patch("scorecube.analyses.simulation.check.fit_population", fit_once):
        for name in POPULATIONS:
            cube = cube_of(data, name)
            for subject in SUBJECTS:
                yield subject, table_of(name, cube, subject, samples)
            best = sc.select(cube, top_runs=BEST_RUNS)
            yield EQUAL, table_of(f"{name}, best", best, "ranks", samples, null=True)
        for name in POPULATIONS:
            result = sc.analyse(cube_of(data, name), sc.Errors(**FAMILY), trials=samples, seed=SEED)
            yield "families", sc.table(result.assign_attrs(collection=name))
    for name in RANKED:
        of_teams = max(samples * SAMPLES_OF_TEAMS // SAMPLES, 2)
        yield TEAMS, table_of(name, ranked_cube(data, name), TEAMS, of_teams)


def rows_of(frame: pd.DataFrame) -> Any:
    """Return the rows of a table, with its columns as attributes."""
    return frame.itertuples()


def number(value: float) -> str:
    """Return a number with as many digits as it can bear."""
    if not np.isfinite(value):
        return ""
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"  # fmt: skip


def held(row: Any) -> str:
    """Return how often a claim holds, in bold if that is less often than promised."""
    if not np.isfinite(row.held):
        return ""
    return f"**{row.held:.3f}**" if row.held_high < row.nominal else f"{row.held:.3f}"


def claims_table(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a table of claims that are promised to hold, failures first."""
    promised = frame[frame["nominal"].notna()]
    order = (promised["held"] - promised["nominal"]).sort_values(kind="stable").index
    columns = ("collection", "metric", "claim", "topics", "true", "mean estimate", "bias", "median width", "holds", "below", "above")  # fmt: skip
    yield "| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|"
    for row in rows_of(promised.loc[order]):
        shares = [f"{count / row.samples:.3f}" if np.isfinite(row.low_known) else "" for count in (row.below, row.above)]  # fmt: skip
        cells = [row.collection, row.metric, row.quantity, str(row.size), number(row.truth), number(row.estimate), number(row.bias),
                 number(row.width), held(row), *shares]  # fmt: skip
        yield "| " + " | ".join(cells) + " |"


def rates_table(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a table of swap rates: mean estimate (true; root mean square error) by number of topics."""
    rates = frame[frame["quantity"].str.startswith("swap rate")]
    sizes = sorted(rates["size"].unique())
    columns = ["collection", "metric", "difference", *(f"{size} topics" for size in sizes)]
    yield "| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|"
    for (name, metric, quantity), part in rates.groupby(["collection", "metric", "quantity"], sort=True):  # fmt: skip
        cells = [str(name), str(metric), str(quantity).split()[-1]]
        for size in sizes:
            found = part[part["size"] == size]
            cells.append("" if found.empty else rate_cell(found.iloc[0]))
        yield "| " + " | ".join(cells) + " |"


def rate_cell(row: Any) -> str:
    """Return the mean estimate of a rate with the truth, in bold if it is off by more than a half of a truth of `LEAST_RATE`."""
    text = f"{row['estimate']:.3f} ({row['truth']:.3f}; {row['error']:.3f})"
    wrong = row["truth"] >= LEAST_RATE and abs(row["bias"]) > row["truth"] / 2
    return f"**{text}**" if wrong else text


def power_table(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a table of power: mean over pairs of runs, and share of pairs with the promised one."""
    columns = ("collection", "metric", "variance", "promised", "mean power", "pairs that have it")
    yield "| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|"
    rows = frame[frame["quantity"].str.startswith("power")].sort_values("estimate", kind="stable")
    for row in rows_of(rows):
        mean = f"{row.estimate:.3f}"
        mean = f"**{mean}**" if row.estimate < row.truth - MUCH else mean
        kind = row.quantity.rpartition(" ")[2]
        cells = [row.collection, row.metric, kind, f"{row.truth:g}", mean, f"{row.held:.3f}"]
        yield "| " + " | ".join(cells) + " |"


def families_table(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a table of family-wise error rates, in bold if the limits of a rate over samples are above alpha."""
    columns = ("collection", "metric", "topics", *FAMILIES)
    yield "| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|"
    for (name, metric, n_topics), part in frame.groupby(["collection", "metric", "n_topics"]):
        rates = part.set_index("test").loc[list(FAMILIES)]
        cells = [f"**{row.rate:.3f}**" if row.rate_low > row.alpha else f"{row.rate:.3f}" for row in rows_of(rates)]  # fmt: skip
        yield "| " + " | ".join([str(name), str(metric), str(n_topics), *cells]) + " |"


def pages(found: Iterator[tuple[str, pd.DataFrame]]) -> Iterator[str]:
    """Yield the lines of all tables."""
    by_name: dict[str, list[pd.DataFrame]] = {}
    for name, frame in found:
        by_name.setdefault(name, []).append(frame)
    for name, title in TITLES.items():
        parts = by_name["swap" if name == "rates" else name]
        yield f"\n### {title}\n"
        if name == "families":
            yield from families_table(pd.concat(parts, ignore_index=True))
            continue
        frame = pd.concat(parts, ignore_index=True)
        frame = frame.assign(low_known=np.where(frame["width"].notna(), 1.0, np.nan))
        yield from rates_table(frame) if name == "rates" else claims_table(frame)
        if name == "design":
            yield ""
            yield from power_table(frame)


if __name__ == "__main__":
    print(*pages(frames(Path(sys.argv[1]), *map(int, sys.argv[2:]))), sep="\n")
