"""Any number of sets of judgements, by people or machines, against one that counts as truth.

References: Voorhees 2000, "Variations in relevance judgments and the measurement of retrieval
effectiveness" (rankings); Ferro and Sanderson 2022, "How do you test a test?" (decisions on pairs);
Faggioli et al. 2023, "Perspectives on large language models for relevance judgment"; those of
`scorecube.statistics.label_agreement` and `scorecube.statistics.corrected_means`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import judge_comparison as comparison
from scorecube.analyses.judged_tables import JudgedTable, JudgedTables, judged_tables
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import ANY_NUMBER, Analysis, Totals
from scorecube.collection.schema import CELL, label_array
from scorecube.errors import BadPlan, counted
from scorecube.statistics.label_agreement import COEFFICIENTS

ALL_SHARED = 0
"""Number of labelled topics that stands for all topics that the truth and the judge share."""
SIZES = (10, 20, 30)
DIMS = {variable.name: variable.dims for variable in comparison.VARIABLES}


@dataclass(frozen=True, kw_only=True)
class Judges(Analysis):
    """Judges, human or machine, against the judgements that count as truth.

    Each judge is a set of judgements of the same runs. Rankings: tau with limits of the tau to be
    expected from as many other topics, tau-AP. Decisions: pairs of runs that a paired t test finds
    different under both sets, under one, or oppositely. Bias: mean under the judge less mean under
    the truth. Labels: kappa, weighted kappa and Krippendorff's alpha of the documents that both
    judged, with limits over topics. Corrected means: of all topics by the judge, and some by the
    truth, by the number of labelled topics. Topics may be shared, nested or others; where none are
    shared, only rankings and decisions are compared.

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
        (), "Collections with the judgements of judges; all others by default."
    )
    alpha: float = option_field(
        0.05, "Significance level of decisions on pairs of runs.", above=0, below=1
    )
    confidence: float = option_field(0.95, "Confidence level of all intervals.", above=0, below=1)
    labels: tuple[int, ...] = option_field(
        SIZES, "Numbers of topics with labels of the truth, for corrected means.", minimum=4
    )

    def table(self, cube: xr.Dataset) -> Any:
        return judged_tables(cube)

    def notes(self, table: Any) -> list[str]:
        tables: JudgedTables = table
        judges = ", ".join(judge.name for judge in tables.judges)
        for name, chosen, of_cube in (
            ("truth", self.truth, tables.truth),
            ("judges", ", ".join(self.judges), judges),
        ):
            if chosen and chosen != of_cube:
                raise BadPlan(
                    f"the {name} of the cube: {of_cube}; the plan is for {chosen}", option=name
                )
        notes = list(tables.notes)
        for judge in tables.judges:
            notes += [note for note in judge.judge.notes if note not in notes]
            if not judge.is_shared:
                shared = counted(judge.facts["n_shared"], "topic")
                notes.append(
                    f"{judge.name} shares {shared} with {tables.truth}: "
                    "only rankings and decisions are compared, which differ by their topics, too"
                )
        return notes

    def result(self, table: Any, totals: Totals) -> xr.Dataset:
        tables: JudgedTables = table
        of_judges = [self.of_judge(judge, tables.runs) for judge in tables.judges]
        # Judges come after cells, which are one axis here, and before all else.
        values: dict[str, Any] = {
            name: np.stack([of[name] for of in of_judges], axis=int(dims[:2] == CELL))
            for name, dims in DIMS.items()
        }
        coords = {
            names.RUN: label_array(tables.runs),
            names.JUDGE: label_array(judge.name for judge in tables.judges),
            names.N_LABELLED: np.array((*self.labels, ALL_SHARED)),
            names.LABEL_STATISTIC: label_array(COEFFICIENTS),
        }
        unlimited = (np.isnan(values["tau_low"]) & ~np.isnan(values["tau"])).any(axis=0)
        judges = [judge.name for judge, some in zip(tables.judges, unlimited, strict=True) if some]
        notes = list(tables.notes)
        if judges:
            notes.append(f"No limits where tau is 1 without some topics: {', '.join(judges)}.")
        attrs = {"trials": 0, "n_runs": len(tables.runs), "truth": tables.truth, "notes": notes}
        attrs |= {"alpha": self.alpha, "confidence": self.confidence}
        first = replace(tables.judges[0].truth, teams=())
        return first.dataset(comparison.VARIABLES, values, coords, attrs)

    def of_judge(self, judged: JudgedTable, runs: Sequence[str]) -> dict[str, Any]:
        """Return the values of one judge by the names of `VARIABLES`, (cell, ...) or (...)."""
        sizes = (*self.labels, ALL_SHARED)
        found = {
            **comparison.rankings(judged, self.confidence),
            **comparison.decisions(judged, self.alpha),
            **comparison.biases(judged, self.confidence),
            **comparison.corrections(judged, sizes, self.confidence),
            **comparison.labels(judged.counts, self.confidence),
            "labelled_topics": np.array([size or judged.facts["n_shared"] for size in sizes]),
            **judged.facts,
        }
        place = [runs.index(run) for run in judged.truth.runs]
        for name in (name for name, dims in DIMS.items() if names.RUN in dims):
            of_all_runs = np.full((*np.shape(found[name])[:-1], len(runs)), np.nan)
            of_all_runs[..., place] = found[name]
            found[name] = of_all_runs
        return found
