"""Agreement of two sets of judgements of the same runs.

References: Voorhees 2000, "Variations in relevance judgments and the measurement of retrieval effectiveness",
IP&M (tau between rankings under different judgements); Ferro and Sanderson 2019, "Improving the accuracy of system performance estimation by using shards", SIGIR,
and 2022, "How do you test a test? A multifaceted examination of significance tests", WSDM; Otero, Parapar and
Ferro 2023, "How discriminative are your qrels?", CIKM (decisions on pairs of runs); Otero, Parapar and
Barreiro 2025, "Limitations of automatic relevance assessments with large language models", SIGIR (false
positives among top runs).

Of decisions on pairs of runs, a pair is active if it is significant under both sets, mixed if under one, passive if under neither. It is a
disagreement if the two sets order its runs oppositely, else an agreement; a pair with equal means under a set
is therefore an agreement. Reference: Moffat, Scholer and Thomas 2012, "Models and metrics: IR evaluation as a user process", ADCS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Array, Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.drawn_samples import bootstrapped_topics
from scorecube.analyses.options import level_field, set_field
from scorecube.analyses.pair_tests.base import alphas_field, check_runs, n_pairs
from scorecube.analyses.pair_tests.pair_scores import (
    differences_bytes,
    pairs_at_once,
    score_differences,
    score_rounding,
)
from scorecube.analyses.rank_agreement import population
from scorecube.analyses.rank_agreement.agreement_quantities import (
    DECISIONS,
    TOP_PAIR_COUNTS,
    VARIABLES,
)
from scorecube.analyses.topic_samples.base import WIDTH, grid_of
from scorecube.collection import schema
from scorecube.collection.judgement_sets import NOT_COMMON, cells_by_set, judgement_set_names
from scorecube.errors import BadPlan
from scorecube.kernels.pairs.pair_order import label_order
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples, multiplicity_columns
from scorecube.kernels.rank.concordance import compare, pairs_of, tau_a, tau_b
from scorecube.kernels.rank.rank_change import rank_changes, ranks_above
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.statistics.integer_scores import for_orders, in_units, single_scores
from scorecube.statistics.paired_tests import classical_p_values, seconds_per_pair
from scorecube.statistics.quantiles import defined_mean, tails

STATISTICS = ("tau", "tau_b", "tau_ap")
INTEGERS = ("concordant", "discordant", "tied_first", "tied_second", "drop")
TEST = "t"
"""Paired test for the decisions on pairs of runs."""
TOP = 10
"""Number of best runs of the first set, for counts of false positives and negatives; ties stand in the order of run names."""


@dataclass(frozen=True, kw_only=True)
class Agreement(Analysis):
    """Agreement of rankings and significant differences under two sets of judgements.

    The first set is the reference. ``population`` estimates the agreement of the two rankings of these runs over
    infinitely many topics, with an interval (`scorecube.analyses.rank_agreement.population`; docs/believe/intervals.md has its
    coverage). The observed agreement is an unbiased estimate of the one expected of other topics, as many.

    A trial draws n topics with replacement, those of the bootstrap test with the same seed, for both sets and all
    metrics. A sample with replacement holds fewer distinct topics than the collection, so the agreement on
    samples tends to be lower than on all topics (``bias``), and a percentile interval can lie below the observed
    value; it is no confidence interval.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> from scorecube.collection.judgement_sets import judgement_sets
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> result = analyse(judgement_sets(cube, cube), Agreement(), trials=100, seed=1)
    >>> result["agreement"].sel(metric="AP").values.tolist()
    [[1.0, 1.0, 1.0]]
    """

    name: ClassVar[str] = "agreement"
    n_collections: ClassVar[int] = 2
    examples: ClassVar[tuple[str, ...]] = ("--collections official,reduced --trials 1000 --seed 1",)

    first: str = set_field("first set, the truth")
    second: str = set_field("second set")
    confidence: float = level_field(
        names.CONFIDENCE,
        0.95,
        "Confidence level of the intervals over topic samples.",
        finalize=True,
    )
    alphas: tuple[float, ...] = alphas_field(finalize=True)

    def check(self, prepared: Prepared) -> list[str]:
        cube = prepared.cube
        sets = judgement_set_names(cube)
        expected = (self.first or sets[0], self.second or sets[1])
        if expected != sets:
            raise BadPlan(
                f"the sets of judgements are {' and '.join(sets)}; the plan is for {' and '.join(expected)}"
            )
        check_runs(cube, "the agreement of judgements")
        warnings = list(cube.attrs.get(NOT_COMMON, []))
        if cube.sizes[names.RUN] < TOP:
            warnings.append(
                f"there are only {cube.sizes[names.RUN]} runs: all of them count as the top {TOP}"
            )
        return warnings

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        return {
            **rankings_of(np.concatenate(cells_by_set(prepared.cube, 2)[0])),
            "key": stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS),
        }

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        shape = (cells_by_set(prepared.cube, 2)[0].shape[1],)
        most = pairs_of(
            prepared.cube.sizes[names.RUN]
        )  # also of changes of a rank; correlations have room for rounding
        return (
            *(Output(name, shape, Combine.CONCAT, "int32", 0, most) for name in INTEGERS),
            Output("tau_ap", shape, Combine.CONCAT, "float64", -2, 2),
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        n_rankings, n_runs, n_topics = (int(number) for number in inputs["shape"])
        parts, at_once = [], trials_at_once(n_rankings * n_runs)
        for low in range(start, stop, at_once):
            high = min(low + at_once, stop)
            drawn = bootstrap_samples(inputs["key"], n_topics, low, high)
            parts.append(self.statistics(inputs, multiplicity_columns(drawn, n_topics)))
        return {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}

    def statistics(self, inputs: Inputs, counts: Array) -> Arrays:
        """Return the statistics of topic samples.

        inputs: As from `inputs`.
        counts: float64 (topic, trial): number of times that each sample holds each topic.
        Returns statistics: The outputs of a block: (cell, trial).
        """
        n_rankings, n_runs, _ = (int(number) for number in inputs["shape"])
        sums = (counts.T @ inputs["units"].T).reshape(counts.shape[1], n_rankings, n_runs)
        return self.statistics_of_means(sums, inputs["tolerances"])

    def statistics_of_means(self, sums: Array, tolerances: Array) -> Arrays:
        """Return the statistics of rankings.

        sums: float64 (trial, set * cell, run): sums or means as integers; the cells of the first set, then those of the
            second.
        tolerances: float64 (set * cell,): largest difference of tied sums.
        Returns statistics: The outputs of a block: (cell, trial).
        """
        n_rankings = sums.shape[1]
        n_cells = n_rankings // 2
        first, second = np.arange(n_cells), np.arange(n_cells, n_rankings)
        concordance = compare(sums, tolerances, first, second)
        integers: dict[str, Array] = {
            "concordant": concordance.concordant,
            "discordant": concordance.discordant,
            "tied_first": concordance.tied[:, :n_cells],
            "tied_second": concordance.tied[:, n_cells:],
            "drop": rank_changes(ranks_above(sums, tolerances), first, second)[1],
        }
        return {
            name: np.ascontiguousarray(values.T, np.int32) for name, values in integers.items()
        } | {"tau_ap": np.ascontiguousarray(concordance.ap_accuracy.T)}

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        (first, second), cell_of = cells_by_set(cube, 2)
        by_cell = self.observed(first, second)
        replicates = coefficients(totals, pairs_of(cube.sizes[names.RUN]))
        tail = (1 - Fraction(str(self.confidence))) / 2
        agreement, (low, high) = by_cell["agreement"], tails(replicates, tail)
        drop_low, drop_high = tails(totals["drop"].astype(np.float64), tail)
        by_cell |= {
            "low": low,
            "high": high,
            "replicate": replicates,
            "bias": defined_mean(replicates) - agreement,
            "drop_low": drop_low,
            "drop_high": drop_high,
        }
        return self._labelled(cube, by_cell, cell_of, trials)

    def observed(self, first: Array, second: Array, *, paired: bool = True) -> dict[str, Array]:
        """Return what needs no trials: agreement, losses of ranks, means and decisions on pairs of runs.

        first, second: float64 (cell, run, topic): scores under both sets.
        paired: Whether their topics are the same; otherwise nothing is known about infinitely many topics.
        Returns values: Arrays (cell, ...) by the names of `VARIABLES`, without those of trials; and `only_first` and
            `only_second`, the pairs of runs that are significant under one set only.
        """
        half, n_runs = first.shape[:2]
        parts = (
            [rankings_of(np.concatenate([first, second]))]
            if paired
            else [rankings_of(first), rankings_of(second)]
        )
        sums = np.concatenate([part["units"].sum(axis=-1) for part in parts])
        sums = sums.reshape(1, 2 * half, n_runs)
        tolerances = np.concatenate([part["tolerances"] for part in parts])
        observed = self.statistics_of_means(sums, tolerances)
        ranks = 1 + ranks_above(sums, tolerances)[0].astype(np.int64)
        drops = ranks[half:] - ranks[:half]
        # Ties in the loss of ranks go to the run with the best rank under the first set.
        drop_run = np.array([np.lexsort((ranks[k], -drops[k]))[0] for k in range(half)])
        return {
            "agreement": coefficients(observed, pairs_of(n_runs))[..., 0],
            **self._population(parts[0], (2 * half, *first.shape[1:]), paired),
            "tied_first": observed["tied_first"][:, 0],
            "tied_second": observed["tied_second"][:, 0],
            "drop": drops.max(axis=-1),
            "drop_run": drop_run,
            "mean_first": first.mean(axis=-1),
            "mean_second": second.mean(axis=-1),
            "rank_first": ranks[:half],
            "rank_second": ranks[half:],
            **count_decisions([*first, *second], sums[0], tolerances, ranks, self.alphas),
        }

    def _population(self, inputs: Inputs, shape: tuple[int, ...], paired: bool) -> dict[str, Array]:
        """Return the `STATISTICS` over infinitely many topics, (cell, statistic); missing for few runs or topics, or other topics."""
        half, (_, n_runs, n_topics) = shape[0] // 2, shape
        if not paired or population.refusal(n_runs, n_topics):
            return dict.fromkeys(population.MEANINGS, np.full((half, len(STATISTICS)), np.nan))
        cells, no_ties = np.arange(2 * half), np.zeros(2 * half)
        drawn = [
            coefficients(self.statistics_of_means(means, no_ties), pairs_of(n_runs))
            for means in population.population_rankings(
                inputs["units"].reshape(shape), cells[:half], cells[half:]
            )
        ]
        return population.summary(np.concatenate(drawn, axis=-1), self.confidence)

    def _labelled(
        self, cube: xr.Dataset, by_cell: Inputs, cell_of: Array, trials: int
    ) -> xr.Dataset:
        n_settings = cell_of.shape[1]
        uses = (
            cube[names.USES_SETTINGS].values
            if names.USES_SETTINGS in cube.coords
            else np.ones(len(cell_of), bool)
        )
        coords = {
            names.METRIC: cube[names.METRIC].drop_vars(names.USES_SETTINGS, errors="ignore"),
            names.USES_GAINS: (names.METRIC, uses),
            names.GAIN: schema.label_array(schema.labels_of(cube, names.SETTING)[:n_settings]),
            names.RUN: cube[names.RUN],
            names.STATISTIC: schema.label_array(STATISTICS),
            names.ALPHA: np.array(self.alphas),
        }
        result = xr.Dataset(
            {item.name: (item.dims, by_cell[item.name][cell_of]) for item in VARIABLES},
            coords=coords,
        )
        sets = judgement_set_names(cube)
        attrs = {
            "trials": trials,
            "n_runs": cube.sizes[names.RUN],
            "n_topics": cube.sizes[names.TOPIC],
            "set_a": sets[0],
            "set_b": sets[1],
            "confidence": self.confidence,
            "test": TEST,
            "top": min(TOP, cube.sizes[names.RUN]),
            "notes": list(cube.attrs.get(NOT_COMMON, [])),
            "no_interval": population.refusal(cube.sizes[names.RUN], cube.sizes[names.TOPIC]),
        }
        return schema.annotate(result.assign_attrs(attrs), VARIABLES)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        n_cells, n_runs, n_topics = cells_by_set(cube, 2)[0].shape[1:]
        n_rankings = 2 * n_cells
        words = -(-n_runs // 64)
        seconds = (
            1e-9 * n_rankings * n_runs * (25 + 2 * words)
            + 1e-10 * n_topics * n_rankings * n_runs
            + 1e-8 * n_topics
        )
        fixed = 96.0 * n_rankings * n_runs * trials_at_once(n_rankings * n_runs)
        score_bytes = 8.0 * n_rankings * n_runs * n_topics
        decisions = 2 * seconds_per_pair([TEST], n_topics) * n_rankings * n_pairs(cube)
        per_trial = 36.0 * n_cells
        drawn_bytes = 12.0 * len(STATISTICS) * population.N_DRAWS * n_rankings
        drawn_bytes += population.held_bytes(n_cells, n_rankings, n_runs, n_topics)
        drawn_bytes += differences_bytes(n_topics, n_pairs(cube))
        return Cost(
            seconds,
            per_trial,
            fixed,
            result_bytes=trials * (per_trial + 28.0 * n_rankings) + 4 * score_bytes + drawn_bytes,
            result_seconds=decisions + population.seconds(n_cells, n_rankings, n_runs, n_topics),
            input_bytes=2 * score_bytes,
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``, topic labels; one half."""
        return bootstrapped_topics(cube, seed, trials)


