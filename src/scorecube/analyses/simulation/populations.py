"""Populations of topics: joint models of all systems under all metrics, and collections that are drawn from them.

Reference: Urbano and Nagler 2018, "Stochastic simulation of test collections: evaluation scores", SIGIR 2018.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array
from scorecube.analyses.simulation.pair_models import random_ranks
from scorecube.analyses.simulation.topics import (
    GaussianSource,
    IndependentSource,
    Source,
    VineSource,
    kept_bytes,
    scores_of,
)
from scorecube.collection import schema
from scorecube.collection.selection import cells
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, counted, option
from scorecube.kernels.threads import LEAST, on_threads
from scorecube.statistics.copulas import (
    FAMILIES,
    TRUNCATION,
    Vine,
    fit_vine,
    hermite_coefficients,
    loadings,
    normal_correlations,
    score_covariances,
)
from scorecube.statistics.margin_fits import ScoreGrid, fit_margin, margin_seconds, score_grid
from scorecube.statistics.margins import Margin

COPULAS = ("gaussian", "vine", "independent")
MOST_TOPICS = 1_000_000
MOST_BYTES = 2**32
"""Largest array of simulated scores that is made in memory."""
COPULA_NOTES = {
    "gaussian": "gaussian copula",
    "vine": f"vine copula of {TRUNCATION} trees for each metric and gain setting",
    "independent": "independent copula",
}
POINT_BYTES, LABEL_BYTES, CORRELATION_BYTES = 10, 250, 100
"""Memory of a grid point of a system's margin, of the label of a topic, and of a pair of systems while a Gaussian copula is fitted."""
PARTS_BYTES = 2**28
"""Memory of tables, of scores that are made, and of those that are written meanwhile."""
LEAST_TOPICS, FEW_TOPICS = 5, 20
TRUE_MEAN, TRUE_VARIANCE = "true_mean", "true_variance"
SIMULATION = "simulation"
"""Attribute of a simulated cube: JSON text of the options, the chosen margins and their parameters."""


@dataclass(frozen=True)
class Population:
    """A joint distribution of scores.

    margins: Of each cell (metric and gain setting) and system, in this order.
    loadings: float64 (cell * system, variable): of the normal variables behind the scores; None for other copulas.
    shape: Numbers of cells and systems.
    vines: Of each cell; none for other copulas. Scores without loadings and vines are independent.
    """

    margins: tuple[Margin, ...]
    loadings: Array | None
    shape: tuple[int, int]
    vines: tuple[Vine, ...] = ()

    @property
    def means(self) -> Array:
        """True means of scores, float64 (cell, system)."""
        return np.array([margin.mean for margin in self.margins]).reshape(self.shape)

    @property
    def variances(self) -> Array:
        """True variances of scores over topics, float64 (cell, system)."""
        return np.array([margin.variance for margin in self.margins]).reshape(self.shape)

    def covariances(self) -> Array:
        """Return the true covariances of scores, float64 (cell * system, cell * system).

        Variances are exact. Of a covariance the part of Hermite polynomials above degree `copulas.DEGREES` is left out; it is at most
        |r|^41 times the root of both variances' parts, for a correlation r of the normal variables.
        """
        if self.vines:
            raise ValueError("covariances of scores with a vine copula are not known")
        variances = self.variances.ravel()
        if self.loadings is None:
            return np.diag(variances)
        coefficients = np.array([hermite_coefficients(margin) for margin in self.margins])
        found = score_covariances(self.loadings @ self.loadings.T, coefficients)
        np.fill_diagonal(found, variances)
        return found

    def source(
        self, seed: int, start: int, stop: int, *, n_threads: int = 1, most_bytes: float = math.inf
    ) -> Source:
        """Return the random variables behind the scores on the topics start .. stop-1.

        seed: Of the random numbers.
        start, stop: Range of topics.
        n_threads: Number of threads that make them.
        most_bytes: Limit of what is kept of them, where they can be made again.
        """
        if self.vines:
            return VineSource(self.vines, seed, start, stop, self.shape[1])
        if self.loadings is None:
            return IndependentSource(seed, start)
        return GaussianSource(
            self.loadings, seed, start, stop, n_threads=n_threads, most_bytes=most_bytes
        )

    def draw(self, seed: int, start: int, stop: int, *, n_threads: int = 1) -> Array:
        """Return the scores of the topics start .. stop-1: float64 (cell * system, topic).

        seed, start, stop, n_threads: As of `source`; scores do not depend on the number of threads.
        """
        scores = np.empty((len(self.margins), stop - start))
        source = self.source(seed, start, stop, n_threads=n_threads)
        scores_of(source, self.margins, 0, len(scores), scores, n_threads=n_threads)
        return scores


