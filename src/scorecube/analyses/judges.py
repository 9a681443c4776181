"""Any number of sets of judgements, by people or machines, against one that counts as truth.

References: Voorhees 2000, "Variations in relevance judgments and the measurement of retrieval effectiveness" (rankings); Ferro and Sanderson 2022, "How
do you test a test?" (decisions on pairs); Otero, Parapar and Barreiro 2025 (false positives among top runs, losses of ranks); Faggioli et al. 2023,
"Perspectives on large language models for relevance judgment"; those of `scorecube.statistics.label_agreement` and
`scorecube.statistics.corrected_means`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import judge_comparison as comparison
from scorecube.analyses.base import ANY_NUMBER
from scorecube.analyses.judge_labels import labels
from scorecube.analyses.judge_quantities import VARIABLES
from scorecube.analyses.judged_tables import JudgedTable, JudgedTables, judged_tables
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.protocol import Part, TableAnalysis, Totals
from scorecube.collection.schema import CELL, label_array
from scorecube.errors import BadPlan, counted
from scorecube.statistics.label_agreement import COEFFICIENTS

ALL_SHARED = 0
"""Number of labelled topics that stands for all topics that the truth and the judge share."""
SIZES = (10, 20, 30)
TEST = "t"
"""Paired test for the decisions on pairs of runs."""


@dataclass(frozen=True, kw_only=True)
class Judges(TableAnalysis):
    """Judges, human or machine, against the judgements that count as truth.

    Each judge is a set of judgements of the same runs. Rankings: tau with limits of the tau to be expected from as many other topics, tau-AP. Decisions:
    pairs of runs that a paired t test finds different under both sets, under one, or oppositely. Bias: mean under the judge less mean under the truth.
    Labels: kappa, weighted kappa and Krippendorff's alpha of the documents that both judged, with limits over topics. Corrected means: of all topics by
    the judge, and some by the truth (`scorecube.statistics.corrected_means`), by the number of labelled topics. Topics may be shared, nested or others;
    where none are shared, only rankings and decisions are compared.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> cube = simulate_cube(n_runs=6, seed=3)
    >>> result = analyse({"nist": cube, "machine": cube}, Judges())
    >>> result["tau"].sel(metric="AP", judge="machine").values.tolist()
    [1.0]
    """

    name: ClassVar[str] = "judges"
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

    def table(self, cube: xr.Dataset) -> Any:
        return judged_tables(cube)

    def notes(self, table: Any) -> list[str]:
        tables: JudgedTables = table
        judges = tuple(each.name for each in tables.judges)
        for option, chosen, known in (
            ("truth", self.truth, tables.truth),
            ("judges", ", ".join(self.judges), ", ".join(judges)),
        ):
            if chosen and chosen != known:
                raise BadPlan(
                    f"the {option} of the cube: {known}; the plan is for {chosen}", option=option
                )
        notes = list(tables.notes)
        for each in tables.judges:
            notes += [note for note in each.judge.notes if note not in notes]
            if not each.is_shared:
                notes.append(
                    f"{each.name} shares {counted(each.n_shared, 'topic')} with {tables.truth}: only rankings and decisions are compared, which differ by their topics, too"
                )
        if len(tables.runs) < comparison.TOP:
            notes.append(
                f"there are only {len(tables.runs)} runs: all of them count as the top {comparison.TOP}"
            )
        return notes

    def block(self, table: Any, start: int, stop: int) -> dict[str, Part]:
        return {}

    def result(self, table: Any, totals: Totals) -> xr.Dataset:
        tables: JudgedTables = table
        found = [self.of_judge(each, tables.runs) for each in tables.judges]
        values: dict[str, Any] = {}
        for each in VARIABLES:
            parts = [np.asarray(one[each.name]) for one in found]
            axis = 1 if each.dims[: len(CELL)] == CELL else 0
            values[each.name] = np.stack(parts, axis=axis)
        n_levels = values["confusion"].shape[-1]
        first = replace(tables.judges[0].truth, teams=())
        coords = {
            names.RUN: label_array(tables.runs),
            names.JUDGE: label_array(each.name for each in tables.judges),
            names.N_LABELLED: np.array((*self.labels, ALL_SHARED)),
            names.LABEL_STATISTIC: label_array(COEFFICIENTS),
            names.LEVEL: np.arange(n_levels),
            names.JUDGE_LEVEL: np.arange(n_levels),
        }
        attrs = {
            "trials": 0,
            "truth": tables.truth,
            "n_runs": len(tables.runs),
            "top": min(comparison.TOP, len(tables.runs)),
            "notes": list(tables.notes),
            "alpha": self.alpha,
            "test": TEST,
            "confidence": self.confidence,
        }
        return first.dataset(VARIABLES, values, coords, attrs)

    def of_judge(self, judged: JudgedTable, runs: Sequence[str]) -> dict[str, Any]:
        """Return the values of one judge by the names of `VARIABLES`, (cell, ...) or (...)."""
        sizes = (*self.labels, ALL_SHARED)
        found = {
            **comparison.rankings(judged, self.confidence),
            **comparison.decisions(judged, self.alpha),
            **comparison.biases(judged, self.confidence),
            **comparison.corrections(judged, sizes, self.confidence),
            **labels(judged, self.confidence),
            "labelled_topics": np.array([size or judged.n_shared for size in sizes]),
            "n_shared": judged.n_shared,
            "n_truth": judged.n_truth,
            "n_judged": judged.n_judged,
            "n_common_runs": len(judged.truth.runs),
        }
        place = [runs.index(run) for run in judged.truth.runs]
        for each in VARIABLES:
            if names.RUN in each.dims:
                spread = np.full((*np.shape(found[each.name])[:-1], len(runs)), np.nan)
                spread[..., place] = found[each.name]
                found[each.name] = spread
        return found
