"""What results of `Judges` hold, and what follows from them."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.rank_agreement.agreement_quantities import (
    contained,
    moved_run,
    population_variables,
)
from scorecube.collection.schema import CELL, Derived, derived, labels_of, limits, variables

_JUDGE = (*CELL, names.JUDGE)
_STATISTIC = (*_JUDGE, names.STATISTIC)
_RUNS = (*_JUDGE, names.RUN)
_LEVELS = (*_JUDGE, names.RUN_LEVEL)
_LABELLED = (*_JUDGE, names.N_LABELLED)
_OF_LABELS = (names.JUDGE, names.LABEL_STATISTIC)
_MEANS = {
    "corrected": "mean over infinitely many topics, by the judge and labelled topics",
    "difference": "difference of corrected means from the baseline",
}
VARIABLES = (
    *variables(
        *(_STATISTIC, "estimate"),
        agreement="agreement of the rankings of runs under the truth and the judge",
    ),
    *population_variables(_STATISTIC),
    *variables(
        *(_JUDGE, "count", "pairs"),
        tied_truth="pairs of runs with equal means under the truth",
        tied_judge="pairs of runs with equal means under the judge",
    ),
    *(
        each
        for name, what in (("drop", "loses"), ("rise", "gains"))
        for each in (
            *variables(
                _JUDGE,
                "count",
                "ranks",
                **{name: f"largest number of ranks that a run {what} under the judge"},
            ),
            *variables(
                _JUDGE,
                "label",
                kinds="i",
                **{f"{name}_run": f"index of the run that {what} most ranks"},
            ),
        )
    ),
    *variables(
        *(_JUDGE, "count", "pairs"),
        agree="pairs significant under both sets, for the same run",
        only_truth="pairs significant under the truth only",
        only_judge="pairs significant under the judge only",
        opposite="pairs significant under both sets, for opposite runs",
        neither="pairs significant under neither set",
        top_pairs="pairs of the best runs under the truth",
        top_significant="of these, significant under the truth",
        top_judge="of these, significant under the judge",
        false_positives="of these, significant under the judge but not under the truth",
        false_negatives="of these, significant under the truth but not under the judge",
    ),
    *variables(
        *(_RUNS, "estimate", "score"),
        mean_truth="mean score under the truth",
        mean_judge="mean score under the judge",
    ),
    *variables(
        *(_RUNS, "estimate", "rank"),
        rank_truth="rank under the truth; tied runs share the best of their ranks",
        rank_judge="rank under the judge",
    ),
    *variables(
        *(_LEVELS, "estimate", "score"),
        level_truth="mean score of runs under the truth",
        level_judge="mean score of runs under the judge",
        level_bias="mean under the judge less mean under the truth",
    ),
    *limits("level_bias", _LEVELS, "score", "{} limit of the bias over topics", name="level"),
    *variables(_LEVELS, "count", "runs", "f", level_runs="number of runs"),
    *variables(
        *((*_LABELLED, names.RUN), "estimate"),
        slope="lambda, the weight of the judge; 0 if it tells nothing",
    ),
    *(
        each
        for name, meaning in _MEANS.items()
        for each in (
            *variables((*_LABELLED, names.RUN), "estimate", "score", **{name: meaning}),
            *limits(name, (*_LABELLED, names.RUN), "score", f"{meaning}, {{}} limit"),
        )
    ),
    *variables(
        *(_JUDGE, "label", "1", "i"),
        baseline="index of the run that others are compared with; -1 for none",
    ),
    *variables(_OF_LABELS, "estimate", label="agreement of the labels of all common documents"),
    *limits("label", _OF_LABELS, "1", "{} limit over topics"),
    *variables(
        *((names.JUDGE, names.LEVEL, names.JUDGE_LEVEL), "count", "documents"),
        confusion="documents by their levels under the truth and the judge",
    ),
    *variables(
        *((names.JUDGE, names.TOPIC, names.LABEL_STATISTIC), "estimate"),
        label_by_topic="agreement of the labels of the documents of a topic",
    ),
    *variables(
        *((names.JUDGE, names.TOPIC), "count", "documents"),
        documents_by_topic="documents that both judged",
    ),
    *variables(
        *((names.JUDGE,), "count", "topics"),
        n_shared="topics of both sets",
        n_truth="topics of the truth",
        n_judged="topics of the judge",
    ),
    *variables((names.JUDGE,), "count", "runs", n_common_runs="runs of both sets"),
)


def _mean_level(result: xr.Dataset, dim: str, other: str) -> xr.DataArray:
    counts = result["confusion"]
    levels = xr.DataArray(np.arange(counts.sizes[dim]), dims=dim)
    n = counts.sum((dim, other))
    return (counts.sum(other).drop_vars(dim) * levels).sum(dim) / n.where(n > 0)


def _labelled(result: xr.Dataset) -> xr.DataArray:
    """Return numbers of labelled topics, where 0 stands for all shared ones."""
    size = result[names.N_LABELLED]
    return size.where(size > 0, result["n_shared"]).transpose(names.JUDGE, names.N_LABELLED)


def _is_finite(result: xr.Dataset, of: str) -> xr.DataArray:
    return abs(result[of]) < np.inf


def _baseline_run(result: xr.Dataset) -> xr.DataArray:
    runs = np.array([*labels_of(result, names.RUN), ""], object)
    return result["baseline"].copy(data=runs[result["baseline"].values])


DERIVED = (
    derived(
        lambda result: xr.DataArray(
            np.array(str(result.attrs.get("collection", result.attrs["truth"])), object)
        ),
        *((), "label"),
        needs=("truth",),
        compared_in="collection of the result; the truth where it has no name",
    ),
    *(
        Derived(
            each,
            partial(contained, end=each.role, before="population_"),
            ("population_low", "population_high"),
        )
        for each in limits(
            *("agreement", _STATISTIC, "1"),
            "{} limit over infinitely many topics, missing where the interval excludes the agreement at hand",
            name="contained",
        )
    ),
    derived(
        lambda result: result["n_common_runs"] * (result["n_common_runs"] - 1) // 2,
        (names.JUDGE,),
        "count",
        "pairs",
        n_pairs="pairs of runs of both sets",
    ),
    derived(
        partial(moved_run, move="drop"),
        *(_JUDGE, "label"),
        loser="run that loses most ranks, empty if none does",
    ),
    derived(
        partial(moved_run, move="rise"),
        *(_JUDGE, "label"),
        winner="run that gains most ranks, empty if none does",
    ),
    derived(
        lambda result: result["confusion"].sum((names.LEVEL, names.JUDGE_LEVEL)),
        *((names.JUDGE,), "count", "documents"),
        n_documents="documents that both judged",
    ),
    derived(
        lambda result: (result["confusion"] > 0).any(),
        *((), "flag"),
        has_labels="whether the truth and any judge judged the same documents",
    ),
    derived(
        lambda result: (result["documents_by_topic"] > 0).sum(names.TOPIC),
        *((names.JUDGE,), "count", "topics"),
        labelled_by_both="topics with documents that both judged",
    ),
    derived(
        partial(_mean_level, dim=names.LEVEL, other=names.JUDGE_LEVEL),
        *((names.JUDGE,), "estimate", "level"),
        mean_level_truth="mean level under the truth of documents that both judged",
    ),
    derived(
        partial(_mean_level, dim=names.JUDGE_LEVEL, other=names.LEVEL),
        *((names.JUDGE,), "estimate", "level"),
        mean_level_judge="mean level under the judge of documents that both judged",
    ),
    derived(
        lambda result: (
            result["confusion"]
            / result["confusion"].sum(names.JUDGE_LEVEL).where(lambda count: count > 0)
        ),
        *((names.JUDGE, names.LEVEL, names.JUDGE_LEVEL), "share"),
        form=".1%",
        share_of_level="share of the documents of a level of the truth",
    ),
    derived(
        lambda result: result["level_runs"].fillna(0).astype(np.int64),
        *(_LEVELS, "count", "runs"),
        runs_of_level="number of runs, 0 where nothing is compared",
    ),
    derived(
        _labelled,
        *((names.JUDGE, names.N_LABELLED), "condition", "topics", "iu"),
        labelled_topics="topics with labels of the truth",
    ),
    *(
        Derived(each, partial(_is_finite, of=each.name.removeprefix("has_")))
        for each in variables(
            (*_LABELLED, names.RUN),
            "flag",
            **{f"has_{name}": f"whether there is a {meaning}" for name, meaning in _MEANS.items()},
        )
    ),
    derived(
        _baseline_run,
        *(_JUDGE, "label"),
        baseline_run="run that others are compared with, empty for none",
    ),
    derived(
        lambda result: result["rank_truth"].notnull(),
        *(_RUNS, "flag"),
        is_common="whether both sets have the run",
    ),
    derived(
        lambda result: result["mean_judge"] - result["mean_truth"],
        *(_RUNS, "estimate", "score"),
        mean_bias="mean under the judge less mean under the truth",
    ),
    derived(
        lambda result: result["rank_judge"] - result["rank_truth"],
        *(_RUNS, "estimate", "ranks"),
        rank_change="loss of ranks, if positive",
    ),
)
