"""How like a sample a simulated collection is: ``python -m tests.simulations.fidelity DATA [TOPICS [COPULA]] > fidelity.md``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from scorecube.analyses.simulation.populations import Population, fit_population
from scorecube.collection.selection import cells
from scorecube.statistics.margin_fits import fit_margin, score_grid
from scorecube.workflow.api import evaluate, read_rankings
from tests.simulations.errors import MEASURES, cube_of

Array = np.ndarray[Any, Any]
FIVE = ("AP", "nDCG@10", "P@10", "RR", "RBP(p=0.8)")
MEAN, VARIANCE, CORRELATION = 0.001, 0.05, 0.05
HELD_OUT = 5
"""Parts of the topics; each is left out in turn."""
COLUMNS = ("collection", "metric", "runs", "largest error of a mean", "median error of a variance", "runs with more than 5 %",
    "median error of a correlation", "the same, simulated", "support", "held-out log-likelihood")  # fmt: skip


def sources(data: Path) -> dict[str, xr.Dataset]:
    """Return the cubes by name."""
    found = {
        f"{name} {MEASURES[measure][0]}": cube_of(data, name, measure)
        for name, measure in (("adhoc8", "ap"), ("adhoc8", "p10"), ("web2013", "err20"))
    }
    folder = data / "trec-covid-r5"
    rankings = read_rankings([str(folder / "runs")], folder / "qrels.txt")
    return found | {"trec-covid-r5, jointly": evaluate(rankings, FIVE, ("auto",))}


def held_out(scores: Array) -> float:
    """Return the mean logarithm of the probabilities that margins give to scores they were not fitted to, against uniform ones."""
    grid, total = score_grid(scores), []
    for row in scores:
        for part in range(HELD_OUT):
            out = np.arange(len(row)) % HELD_OUT == part
            margin = fit_margin(row[~out], grid)
            at = np.argmin(np.abs(row[out][:, np.newaxis] - grid.support), axis=1)
            total.append(
                np.log(np.maximum(margin.probabilities[at], 1e-12) * len(grid.support)).mean()
            )
    return float(np.mean(total))


def correlation_errors(one: Array, other: Array) -> float:
    """Return the median absolute difference of correlations."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(one - other)[np.triu_indices(len(one), 1)]
    return float(np.nanmedian(apart)) if np.isfinite(apart).any() else np.nan


def mark(value: float, limit: float, form: str) -> str:
    """Return a number, in bold above its limit."""
    text = format(value, form)
    return f"**{text}**" if value > limit else text


def rows(name: str, cube: xr.Dataset, topics: int, copula: str) -> list[str]:
    """Return a row for each metric: of the population against the sample, and of simulated topics."""
    scores = cells(cube)[0]
    population = fit_population(scores, copula=copula)
    started = time.process_time()
    drawn = population.draw(1, 0, topics).reshape(*scores.shape[:2], topics)
    print(
        f"{name}: {(time.process_time() - started) / drawn.size * 1e9:.0f} ns of a core a simulated score",
        file=sys.stderr,
    )
    flat = scores.reshape(-1, scores.shape[2])
    deviations = np.sqrt(population.variances.ravel())
    with np.errstate(invalid="ignore", divide="ignore"):
        sample, simulated = np.corrcoef(flat), np.corrcoef(drawn.reshape(len(flat), -1))
        truth = np.full(sample.shape, np.nan)  # of a vine it is not known
        if not population.vines:
            truth = population.covariances() / np.outer(deviations, deviations)
    lines = []
    for k, cell in enumerate(scores):
        part = slice(k * len(cell), (k + 1) * len(cell))
        lines.append(
            row(
                name,
                str(cube["metric"].values[k]),
                population,
                k,
                (cell, drawn[k]),
                (truth[part, part], sample[part, part], simulated[part, part]),
            )
        )
    if len(scores) > 1:
        between = f"| {name} | all together | {len(flat)} | | | | {mark(correlation_errors(truth, sample), CORRELATION, '.3f')} "
        lines.append(
            between + f"| {mark(correlation_errors(simulated, sample), CORRELATION, '.3f')} | | |"
        )
    return lines


def row(
    name: str,
    metric: str,
    population: Population,
    k: int,
    scores: tuple[Array, Array],
    correlations: tuple[Array, Array, Array],
) -> str:
    """Return the row of one metric."""
    sample, drawn = scores
    truth, of_sample, simulated = correlations
    mean = float(np.abs(population.means[k] - sample.mean(axis=1)).max())
    spread = np.abs(population.variances[k] / np.maximum(sample.var(axis=1, ddof=1), 1e-12) - 1)
    grid = score_grid(sample)
    same = set(np.unique(drawn)) <= set(grid.support)
    kind = (
        f"{len(grid.support)} values"
        if grid.discrete
        else f"steps of {1 / (len(grid.support) - 1):g}"
    )
    many = int((spread > VARIANCE).sum())
    cells_text = [name, metric, str(len(sample)), mark(mean, MEAN, ".1e"), mark(float(np.median(spread)), VARIANCE, ".1e"), mark(many, 0, "d"),
        mark(correlation_errors(truth, of_sample), CORRELATION, ".3f"), mark(correlation_errors(simulated, of_sample), CORRELATION, ".3f"),
        f"{kind}, the same" if same else f"**{kind}, others**", f"{held_out(sample):+.2f}"]  # fmt: skip
    return "| " + " | ".join(cells_text) + " |"


def main(data: Path, topics: int = 20_000, copula: str = "gaussian") -> None:
    """Print the table; vines are of one metric, so they are not fitted to joint ones."""
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for name, cube in sources(data).items():
        if copula == "vine" and cube.sizes["metric"] > 1:
            continue
        print(*rows(name, cube, topics, copula), sep="\n", flush=True)


if __name__ == "__main__":
    given = sys.argv[2:]
    main(
        Path(sys.argv[1]), int(given[0]) if given else 20_000, given[1] if given[1:] else "gaussian"
    )