def rankings_of(scores: Array) -> Arrays:
    """Return what ranks runs: ``units``, integer scores for exact ties (ranking * run, topic), ``shape`` and ``tolerances``.

    scores: float64 (ranking, run, topic).
    """
    n_rankings, n_runs, n_topics = scores.shape
    comparable = for_orders(n_topics, WIDTH, scores)
    grid = grid_of(n_topics, None, comparable)
    units = grid.to_units(comparable)
    return {
        "units": np.ascontiguousarray(units.reshape(n_rankings * n_runs, n_topics)),
        "shape": np.array(scores.shape),
        "tolerances": np.full(n_rankings, grid.tolerance),
    }


def coefficients(counts: Inputs, pairs: int) -> Array:
    """Return the `STATISTICS` (cell, statistic, trial) of the outputs of blocks."""
    concordant, discordant = counts["concordant"], counts["discordant"]
    corrected = tau_b(concordant, discordant, pairs, counts["tied_first"], counts["tied_second"])
    return np.stack([tau_a(concordant, discordant, pairs), corrected, counts["tau_ap"]], axis=1)


def count_decisions(
    scores: Sequence[Array], sums: Array, tolerances: Array, ranks: Array, alphas: Sequence[float]
) -> dict[str, Array]:
    """Count the decisions of each kind on pairs of runs.

    scores: float64 (run, topic), one for each set and cell: the cells of the first set, then those of the second.
    sums, tolerances: float64 (set * cell, run) and (set * cell,): sums of scores as integers, and the largest
        difference of tied sums.
    ranks: int (set * cell, run).
    alphas: Significance levels.
    Returns counts: int64 (cell, alpha) for each name of `DECISIONS` and `TOP_PAIR_COUNTS`, and the two parts of
        the mixed pairs: significant under the first, and under the second set only.
    """
    half, levels = len(scores) // 2, [float(Fraction(str(alpha))) for alpha in alphas]
    n_runs = sums.shape[1]
    first, second = label_order(n_runs)
    counts = {
        name: np.zeros((half, len(levels)), np.int64)
        for name in (*DECISIONS, *TOP_PAIR_COUNTS, "only_first", "only_second")
    }
    for cell in range(half):
        best = np.zeros(n_runs, bool)
        best[np.argsort(ranks[cell], kind="stable")[:TOP]] = True
        step = pairs_at_once(scores[cell].shape[-1])
        for low in range(0, len(first), step):
            a, b = first[low : low + step], second[low : low + step]
            p, orders = zip(
                *(
                    p_values_and_signs(scores[k], sums[k], float(tolerances[k]), a, b)
                    for k in (cell, cell + half)
                ),
                strict=True,
            )
            opposite, top_pairs = orders[0] * orders[1] < 0, best[a] & best[b]
            for level, alpha in enumerate(levels):
                under_first, under_second = p[0] < alpha, p[1] < alpha
                kinds = {
                    "active": under_first & under_second,
                    "mixed": under_first ^ under_second,
                    "passive": ~(under_first | under_second),
                }
                masks = {
                    f"{kind}_{direction}": pairs & mask
                    for kind, pairs in kinds.items()
                    for direction, mask in (("agreement", ~opposite), ("disagreement", opposite))
                } | {
                    "top_pairs": top_pairs,
                    "top_significant": top_pairs & under_first,
                    "top_significant_second": top_pairs & under_second,
                    "false_positives": top_pairs & under_second & ~under_first,
                    "false_negatives": top_pairs & under_first & ~under_second,
                    "only_first": under_first & ~under_second,
                    "only_second": under_second & ~under_first,
                }
                for name, mask in masks.items():
                    counts[name][cell, level] += int(mask.sum())
    return counts


def p_values_and_signs(
    scores: Array, sums: Array, tolerance: float, first: Array, second: Array
) -> tuple[Array, Array]:
    """Return p-values of pairs of runs, and signs of their mean differences."""
    # Integers where possible, so that ties of differences are exact.
    units = in_units(*single_scores(scores))
    rounding = score_rounding(units)
    differences = score_differences(units.whole, rounding, first, second)
    difference = sums[first] - sums[second]
    difference[np.abs(difference) <= tolerance] = 0.0
    return classical_p_values(TEST, differences, rounding), np.sign(difference).astype(np.int64)
