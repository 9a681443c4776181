"""Error rates of paired tests, from simulated experiments with known truth.

Reference: Urbano, Lima and Hanjalic 2019, "Statistical significance testing in information retrieval: an empirical analysis of type I, type II
and type III errors", SIGIR 2019.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import (
    Analysis,
    Arrays,
    Combine,
    Cost,
    Inputs,
    Output,
    Prepared,
    labelled_result,
)
from scorecube.analyses.options import option_field
from scorecube.analyses.simulation.decisions import (
    LEVEL_ROUNDING,
    RESAMPLING,
    TESTS,
    classical,
    resample_weights,
    resampling,
)
from scorecube.analyses.simulation.error_quantities import VARIABLES
from scorecube.analyses.simulation.families import (
    FAMILIES,
    draw_collections,
    level_of,
    smallest_error,
)
from scorecube.analyses.simulation.pair_models import (
    UNITS,
    distinct_systems,
    fit_pair_model,
    pair_model_seconds,
)
from scorecube.analyses.simulation.samples import seeds_of
from scorecube.collection import schema
from scorecube.collection.selection import cells, n_cells
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, counted, option
from scorecube.kernels.experiments.differences import draw_differences
from scorecube.kernels.random.philox import stream_key

LEVELS = (*(k / 1000 for k in range(1, 10)), *(k / 100 for k in range(1, 11)))
"""Significance levels of the reference."""
LEAST_TOPICS, FEW_TOPICS = 5, 20
LEAST_SYSTEMS, FEW_SYSTEMS = 3, 12
"""Fewer than the second number have not ten neighbours of each baseline."""
GROUP = 1024
"""Consecutive trials that share their resamples of topics and signs, wherever blocks begin."""
MOST_SUM = 2**24
"""Integers up to this bound are exact in single precision."""


@dataclass(frozen=True, kw_only=True)
class Errors(Analysis):
    """Error rates of paired tests, from simulated experiments with known truth.

    A trial is one experiment per metric, number of topics and true difference: two systems of the collection are drawn, and their scores
    on new topics are simulated from a model of them: a distribution of the scores of each system, and a copula of each pair. Without a
    true difference both systems have the same distribution, and every significant result is a type I error. With one, the first system
    is none of the best quarter, and the second one has the distribution of one of the ten systems with the nearest means, distorted so
    that its mean is larger by the difference exactly: significant results are the power, those with the opposite sign type III errors.
    The estimand of a rate is the probability of p <= alpha in such an experiment.

    Notes
    -----
    The experiments of a group of 1,024 consecutive trials share their resamples: each p-value has the distribution of one from its own
    resamples, so expected rates are the same, and only the errors of resampling are correlated between experiments; the intervals of
    rates (Wilson) do not include that correlation, which is small beside the variance of a decision.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> cube = simulate_cube(metrics=("P@10",), n_runs=14, seed=3)
    >>> result = analyse(cube, Errors(n=(20,), n_resamples=100, copula="gaussian"), trials=50, seed=1)
    >>> result["significant"].dims
    ('metric', 'gain', 'test', 'size', 'delta', 'sided', 'alpha')
    """

    name: ClassVar[str] = "errors"
    compile_seconds: ClassVar[float] = 15.0
    examples: ClassVar[tuple[str, ...]] = ("--trials 100000 --n 50 --delta 0,0.05 --seed 1",)
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {"trials": {"default": 10_000}}

    tests: tuple[
        Literal["t", "wilcoxon", "sign", "bootstrap", "permutation", "tukey", "holm", "maxt"], ...
    ] = option_field(
        TESTS,
        "Some of t, wilcoxon, sign, bootstrap, permutation; of all pairs together: tukey, holm, maxt.",
        detail="``wilcoxon``, signed-rank, is exact for fewer than 50 topics without zeros and ties, else the normal approximation with "
        "corrections for ties and continuity; ``sign`` leaves differences up to .01 out as ties; ``bootstrap`` is of the mean difference, "
        "shifted and not studentised; ``permutation`` of the signs of differences. One-sided p-values are of the alternative that the "
        "second system is better. The experiments of tests of all pairs are whole collections with equal true means (with a true "
        "difference: all but the best run): ``tukey``, ``holm`` (t tests with Holm's adjustment), ``maxt``; their rate is that of "
        "collections with any error.",
    )
    n: tuple[int, ...] = option_field(
        (25, 50, 100),
        "Numbers of topics of an experiment.",
        detail="One with fewer topics is the beginning of one with more.",
        minimum=3,
        maximum=1600,
        unit="topics",
    )
    alphas: tuple[float, ...] = option_field(
        LEVELS,
        "Significance levels, ascending.",
        flag="--alpha",
        above=0,
        maximum=0.25,
        level=names.ALPHA,
    )
    deltas: tuple[float, ...] = option_field(
        (0.0, 0.05),
        "True differences of means; 0 for type I errors.",
        flag="--delta",
        minimum=0,
        maximum=0.5,
    )
    n_resamples: int = option_field(
        10_000,
        "Resamples of each bootstrap and permutation test.",
        flag="--resamples",
        minimum=100,
        maximum=10**6,
    )
    copula: Literal["pairs", "gaussian", "independent"] = option_field(
        "pairs",
        "Dependence of two systems: chosen for each pair, gaussian, or none.",
        detail="``pairs``: the family of copulas with the smallest AIC for each pair; ``gaussian``: of each pair's normal scores.",
    )
    ties: Literal["whole", "half"] = option_field(
        "whole",
        "Whether equally extreme resamples count whole or half.",
        detail="They are exactly as extreme as the observed difference, and count in the p-value; it matters for scores with few values. "
        "In the reference sums were rounded, so that about half of the ties counted.",
    )
    drop_worst: float = option_field(
        0.1,
        "Share of the worst runs that is left out.",
        detail="The worst have the lowest means; of runs with the same scores on all topics one is kept.",
        minimum=0,
        below=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for option_name in ("n", "alphas", "deltas"):
            # Equal plans must have equal digests.
            object.__setattr__(self, option_name, tuple(sorted(set(getattr(self, option_name)))))

    def check(self, prepared: Prepared) -> list[str]:
        cube = prepared.cube
        refuse_other_summaries(cube, "a simulation of experiments")
        scores = cells(cube)[0]
        if not np.isfinite(scores).all():
            raise BadPlan(
                f"scores are missing; leave their topics out with {option('drop_missing', True)}"
            )
        if scores.min() < 0 or scores.max() > 1:
            raise BadPlan(
                f"experiments are simulated for scores from 0 to 1, found {scores.min():g} to {scores.max():g}; choose other "
                f"{option('metrics')}"
            )
        n_topics = cube.sizes[names.TOPIC]
        if n_topics < LEAST_TOPICS:
            raise BadPlan(
                f"models of scores need {LEAST_TOPICS} topics, found {counted(n_topics, 'topic')}"
            )
        fewest = min(len(distinct_systems(cell, self.drop_worst)) for cell in scores)
        if fewest < LEAST_SYSTEMS:
            raise BadPlan(
                f"experiments need {LEAST_SYSTEMS} different runs after the worst are left out, found {fewest}; "
                f"use more runs, or another {option('drop_worst')}"
            )
        if max(self.n) * UNITS >= MOST_SUM:
            raise BadPlan(
                f"{max(self.n)} topics; use at most {(MOST_SUM - 1) // UNITS:,}", option="n"
            )
        warnings = []
        if n_topics < FEW_TOPICS:
            warnings.append(
                f"{counted(n_topics, 'topic')}: models of scores are fitted to few topics; use {FEW_TOPICS} or more"
            )
        if fewest < FEW_SYSTEMS:
            warnings.append(
                f"{counted(fewest, 'different run')}: rates are about few pairs of systems; use {FEW_SYSTEMS} or more"
            )
        return warnings

    def inputs(
        self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None
    ) -> Arrays:
        inputs: Arrays = {
            "key": stream_key(seed, names.Purpose.EXPERIMENTS),
            "bootstrap": stream_key(seed, names.Purpose.EXPERIMENT_TOPICS),
            "permutation": stream_key(seed, names.Purpose.EXPERIMENT_SIGNS),
        }
        for cell, scores in enumerate(cells(prepared.cube)[0]):
            inputs |= self._collections(cell, scores, seed, trials)
            if not self.of_pairs:
                continue
            model = fit_pair_model(scores[distinct_systems(scores, self.drop_worst)], self.copula)
            inputs |= {f"{name}_{cell}": array for name, array in model.arrays().items()}
            for k, delta in enumerate(self.deltas):
                choices, exponents = model.moved_choices(delta) if delta else model.null_choices()
                inputs |= {f"choices_{cell}_{k}": choices, f"exponents_{cell}_{k}": exponents}
        inputs["n_cells"] = np.array(n_cells(prepared.cube))
        inputs["seed"] = np.array(seed, np.uint64)
        return inputs

    @property
    def of_pairs(self) -> bool:
        """Whether there are tests of two systems."""
        return len(self.families) < len(self.tests)

    @property
    def families(self) -> list[tuple[int, str]]:
        """Position and name of each test of all pairs."""
        return [(place, test) for place, test in enumerate(self.tests) if test in FAMILIES]

    def _collections(self, cell: int, scores: Any, seed: int, trials: int) -> Arrays:
        """Return the simulated collections of one cell, for tests of all pairs."""
        found: Arrays = {}
        systems = scores[distinct_systems(scores, self.drop_worst)]
        for k, delta in enumerate(self.deltas if self.families else ()):
            drawn, best = draw_collections(systems, delta, self.copula, seed, trials, max(self.n))
            found |= {f"collections_{cell}_{k}": drawn, f"best_{cell}_{k}": np.array(best)}
        return found

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        shape = (n_cells(prepared.cube), len(self.deltas), len(self.n), len(self.tests))
        return (Output("experiments", (*shape, 3, len(self.alphas) + 2), Combine.ADD, least=0),)

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        cells_count = int(inputs["n_cells"])
        shape = (cells_count, len(self.deltas), len(self.n), len(self.tests))
        counts = np.zeros((*shape, 3, len(self.alphas) + 2), np.int64)
        for group, low, high in groups(start, stop) if self.of_pairs else ():
            drawn = [
                [self._differences(inputs, cell, k, low, high) for k in range(len(self.deltas))]
                for cell in range(cells_count)
            ]
            for i, n_topics in enumerate(self.n):
                for cell, by_delta in enumerate(drawn):
                    for k, differences in enumerate(by_delta):
                        classical(
                            self.tests,
                            differences,
                            n_topics,
                            UNITS,
                            self.alphas,
                            counts[cell, k, i],
                        )
                self._resample(inputs, group, n_topics, drawn, counts[:, :, i])
        if self.families:
            self._count_families(inputs, start, stop, counts)
        return {"experiments": counts}

    def _count_families(self, inputs: Inputs, start: int, stop: int, counts: Any) -> None:
        """Add the levels that errors of tests of all pairs reach: counts (cell, delta, size, test, row, level)."""
        seeds = seeds_of(int(inputs["seed"]), start, stop)
        for cell, k in np.ndindex(*counts.shape[:2]):
            collections, best = inputs[f"collections_{cell}_{k}"], int(inputs[f"best_{cell}_{k}"])
            for trial, seed in zip(range(start, stop), seeds, strict=True):
                for i, n_topics in enumerate(self.n):
                    scores = np.ascontiguousarray(collections[trial][:, :n_topics])
                    for place, test in self.families:
                        p = smallest_error(test, scores, best, self.n_resamples, seed)
                        level = level_of(p, self.alphas, LEVEL_ROUNDING)
                        counts[cell, k, i, place, 1, level] += 1

    def _differences(self, inputs: Inputs, cell: int, k: int, low: int, high: int) -> Any:
        """Return the differences of the experiments low .. high-1: int32 (trial, topic)."""
        differences = np.empty((high - low, max(self.n)), np.int32)
        draw_differences(
            inputs["key"],
            low,
            inputs[f"choices_{cell}_{k}"],
            inputs[f"exponents_{cell}_{k}"],
            (inputs[f"cumulative_{cell}"], inputs[f"guides_{cell}"], inputs[f"scores_{cell}"]),
            (inputs[f"copulas_{cell}"], inputs[f"parameters_{cell}"]),
            differences,
        )
        return differences

    def _resample(self, inputs: Inputs, group: int, n_topics: int, drawn: Any, counts: Any) -> None:
        """Add the decisions of the resampling tests: counts (cell, delta, test, row, level)."""
        for place, test in enumerate(self.tests):
            if test not in RESAMPLING:
                continue
            weights = resample_weights(test, inputs[test], group, n_topics, self.n_resamples)
            for cell, by_delta in enumerate(drawn):
                for k, differences in enumerate(by_delta):
                    resampling(
                        test,
                        differences,
                        weights,
                        self.alphas,
                        counts[cell, k, place],
                        half=self.ties == "half",
                    )

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        cell_of = cells(cube)[1]
        # (cell, delta, size, test, row, level) -> (cell, test, size, delta, row, level)
        counts = totals["experiments"].transpose(0, 3, 2, 1, 4, 5)[cell_of]
        reached = counts[..., :-1].cumsum(axis=-1)
        values = {
            "significant": reached[..., :2, :-1],
            "wrong_sign": reached[..., 2, :-1],
            "experiments": reached[..., 1, -1],
        }
        coords = {
            names.TEST: schema.label_array(self.tests),
            names.SIZE: np.array(self.n),
            names.DELTA: np.array(self.deltas),
            names.SIDED: np.array([1, 2]),
            names.ALPHA: np.array(self.alphas),
        }
        systems = [len(distinct_systems(cell, self.drop_worst)) for cell in cells(cube)[0]]
        attrs = {
            "trials": trials,
            "resamples": self.n_resamples,
            "copula": self.copula,
            "ties": self.ties,
            "systems": [int(each) for each in systems],
        }
        return labelled_result(cube, VARIABLES, values, coords, attrs)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        count, n_runs, n_topics = cells(prepared.cube)[0].shape
        experiments, largest = count * len(self.deltas), max(self.n)
        n_resampling = sum(test in RESAMPLING for test in self.tests)
        sums = n_resampling * sum(self.n) * self.n_resamples
        model_bytes = count * n_runs * (8.0 * UNITS + 40.0 * n_runs)
        n_families = sum(test != "holm" for _, test in self.families)
        # Of a pair of runs, topic and resample of a test of all pairs.
        family = 2e-10 * n_families * sum(self.n) * n_runs**2 * self.n_resamples
        collections = 16.0 * bool(self.families) * trials * experiments * n_runs * largest
        return Cost(
            seconds=experiments
            * (
                4e-7 * largest
                + 4e-6 * len(self.n) * 3
                + 3.5e-11 * sums
                + family
                + 0.01 * len(self.families)
            ),
            bytes=8.0,
            fixed_bytes=4.0 * GROUP * largest * experiments + 24.0 * largest * self.n_resamples,
            fixed_seconds=3e-9 * sums,
            result_bytes=8.0 * experiments * len(self.n) * len(self.tests) * 4 * len(self.alphas),
            input_bytes=model_bytes + 40.0 * count * n_runs**2 * len(self.deltas) + collections,
            input_seconds=count * pair_model_seconds(n_runs, n_topics) * self.of_pairs,
        )


def groups(start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield the groups of the trials start .. stop-1: number of the group, and the range of its trials.

    Examples
    --------
    >>> list(groups(1000, 2000))
    [(0, 1000, 1024), (1, 1024, 2000)]
    """
    for group in range(start // GROUP, -(-stop // GROUP)):
        yield group, max(start, group * GROUP), min(stop, (group + 1) * GROUP)
