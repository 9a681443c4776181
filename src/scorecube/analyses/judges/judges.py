"""Any number of sets of judgements, by people or machines, against one that counts as truth.

References: Voorhees 2000 and those of `scorecube.analyses.rank_agreement.agreement` (rankings, decisions); of
`scorecube.statistics.label_agreement` (labels) and `scorecube.statistics.corrected_means` (corrected means); Faggioli et al. 2023,
"Perspectives on large language models for relevance judgment", ICTIR; Upadhyay et al. 2024, "UMBRELA"; Otero, Parapar and Barreiro 2025
(false positives, rank losses).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import (
    ANY_NUMBER,
    Analysis,
    Array,
    Arrays,
    Combine,
    Cost,
    Inputs,
    Output,
    Prepared,
)
from scorecube.analyses.judges import one_judge
from scorecube.analyses.judges.judge_quantities import VARIABLES
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.pair_tests.base import check_runs
from scorecube.analyses.pair_tests.pair_scores import differences_bytes
from scorecube.analyses.rank_agreement import population
from scorecube.analyses.rank_agreement.agreement import STATISTICS, TEST, TOP, Agreement
from scorecube.collection import schema
from scorecube.collection.judgement_sets import NOT_COMMON, judged_scores
from scorecube.errors import BadName, BadPlan, counted, nearest, option
from scorecube.statistics.label_agreement import COEFFICIENTS, label_coefficients, label_intervals
from scorecube.statistics.paired_tests import seconds_per_pair

ALL_SHARED = 0
"""Number of labelled topics that stands for all topics that the truth and the judge share."""
SIZES = (10, 20, 30)


@dataclass(frozen=True, kw_only=True)
class Judges(Analysis):
    """Judges, human or machine, against the judgements that count as truth.

    Each judge is a set of judgements of the same runs. Rankings: agreement as of `Agreement`, with the agreement over infinitely many topics and its
    interval. Decisions: pairs of runs that a test finds different under both sets, under one, or oppositely. Bias: mean under the judge less mean under
    the truth, by thirds of the runs. Labels: kappa, weighted kappa and Krippendorff's alpha of the documents that both judged, with intervals over topics.
    Corrected means: of all topics by the judge, and some by the truth (`scorecube.statistics.corrected_means`), by the number of labelled topics.
    Topics may be shared, nested or others; where none are shared, only rankings are compared.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> from scorecube.collection.judgement_sets import many_judgement_sets
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> result = analyse(many_judgement_sets({"nist": cube, "machine": cube}), Judges())
    >>> result["agreement"].sel(metric="AP", judge="machine").values.tolist()
    [[1.0, 1.0, 1.0]]
    """

    name: ClassVar[str] = "judges"
    unit: ClassVar[str] = "judges"
    n_collections: ClassVar[int] = ANY_NUMBER
    resamples: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("--truth nist --judges gpt4,llama --labels 10,20,30",)

    truth: str = option_field(
        "", "Collection whose judgements count as truth; the first by default."
    )
    judges: tuple[str, ...] = option_field(
        (), "Collections with the judgements of judges; all others by default.", may_be_empty=True
    )
    alpha: float = level_field(
        names.ALPHA, 0.05, "Significance level of decisions on pairs of runs."
    )
    confidence: float = level_field(names.CONFIDENCE, 0.95, "Confidence level of all intervals.")
    labels: tuple[int, ...] = option_field(
        SIZES,
        "Numbers of topics with labels of the truth, for corrected means.",
        detail="All shared topics always are a further one.",
        minimum=4,
        unit="topics",
        may_be_empty=True,
    )
    baseline: str | None = option_field(
        None,
        "Run that corrected means are compared with; by default the judge's best.",
        detail="Chosen without labels: a run that leads on the labelled topics leads by luck, too.",
    )

    def prepare(self, cube: xr.Dataset) -> Prepared:
        return Prepared(cube, judged_scores(cube))

    def check(self, prepared: Prepared) -> list[str]:
        cube, judged = prepared.cube, prepared.shared
        if self.truth and self.truth != judged.sets[0]:
            raise BadPlan(
                f"the truth of the cube is {judged.sets[0]}; the plan is for {self.truth}",
                option="truth",
            )
        expected = tuple(self.judges or judged.sets[1:])
        if expected != judged.sets[1:]:
            raise BadPlan(
                f"the judges of the cube are {', '.join(judged.sets[1:])}; the plan is for {', '.join(expected)}",
                option="judges",
            )
        runs = schema.labels_of(cube, names.RUN)
        if self.baseline is not None and self.baseline not in runs:
            raise BadName(
                f"no run {self.baseline!r}; nearest: {nearest(self.baseline, runs)}",
                option="baseline",
            )
        check_runs(cube.fillna({names.SCORE: 0.0}), "the comparison of judges")
        warnings = list(cube.attrs.get(NOT_COMMON, []))
        for place, judge in enumerate(judged.sets[1:], 1):
            sets = one_judge.two_sets(judged.scores[0], judged.scores[place])
            if np.isnan(sets.truth).any() or np.isnan(sets.judge).any():
                raise BadPlan(
                    f"scores of {judged.sets[0]} or {judge} are missing; leave their topics out with {option('drop_missing', True)}"
                )
            if min(len(sets.truth[0]), *(each.shape[2] for each in (sets.truth, sets.judge))) < 2:
                raise BadPlan(f"{judged.sets[0]} and {judge} need 2 common runs, and 2 topics each")
            n_shared = int(sets.shared.sum())
            if not sets.is_shared:
                warnings.append(
                    f"{judge} shares {counted(n_shared, 'topic')} with {judged.sets[0]}: only rankings are compared, which differ by their topics, too"
                )
        if len(runs) < TOP:
            warnings.append(f"there are only {len(runs)} runs: all of them count as the top {TOP}")
        return warnings

    def units(self, prepared: Prepared, trials: int) -> int:
        """Return the number of judges."""
        return len(prepared.shared.sets) - 1

    def n_compared(self, cube: xr.Dataset) -> int:
        return math.comb(cube.sizes[names.RUN], 2)

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        cube, judged = prepared.cube, prepared.shared
        runs = schema.labels_of(cube, names.RUN)
        return {
            "scores": judged.scores,
            "labels": _label_counts(cube, len(judged.sets) - 1),
            "baseline": np.array(-1 if self.baseline is None else runs.index(self.baseline)),
        }

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        sizes = {dim: len(labels) for dim, labels in self._labels(prepared.cube).items()}
        n_cells = prepared.shared.scores.shape[1]
        return tuple(
            Output(
                each.name,
                (
                    *([n_cells] if each.dims[:2] == schema.CELL else []),
                    *(sizes[dim] for dim in each.dims if dim in sizes),
                ),
                Combine.CONCAT,
                "float64",
            )
            for each in VARIABLES
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        found = [self._of_judge(inputs, judge) for judge in range(start, stop)]
        return {
            each.name: np.stack([np.asarray(one[each.name], np.float64) for one in found], axis=-1)
            for each in VARIABLES
        }

    def _of_judge(self, inputs: Inputs, judge: int) -> dict[str, Any]:
        """Return the values of one judge by the names of `VARIABLES`, (cell, ...) or (...)."""
        scores, counts = inputs["scores"], inputs["labels"][judge]
        baseline = int(inputs["baseline"])
        sets = one_judge.two_sets(scores[0], scores[judge + 1])
        label, label_low, label_high = label_intervals(counts, self.confidence)
        agreement = Agreement(confidence=self.confidence, alphas=(self.alpha,))
        return {
            **one_judge.rankings(sets, agreement),
            **one_judge.biases(sets, self.confidence),
            **one_judge.corrections(
                sets,
                (*self.labels, ALL_SHARED),
                baseline=None if baseline < 0 else baseline,
                confidence=self.confidence,
            ),
            "label": label,
            "label_low": label_low,
            "label_high": label_high,
            "confusion": counts.sum(axis=0),
            "label_by_topic": label_coefficients(counts),
            "documents_by_topic": counts.sum(axis=(1, 2)),
            "n_shared": sets.shared.sum(),
            "n_truth": sets.truth.shape[2],
            "n_judged": sets.judge.shape[2],
            "n_common_runs": sets.runs.sum(),
        }

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube, judged = prepared.cube, prepared.shared
        values = {}
        for each in VARIABLES:
            if each.dims[:2] == schema.CELL:  # from (cell, ..., judge)
                array = np.moveaxis(totals[each.name], -1, 1)[judged.cell_of]
            else:
                array = np.moveaxis(totals[each.name], -1, 0)
            integer = "i" in each.kinds
            values[each.name] = (each.dims, np.rint(array).astype(np.int64) if integer else array)
        coords = {
            names.METRIC: cube[names.METRIC].drop_vars(names.USES_SETTINGS, errors="ignore"),
            names.USES_GAINS: (names.METRIC, cube[names.USES_SETTINGS].values),
            names.GAIN: schema.label_array(judged.settings),
            names.JUDGE: schema.label_array(judged.sets[1:]),
            **self._labels(cube),
        }
        attrs = {
            "trials": 0,
            "truth": judged.sets[0],
            "n_runs": cube.sizes[names.RUN],
            "top": min(TOP, cube.sizes[names.RUN]),
            "notes": list(cube.attrs.get(NOT_COMMON, [])),
            "alpha": self.alpha,
            "test": TEST,
            "confidence": self.confidence,
        }
        return schema.annotate(xr.Dataset(values, coords, attrs), VARIABLES)

    def _labels(self, cube: xr.Dataset) -> dict[str, Any]:
        """Return the labels along the dims behind metric, gain setting and judge."""
        n_levels = cube[names.LABEL_COUNTS].shape[-1] if names.LABEL_COUNTS in cube else 1
        return {
            names.RUN: cube[names.RUN],
            names.TOPIC: cube[names.TOPIC],
            names.STATISTIC: schema.label_array(STATISTICS),
            names.RUN_LEVEL: schema.label_array(one_judge.LEVELS),
            names.N_LABELLED: np.array((*self.labels, ALL_SHARED)),
            names.LABEL_STATISTIC: schema.label_array(COEFFICIENTS),
            names.LEVEL: np.arange(n_levels),
            names.JUDGE_LEVEL: np.arange(n_levels),
        }

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        n_sets, n_cells, n_runs, n_topics = prepared.shared.scores.shape
        pairs = n_runs * (n_runs - 1) / 2
        # Of a metric and gain setting, of each of its runs, and of its pairs.
        seconds = n_cells * (
            1.2e-2 + 3.5e-4 * n_runs + 2 * seconds_per_pair([TEST], n_topics) * pairs
        )
        drawn = n_cells, 2 * n_cells, n_runs, n_topics
        seconds += population.seconds(*drawn)
        sizes = len(self.labels) + 1
        outputs = 8.0 * n_cells * n_runs * (4 + 7 * sizes) + 16.0 * n_topics
        working = 48.0 * n_cells * n_runs * n_topics
        working += differences_bytes(n_topics, int(pairs))
        working += 24.0 * n_cells * n_runs * population.N_DRAWS + population.held_bytes(*drawn)
        return Cost(
            seconds,
            outputs,
            working,
            result_bytes=3 * n_sets * outputs,
            input_bytes=16.0 * n_sets * n_cells * n_runs * n_topics,
        )


def _label_counts(cube: xr.Dataset, n_judges: int) -> Array:
    """Return the counts of labels, (judge, topic, level, level); no documents if labels are not known."""
    if names.LABEL_COUNTS in cube:
        return np.asarray(cube[names.LABEL_COUNTS].values)
    return np.zeros((n_judges, cube.sizes[names.TOPIC], 1, 1), np.int64)
