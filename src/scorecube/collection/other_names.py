"""Names of metrics in other tools: which are the same number as one here, and why others are not.

The only list of them: readers of scores and `read_metric` ask it. Each row is compared with its
tool, or with the tool's formula, by ``tests/metrics/test_other_names.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from scorecube.errors import BadName
from scorecube.metrics import parse_metric
from scorecube.metrics.parsing import has_known_name

TREC_EVAL, IR_MEASURES, RANX, BEIR, MTEB = "trec_eval", "ir_measures", "ranx", "BEIR", "MTEB"
GDEVAL, NTCIREVAL = "gdeval", "NTCIREVAL"
FAMILY = (TREC_EVAL, RANX, BEIR, MTEB)
"""Tools whose files do not tell which of them wrote these."""


class OtherName(NamedTuple):
    """A name of a metric in another tool; a ``k`` at its end stands for a cut-off."""

    metric: str
    """The same number here; ``map_cut_k`` is computed by ir_measures. Else the nearest metric."""
    tool: str
    name: str
    differs: str = ""
    """What the tool computes instead, where that is another number."""


OF_IR_MEASURES = "ir_measures:"
"""Before names of measures of ir_measures that another metric has here."""
BY_R = "map_cut_k"
"""Average precision over all R relevant documents; AP@k divides by the smaller of k and R."""
OTHER_NAMES = (
    OtherName("AP", TREC_EVAL, "map"),
    OtherName(BY_R, TREC_EVAL, "map_cut_k"),
    OtherName("bpref", TREC_EVAL, "bpref"),
    OtherName("Hit@k", TREC_EVAL, "success_k"),
    OtherName("nDCG", TREC_EVAL, "ndcg"),
    OtherName("nDCG@k", TREC_EVAL, "ndcg_cut_k"),
    OtherName("P@k", TREC_EVAL, "P_k"),
    OtherName("Recall@k", TREC_EVAL, "recall_k"),
    OtherName("Rprec", TREC_EVAL, "Rprec"),
    OtherName("RR", TREC_EVAL, "recip_rank"),
    OtherName("AP", IR_MEASURES, "AP"),
    OtherName(BY_R, IR_MEASURES, "AP@k"),
    OtherName("bpref", IR_MEASURES, "Bpref"),
    OtherName("ERR(form=exp2)@k", IR_MEASURES, "ERR@k"),
    OtherName("Hit@k", IR_MEASURES, "Success@k"),
    OtherName("nDCG", IR_MEASURES, "nDCG"),
    OtherName("nDCG@k", IR_MEASURES, "nDCG@k"),
    OtherName("nDCG", IR_MEASURES, "nDCG(dcg=log2)"),
    OtherName("nDCG@k", IR_MEASURES, "nDCG(dcg=log2)@k"),
    OtherName("nDCG(form=exp2)@k", IR_MEASURES, "nDCG(dcg=exp-log2)@k"),
    OtherName("P@k", IR_MEASURES, "P@k"),
    OtherName("Recall", IR_MEASURES, "SetR"),
    OtherName("Recall@k", IR_MEASURES, "R@k"),
    OtherName("Rprec", IR_MEASURES, "Rprec"),
    OtherName("RR", IR_MEASURES, "RR"),
    OtherName("RR@k", IR_MEASURES, "RR@k"),
    OtherName("Hit@k", IR_MEASURES, "Accuracy@k", "a share of pairs of documents in their order"),
    OtherName("RBP", IR_MEASURES, "RBP", "with p = 0.8 and two levels"),
    OtherName("RBP@k", IR_MEASURES, "RBP@k", "with p = 0.8 and two levels"),
    OtherName("AP", RANX, "map"),
    OtherName(BY_R, RANX, "map@k"),
    OtherName("bpref", RANX, "bpref"),
    OtherName("Hit@k", RANX, "hit_rate@k"),
    OtherName("nDCG", RANX, "ndcg"),
    OtherName("nDCG@k", RANX, "ndcg@k"),
    OtherName("nDCG(form=exp2)", RANX, "ndcg_burges"),
    OtherName("nDCG(form=exp2)@k", RANX, "ndcg_burges@k"),
    OtherName("P@k", RANX, "precision@k"),
    OtherName("Recall@k", RANX, "recall@k"),
    OtherName("Rprec", RANX, "r-precision"),
    OtherName("RR", RANX, "mrr"),
    OtherName("RR@k", RANX, "mrr@k"),
    OtherName("P@k", RANX, "hits@k", "a number of documents, not divided by k"),
    OtherName("P@k", RANX, "f1@k", "the harmonic mean of P@k and Recall@k"),
    OtherName("nDCG@k", RANX, "dcg@k", "not divided by that of the ideal list"),
    OtherName("RBP", RANX, "rbp.k", "p = .k, and levels as gains, not divided by the largest"),
    OtherName(BY_R, BEIR, "MAP@k"),
    OtherName("Hit@k", BEIR, "Accuracy@k"),
    OtherName("nDCG@k", BEIR, "NDCG@k"),
    OtherName("P@k", BEIR, "P@k"),
    OtherName("Recall@k", BEIR, "Recall@k"),
    OtherName("RR@k", BEIR, "MRR@k"),
    OtherName("Recall@k", BEIR, "R_cap@k", "divided by the smaller of k and R"),
    OtherName(BY_R, MTEB, "map_at_k"),
    OtherName("Hit@k", MTEB, "hit_rate_at_k"),
    OtherName("nDCG@k", MTEB, "ndcg_at_k"),
    OtherName("P@k", MTEB, "precision_at_k"),
    OtherName("Recall@k", MTEB, "recall_at_k"),
    OtherName("RR@k", MTEB, "mrr_at_k"),
    OtherName("ERR(form=exp2)@k", GDEVAL, "err@k"),
    OtherName("nDCG(form=exp2)@k", GDEVAL, "ndcg@k"),
    OtherName("O", NTCIREVAL, "O-measure"),
    OtherName("P+", NTCIREVAL, "P-plus"),
    OtherName("Q", NTCIREVAL, "Q-measure"),
    *(OtherName(f"{name}@k", NTCIREVAL, f"{name}@k") for name in ("AP", "ERR", "Hit", "nERR")),
    *(OtherName(f"{name}@k", NTCIREVAL, f"{name}@k") for name in ("P", "Q", "RBP")),
    OtherName("nDCG@k", NTCIREVAL, "MSnDCG@k"),
    OtherName("nDCG(b=2)@k", NTCIREVAL, "nDCG@k"),
)
"""PyTerrier has the names of trec_eval and ir_measures; ndeval has no metric of this package."""
SHAPE = re.compile(
    r"(?P<name>[A-Za-z#+][\w#+\- ]*?)(?P<inside>\(.*\))?(?:(?P<mark>_at_|[@_.])(?P<cut>\d{1,8}|k))?"
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
    """A row of the table, and the parts of its two names."""

    row: OtherName
    theirs: Written
    ours: Written


@cache
def _rows_by_name() -> dict[str, list[Row]]:
    """Return the rows of the table by the plain name of the tool."""
    found: dict[str, list[Row]] = {}
    for row in OTHER_NAMES:
        theirs = parts_of(row.name)
        ours = parts_of(row.metric)
        assert theirs is not None
        assert ours is not None
        found.setdefault(theirs.plain, []).append(Row(row, theirs, ours))
    return found


def rows_of(text: str, tools: Sequence[str] = (), *, typed: bool = False) -> list[Row]:
    """Return the rows that a name of some tools, by default of all, stands for.

    typed: Whether a person wrote it: any sign before the cut-off, and any letter case.
    """
    written = parts_of(text)
    if written is None:
        return []
    alike = _rows_by_name().get(written.plain, [])
    rows = [one for one in alike if not tools or one.row.tool in tools]
    fitting = [one for one in rows if _fits(written, one, typed=typed)]
    # Of rows with settings, those that name the most of them.
    most = max((len(one.theirs.settings) for one in fitting), default=0)
    return [one for one in fitting if len(one.theirs.settings) == most]


def _fits(written: Written, one: Row, *, typed: bool) -> bool:
    """Return whether a written name, which is plainly that of a row, is written as there."""
    theirs = one.theirs
    if bool(written.cut) != bool(theirs.cut) or not {*theirs.settings} <= {*written.settings}:
        return False
    if written.mark == ".":  # also as in trec_eval -m P.10
        return theirs.mark == "." or one.row.tool == TREC_EVAL
    if theirs.mark == ".":
        return False
    if typed:
        return True
    is_exact = one.row.tool in (TREC_EVAL, IR_MEASURES)  # P_10 is no run p_10
    return written.mark == theirs.mark and (not is_exact or written.name == theirs.name)


def name_here(text: str, one: Row) -> str:
    """Return the metric of a row with the settings and cut-off of a name; '' for a wrong one."""
    written = parts_of(text)
    assert written is not None
    if one.row.metric == BY_R:
        is_plain = not written.settings and written.cut != "0"
        return f"map_cut_{written.cut}" if is_plain else ""
    left = [setting for setting in written.settings if setting not in one.theirs.settings]
    inside = ",".join([*left, *one.ours.settings])
    cut = f"@{written.cut}" if one.ours.cut else ""
    return canonical(one.ours.name + (f"({inside})" if inside else "") + cut)


def names_here(text: str, rows: Iterable[Row]) -> set[str]:
    """Return the metrics of rows that are the same number."""
    return {name_here(text, one) for one in rows if not one.row.differs} - {""}


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
    is_clear = len(found) == 1 and not any(one.row.differs for one in rows)
    return found.pop() if is_clear else ""


def label_of_ir_measures(measure: str) -> str:
    """Return the name here of a measure of ir_measures, prefixed where its own means another here.

    Examples
    --------
    >>> [label_of_ir_measures(name) for name in ("R@5", "AP@5", "RBP", "Judged@5")]
    ['Recall@5', 'map_cut_5', 'ir_measures:RBP', 'Judged@5']
    """
    rows = rows_of(measure, (IR_MEASURES,))
    if same := _same(measure, rows):
        return same
    return f"{OF_IR_MEASURES}{measure}" if rows or canonical(measure) else measure


def why_other(text: str, tools: Sequence[str] = ()) -> str:
    """Return what a name means in tools where it is no metric here; '' where none has it."""
    rows = [one.row for one in rows_of(text, tools, typed=not tools) if one.row.differs]
    said = [f"{row.name} of {row.tool} is {row.differs}, no {row.metric}" for row in rows]
    return "; ".join(said)


def canonical(label: str) -> str:
    """Return the canonical name of a metric, or '' if there is none of this name."""
    if not has_known_name(label):  # the message about an unknown name takes long to make
        return ""
    try:
        return str(parse_metric(label))
    except BadName:
        return ""
