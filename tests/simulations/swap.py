"""Coverage of the swap method's intervals: ``python -m tests.simulations.swap > coverage.md`` (about half an hour).

Truth is what the comparisons of thousands of other collections give together, as many topics, runs and teams in each: the swap rate
of each bin, the difference at which the fitted rates reach 5 % (interpolated), the share of comparisons with that difference, and
how far that share is below the largest among the metrics.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from scorecube.analyses import Swap
from scorecube.analyses.topic_samples.swap_limits import Functionals
from scorecube.workflow.api import analyse
from tests.simulations.margins import METRICS, Population

Array = np.ndarray[Any, Any]
LEVEL = 0.95
LEAST_SHARE = 0.02
"""Bins with a smaller part of the comparisons are left out."""
MARKED = 0.90
BATCH = 20
RATE_TRIALS = 300
"""Trials for the intervals of swap rates about the population; the others have the default number."""
POPULATIONS = tuple(Population(n_runs, team) for n_runs in (15, 30, 60) for team in (1, 3))
COLUMNS = (
    "required difference",
    "share",
    "behind the largest share",
    "rates, mean",
    "rates, lowest",
)


def truth(population: Population, n: int, seed: int) -> dict[str, Array]:
    """Return true values of each metric, from n collections."""
    random = np.random.default_rng([seed, population.n_runs, population.team])
    count, swaps = np.zeros((2, len(METRICS), 200), np.int64)
    for low in range(0, n, BATCH):
        scores = population.scores(random, min(BATCH, n - low))
        cube = population.cube(scores.reshape(-1, *scores.shape[2:]))
        result = analyse(cube, Swap(limits=False), trials=20, seed=1, workers=1)
        for total, name in ((count, "count"), (swaps, "swaps")):
            counted = result[name].values.reshape(len(scores), len(METRICS), -1).sum(axis=0)
            total[:, : counted.shape[-1]] += counted
    found = Functionals.of(count, swaps, (LEVEL,), 1, count.shape[-1])
    with np.errstate(invalid="ignore"):
        rates = swaps / count
    return {
        "required": np.exp(found.log_required[:, 0]) * 0.01,
        "share": found.share[:, 0],
        "behind": found.share[:, 0].max() - found.share[:, 0],
        "rates": np.where(count >= LEAST_SHARE * count.sum(axis=1, keepdims=True), rates, np.nan),
    }


def covered(result: xr.Dataset, rated: xr.Dataset, true: dict[str, Array]) -> dict[str, Array]:
    """Return whether the intervals of one collection contain the true values, by metric; rates also by bin."""
    at, rated = (each.isel(gain=0, size=0, confidence=0) for each in (result, rated))

    def holds(low: str, high: str, value: Array) -> Array:
        lower, upper = at[low].values, np.nan_to_num(at[high].values, nan=np.inf)
        return np.asarray((lower <= value) & (value <= upper))

    n_bins = rated.sizes["bin"]
    low, high = rated["swap_rate_low"].values, rated["swap_rate_high"].values
    rates = true["rates"]
    inside = np.full(rates.shape, np.nan)
    filled = ~np.isnan(rates[:, :n_bins]) & ~np.isnan(low)
    within = (low <= rates[:, :n_bins]) & (rates[:, :n_bins] <= high)
    inside[:, :n_bins] = np.where(filled, within, np.nan)
    return {
        "required": holds("required_low", "required_high", true["required"]),
        "share": holds("share_low", "share_high", true["share"]),
        "behind": holds("share_behind_low", "share_behind_high", true["behind"]),
        "rates": inside,
        "unlimited": np.isnan(at["required_high"].values),
        "first": at["first_probability"].values,
        "best excluded": at["share_behind_low"].values > 0,
    }


def coverage(
    population: Population, n: int, n_truth: int, *, trials: int = 1000, seed: int = 1
) -> dict[str, Array]:
    """Return means over n collections of what `covered` returns, and the true values."""
    true = truth(population, n_truth, seed + 1000)
    random = np.random.default_rng([seed, population.n_runs, population.team])
    found = []
    for number in range(n):
        cube = population.cube(population.scores(random, 1)[0])
        result = analyse(cube, Swap(), trials=trials, seed=number, workers=1)
        about = Swap(interval="population", limits=False)
        rates = analyse(cube, about, trials=RATE_TRIALS, seed=number, workers=1)
        found.append(covered(result, rates, true))
    with np.errstate(invalid="ignore"):
        return {
            name: np.nanmean([each[name] for each in found], axis=0)
            if name != "rates"
            else _mean([each[name] for each in found])
            for name in found[0]
        } | {f"true {name}": value for name, value in true.items()}


def _mean(values: list[Array]) -> Array:
    """Return means over collections, NaN where no collection has a value."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.asarray(np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan))


def lines(population: Population, found: dict[str, Array]) -> Iterator[str]:
    """Yield rows of the table."""
    teams = "independent" if population.team == 1 else f"teams of {population.team}"
    for k, metric in enumerate(METRICS):
        rates = found["rates"][k][~np.isnan(found["rates"][k])]
        numbers = [found[name][k] for name in ("required", "share", "behind")]
        numbers += [rates.mean(), rates.min()]
        cells = [f"**{number:.2f}**" if number < MARKED else f"{number:.2f}" for number in numbers]
        values = [f"{found['true required'][k]:.3f}", f"{found['true share'][k]:.3f}"]
        more = [f"{found['unlimited'][k]:.2f}"]
        yield (
            "| "
            + " | ".join([metric, str(population.n_runs), teams, *values, *cells, *more])
            + " |"
        )


def main(n: int = 300, n_truth: int = 4000, seed: int = 1) -> None:
    """Print the table."""
    logging.disable(logging.WARNING)
    headings = [
        "metric",
        "runs",
        "",
        "true required difference",
        "true share",
        *COLUMNS,
        "no upper limit",
    ]
    print("| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|")
    for population in POPULATIONS:
        for line in lines(population, coverage(population, n, n_truth, seed=seed)):
            print(line, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
