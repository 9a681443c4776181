"""Shapes of the names in the output of other tools, and the names that their metrics have here."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

from scorecube.collection.metric_spellings import own_name
from scorecube.collection.other_names import (
    FAMILY,
    GDEVAL,
    IR_MEASURES,
    NTCIREVAL,
    OF_IR_MEASURES,
    canonical,
    label_of,
    label_of_ir_measures,
    names_here,
    rows_of,
    why_other,
)
from scorecube.ingest.files import PathLike, bare_name

ANY = (*FAMILY, IR_MEASURES)
"""Tools whose names stand in tables of any origin."""
COUNTS = r"Z?num_(q|ret|rel|rel_ret|nonrel_judged_ret)|Num(Q|Rel|Ret|RelRet)(\(.*\))?"
"""Counts of trec_eval and of ir_measures; other names that begin so are of no measure."""
NO_MEASURES = re.compile(rf"{COUNTS}|Z?(gm_\w+|infAP)|runid|relstring(_\d+)?")
"""Counts, logarithms and texts of these tools, read only on request."""
IR_SHAPE = (
    r"(Accuracy|AP|BPM|Bpref|Compat|n?ERR_IA|alpha_n?DCG|n?NRBP|AP_IA|P_IA|StRecall|ERR|NERR\d+"
    r"|INST|INSQ|infAP|IPrec|Judged|nDCG|NumQ|NumRel|NumRet|NumRelRet|P|R|RBP|Rprec|RR|SDCG|SetP"
    r"|SetRelP|SetR|SetF|SetAP|Success)(\(.*\))?(@[\d.]+)?"
)
"""Measures in the output of ir_measures."""
IR_COUNTS = re.compile(COUNTS)
"""Measures of ir_measures that are counts; its infAP is a score."""
EVALS = re.compile(r"(ndcg|err|n?ERR-IA|alpha-n?DCG|P-IA|strec)@[1-9]\d*|n?NRBP|MAP-IA")
"""Measures in the outputs of gdeval and ndeval."""
SMALL = ("ap", "err", "rr")
"""Names here that names of files have in small letters; ``q1`` is rather a question."""
OTHERS = re.compile(r"iprec_at_recall_[\d.]+|ndcg_rel|Rndcg|11pt_avg|set_\w+|f1(@\d+)?")
"""Further measures of trec_eval and ranx, by which levels of dictionaries are told apart."""


def from_trec_eval(measure: str) -> str:
    """Return the name here of a measure of trec_eval, ranx, BEIR or MTEB, or its own name."""
    if canonical(measure):
        return measure
    is_here = measure.lower().startswith(("err@", "rr@"))
    return (canonical(own_name(measure)) if is_here else "") or label_of(measure, ANY)


def from_pyterrier(measure: str) -> str:
    """Return the name here of a measure of trec_eval or ir_measures, as PyTerrier has them."""
    name = from_trec_eval(measure)
    return label_of_ir_measures(measure) if name == measure else name


from_eval: Callable[[str], str] = partial(label_of, tools=(GDEVAL,))
"""Name here of a measure of gdeval, or a measure of ndeval itself."""
from_ntcireval: Callable[[str], str] = partial(label_of, tools=(NTCIREVAL,))
"""Name here of a measure of NTCIREVAL, or the measure itself."""
from_ir_measures: Callable[[str], str] = label_of_ir_measures
"""Name here of a measure of ir_measures, or a name that no measure here has."""


def why_kept(measure: str, label: str) -> str:
    """Return a line about a measure that keeps its name as another number; '' for others."""
    if label.startswith(OF_IR_MEASURES):
        why = why_other(measure, (IR_MEASURES,)) or "no metric here has its settings"
    elif label == measure and not canonical(measure):
        why = why_other(measure, ANY)
    else:
        why = ""
    return f"{measure} is kept as {label}: {why}" if why else ""


@cache
def is_measure(name: str) -> bool:
    """Return whether a name is that of a measure here, or of another tool."""
    is_of_tool = any(shape.fullmatch(name) for shape in (NO_MEASURES, EVALS, OTHERS))
    return is_of_tool or bool(rows_of(name, ANY)) or bool(canonical(name))


def metric_of_file(path: PathLike) -> str:
    """Return the metric that a file name stands for, or the name without extensions."""
    stem = re.sub(r"\.(csv|tsv|tab|txt|jsonl|ndjson|parquet)$", "", bare_name(path))
    shape = re.fullmatch(r"([a-z_-]+?)[@_]?(\d*)", stem.lower())
    if not shape:
        return stem
    text = shape[1] + (f"@{shape[2]}" if shape[2] else "")
    if shape[1] in SMALL:
        return canonical(own_name(text)) or stem
    return _only(names_here(text, rows_of(text, FAMILY, typed=True))) or stem


def _only(found: set[str]) -> str:
    """Return the only text of a set; '' for none or several."""
    return next(iter(found)) if len(found) == 1 else ""
