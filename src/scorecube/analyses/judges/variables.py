"""Variables of a result that compares judges with the truth."""

from __future__ import annotations

from scorecube import names
from scorecube.analyses.rank_agreement import population
from scorecube.collection.schema import Variable

CELL = (names.METRIC, names.GAIN)
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
VARIABLES = tuple(
    Variable(*fields)
    for fields in (
        (
            "agreement",
            _STATISTIC,
            "f",
            "1",
            "agreement of the rankings of runs under the truth and the judge",
        ),
        *((name, _STATISTIC, "f", "1", meaning) for name, meaning in population.MEANINGS.items()),
        ("tied_truth", _JUDGE, "i", "pairs", "pairs of runs with equal means under the truth"),
        ("tied_judge", _JUDGE, "i", "pairs", "pairs of runs with equal means under the judge"),
        ("drop", _JUDGE, "i", "ranks", "largest number of ranks that a run loses under the judge"),
        ("drop_run", _JUDGE, "i", "1", "index of the run that loses most ranks"),
        ("rise", _JUDGE, "i", "ranks", "largest number of ranks that a run gains under the judge"),
        ("rise_run", _JUDGE, "i", "1", "index of the run that gains most ranks"),
        ("agree", _JUDGE, "i", "pairs", "pairs significant under both sets, for the same run"),
        ("only_truth", _JUDGE, "i", "pairs", "pairs significant under the truth only"),
        ("only_judge", _JUDGE, "i", "pairs", "pairs significant under the judge only"),
        ("opposite", _JUDGE, "i", "pairs", "pairs significant under both sets, for opposite runs"),
        ("neither", _JUDGE, "i", "pairs", "pairs significant under neither set"),
        ("top_pairs", _JUDGE, "i", "pairs", "pairs of the best runs under the truth"),
        ("top_significant", _JUDGE, "i", "pairs", "of these, significant under the truth"),
        ("top_judge", _JUDGE, "i", "pairs", "of these, significant under the judge"),
        (
            "false_positives",
            _JUDGE,
            "i",
            "pairs",
            "of these, significant under the judge but not under the truth",
        ),
        (
            "false_negatives",
            _JUDGE,
            "i",
            "pairs",
            "of these, significant under the truth but not under the judge",
        ),
        ("mean_truth", _RUNS, "f", "score", "mean score under the truth"),
        ("mean_judge", _RUNS, "f", "score", "mean score under the judge"),
        (
            "rank_truth",
            _RUNS,
            "f",
            "rank",
            "rank under the truth; tied runs share the best of their ranks",
        ),
        ("rank_judge", _RUNS, "f", "rank", "rank under the judge"),
        ("level_truth", _LEVELS, "f", "score", "mean score of runs under the truth"),
        ("level_judge", _LEVELS, "f", "score", "mean score of runs under the judge"),
        ("level_bias", _LEVELS, "f", "score", "mean under the judge less mean under the truth"),
        ("level_low", _LEVELS, "f", "score", "lower limit of the bias over topics"),
        ("level_high", _LEVELS, "f", "score", "upper limit of the bias over topics"),
        ("level_runs", _LEVELS, "f", "runs", "number of runs"),
        (
            "slope",
            (*_LABELLED, names.RUN),
            "f",
            "1",
            "lambda, the weight of the judge; 0 if it tells nothing",
        ),
        *(
            (f"{name}{end}", (*_LABELLED, names.RUN), "f", "score", f"{meaning}{limit}")
            for name, meaning in _MEANS.items()
            for end, limit in (("", ""), ("_low", ", lower limit"), ("_high", ", upper limit"))
        ),
        (
            "baseline",
            _JUDGE,
            "i",
            "1",
            "index of the run that others are compared with; -1 for none",
        ),
        ("width", _PRICE, "f", "score", "mean width of intervals, over runs and choices of topics"),
        ("width_truth", _PRICE, "f", "score", "the same by the labelled topics alone"),
        (
            "covered",
            _PRICE,
            "f",
            "1",
            "share of intervals with the mean of all shared topics by the truth",
        ),
        ("mean_slope", _PRICE, "f", "1", "mean of lambda over runs and choices of topics"),
        (
            "needed",
            (*_JUDGE, names.QUANTITY),
            "f",
            "topics",
            "labelled topics for the wanted width",
        ),
        ("needed_truth", (*_JUDGE, names.QUANTITY), "f", "topics", "the same without the judge"),
        (
            "half_tau",
            (*_JUDGE, names.HALF_STATISTIC),
            "f",
            "1",
            "mean tau of rankings from as many topics, disjoint ones",
        ),
        ("part", _JUDGE, "f", "1", "tau of halves of the truth less that with the judge"),
        ("part_low", _JUDGE, "f", "1", "lower limit of the judge's part"),
        ("part_high", _JUDGE, "f", "1", "upper limit of the judge's part"),
        ("label", _OF_LABELS, "f", "1", "agreement of the labels of all common documents"),
        ("label_low", _OF_LABELS, "f", "1", "lower limit over topics"),
        ("label_high", _OF_LABELS, "f", "1", "upper limit over topics"),
        (
            "confusion",
            (names.JUDGE, names.LEVEL, names.JUDGE_LEVEL),
            "i",
            "documents",
            "documents by their levels under the truth and the judge",
        ),
        (
            "label_by_topic",
            (names.JUDGE, names.TOPIC, names.LABEL_STATISTIC),
            "f",
            "1",
            "agreement of the labels of the documents of a topic",
        ),
        (
            "documents_by_topic",
            (names.JUDGE, names.TOPIC),
            "i",
            "documents",
            "documents that both judged",
        ),
        (
            "preference",
            _JUDGE,
            "f",
            "score",
            "bias for the runs of the judge's family less that for all others",
        ),
        ("preference_low", _JUDGE, "f", "score", "lower limit of the preference over topics"),
        ("preference_high", _JUDGE, "f", "score", "upper limit of the preference over topics"),
        ("n_own", (names.JUDGE,), "i", "runs", "runs of the judge's family"),
        ("n_shared", (names.JUDGE,), "i", "topics", "topics of both sets"),
        ("n_truth", (names.JUDGE,), "i", "topics", "topics of the truth"),
        ("n_judged", (names.JUDGE,), "i", "topics", "topics of the judge"),
        ("n_common_runs", (names.JUDGE,), "i", "runs", "runs of both sets"),
    )
)
