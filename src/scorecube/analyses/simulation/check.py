"""Checks of analyses against simulated truth: how often what they say of a sample of topics holds in its population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import (
    Analysis,
    Array,
    Arrays,
    Combine,
    Cost,
    Inputs,
    Output,
    Prepared,
    labelled_result,
)
from scorecube.analyses.options import option_field
from scorecube.analyses.simulation.check_quantities import VARIABLES
from scorecube.analyses.simulation.claims import SUBJECTS, VALUES, Claim, Subject, TeamClaims
from scorecube.analyses.simulation.populations import (
    FEW_TOPICS,
    check_scores,
    fit_population,
    fit_seconds,
)
from scorecube.analyses.simulation.samples import sample_cube, seeds_of
from scorecube.collection import schema
from scorecube.collection.selection import cells, n_cells, uses_gains
from scorecube.collection.teams import units_of_runs
from scorecube.errors import BadPlan, counted, option
from scorecube.statistics.proportion_intervals import wilson
from scorecube.statistics.quantiles import defined_mean

TEAMS = "teams"
OF_ONE_METRIC = 2
LEAST_RUNS = 3


@dataclass(frozen=True, kw_only=True)
class Check(Analysis):
    """Check of an analysis: how often is what it states true of a known population?

    A population of topics is fitted to the collection, as by `simulate`: the scores of each run have a distribution, all together a Gaussian
    copula. A trial draws a sample of topics from it, runs the analysis on the sample, and compares what it prints with what is true of the
    population. The estimand of a coverage is the probability that the interval (or set) of such a sample holds the truth. The runs are those of the
    collection in every sample.

    Notes
    -----
    Truth is exact for means, ranks, variances and covariances. That of swap rates is what the swap method finds on 8,000 topics in 4,000 trials; that of
    teams is the mean over 2,000 subsets. Simulated scores have no pool: for ``teams`` topics and judgements are those of the
    collection, and only the subsets of teams are drawn. How far such checks may be believed themselves is in docs/believe/checks.md.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> cube = simulate_cube(metrics=("P@10",), n_runs=6, seed=3)
    >>> result = analyse(cube, Check(subject="ranks", n=20, n_resamples=100), trials=20, seed=1)
    >>> result["held"].sel(claim="all ranks together").values.tolist()
    [[1.0]]
    """

    name: ClassVar[str] = "check"
    compile_seconds: ClassVar[float] = 10.0
    examples: ClassVar[tuple[str, ...]] = ("ranks --n 50 --trials 300 --seed 1",)
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "trials": {"default": 100, "help": "Simulated samples; more trials later extend a result."}
    }

    subject: Literal["swap", "correlate", "design", "ranks", "reliability", "teams"] = option_field(
        "swap",
        "Analysis that is checked.",
        detail="``swap``: required differences with limits; swap rates of more topics from the fitted decay. ``correlate``: tau over "
        "infinitely many topics. ``design``: numbers of topics for a difference of .1, and the power that t tests of all pairs then have. "
        "``ranks``: rank sets, and sets of the best runs. ``reliability``: coefficients, numbers of topics. ``teams``: mean variance and "
        "tau over subsets of teams.",
        positional=True,
    )
    n: int = option_field(
        50,
        "Topics of a sample.",
        detail="Not used for teams.",
        minimum=10,
        maximum=10_000,
        unit="topics",
    )
    n_resamples: int | None = option_field(
        None,
        "Trials of the analysis on each sample; 10 for teams, else 1000 by default.",
        flag="--resamples",
        aliases={"auto": None},
        minimum=2,
    )
    at: tuple[int, ...] = option_field(
        (50, 100, 200),
        "Numbers of topics to which swap rates are extrapolated.",
        detail="The samples are of up to half of the topics.",
        minimum=2,
        maximum=2000,
        unit="topics",
    )
    copula: Literal["gaussian", "vine", "independent"] = option_field(
        "gaussian",
        "Dependence of runs: gaussian as in the collection, or none.",
        detail="``vine`` is as in the collection, too, within a metric and gain setting.",
    )
    null: bool = option_field(False, "Equal true means of all runs (ranks, reliability).")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "at", tuple(sorted(set(self.at))))

    @property
    def uses_rankings(self) -> bool:  # type: ignore[override]
        """Whether the cube must hold rankings: for teams."""
        return self.subject == TEAMS

    @property
    def uses_teams(self) -> bool:
        """Whether results depend on the teams of the runs, of cubes without rankings, too."""
        return self.subject in ("swap", "design", "reliability")

    @property
    def inner_trials(self) -> int:
        """Trials of the analysis on each sample."""
        return self.n_resamples or (10 if self.subject == TEAMS else 1000)

    def subject_of(self, cube: xr.Dataset) -> Subject:
        """Return the subject with its claims about a cube."""
        return SUBJECTS[self.subject](self.n, self.inner_trials, self.at, cell_labels(cube))

    def claims(self, prepared: Prepared) -> list[Claim]:
        """Return the claims about each cell."""
        if self.subject == TEAMS:
            return self._teams(prepared).claims
        return self.subject_of(prepared.cube).claims

    def _teams(self, prepared: Prepared) -> TeamClaims:
        return TeamClaims.of(len(prepared.shared.pools.teams), self.inner_trials)

    def prepare(self, cube: xr.Dataset) -> Prepared:
        if self.subject != TEAMS:
            return Prepared(cube)
        from scorecube.analyses.leave_out.teams import Teams

        return Teams().prepare(cube)

    def check(self, prepared: Prepared) -> list[str]:
        if self.null and self.subject not in ("ranks", "reliability"):
            raise BadPlan(
                f"{option('null')}: without differences of runs there is nothing to check of {self.subject}; leave it out",
                option="null",
            )
        if self.subject == TEAMS:
            if len(prepared.shared.pools.teams) < OF_ONE_METRIC:
                raise BadPlan(
                    f"leaving teams out needs at least 2 teams, found 1; name teams with {option('teams')}"
                )
            return []
        cube = prepared.cube
        scores = cells(cube)[0]
        check_scores(cube, scores)
        if scores.shape[1] < LEAST_RUNS:
            raise BadPlan(
                f"a check needs {LEAST_RUNS} runs, found {counted(scores.shape[1], 'run')}"
            )
        if self.subject == "correlate" and len(scores) < OF_ONE_METRIC:
            raise BadPlan(
                f"correlate compares rankings by two metrics, found 1; name two or more in {option('metrics')}",
                option="metrics",
            )
        if scores.shape[2] < FEW_TOPICS:
            return [
                f"{counted(scores.shape[2], 'topic')}: the population is fitted to few topics; use {FEW_TOPICS} or more"
            ]
        return []

    def inputs(
        self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None
    ) -> Arrays:
        if self.subject == TEAMS:
            return self._teams(prepared).inputs(prepared, trials, seed)
        cube = prepared.cube
        scores, _ = cells(cube)
        population = fit_population(scores, copula=self.copula, null=self.null)
        true = self.subject_of(cube).truth(population, seed)
        drawn = population.draw(seed, 0, self.n * trials)
        # (cell * run, trial * topic) -> (trial, cell, run, topic)
        parts = drawn.reshape(*population.shape, trials, self.n).transpose(2, 0, 1, 3)
        return {
            "samples": np.ascontiguousarray(parts),
            "teams": units_of_runs(cube),
            "seed": np.array(seed, np.uint64),
            **true,
        }

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        shape = (len(VALUES), n_cells(prepared.cube), len(self.claims(prepared)))
        return (Output("claimed", shape, Combine.CONCAT, "float64"),)

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        if self.subject == TEAMS:
            teams = TeamClaims(tuple(inputs["leaves"].tolist()), self.inner_trials)
            found = [teams.measure(inputs, trial) for trial in range(start, stop)]
            return {"claimed": np.stack(found, axis=-1)}
        samples, found = inputs["samples"], []
        labels = tuple(f"m{k}" for k in range(samples.shape[1]))
        subject = SUBJECTS[self.subject](self.n, self.inner_trials, self.at, labels)
        seeds = seeds_of(int(inputs["seed"]), start, stop)
        for trial, seed in zip(range(start, stop), seeds, strict=True):
            cube = sample_cube(samples[trial], inputs["teams"])
            found.append(subject.measure(cube, inputs, seed))
        return {"claimed": np.stack(found, axis=-1)}

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube, claims = prepared.cube, self.claims(prepared)
        cell_of = cells(cube)[1]
        values = {name: array[cell_of] for name, array in summary(totals["claimed"]).items()}
        coords = {
            names.CLAIM: schema.label_array(claim.quantity for claim in claims),
            names.SIZE: (names.CLAIM, np.array([claim.size for claim in claims])),
            "nominal": (names.CLAIM, np.array([claim.nominal for claim in claims])),
        }
        attrs = {
            "trials": trials,
            "subject": self.subject,
            "resamples": self.inner_trials,
            "n_runs": cube.sizes[names.RUN],
            "n_topics": self.n if self.subject != TEAMS else cube.sizes[names.TOPIC],
            "copula": self.copula,
            "null": int(self.null),
        }
        return labelled_result(cube, VARIABLES, values, coords, attrs)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        count, n_runs, n_topics = cells(prepared.cube)[0].shape
        written = 8.0 * len(VALUES) * count * len(self.claims(prepared))
        if self.subject == TEAMS:
            return Cost(
                5e-3 * self.inner_trials,
                written,
                5e7,
                result_bytes=2 * trials * written,
                input_bytes=1e8,
            )
        score_bytes = 8.0 * count * n_runs * self.n
        return Cost(
            seconds=0.02 + count * self.subject_of(prepared.cube).seconds(n_runs),
            bytes=written,
            fixed_bytes=60.0 * count * n_runs**2 + 20 * score_bytes,
            result_bytes=2 * trials * written,
            input_bytes=2 * trials * score_bytes
            + 8.0 * (count * n_runs) ** 2 * 6
            + 3e5 * count * n_runs  # margins
            + 7e7,  # what fitting one holds
            input_seconds=fit_seconds(count * n_runs, n_topics)
            + count * self.subject_of(prepared.cube).truth_seconds(n_runs),
        )


def cell_labels(cube: xr.Dataset) -> tuple[str, ...]:
    """Return the label of each cell: the metric, with its gain setting where there are several.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cell_labels(simulate_cube(metrics=("AP", "Q"), n_runs=3))
    ('AP', 'Q')
    """
    labels: dict[int, str] = {}
    metrics, gains = (schema.labels_of(cube, dim) for dim in (names.METRIC, names.GAIN))
    several = uses_gains(cube) & (len(gains) > 1)
    for (i, j), cell in np.ndenumerate(cells(cube)[1]):
        labels.setdefault(int(cell), f"{metrics[i]}, {gains[j]}" if several[i] else metrics[i])
    return tuple(labels[cell] for cell in range(len(labels)))


def summary(claimed: Array) -> dict[str, Array]:
    """Return how often claims hold, and how far estimates are off, (cell, claim).

    claimed: float64 (value, cell, claim, trial), in the order of `VALUES`.
    Returns values: By the names of `VARIABLES`; NaN for what no trial has.
    """
    estimate, low, high, held, truth = claimed
    known, judged = np.isfinite(estimate) & np.isfinite(truth), np.isfinite(held)
    errors = np.where(known, estimate - truth, np.nan)
    both = np.isfinite(low) & np.isfinite(high)
    widths = np.where(both, high, np.nan) - np.where(both, low, np.nan)
    n_held, n_judged = np.nansum(held, axis=-1), judged.sum(axis=-1)
    low_rate, high_rate = wilson(n_held, np.maximum(n_judged, 1))
    none = n_judged == 0
    with np.errstate(invalid="ignore"):
        below = (judged & (high < truth)).sum(axis=-1)
        above = (judged & (low > truth)).sum(axis=-1)
    return {
        "truth": np.fmax.reduce(truth, axis=-1),
        "estimate": defined_mean(np.where(np.isfinite(estimate), estimate, np.nan)),
        "bias": defined_mean(errors),
        "error": np.sqrt(defined_mean(errors**2)),
        "width": middle(widths),
        "held": np.where(none, np.nan, n_held / np.maximum(n_judged, 1)),
        "held_low": np.where(none, np.nan, low_rate),
        "held_high": np.where(none, np.nan, high_rate),
        "n_below": below,
        "n_above": above,
        "n_held": np.rint(n_held).astype(np.int64),
        "n_judged": n_judged,
        "n_estimated": known.sum(axis=-1),
    }


def middle(values: Array) -> Array:
    """Return the median along the last axis without missing values; NaN for none."""
    count = np.isfinite(values).sum(axis=-1)
    ordered = np.sort(values, axis=-1)  # missing values last
    places = np.maximum(np.stack([(count - 1) // 2, count // 2], axis=-1), 0)
    chosen: Array = np.take_along_axis(ordered, places, axis=-1).mean(axis=-1)
    return np.where(count > 0, chosen, np.nan)