def fit_population(
    scores: Array,
    *,
    copula: str = "gaussian",
    null: bool = False,
    delta: float | None = None,
    n_threads: int = 1,
) -> Population:
    """Return the population whose scores vary like those of a sample of topics.

    scores: float64 (cell, system, topic): in [0, 1].
    copula: ``gaussian``: scores have the correlations of the sample, as far as the margins allow them, of rank n - 1 at
        most for n topics; ``vine``: a regular vine for each cell, cells are independent; ``independent``.
    null: Whether the systems of a cell have equal means; else they have those of the sample.
    delta: If not None: equal means, but that of the system with the best mean in the sample is larger by this number.
    n_threads: Number of threads; the population does not depend on it.
    """

    def each(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return on_threads(function, items, LEAST, n_threads)

    n_cells, n_systems, n_topics = scores.shape
    margins: list[Margin] = []
    for cell in scores:
        grid = score_grid(cell)
        own = each(partial(_calibrated, grid), cell)
        if null or delta is not None:
            best = int(np.argmax(cell.mean(axis=1)))
            wanted = np.full(n_systems, cell.mean())
            wanted[best] += delta or 0.0
            pairs = list(zip(own, map(float, wanted), strict=True))
            own = each(lambda pair: _possible(pair[0].moved, pair[1]), pairs)
        margins += own
    if copula == "independent":
        return Population(tuple(margins), None, (n_cells, n_systems))
    if copula == "vine":
        vines = tuple(_vine(cell, n_threads) for cell in scores)
        return Population(tuple(margins), None, (n_cells, n_systems), vines)
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = np.atleast_2d(np.corrcoef(scores.reshape(-1, n_topics)))
    found = loadings(normal_correlations(wanted, margins, each), n_topics - 1)
    return Population(tuple(margins), found, (n_cells, n_systems))


def _vine(scores: Array, n_threads: int) -> Vine:
    try:
        return fit_vine(random_ranks(scores), n_threads)
    except ModuleNotFoundError:
        raise BadPlan(
            "vine copulas need pyvinecopulib: pip install 'scorecube[simulate]'", option="copula"
        ) from None


def fit_seconds(n_systems: int, n_topics: int) -> float:
    """Return the estimated time of `fit_population` with a Gaussian copula: margins, correlations of pairs, and their matrix."""
    pairs = 4e-6 * n_systems**2 + 1e-9 * n_systems**3
    return n_systems * margin_seconds(n_topics) + pairs


def _calibrated(grid: ScoreGrid, scores: Array) -> Margin:
    """Return the margin of a system, with the mean and the variance of its scores."""
    fitted = fit_margin(scores, grid)
    return _possible(fitted.calibrated, float(scores.mean()), float(scores.var(ddof=1)))


def _possible(make: Callable[..., Margin], *moments: float) -> Margin:
    """Return a margin with some moments; BadPlan for margins that cannot have them."""
    try:
        return make(*moments)
    except ValueError as error:
        raise BadPlan(f"{error}; leave out runs with almost the same score on all topics") from None


def simulated(
    cube: xr.Dataset,
    *,
    topics: int = 1000,
    copula: str = "gaussian",
    null: bool = False,
    delta: float | None = None,
    seed: int = 1,
    workers: int = 1,
    memory: float = math.inf,
) -> xr.Dataset:
    """Return what `scorecube.simulate` returns, with scores that are made when they are read.

    cube, topics, copula, null, delta, seed, workers: See `scorecube.simulate`.
    memory: Bytes that the model and what is kept of the topics may take; where that is possible, random numbers are
        made again rather than kept.
    Raises BadPlan: Scores that no population can be fitted to, or too little memory.
    """
    scores, cell_of = cells(cube)
    _check(cube, scores, topics, copula, null, delta)
    left = memory - _model_bytes(scores, topics, copula)
    if left < 0:
        raise BadPlan(
            f"the model of these scores and what is kept of {topics:,} topics take about {(memory - left) / 1e6:,.0f} MB beside the program, "
            f"and {max(memory, 0) / 1e6:,.0f} MB are left for them; raise {option('memory')}, or use fewer topics, metrics or runs",
            option="memory",
        )
    population = fit_population(scores, copula=copula, null=null, delta=delta, n_threads=workers)
    source = population.source(seed, 0, topics, n_threads=workers, most_bytes=left)
    from scorecube.analyses.simulation.lazy_scores import lazy_scores  # brings pandas

    drawn = lazy_scores(source, population.margins, cell_of, (scores.shape[1], topics), workers)
    digits = len(str(topics))
    labels = schema.label_array(f"s{k:0{digits}d}" for k in range(1, topics + 1))
    options = {"copula": copula, "null": null, "delta": delta, "seed": str(seed), "topics": topics}
    if copula == "vine":
        options |= {"trees": TRUNCATION, "families": FAMILIES}
    chosen = [
        {"kind": margin.kind, "parameters": margin.parameters, "aic": margin.aic}
        for margin in population.margins
    ]
    means = "equal means" if null else "means of the sample"
    if delta is not None:
        means = f"equal means but one that is larger by {delta:g}"
    note = f"simulated: {COPULA_NOTES[copula]}, {means}, seed {seed}; margins: " + ", ".join(
        f"{count} {kind}" for kind, count in Counter(each["kind"] for each in chosen).most_common()
    )
    kept = {name: coord for name, coord in cube.coords.items() if names.TOPIC not in coord.dims}
    variables = {
        names.SCORE: xr.Variable(schema.CUBE[0].dims, drawn),
        TRUE_MEAN: (schema.CUBE[0].dims[:-1], population.means[cell_of]),
        TRUE_VARIANCE: (schema.CUBE[0].dims[:-1], population.variances[cell_of]),
    }
    attrs = {"note": note, SIMULATION: json.dumps({"options": options, "margins": chosen})}
    result = xr.Dataset(variables, kept | {names.TOPIC: labels}, attrs)
    return schema.annotate(result, (*schema.CUBE, *VARIABLES))


def _model_bytes(scores: Array, topics: int, copula: str) -> int:
    """Return the memory of margins, of the parts that threads make and that are written, and of what cannot be made again."""
    n_cells, n_systems = scores.shape[:2]
    points = sum(len(score_grid(cell).support) for cell in scores)
    model: int = POINT_BYTES * points * n_systems + LABEL_BYTES * topics + PARTS_BYTES
    if copula == "vine":
        model += 2 * kept_bytes(n_systems, topics)
    if copula == "gaussian":
        model += CORRELATION_BYTES * (n_cells * n_systems) ** 2
    return model


def check_scores(cube: xr.Dataset, scores: Array) -> None:
    """Refuse scores that no population can be fitted to: those of other summaries than means, few, missing, or not in [0, 1].

    scores: Its cells: float64 (cell, run, topic).
    Raises BadPlan: What is wrong, and what to do.
    """
    refuse_other_summaries(cube, "a simulation")
    if scores.shape[2] < LEAST_TOPICS:
        raise BadPlan(
            f"a model of scores needs {LEAST_TOPICS} topics, found {counted(scores.shape[2], 'topic')}"
        )
    if not np.isfinite(scores).all():
        raise BadPlan("scores are missing; choose metrics, runs or topics without missing scores")
    if scores.min() < 0 or scores.max() > 1:
        raise BadPlan(
            f"scores from 0 to 1 can be simulated, found {scores.min():g} to {scores.max():g}; choose other metrics"
        )


def _check(
    cube: xr.Dataset, scores: Array, topics: int, copula: str, null: bool, delta: float | None
) -> None:
    check_scores(cube, scores)
    if copula not in COPULAS:
        raise BadPlan(
            f"{option('copula')} {copula!r} is not one of {', '.join(COPULAS)}", option="copula"
        )
    if null and delta is not None:
        raise BadPlan(f"{option('null')} and {option('delta')} exclude each other", option="delta")
    if not 2 <= topics <= MOST_TOPICS:
        raise BadPlan(f"{topics} topics; use 2 to {MOST_TOPICS:,}", option="topics")
    if delta is not None and not 0 < delta < 1:
        raise BadPlan(f"{option('delta')} {delta:g} is not between 0 and 1", option="delta")


def check_size(cube: xr.Dataset) -> None:
    """Refuse more scores than are made in memory.

    cube: Of `simulated`.
    Raises BadPlan: What to do instead.
    """
    size = cube[names.SCORE].nbytes
    if size > MOST_BYTES:
        raise BadPlan(
            f"the scores would take {size / 2**30:.1f} GiB, at most {MOST_BYTES / 2**30:.0f}; use fewer topics, metrics or runs, "
            "or write them to a study part by part with scorecube simulate",
            option="topics",
        )


VARIABLES = (
    *schema.variables(
        *(schema.CUBE[0].dims[:-1], "estimate", "score"),
        true_mean="mean score of a run over all topics of the population",
    ),
    *schema.variables(
        *(schema.CUBE[0].dims[:-1], "estimate", "score^2"),
        true_variance="variance of a run's scores over all topics of the population",
    ),
)
