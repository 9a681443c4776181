"""Names of metrics in other tools: which are the same number as one here, and why others are not.

The one place that knows them. Each metric here declares its names (``also_called`` of `@metric`);
`DIFFERENT` has names of other numbers. Each row is compared with its tool, or with the tool's
formula, by ``tests/metrics/test_other_names.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from scorecube.errors import BadName
from scorecube.metrics import DEFINITIONS, parse_metric
from scorecube.metrics.parsing import has_known_name
from scorecube.metrics.registry import OtherName, called

TREC_EVAL = "trec_eval"
IR_MEASURES = "ir_measures"
RANX = "ranx"
BEIR = "BEIR"
MTEB = "MTEB"
GDEVAL = "gdeval"
NTCIREVAL = "NTCIREVAL"
LENSKIT = "LensKit"
FAMILY = (TREC_EVAL, RANX, BEIR, MTEB)
"""Tools whose files do not tell which of them wrote these."""
ANY = (*FAMILY, IR_MEASURES, LENSKIT)
"""Tools whose names stand in tables of any origin."""
OF_IR_MEASURES = "ir_measures:"
"""Before names of measures of ir_measures that another metric has here."""
BY_R = "map_cut"
"""Average precision over all R relevant documents, of ir_measures; AP@k divides by the smaller of k
and R."""
NAMES_BY_R = called(
    "trec_eval map_cut_k", "ir_measures AP@k", "ranx map@k", "BEIR MAP@k", "MTEB map_at_k"
)
DIFFERENT = {
    ("Hit", OtherName(IR_MEASURES, "Accuracy@k")): "a share of pairs of documents in their order",
    ("RBP", OtherName(IR_MEASURES, "RBP")): "with p = 0.8 and two levels",
    ("RBP", OtherName(IR_MEASURES, "RBP@k")): "with p = 0.8 and two levels",
    ("P", OtherName(RANX, "hits@k")): "a number of documents, not divided by k",
    ("P", OtherName(RANX, "f1@k")): "the harmonic mean of P@k and Recall@k",
    ("nDCG", OtherName(RANX, "dcg@k")): "not divided by that of the ideal list",
    ("RBP", OtherName(RANX, "rbp.k")): "p = .k, and levels as gains, not divided by the largest",
    ("Recall", OtherName(BEIR, "R_cap@k")): "divided by the smaller of k and R",
}
"""Nearest metric here, and name in a tool -> the other number that it is there.

