"""Names of the measures of other tools, and the names that equal metrics have here."""

from __future__ import annotations

import re
from functools import cache

from scorecube.errors import BadName
from scorecube.ingest.files import PathLike, bare_name
from scorecube.metrics import parse_metric
from scorecube.metrics.parsing import has_known_name

TREC_EVAL = {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG", "Rprec": "Rprec", "bpref": "bpref"}
TREC_EVAL_CUT = {"P": "P", "ndcg_cut": "nDCG", "recall": "Recall", "success": "Hit"}
"""Measures with a cut-off; map_cut divides by R, AP@k by min(k, R)."""
SMALL = (
    dict.fromkeys(("mrr", "rr", "recip_rank"), "RR")
    | dict.fromkeys(("precision", "p"), "P")
    | dict.fromkeys(("hit_rate", "success"), "Hit")
    | dict.fromkeys(("map", "ap"), "AP")
    | dict.fromkeys(("r-precision", "rprec"), "Rprec")
    | dict.fromkeys(("ndcg", "ndcg_cut"), "nDCG")
    | {"recall": "Recall", "err": "ERR"}
)
"""Names of ranx, BEIR, MTEB and files; AP with a cut-off is another there."""
NO_MEASURES = re.compile(r"Z?(num_\w+|gm_\w+|infAP)|runid|relstring(_\d+)?")
"""Counts, logarithms and texts of trec_eval, read only on request."""
IR_MEASURES = {"R": "Recall", "Success": "Hit", "Bpref": "bpref"}
IR_SHAPE = (
    r"(Accuracy|AP|BPM|Bpref|Compat|n?ERR_IA|alpha_n?DCG|n?NRBP|AP_IA|P_IA|StRecall|ERR|NERR\d+"
    r"|INST|INSQ|infAP|IPrec|Judged|nDCG|NumQ|NumRel|NumRet|NumRelRet|P|R|RBP|Rprec|RR|SDCG|SetP"
    r"|SetRelP|SetR|SetF|SetAP|Success)(\(.*\))?(@[\d.]+)?"
)
"""Measures in the output of ir_measures."""
IR_COUNTS = re.compile(r"Num(Q|Rel|Ret|RelRet)(\(.*\))?")
"""Measures of ir_measures that are counts; left out as those of trec_eval."""
EVALS = re.compile(r"(ndcg|err|n?ERR-IA|alpha-n?DCG|P-IA|strec)@[1-9]\d*|n?NRBP|MAP-IA")
"""Measures in the outputs of gdeval and ndeval."""
OTHERS = re.compile(r"iprec_at_recall_[\d.]+|ndcg_rel|Rndcg|11pt_avg|set_\w+|f1(@\d+)?")
"""Further measures of trec_eval and ranx, by which levels of dictionaries are told apart."""
NTCIREVAL = {"Q-measure": "Q", "O-measure": "O", "P-plus": "P+"}
NTCIREVAL_CUT = {"MSnDCG": "nDCG", "nDCG": "nDCG(b=2)"} | {
    name: name for name in ("AP", "Q", "P", "RBP", "ERR", "nERR", "Hit")
}
"""With a cut-off; its nDCG discounts by its option -logb, 2 by default; MSnDCG is nDCG."""


def from_trec_eval(measure: str) -> str:
    """Return the name here of a measure of trec_eval, ranx, BEIR or MTEB, or its own name."""
    cut = re.fullmatch(r"(\w+?)_([1-9]\d*)", measure)
    if cut and cut[1] in TREC_EVAL_CUT:
        return f"{TREC_EVAL_CUT[cut[1]]}@{cut[2]}"
    small = re.fullmatch(r"([a-z_-]+?)(?:@|_at_)([1-9]\d{0,5})", measure.lower())
    if small and SMALL.get(small[1], "AP") != "AP":
        return canonical(f"{SMALL[small[1]]}@{small[2]}") or measure
    return "RR" if measure == "mrr" else TREC_EVAL.get(measure, measure)


def from_ir_measures(measure: str) -> str:
    """Return the name here of an ir_measures measure, or a name that no measure here has.

    Its AP@k divides by R, its ERR (that of gdeval) by 2**4 for every highest level, its RBP has
    another default p and other gains; these keep their names with the prefix ``ir_measures:``.
    """
    shape = re.fullmatch(r"(\w+)(\(.*\))?(?:@(\d+))?", measure)
    if shape is None:
        return measure
    name, inside, cutoff = shape[1], shape[2] or "", shape[3]
    if name == "AP" and cutoff and not inside:
        return f"map_cut_{cutoff}"
    if name in ("ERR", "RBP") or (name == "AP" and cutoff):
        return f"ir_measures:{measure}"
    label = IR_MEASURES.get(name, name) + inside + (f"@{cutoff}" if cutoff else "")
    return canonical(label) or measure


def from_pyterrier(measure: str) -> str:
    """Return the name here of a measure of trec_eval or ir_measures, as PyTerrier has them."""
    name = from_trec_eval(measure)
    return from_ir_measures(measure) if name == measure else name


def from_eval(measure: str) -> str:
    """Return the name of a measure of gdeval, which no measure here has, or of ndeval.

    The nDCG of gdeval has gains of 2**level - 1; its ERR divides by 2**4 for every highest level,
    as ``ERR(form=exp2)`` only if the highest level is 4.
    """
    name, _, cutoff = measure.partition("@")
    ours = {"ndcg": "nDCG", "err": "ERR"}.get(name)
    return f"gdeval:{ours}@{cutoff}" if ours else measure


def from_ntcireval(measure: str) -> str:
    """Return the name here of a measure of NTCIREVAL, or the measure itself if there is none."""
    cut = re.fullmatch(r"(\w+)@0*([1-9]\d*)", measure)
    if cut and cut[1] in NTCIREVAL_CUT:
        return f"{NTCIREVAL_CUT[cut[1]]}@{cut[2]}"
    return NTCIREVAL.get(measure, measure)


def canonical(label: str) -> str:
    """Return the canonical name of a metric, or '' if there is none of this name."""
    if not has_known_name(label):  # the message about an unknown name takes long to make
        return ""
    try:
        return str(parse_metric(label))
    except BadName:
        return ""


@cache
def is_measure(name: str) -> bool:
    """Return whether a name is that of a measure here, or of another tool."""
    is_of_tool = any(shape.fullmatch(name) for shape in (NO_MEASURES, EVALS, OTHERS))
    return is_of_tool or from_trec_eval(name) != name or bool(canonical(name))


def metric_of_file(path: PathLike) -> str:
    """Return the metric that a file name stands for, or the name without extensions."""
    stem = re.sub(r"\.(csv|tsv|tab|txt|jsonl|ndjson|parquet)$", "", bare_name(path))
    shape = re.fullmatch(r"([a-z_-]+?)[@_]?(\d*)", stem.lower())
    name = SMALL.get(shape[1], "") if shape else ""
    if not shape or not name:
        return stem
    return canonical(name + (f"@{shape[2]}" if shape[2] else "")) or stem
