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

ENSEMBLE = "ensemble"
"""Name of the judge whose scores are the means of those of all judges."""
_JUDGE = (*CELL, names.JUDGE)
_STATISTIC = (*_JUDGE, names.STATISTIC)
_RUNS = (*_JUDGE, names.RUN)
_LEVELS = (*_JUDGE, names.RUN_LEVEL)
_LABELLED = (*_JUDGE, names.N_LABELLED)
_PRICE = (*_LABELLED, names.QUANTITY)
_OF_LABELS = (names.JUDGE, names.LABEL_STATISTIC)
_MEANS = {
    "corrected": "mean over infinitely many topics, by the judge and labelled topics",
    "difference": "difference of corrected means from the baseline",
}
TOGETHER = (
    *variables(
        *(CELL, "estimate", "judges"),
        effective="number of judges with independent errors whose mean is as exact as that of all judges",
    ),
    *limits("effective", CELL, "judges", "{} limit over infinitely many topics"),
)
"""Of all judges together."""
LARGEST = (
    *variables(
        *(CELL, "share"),
        error_share="largest share of one topic in the squared errors of the mean of all judges",
    ),
    *variables(*(CELL, "label"), kinds="i", error_place="index of this topic"),
)
"""Of the topic with the largest errors of all judges together."""
LEAST_SHARE, MANY_TIMES = 0.15, 5
"""A topic has most of the errors if its share exceeds the first, from which on limits of the effective number of judges are known to fail, and so many times the equal share of all topics."""
BY_JUDGE = (
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
    *variables(
        *(_PRICE, "estimate", "score"),
        width="mean width of intervals, over runs and choices of topics",
        width_truth="the same by the labelled topics alone",
    ),
    *variables(
        *(_PRICE, "estimate"),
        covered="share of intervals with the mean of all shared topics by the truth",
        mean_slope="mean of lambda over runs and choices of topics",
    ),
    *variables(
        *((*_JUDGE, names.QUANTITY), "estimate", "topics"),
        needed="labelled topics for the wanted width",
        needed_truth="the same without the judge",
    ),
    *variables(
        *((*_JUDGE, names.HALF_STATISTIC), "estimate"),
        half_tau="mean tau of rankings from as many topics, disjoint ones",
    ),
    *variables(_JUDGE, "estimate", part="tau of halves of the truth less that with the judge"),
    *limits("part", _JUDGE, "1", "{} limit of the judge's part"),
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
        *(_JUDGE, "estimate", "score"),
        preference="bias for the runs of the judge's family less that for all others",
    ),
    *limits("preference", _JUDGE, "score", "{} limit of the preference over topics"),
    *variables((names.JUDGE,), "count", "runs", n_own="runs of the judge's family"),
    *variables(
        *((names.JUDGE,), "count", "topics"),
        n_shared="topics of both sets",
        n_truth="topics of the truth",
        n_judged="topics of the judge",
    ),
    *variables((names.JUDGE,), "count", "runs", n_common_runs="runs of both sets"),
)
VARIABLES = (*BY_JUDGE, *TOGETHER, *LARGEST)
OPTIONAL = tuple(tuple(each.name for each in group) for group in (TOGETHER, LARGEST))
"""Absent from results before 0.3.0."""


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


def _has_size(result: xr.Dataset) -> xr.DataArray:
    return _is_finite(result, "width_truth").any(names.QUANTITY)


def _is_corrected(result: xr.Dataset, of: str) -> xr.DataArray:
    return _has_size(result) & _is_finite(result, of)


def _baseline_run(result: xr.Dataset) -> xr.DataArray:
    runs = np.array([*labels_of(result, names.RUN), ""], object)
    return result["baseline"].copy(data=runs[result["baseline"].values])


def _erring_topic(result: xr.Dataset) -> xr.DataArray:
    topics, share = np.array(labels_of(result, names.TOPIC), object), result["error_share"]
    least = np.maximum(LEAST_SHARE, MANY_TIMES / result["n_shared"].min(names.JUDGE))
    is_large = (share > least) & result["effective_low"].notnull()
    return share.copy(data=np.where(is_large, topics[result["error_place"].values], ""))


def _finite(result: xr.Dataset, of: str) -> xr.DataArray:
    return result[of].where(_is_finite(result, of))


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
    derived(_has_size, _LABELLED, "flag", has_size="whether a judge has as many labelled topics"),
    *(
        Derived(each, partial(_is_corrected, of=each.name.removeprefix("has_")))
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
        lambda result: 1 - result["width"] / result["width_truth"].where(result["width_truth"] > 0),
        _PRICE,
        "estimate",
        narrowed="share of the width of intervals that a judge saves",
    ),
    derived(
        lambda result: xr.DataArray(float(result.attrs["width"])),
        *((), "condition", "score", "f"),
        wanted_width="width that labelled topics are counted for",
    ),
    *(
        Derived(each, partial(_finite, of=each.name.removeprefix("finite_")))
        for each in variables(
            *((*_JUDGE, names.QUANTITY), "estimate", "topics"),
            finite_needed="labelled topics for the wanted width, missing where no number suffices",
            finite_needed_truth="the same without the judge",
        )
    ),
    derived(
        lambda result: result["needed"].notnull() | result["needed_truth"].notnull(),
        *((*_JUDGE, names.QUANTITY), "flag"),
        has_needed="whether labelled topics for the wanted width are known",
    ),
    derived(
        partial(_is_finite, of="preference"),
        *(_JUDGE, "flag"),
        has_preference="whether the judge has runs of its family",
    ),
    derived(
        lambda result: result[["n_truth", "n_judged"]].to_array("set").min("set") // 2,
        *((names.JUDGE,), "count", "topics"),
        half_topics="topics of a half",
    ),
    derived(
        lambda result: result["half_tau"].sel({names.HALF_STATISTIC: "both"}, drop=True).notnull(),
        *(_JUDGE, "flag"),
        has_halves="whether halves of the topics are compared",
    ),
    derived(
        lambda result: xr.DataArray(
            sum(each != ENSEMBLE for each in labels_of(result, names.JUDGE))
        ),
        *((), "count", "judges"),
        n_judges="judges, without their ensemble",
    ),
    derived(
        lambda result: result["effective"].notnull(),
        *(CELL, "flag"),
        needs=("effective",),
        has_effective="whether several judges share topics with the truth",
    ),
    derived(
        _erring_topic,
        *(CELL, "label"),
        needs=("error_share", "effective"),
        error_topic="topic with most of the squared errors of the mean of all judges, empty if none has",
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
