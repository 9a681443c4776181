"""Coverage of the swap method's intervals: ``python -m tests.simulations.swap > coverage.md`` (about half an hour); ``first`` behind it: how often `first_probability` is right.

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

import scorecube as sc
from scorecube.analyses import Swap
from scorecube.analyses.topic_samples.swap_limits import Functionals
from scorecube.workflow.api import analyse
from tests.simulations.margins import METRICS, Population
from tests.simulations.truths import cube_of, real_scores

Array = np.ndarray[Any, Any]
LEVEL = 0.95
LEAST_SHARE = 0.02
"""Bins with a smaller part of the comparisons are left out."""
MARKED = 0.90
BATCH = 20
RATE_TRIALS = 300
"""Trials for the intervals of swap rates about the population; the others have the default number."""
POPULATIONS = tuple(Population(n_runs, team) for n_runs in (15, 30, 60) for team in (1, 3))
REAL = (
    ("adhoc8/ap.csv", "adhoc8/p10.csv"),
    ("syndl-dl2020/nist-nDCG10.csv", "syndl-dl2020/nist-AP.csv", "syndl-dl2020/nist-RR.csv"),
)
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


BINS = ((0.0, 0.75), (0.75, 0.95), (0.95, 1.01))
"""Of the probabilities that are stated of the metric with the largest."""


def first(population: Population, n: int, n_truth: int, seed: int = 1) -> Iterator[str]:
    """Yield how often the metric that is said to be first with some probability has the largest share of all collections, by bins of what is said."""
    true = int(np.argmax(truth(population, n_truth, seed + 1000)["share"]))
    random = np.random.default_rng([seed, population.n_runs, population.team])
    stated, right = np.empty(n), np.empty(n, bool)
    for number in range(n):
        cube = population.cube(population.scores(random, 1)[0])
        found = analyse(cube, Swap(), trials=300, seed=number, workers=1)["first_probability"]
        values = found.isel(gain=0, size=0, confidence=0).values
        stated[number], right[number] = np.nanmax(values), np.nanargmax(values) == true
    yield from binned(f"{population.n_runs} runs, teams of {population.team}", stated, right)


def first_of_real(names: tuple[str, ...], n: int, n_truth: int, seed: int = 1) -> Iterator[str]:
    """Yield the same of topics drawn with replacement from collections, metrics of the same runs."""
    whole = np.array([real_scores(name) for name in names])
    stated, right, shares = np.empty(n), np.empty(n, int), np.zeros(len(names))
    for number in range(n + n_truth):
        chance = np.random.default_rng([seed, number])
        drawn = whole[..., chance.integers(0, whole.shape[-1], 50)]
        limits = number < n
        found = analyse(cube_of(list(drawn)), Swap(limits=limits), trials=300 if limits else 50, seed=number, workers=1)  # fmt: skip
        at = found.isel(gain=0, size=0)
        if limits:
            values = at["first_probability"].isel(confidence=0).values
            stated[number], right[number] = np.nanmax(values), np.nanargmax(values)
        else:
            shares += np.nan_to_num(sc.complete(found)["share"].isel(gain=0, size=0, confidence=0).values)  # fmt: skip
    yield from binned(", ".join(names), stated, right == int(np.argmax(shares)))


def binned(name: str, stated: Array, right: Array) -> Iterator[str]:
    """Yield a row for each of `BINS` with any: mean of what is said, share that is right, its standard error, number."""
    for low, high in BINS:
        chosen = (stated >= low) & (stated < high)
        if chosen.any():
            rate, number = right[chosen].mean(), int(chosen.sum())
            error = np.sqrt(max(rate * (1 - rate), 0.25 / number) / number)
            yield f"| {name} | {stated[chosen].mean():.2f} | {rate:.2f} | {error:.2f} | {number} |"


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


def main_first(n: int = 200, n_truth: int = 600) -> None:
    """Print how often the probability that a metric is first is right."""
    logging.disable(logging.WARNING)
    headings = ("truth", "mean probability", "right", "standard error", "collections")
    print("| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|")
    for population in (Population(15, 1), Population(30, 1), Population(30, 3), Population(60, 1)):
        print(*first(population, n, n_truth), sep="\n", flush=True)
    for names in REAL:
        print(*first_of_real(names, n, n_truth), sep="\n", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["first"]:
        main_first(*map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
