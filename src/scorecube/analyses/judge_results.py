"""What results of `Judges` hold."""

from scorecube import names
from scorecube.collection.schema import CELL, limits, variables

_JUDGE = (*CELL, names.JUDGE)
_RUNS = (*_JUDGE, names.RUN)
_LABELLED = (*_JUDGE, names.N_LABELLED, names.RUN)
_LABELS = (names.JUDGE, names.LABEL_STATISTIC)
VARIABLES = (
    *variables(
        *(_JUDGE, "estimate"),
        tau="Kendall's tau-a of the runs under the truth and the judge",
        tau_ap="AP correlation with the ranking under the truth, mean over orders of ties",
    ),
    *limits("tau", _JUDGE, "1", "{} limit of the tau to be expected from as many other topics"),
    *variables(
        *(_JUDGE, "count", "pairs"),
        n_pairs="pairs of runs of both sets",
        agree="pairs significant under both sets, for the same run",
        only_truth="pairs significant under the truth only",
        only_judge="pairs significant under the judge only",
        opposite="pairs significant under both sets, for opposite runs",
        neither="pairs significant under neither set",
    ),
    *variables(_JUDGE, "estimate", "score", bias="mean over runs of the bias of a run"),
    *limits("bias", _JUDGE, "score", "{} limit of the bias over topics"),
    *variables(
        *(_RUNS, "estimate", "score"),
        mean_truth="mean score under the truth",
        mean_judge="mean score under the judge",
        run_bias="mean under the judge less mean under the truth",
    ),
    *limits("run_bias", _RUNS, "score", "{} limit of the bias of a run over topics"),
    *variables(
        *(_RUNS, "estimate", "rank"),
        rank_truth="rank under the truth; tied runs share the best",
        rank_judge="rank under the judge",
    ),
    *variables(_LABELLED, "estimate", "score", corrected="mean over infinitely many topics"),
    *limits("corrected", _LABELLED, "score", "{} limit of the mean over infinitely many topics"),
    *variables(_LABELLED, "estimate", slope="lambda, the weight of the judge; 0 for none"),
    *variables(_LABELLED[2:4], "condition", "topics", "iu", labelled_topics="labelled topics"),
    *variables(_LABELS, "estimate", label="agreement of the labels of all common documents"),
    *limits("label", _LABELS, "1", "{} limit over topics"),
    *variables((names.JUDGE,), "count", "documents", n_documents="documents that both judged"),
    *variables(
        *((names.JUDGE,), "count", "topics"),
        labelled_by_both="topics with documents that both judged",
        n_shared="topics of both sets",
        n_truth="topics of the truth",
        n_judged="topics of the judge",
    ),
    *variables((names.JUDGE,), "count", "runs", n_common_runs="runs of both sets"),
)
