"""Any number of sets of judgements, by people or machines, against one that counts as truth.

References: Voorhees 2000, "Variations in relevance judgments and the measurement of retrieval
effectiveness" (rankings); Ferro and Sanderson 2022, "How do you test a test?" (decisions on pairs);
Faggioli et al. 2023, "Perspectives on large language models for relevance judgment"; those of
`scorecube.statistics.agreement` and `scorecube.statistics.intervals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.protocol import Analysis, Groups, Totals
from scorecube.collection.judgement_sets import NOT_COMMON, judgement_sets, sets_and_settings
from scorecube.collection.schema import CELL, label_array, labels_of
from scorecube.collection.selection import select
from scorecube.declare import Variable, View, along, limits_of, option_field
from scorecube.errors import BadPlan, UnknownName, option
from scorecube.methods.judges.agreement import ALL_SHARED, Comparison, comparison_of, labels
from scorecube.methods.judges.view import VIEW
from scorecube.names import SETTING
from scorecube.statistics.agreement import COEFFICIENTS

VARIABLES = (
    *along(
        ("metric", "gain"),
        Variable("tau", "estimate", "Kendall's tau-a of the runs under the truth and the judge"),
        Variable(
            "tau_ap",
            "estimate",
            "AP correlation with the truth, mean over orders of ties",
            form=".2f",
            heading="tau_AP",
        ),
        limits_of("tau", "limit of the tau to be expected from as many other topics"),
        Variable("agree", "count", "pairs significant under both sets, for the same run", "pairs"),
        Variable("only_truth", "count", "pairs significant under the truth only", "pairs"),
        Variable("only_judge", "count", "pairs significant under the judge only", "pairs"),
        Variable(
            "opposite", "count", "pairs significant under both sets, for opposite runs", "pairs"
        ),
        Variable("neither", "count", "pairs significant under neither set", "pairs"),
        Variable("bias", "estimate", "mean over runs of the bias of a run", "score"),
        limits_of("bias", "limit of the bias over topics", "score"),
    ),
    *along(
        ("metric", "gain", "run"),
        Variable("run_bias", "estimate", "mean under the judge less mean under the truth", "score"),
    ),
    *along(
        ("metric", "gain", "n_labelled", "run"),
        Variable("corrected", "estimate", "mean over infinitely many topics", "score"),
        limits_of("corrected", "limit of the mean over infinitely many topics", "score"),
    ),
    *along(
        ("metric", "gain", "n_labelled", "run"),
        Variable("corrected_difference", "estimate", "mean less that of the baseline", "score"),
        limits_of("corrected_difference", "limit of the difference from the baseline", "score"),
        Variable(
            "labels_needed",
            "estimate",
            "labelled topics from which a difference like this excludes 0",
            "topics",
            form=".0f",
        ),
    ),
    *along(
        ("n_labelled",),
        Variable("labelled_topics", "condition", "labelled topics", "topics", kinds="iu"),
    ),
    *along(
        ("label_statistic",),
        Variable("label", "estimate", "agreement of the labels of all common documents"),
        limits_of("label", "limit over topics"),
    ),
    *along(
        (),
        Variable("n_documents", "count", "documents that both judged", "documents"),
        Variable("n_common_runs", "count", "runs of both sets", "runs"),
    ),
)
"""Of one judge; those of several have the dim judge."""


@dataclass(frozen=True, eq=False)
class JudgedSets:
    """All judges of a cube, in its order, with the trials and the seed of a plan."""

    truth: str
    judges: tuple[Comparison, ...]
    notes: tuple[str, ...]
    trials: int = 1
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Judges(Analysis):
    """Judges, human or machine, against the judgements that count as truth.

    Each judge is a set of judgements of the same runs. Rankings: tau with limits of the tau to be
    expected from as many other topics, tau-AP. Decisions: pairs of runs that a paired t test at .05
    finds different under both sets, under one, or oppositely. Bias: mean under the judge less mean
    under the truth. Labels: kappa, weighted kappa and Krippendorff's alpha of the documents that
    both judged. Corrected means: of all topics by the judge, and some by the truth, by the number
    of labelled topics; against a baseline, corrected differences, paired by topic. All limits are
    over topics (95 %). Topics may be shared, nested or others; where none are shared, only rankings
    and decisions are compared.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cube = testing.simulate_cube(n_runs=6, seed=3)
    >>> result = analyse({"nist": cube, "machine": cube}, Judges())
    >>> result["tau"].sel(metric="AP", judge="machine").values.tolist()
    [1.0]
    """

    name: ClassVar[str] = "judges"
    view: ClassVar[View] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("ferro2022", "angelopoulos2023", "krippendorff2011")
    joins: ClassVar[bool] = True
    resamples: ClassVar[bool] = False
    unused: ClassVar[tuple[str, ...]] = ("bags",)
    examples: ClassVar[tuple[str, ...]] = (
        "--truth nist --judges gpt4,llama --labels 10,20,30",
        "--truth people --judges gpt4 --labels 50 --baseline RUN",
    )

    truth: str = option_field(
        "", "Collection whose judgements count as truth; the first by default."
    )
    judges: tuple[str, ...] = option_field(
        (), "Collections with the judgements of judges; all others by default."
    )
    labels: tuple[int, ...] = option_field(
        (10, 20, 30), "Numbers of topics with labels of the truth, for corrected means.", minimum=4
    )

    baseline: str | None = option_field(
        None, "Run whose corrected mean all others are compared with; none by default."
    )

    def grouped(self, collections: Sequence[str], *, named: bool = True) -> Groups:
        truth = self.truth or (collections[0] if named else "")
        judges = list(self.judges or [name for name in collections if name != truth])
        if not truth and len(collections) > 1:
            listing = ", ".join(collections)
            text = f"{option('truth')} names the judgements that count as truth, one of {listing}"
            raise BadPlan(text, option="truth")
        if not truth or truth in judges or not judges or len(set(judges)) < len(judges):
            raise BadPlan(
                f"{option('truth', 'A')} and {option('judges', ['B', 'C'])}: expected other "
                f"collections, each once; there are {', '.join(collections)}",
                option="judges" if truth else "truth",
            )
        return Groups(replace(self, truth=truth, judges=tuple(judges)), [[truth, *judges]])

    def join(
        self,
        cubes: Mapping[str, xr.Dataset],
        rankings: Mapping[str, xr.Dataset],
        selection: Mapping[str, Any],
    ) -> xr.Dataset:
        """Return the selected scores of the truth and of judges, with counts of their labels."""
        options = dict(selection)
        if options.pop("missing", None) == "drop":
            cubes = {name: select(cube, missing="drop") for name, cube in cubes.items()}
        cube = judgement_sets(cubes, {name: rankings[name] for name in rankings} or None)
        if (gains := options.pop("gains", None)) is not None:
            settings = labels_of(cube, SETTING)
            if unknown := set(gains).difference(settings):
                raise UnknownName(f"no gain setting {', '.join(unknown)} in all sets of judgements")
            chosen = [k for k, setting in enumerate(settings) if setting in gains]
            cube = cube.isel({names.GAIN: chosen})
        return select(cube, **options)

    def table(self, cube: xr.Dataset) -> Any:
        truth, *others = sets_and_settings(cube)[0]
        if self.truth not in ("", truth) or self.judges not in ((), tuple(others)):
            raise BadPlan(f"the sets of the cube are {truth}, {', '.join(others)}", option="truth")
        judges = [comparison_of(cube, truth, name, k) for k, name in enumerate(others)]
        notes = [*cube.attrs.get(NOT_COMMON, [])]
        notes += chain.from_iterable(comparison.judge.notes for comparison in judges)
        without = f"; no difference from {self.baseline}" if self.baseline is not None else ""
        notes += [
            f"{comparison.name} shares fewer than 2 topics with {truth}: only rankings and "
            f"decisions are compared, which differ by their topics, too{without}"
            for comparison in judges
            if not comparison.is_shared
        ]
        return JudgedSets(truth, tuple(judges), tuple(dict.fromkeys(notes)))

    def result(self, table: JudgedSets, totals: Totals) -> xr.Dataset:
        result = xr.concat(
            [self.judge_result(comparison) for comparison in table.judges],
            xr.Variable(names.JUDGE, label_array(comparison.name for comparison in table.judges)),
            data_vars="all",
            coords="minimal",
            compat="override",
            join="outer",
        ).transpose(*CELL, names.JUDGE, ...)
        notes = list(table.notes)
        if (result["tau_low"].isnull() & result["tau"].notnull()).any():
            notes.append("No limits of tau where it is 1 without some topics.")
        attrs = {"trials": 0, "n_runs": result.sizes[names.RUN], "truth": table.truth}
        attrs |= {} if self.baseline is None else {"baseline": self.baseline}
        return result.assign_attrs(attrs | {"notes": notes})

    def judge_result(self, comparison: Comparison) -> xr.Dataset:
        """Return the result of one judge."""
        sizes = np.array([*self.labels, ALL_SHARED])
        shared = comparison.truth.n_topics * comparison.is_shared
        values = {
            **comparison.rankings(),
            **comparison.decisions(),
            **comparison.biases(),
            **comparison.corrections(sizes.tolist()),
            **labels(comparison.counts),
            **comparison.differences(sizes.tolist(), self.baseline),
            "labelled_topics": np.where(sizes, sizes, shared),
            "n_common_runs": len(comparison.truth.runs),
        }
        coords = {names.N_LABELLED: sizes, names.LABEL_STATISTIC: label_array(COEFFICIENTS)}
        return replace(comparison.truth, teams=()).dataset(VARIABLES, values, coords)
