"""Names of metrics as people type them: spellings of trec_eval, ir_measures, ranx and NTCIREVAL, in any case.

A spelling stands for a metric here only if both are the same number. Where they are not, the message says what differs and what to type.
"""

import difflib
import re

from scorecube.collection.other_metrics import other_metric
from scorecube.errors import BadName
from scorecube.metrics import DEFINITIONS, Metric, parse_metric

SPELLINGS = {
    "map": "AP",
    "averageprecision": "AP",
    "gmap": "geo:AP",
    "gmmap": "geo:AP",
    "mrr": "RR",
    "reciprank": "RR",
    "reciprocalrank": "RR",
    "precision": "P",
    "r": "Recall",
    "success": "Hit",
    "hitrate": "Hit",
    "hits": "Hit",
    "accuracy": "Hit",
    "rprecision": "Rprec",
    "ndcgcut": "nDCG",
    "msndcg": "nDCG",
    "pplus": "P+",
    "qmeasure": "Q",
    "omeasure": "O",
}
"""Spelling in small letters, without hyphens, underscores and blanks -> name here."""
DIFFERENT = {
    "mapcut": "trec_eval's map_cut divides by all relevant documents R; AP{cut} here by min(k, R), as NTCIREVAL. Type AP{cut} if that will do",
    "ndcgburges": "gains of 2^level - 1 are a form here: type nDCG(form=exp2){cut}",
    "f1": "F measures are not computed here; type P{cut} and Recall{cut}",
}
"""Spelling -> why there is no such metric, and what to type."""
TYPED = re.compile(
    r"(?P<summary>(?:geo|area):)?(?P<name>[A-Za-z#+][\w#+\- ]*?)(?P<inside>\([^()]*\))?(?:[@_.](?P<cut>\d+))?"
)
DISCOUNTS = {"'exp-log2'": "form=exp2", '"exp-log2"': "form=exp2", "'log2'": "", '"log2"': ""}
"""Forms of nDCG of ir_measures, as in ``nDCG(dcg='exp-log2')@10``, and the settings here."""
CLOSE = 0.6
"""Least similarity of a name that is suggested."""


def read_metric(text: str) -> Metric:
    """Parse the name of a metric in the spelling of this package or of another tool.

    text: Name, perhaps with parameters in brackets and a cut-off behind ``@`` or, as in trec_eval, ``_``.
    Returns metric: With all parameters set.
    Raises BadName: An unknown name, with names to type instead; a name that means something else elsewhere.

    Examples
    --------
    >>> [str(read_metric(text)) for text in ("map", "P_10", "ndcg_cut_10", "MRR@10", "R@100", "Success@5", "GMAP")]
    ['AP', 'P@10', 'nDCG@10', 'RR@10', 'Recall@100', 'Hit@5', 'geo:AP']
    """
    try:
        return parse_metric(text)
    except BadName as error:
        known = _respelled(text)
        if known is None:
            if other := other_metric(text):
                return other
            raise _unknown(text, error) from None
    return parse_metric(known)


def _plain(name: str) -> str:
    """Return a name in small letters without hyphens, underscores and blanks."""
    return re.sub(r"[\s_\-]", "", name.lower())


def _respelled(text: str) -> str | None:
    """Return the name here of a name in another spelling; None if there is none.

    Raises BadName: A name that means something else elsewhere, or is not computed here.
    """
    shape = TYPED.fullmatch(text.strip())
    if shape is None:
        return None
    cut = f"@{int(shape['cut'])}" if shape["cut"] else ""
    plain = _plain(shape["name"])
    if plain in DIFFERENT:
        raise BadName(f"metric {text!r}: {DIFFERENT[plain].format(cut=cut)}")
    name = SPELLINGS.get(plain) or {_plain(each): each for each in DEFINITIONS}.get(plain)
    if name is None:
        return None
    inside = _settings_here(shape["inside"] or "") if name == "nDCG" else shape["inside"] or ""
    return f"{shape['summary'] or ''}{name}{inside}{cut}"


def _settings_here(inside: str) -> str:
    """Return settings in brackets with the form of nDCG as it is written here.

    Examples
    --------
    >>> _settings_here("(dcg='exp-log2')"), _settings_here("(dcg='log2')"), _settings_here("(b=2)")
    ('(form=exp2)', '', '(b=2)')
    """
    parts = [part.strip() for part in inside.strip("()").split(",") if part.strip()]
    here = [
        DISCOUNTS.get(value.strip(), part) if key.strip() == "dcg" else part
        for part in parts
        for key, _, value in [part.partition("=")]
    ]
    kept = ",".join(part for part in here if part)
    return f"({kept})" if kept else ""


def _unknown(text: str, error: BadName) -> BadName:
    """Return the error of a name that nothing stands for, with whole names to type."""
    shape = TYPED.fullmatch(text.strip())
    if shape is None or "unknown metric" not in str(error):
        return error
    plain = _plain(shape["name"])
    spellings = {_plain(name): name for name in DEFINITIONS} | SPELLINGS
    close = difflib.get_close_matches(plain, list(spellings), 3, CLOSE)
    typed = [_complete(spellings[name], shape["cut"]) for name in close]
    if not typed:
        return BadName(f"unknown metric {text!r}; scorecube list metrics has all")
    return BadName(f"unknown metric {text!r}; type one of: {', '.join(dict.fromkeys(typed))}")


def _complete(name: str, cut: str | None) -> str:
    """Return a name that can be typed: with its cut-off, with one of 10 where one is needed, without where there is none."""
    rule = DEFINITIONS[name.rpartition(":")[2]].cutoff
    if rule == "none" or (cut is None and rule == "optional"):
        return name
    return f"{name}@{int(cut) if cut else 10}"
