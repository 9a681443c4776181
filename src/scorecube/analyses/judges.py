"""Any number of sets of judgements, by people or machines, against one that counts as truth.

References: Voorhees 2000, "Variations in relevance judgments and the measurement of retrieval
effectiveness" (rankings); Ferro and Sanderson 2022, "How do you test a test?" (decisions on pairs);
Faggioli et al. 2023, "Perspectives on large language models for relevance judgment"; those of
`scorecube.statistics.agreement` and `scorecube.statistics.corrected_means`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import judge_comparison as comparison
from scorecube.analyses.judge_comparison import Judged
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import ANY_NUMBER, Analysis, Totals
from scorecube.collection.judgement_sets import NOT_COMMON, sets_and_settings
from scorecube.collection.schema import CELL, label_array
from scorecube.errors import BadPlan
from scorecube.statistics.agreement import COEFFICIENTS

DIMS = {variable.name: variable.dims for variable in comparison.VARIABLES}


@dataclass(frozen=True, eq=False)
class JudgedSets:
    """All judges of a cube, in its order, with the trials and the seed of a plan."""

    truth: str
    judges: tuple[Judged, ...]
    notes: tuple[str, ...]
    trials: int = 1
    seed: int = 1

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs that any judge shares with the truth."""
        return tuple(dict.fromkeys(run for judged in self.judges for run in judged.truth.runs))


@dataclass(frozen=True, kw_only=True)
class Judges(Analysis):
    """Judges, human or machine, against the judgements that count as truth.

    Each judge is a set of judgements of the same runs. Rankings: tau with limits of the tau to be
    expected from as many other topics, tau-AP. Decisions: pairs of runs that a paired t test at .05
    finds different under both sets, under one, or oppositely. Bias: mean under the judge less mean
    under the truth. Labels: kappa, weighted kappa and Krippendorff's alpha of the documents that
    both judged. Corrected means: of all topics by the judge, and some by the truth, by the number
    of labelled topics. All limits are over topics (95 %). Topics may be shared, nested or others;
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
        (), "Collections with the judgements of judges; all others by default."
    )
    labels: tuple[int, ...] = option_field(
        (10, 20, 30), "Numbers of topics with labels of the truth, for corrected means.", minimum=4
    )

    def table(self, cube: xr.Dataset) -> Any:
        truth, *others = sets_and_settings(cube)[0]
        if self.truth not in ("", truth) or self.judges not in ((), tuple(others)):
            raise BadPlan(f"the sets of the cube are {truth}, {', '.join(others)}", option="truth")
        judges = [comparison.judged(cube, truth, name, k) for k, name in enumerate(others)]
        notes = [*cube.attrs.get(NOT_COMMON, [])]
        for judged in judges:
            notes += [note for note in judged.judge.notes if note not in notes]
            if not judged.is_shared:
                notes.append(
                    f"{judged.name} shares fewer than 2 topics with {truth}: only rankings and "
                    "decisions are compared, which differ by their topics, too"
                )
        return JudgedSets(truth, tuple(judges), tuple(notes))

    def result(self, table: JudgedSets, totals: Totals) -> xr.Dataset:
        of_judges = [self.of_judge(judged, table.runs) for judged in table.judges]
        # Judges come after cells, which are one axis here, and before all else.
        values: dict[str, Any] = {
            name: np.stack([of[name] for of in of_judges], axis=int(dims[:2] == CELL))
            for name, dims in DIMS.items()
        }
        coords = {
            names.RUN: label_array(table.runs),
            names.JUDGE: label_array(judged.name for judged in table.judges),
            names.N_LABELLED: np.array((*self.labels, comparison.ALL_SHARED)),
            names.LABEL_STATISTIC: label_array(COEFFICIENTS),
        }
        notes = list(table.notes)
        if (np.isnan(values["tau_low"]) & ~np.isnan(values["tau"])).any():
            notes.append("No limits of tau where it is 1 without some topics.")
        attrs = {"trials": 0, "n_runs": len(table.runs), "truth": table.truth, "notes": notes}
        first = replace(table.judges[0].truth, teams=())
        return first.dataset(comparison.VARIABLES, values, coords, attrs)

    def of_judge(self, judged: Judged, runs: tuple[str, ...]) -> dict[str, Any]:
        """Return the values of one judge by the names of variables, (cell, ...) or (...)."""
        values = comparison.compared(judged, (*self.labels, comparison.ALL_SHARED))
        place = [runs.index(run) for run in judged.truth.runs]
        for name in (name for name, dims in DIMS.items() if names.RUN in dims):
            of_all_runs = np.full((*np.shape(values[name])[:-1], len(runs)), np.nan)
            of_all_runs[..., place] = values[name]
            values[name] = of_all_runs
        return values
