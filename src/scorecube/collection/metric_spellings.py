"""Names of metrics as people type them, also as trec_eval, ir_measures, ranx, NTCIREVAL.

A spelling stands for a metric here only if both are the same number.
"""

import re

from scorecube.collection.other_metrics import other_metric
from scorecube.errors import BadName
from scorecube.metrics import DEFINITIONS, Metric, parse_metric

SPELLINGS = (
    dict.fromkeys(("map", "averageprecision"), "AP")
    | dict.fromkeys(("mrr", "reciprank", "reciprocalrank"), "RR")
    | dict.fromkeys(("success", "hitrate", "hits", "accuracy"), "Hit")
    | dict.fromkeys(("ndcgcut", "msndcg"), "nDCG")
    | {"precision": "P", "r": "Recall", "rprecision": "Rprec"}
    | {"pplus": "P+", "qmeasure": "Q", "omeasure": "O"}
)
"""Spelling in small letters, without hyphens, underscores and blanks -> name here."""
TYPED = re.compile(
    r"(?P<name>[A-Za-z#+][\w#+\- ]*?)(?P<inside>\([^()]*\))?"
    r"(?:[@_.](?P<cut>\d+))?"
)
DISCOUNTS = {"'exp-log2'": "form=exp2", '"exp-log2"': "form=exp2", "'log2'": "", '"log2"': ""}
"""Forms of nDCG of ir_measures, as in ``nDCG(dcg='exp-log2')@10``, and the settings here."""


def read_metric(text: str) -> Metric:
    """Parse the name of a metric in the spelling of this package or of another tool.

    text: Name, perhaps with parameters in brackets and a cut-off behind ``@`` or ``_``.
    Raises BadName: An unknown name.

    Examples
    --------
    >>> [str(read_metric(text)) for text in ("map", "P_10", "ndcg_cut_10", "R@100")]
    ['AP', 'P@10', 'nDCG@10', 'Recall@100']
    """
    try:
        return parse_metric(text)
    except BadName as error:
        here = _respelled(text)
        if here is None and (other := other_metric(text)):
            return other
        if here is None:
            raise error from None
    return parse_metric(here)


def _plain(name: str) -> str:
    """Return a name in small letters without hyphens, underscores and blanks."""
    return re.sub(r"[\s_\-]", "", name.lower())


def _respelled(text: str) -> str | None:
    """Return the name here of a name in another spelling; None if there is none."""
    shape = TYPED.fullmatch(text.strip())
    if shape is None:
        return None
    cut = f"@{int(shape['cut'])}" if shape["cut"] else ""
    plain = _plain(shape["name"])
    name = SPELLINGS.get(plain) or {_plain(metric): metric for metric in DEFINITIONS}.get(plain)
    if name is None:
        return None
    inside = shape["inside"] or ""
    if name == "nDCG":
        parts = [part.strip() for part in inside.strip("()").split(",")]
        here = [
            DISCOUNTS.get(part[4:].strip(), part) if part.startswith("dcg=") else part
            for part in parts
        ]
        kept = ",".join(filter(None, here))
        inside = f"({kept})" if kept else ""
    return f"{name}{inside}{cut}"
