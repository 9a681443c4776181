"""Names of metrics that say which scores there can be: ours, and those that the field bounds."""

import re

from scorecube.errors import BadName
from scorecube.metrics import parse_metric
from scorecube.metrics.parsing import has_known_name

NAMES_WITH_BOUNDS = """
    acc acc_norm accuracy answer_accuracy balanced_accuracy correct correctness
    em exact exact_match exact_match_score is_correct match mean_accuracy normalized_accuracy
    f f_measure f1 f1_macro f1_micro f1_score f_score macro_f1 micro_f1 prec precision recall
    sensitivity specificity auc auroc roc_auc
    error_rate pass pass_all pass_any pass_rate passed resolved resolve_rate solved solve_rate
    success success_rate win win_rate winrate
    rouge rouge_l rouge1 rouge2 rougel rougelsum bleu chrf meteor
    ap map map_cut mrr rr recip_rank ndcg ndcg_cut p r rprec r_precision recall_cut hit hits
    hit_rate
    alpha_ndcg alpha_dcg bpm bpref compat err err_ia insq inst infap iprec iprec_at_recall judged
    nerr nerr_ia nrbp nnrbp p_ia q rbp rndcg sdcg set_f set_map set_p set_recall setap setf setp
    setr setrelp strec strecall
"""
BOUNDED = frozenset(NAMES_WITH_BOUNDS.split())
"""Names of metrics that the field bounds, by 0 and 1 or by 0 and 100."""
TOOLS = re.compile(r"^(gdeval|ir_measures|ndeval|trec_eval|pyterrier|ranx):")


def is_bounded(name: str) -> bool:
    """Return whether the field bounds a metric of this name; not a standardised one (``z:AP``).

    The name is matched whole, in any case, without brackets, cut-off, and tool.

    Examples
    --------
    >>> [is_bounded(name) for name in ("Accuracy", "pass@5", "gdeval:nDCG@20", "z:AP", "f2")]
    [True, True, True, False, False]
    """
    bare = re.sub(r"\(.*\)|[@_^](at_)?[1-9]\d*$", "", TOOLS.sub("", name.strip()))
    plain = re.sub(r"[\s\-]+", "_", bare.strip()).casefold()
    return plain in BOUNDED or name.strip().casefold() in BOUNDED


def range_of_name(name: str) -> tuple[float, float] | None:
    """Return the range of a metric of this package by its name as it prints; else None."""
    if not has_known_name(name):
        return None
    try:
        return parse_metric(name).range
    except BadName:
        return None