PyTerrier has the names of trec_eval and ir_measures; ndeval has no metric of this package."""
SHAPE = re.compile(
    r"(?P<name>[A-Za-z#+][\w#+\- ,]*?)(?P<inside>\(.*\))?"
    r"(?:(?P<mark>_at_|[@_.])(?P<cut>\d{1,8}|k))?"
)


class Written(NamedTuple):
    """The parts of a name as written somewhere."""

    name: str
    settings: tuple[str, ...]
    mark: str
    """Before the cut-off: ``@``, ``_``, ``_at_`` or ``.``; empty where there is none."""
    cut: str

    @property
    def plain(self) -> str:
        """The name in small letters, without hyphens, underscores and blanks."""
        return re.sub(r"[\s_\-]", "", self.name.lower())


def parts_of(text: str) -> Written | None:
    """Return the parts of a name; None for what is no name of a metric."""
    shape = SHAPE.fullmatch(text.strip())
    if shape is None:
        return None
    inside = re.sub(r"['\"\s]", "", shape["inside"] or "").strip("()")
    cut = shape["cut"] or ""
    number = str(int(cut)) if cut.isdecimal() else cut
    settings = tuple(filter(None, inside.split(",")))
    return Written(shape["name"], settings, shape["mark"] or "", number)


class Row(NamedTuple):
    """A name in a tool, its parts, and the metric here of the same number, or the nearest."""

    tool: str
    name: str
    theirs: Written
    metric: str
    settings: str = ""
    differs: str = ""  # what the tool computes instead, where that is another number


def rows() -> list[Row]:
    """Return all names of metrics in other tools."""
    same = [(name, one) for name in DEFINITIONS for one in DEFINITIONS[name].also_called]
    same += [(BY_R, one) for one in NAMES_BY_R]
    found = [_row(one, metric) for metric, one in same]
    return found + [_row(one, metric, why) for (metric, one), why in DIFFERENT.items()]


def _row(one: OtherName, metric: str, differs: str = "") -> Row:
    theirs = parts_of(one.name)
    assert theirs is not None
    return Row(one.tool, one.name, theirs, metric, one.settings, differs)


@cache
def _rows_by_name(_: int) -> dict[str, list[Row]]:
    """Return the rows by the plain name of the tool, for a number of metrics here."""
    found: dict[str, list[Row]] = {}
    for row in rows():
        found.setdefault(row.theirs.plain, []).append(row)
    return found


def rows_of(text: str, tools: Sequence[str] = (), *, typed: bool = False) -> list[Row]:
    """Return the rows that a name of some tools, by default of all, stands for.

    typed: Whether a person wrote it: any sign before the cut-off, and any letter case.
    """
    written = parts_of(text)
    if written is None:
        return []
    alike = _rows_by_name(len(DEFINITIONS)).get(written.plain, [])
    among = [one for one in alike if not tools or one.tool in tools]
    fitting = [one for one in among if _fits(written, one, typed=typed)]
    # Of rows with settings, those that name the most of them.
    most = max((len(one.theirs.settings) for one in fitting), default=0)
    return [one for one in fitting if len(one.theirs.settings) == most]


def _fits(written: Written, one: Row, *, typed: bool) -> bool:
    """Return whether a written name, which is plainly that of a row, is written as there."""
    theirs = one.theirs
    if bool(written.cut) != bool(theirs.cut) or not {*theirs.settings} <= {*written.settings}:
        return False
    if written.mark == ".":  # also as in trec_eval -m P.10
        return theirs.mark == "." or one.tool == TREC_EVAL
    if theirs.mark == ".":
        return False
    if typed:
        return True
    is_exact = one.tool in (TREC_EVAL, IR_MEASURES)  # P_10 is no run p_10
    return written.mark == theirs.mark and (not is_exact or written.name == theirs.name)


def name_here(text: str, one: Row) -> str:
    """Return the metric of a row with the settings and cut-off of a name; '' for a wrong one."""
    written = parts_of(text)
    assert written is not None
    left = [setting for setting in written.settings if setting not in one.theirs.settings]
    if one.metric == BY_R:
        return "" if left or written.cut == "0" else f"{BY_R}_{written.cut}"
    inside = ",".join(filter(None, [*left, one.settings]))
    cut = f"@{written.cut}" if written.cut else ""
    return canonical(one.metric + (f"({inside})" if inside else "") + cut)


def names_here(text: str, rows: Iterable[Row]) -> set[str]:
    """Return the metrics of rows that are the same number."""
    return {name_here(text, one) for one in rows if not one.differs} - {""}


def label_of(text: str, tools: Sequence[str]) -> str:
    """Return the name here of the same number, where tools agree about it; else the name itself.

    Examples
    --------
    >>> label_of("ndcg_cut_10", FAMILY), label_of("hits@10", FAMILY)
    ('nDCG@10', 'hits@10')
    """
    return _same(text, rows_of(text, tools)) or text


def _same(text: str, rows: Sequence[Row]) -> str:
    """Return the name here of the same number; '' where there is none, or rows contradict."""
    found = names_here(text, rows)
    is_clear = len(found) == 1 and not any(one.differs for one in rows)
    return found.pop() if is_clear else ""


def from_ir_measures(measure: str) -> str:
    """Return the name here of a measure of ir_measures, prefixed where its own means another here.

    Examples
    --------
    >>> [from_ir_measures(name) for name in ("R@5", "AP@5", "RBP", "Judged@5")]
    ['Recall@5', 'map_cut_5', 'ir_measures:RBP', 'Judged@5']
    """
    rows = rows_of(measure, (IR_MEASURES,))
    if same := _same(measure, rows):
        return same
    return f"{OF_IR_MEASURES}{measure}" if rows or canonical(measure) else measure


def why_other(text: str, tools: Sequence[str] = ()) -> str:
    """Return what a name means in tools where it is no metric here; '' where none has it."""
    named = [one for one in rows_of(text, tools, typed=not tools) if one.differs]
    said = [f"{one.name} of {one.tool} is {one.differs}, no {one.metric}" for one in named]
    return "; ".join(said)


def canonical(label: str) -> str:
    """Return the canonical name of a metric, or '' if there is none of this name."""
    if not has_known_name(label):  # the message about an unknown name takes long to make
        return ""
    try:
        return str(parse_metric(label))
    except BadName:
        return ""


def own_name(text: str) -> str:
    """Return the name of a metric of this package in any letter case; '' for another text."""
    written = parts_of(text)
    if written is None or written.mark == ".":
        return ""
    of_plain = {parts.plain: parts.name for parts in map(parts_of, DEFINITIONS) if parts}
    if written.plain not in of_plain:
        return ""
    inside = f"({','.join(written.settings)})" if written.settings else ""
    cut = f"@{written.cut}" if written.cut else ""
    return of_plain[written.plain] + inside + cut


COUNTS = r"Z?num_(q|ret|rel|rel_ret|nonrel_judged_ret)|Num(Q|Rel|Ret|RelRet)(\(.*\))?"
"""Counts of trec_eval and of ir_measures; other names that begin so are of no measure."""
NO_MEASURES = re.compile(rf"{COUNTS}|Z?(gm_\w+|infAP)|runid|relstring(_\d+)?")
"""Counts, logarithms and texts of these tools, read only on request."""
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
    return from_ir_measures(measure) if name == measure else name


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


def metric_of_file(path: object) -> str:
    """Return the metric that a file name stands for, or the name without extensions."""
    bare = re.split(r"[/\\]", str(path))[-1].removesuffix(".gz")
    stem = re.sub(r"\.(csv|tsv|tab|txt|jsonl|ndjson|json|parquet)$", "", bare)
    shape = re.fullmatch(r"([a-z_-]+?)[@_]?(\d*)", stem.lower())
    if not shape:
        return stem
    text = shape[1] + (f"@{shape[2]}" if shape[2] else "")
    if shape[1] in SMALL:
        return canonical(own_name(text)) or stem
    found = names_here(text, rows_of(text, FAMILY, typed=True))
    return found.pop() if len(found) == 1 else stem


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
    known = canonical(name)
    return parse_metric(known).range if known else None
