"""Rank correlation between metrics and between gain settings, with intervals.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant
document", section 4.1 and Tables 2 and 5; Sakai and Shang 2016, "On estimating variances for topic set
size design", Table 2; Sakai 2004, "New performance metrics based on multigrade relevance", Tables 3 to
12; Efron and Tibshirani 1993, chapter 13 (percentile intervals).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any, ClassVar

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
from scorecube.analyses.drawn_samples import bootstrapped_topics
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.pair_tests.base import check_runs
from scorecube.analyses.rank_agreement import population
from scorecube.analyses.rank_agreement.correlation_quantities import STATISTICS, VARIABLES
from scorecube.analyses.rank_agreement.ranking_pairs import (
    Comparisons,
    coefficients,
    list_comparisons,
    ranking_values,
)
from scorecube.collection import schema
from scorecube.collection.selection import cell_kinds, cells
from scorecube.collection.topic_means import summarise
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples, multiplicity_columns
from scorecube.kernels.rank.concordance import compare
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.metrics.registry import AREA
from scorecube.statistics.kendall_tau import exact_p, fieller, normal_p, null_error
from scorecube.statistics.quantiles import percentiles

DRAWN_TOGETHER = 5000
"""Most comparisons whose draws of rankings over infinitely many topics are held together, in 0.3 GB."""
MIN_RUNS = 3
"""Smallest number of runs for which correlations are computed."""


@dataclass(frozen=True, kw_only=True)
class Correlation(Analysis):
    """Rank correlation between metrics, and between gain settings, with intervals.

    The coefficients are tau, tau-b, tau-AP and Spearman's rho. Means are compared exactly; pairs of runs with
    equal means are ties. A trial draws as many topics as there are, with replacement, for all comparisons.

    ``population`` estimates the coefficients of the two rankings of these runs over infinitely many topics, with
    an interval (`scorecube.analyses.rank_agreement.population`; docs/believe/intervals.md has its coverage). The observed
    coefficients are unbiased estimates of those expected of other topics, as many.

    Percentile intervals over topics are no confidence intervals of either: resampling topics adds noise to both
    rankings, and they tend to lie below the observed value of similar rankings.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Correlation(), trials=200, seed=1)
    >>> low = result["low"].sel(statistic="tau", resampled="topics")
    >>> result["tau"].values.tolist(), low.round(3).values.tolist()
    ([1.0], [0.733])
    """

    name: ClassVar[str] = "correlate"
    examples: ClassVar[tuple[str, ...]] = ("--trials 1000 --seed 1",)

    every_gain: bool = option_field(
        False, "Compare every two gain settings, as Sakai 2004 does, not each with the first alone."
    )
    confidence: float = level_field(
        names.CONFIDENCE, 0.95, "Confidence level of all intervals.", finalize=True
    )
    bold: float | None = option_field(
        None,
        "Mark values of tau above it; by default those whose interval exceeds 1.",
        detail="Sakai 2007, Table 5 marks values above 0.8, Sakai 2004 above 0.99; the default, of Sakai and Shang 2016, Table 2, is about intervals by the null variance.",
        finalize=True,
    )

    def prepare(self, cube: xr.Dataset) -> Prepared:
        return Prepared(cube, list_comparisons(cube, every_gain=self.every_gain))

    def check(self, prepared: Prepared) -> list[str]:
        cube = prepared.cube
        check_runs(cube, "rank correlation", means_only=False)
        if AREA in cell_kinds(cube):
            raise BadPlan(
                "area measures (area:...) are not available for resampled topics, as they depend on the order of the topics' "
                f"scores; leave them out of {option('metrics')}",
                option="metrics",
            )
        n_runs = cube.sizes[names.RUN]
        return (
            [f"{n_runs} runs are too few for rank correlations: all are missing"]
            if n_runs < MIN_RUNS
            else []
        )

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        cube = prepared.cube
        pairs: Comparisons = prepared.shared
        units, sums, tolerances = ranking_values(cube)
        return {
            "units": np.ascontiguousarray(units.reshape(-1, cube.sizes[names.TOPIC]).T),
            "sums": sums,
            "tolerances": tolerances,
            "first": pairs.first,
            "second": pairs.second,
            "topic_key": stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS),
        }

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        shape = (len(STATISTICS), len(prepared.shared.first))
        return (Output("drawn", shape, Combine.CONCAT, "float64"),)

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        first, second, sums = (inputs[name] for name in ("first", "second", "sums"))
        out = np.empty((len(STATISTICS), len(first), stop - start))
        at_once = trials_at_once(sums.size)
        for low in range(start, stop, at_once):
            high = min(low + at_once, stop)
            values = self._topic_sums(inputs, low, high)
            counts = compare(values, inputs["tolerances"], first, second)
            drawn = coefficients(counts, first, second, sums.shape[-1])
            out[:, :, low - start : high - start] = drawn.swapaxes(1, 2)
        return {"drawn": out}

    def _topic_sums(self, inputs: Inputs, start: int, stop: int) -> Any:
        """Return the sums of scores over topic samples: (trial, cell, run)."""
        n_topics = len(inputs["units"])
        drawn = bootstrap_samples(inputs["topic_key"], n_topics, start, stop)
        counts = np.ascontiguousarray(multiplicity_columns(drawn, n_topics).T)
        return (counts @ inputs["units"]).reshape(stop - start, *inputs["sums"].shape)

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        pairs: Comparisons = prepared.shared
        n_runs = cube.sizes[names.RUN]
        _, sums, tolerances = ranking_values(cube)
        concordance = compare(sums[np.newaxis], tolerances, pairs.first, pairs.second)
        values = dict(
            zip(
                STATISTICS,
                coefficients(concordance, pairs.first, pairs.second, n_runs)[:, 0],
                strict=True,
            )
        )
        tied_a, tied_b = concordance.tied[0, pairs.first], concordance.tied[0, pairs.second]
        counts = {
            "concordant": concordance.concordant[0],
            "discordant": concordance.discordant[0],
            "tied_a": tied_a,
            "tied_b": tied_b,
            "tied_pairs": tied_a + tied_b - concordance.tied_both[0],
        }
        values |= self._null_statistics(values["tau"], counts, n_runs)
        limits = percentiles(totals["drawn"], self.confidence)
        for name, array in zip(("low", "high", "standard_error"), limits, strict=True):
            values[name] = array[np.newaxis]
        values |= self._population(prepared)
        if n_runs < MIN_RUNS:
            values = {name: np.full_like(array, np.nan) for name, array in values.items()}
        values["mean"] = summarise(cube).values
        variables = [
            variable for variable in VARIABLES if variable.name in values.keys() | counts.keys()
        ]
        coords = {names.RUN: cube[names.RUN], **pairs.coords(cube)}
        coords[names.STATISTIC] = schema.label_array(STATISTICS)
        coords[names.RESAMPLED] = schema.label_array(["topics"])
        attrs = {
            "trials": trials,
            "n_runs": n_runs,
            "n_topics": cube.sizes[names.TOPIC],
            "confidence": self.confidence,
            "bold": "" if self.bold is None else self.bold,
            "no_interval": population.refusal(n_runs, cube.sizes[names.TOPIC]),
        }
        return labelled_result(cube, variables, values | counts, coords, attrs)

    def _population(self, prepared: Prepared) -> dict[str, Array]:
        """Return coefficients over infinitely many topics, (statistic, comparison); missing for few runs or topics."""
        cube, pairs = prepared.cube, prepared.shared
        units, n_runs = ranking_values(cube)[0], cube.sizes[names.RUN]
        n_pairs = len(pairs.first)
        values = {name: np.full((len(STATISTICS), n_pairs), np.nan) for name in population.MEANINGS}
        if population.refusal(n_runs, cube.sizes[names.TOPIC]):
            return values
        for begin in range(0, n_pairs, DRAWN_TOGETHER):
            own = np.arange(begin, min(begin + DRAWN_TOGETHER, n_pairs))
            drawn = np.empty((len(STATISTICS), population.N_DRAWS, len(own)))
            (first, second), start = np.arange(2 * len(own)).reshape(2, -1), 0
            for means in population.population_rankings(
                units,
                pairs.first[own],
                pairs.second[own],
                partial(_report_part, prepared.report, begin / n_pairs, len(own) / n_pairs),
            ):
                counts = compare(means, np.zeros(2 * len(own)), first, second)
                drawn[:, start : start + len(means)] = coefficients(counts, first, second, n_runs)
                start += len(means)
            for k, each in enumerate(drawn):  # one after another: sorting takes a copy
                for name, found in population.summary(each.T, self.confidence).items():
                    values[name][k, own] = found
        return values

    def _null_statistics(
        self, tau: Any, counts: Mapping[str, Any], n_runs: int
    ) -> dict[str, Array]:
        """Return z, p-values, and the intervals that need no resampling."""
        error, quantile = null_error(n_runs), NormalDist().inv_cdf((1 + self.confidence) / 2)
        z = np.abs(tau) / error
        low, high = fieller(tau, n_runs, quantile)
        exact = [
            exact_p(n_runs, int(concordant), int(discordant))
            for concordant, discordant in zip(
                counts["concordant"], counts["discordant"], strict=True
            )
        ]
        return {
            "z": z,
            "p_value": normal_p(z),
            "p_exact": np.array(exact),
            "tau_low": tau - quantile * error,
            "tau_high": tau + quantile * error,
            "fieller_low": low,
            "fieller_high": high,
        }

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        n_cells, n_runs, n_topics = cells(cube)[0].shape
        n_pairs, words = len(prepared.shared.first), -(-n_runs // 64)
        per_cell = n_runs * (2e-10 * n_topics + 2e-8 + 1e-9 * words)
        per_pair = n_runs * (1.5e-9 + 2e-10 * words) + 5e-8
        per_trial = 8.0 * len(STATISTICS) * n_pairs
        fixed = 64.0 * n_cells * n_runs * trials_at_once(n_cells * n_runs)
        score_bytes = 8.0 * n_cells * n_runs * n_topics
        together = min(n_pairs, DRAWN_TOGETHER)
        drawn_bytes = 8.0 * (len(STATISTICS) + 3) * population.N_DRAWS * together
        drawn_bytes += population.held_bytes(together, n_cells, n_runs, n_topics)
        seconds = n_cells * per_cell + n_pairs * per_pair + 5e-9 * (n_topics + n_runs) + 2e-7
        return Cost(
            seconds,
            per_trial,
            fixed,
            # Coefficients of trials are sorted for percentiles before those of the population are drawn.
            result_bytes=per_trial * trials
            + max(1.2 * per_trial * trials, drawn_bytes)
            + 2.5 * score_bytes,
            result_seconds=population.seconds(n_pairs, n_cells, n_runs, n_topics),
            input_bytes=2 * score_bytes,
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``, topic labels; one half."""
        self.prepare_checked(cube)
        return bootstrapped_topics(cube, seed, trials)


def _report_part(report: Callable[[float], None], begin: float, part: float, share: float) -> None:
    """Report the share of a part of the work that is done as a share of all."""
    report(begin + part * share)
