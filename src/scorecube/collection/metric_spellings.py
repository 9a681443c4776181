"""Names of metrics as people type them, also in the spellings of other tools.

A spelling stands for a metric here only if both are the same number, see `other_names`.
"""

from scorecube.collection.other_metrics import other_metric
from scorecube.collection.other_names import (
    OF_IR_MEASURES,
    canonical,
    label_of_ir_measures,
    names_here,
    parts_of,
    rows_of,
    why_other,
)
from scorecube.errors import BadName
from scorecube.metrics import DEFINITIONS, Metric, parse_metric


def read_metric(text: str) -> Metric:
    """Parse the name of a metric in the spelling of this package or of another tool.

    text: Name, perhaps with parameters in brackets and a cut-off behind ``@`` or ``_``.
    Raises BadName: An unknown name; one that tools use for different numbers.

    Examples
    --------
    >>> [str(read_metric(text)) for text in ("map", "P_10", "ndcg_cut_10", "R@100")]
    ['AP', 'P@10', 'nDCG@10', 'Recall@100']
    """
    try:
        return parse_metric(text)
    except BadName as error:
        unknown = error
    own = own_name(text)
    if text.startswith(OF_IR_MEASURES):
        own = label_of_ir_measures(text.removeprefix(OF_IR_MEASURES))
    if canonical(own):
        return parse_metric(own)
    same = names_here(text, rows_of(text, typed=True))
    why = why_other(text)
    if same and why:
        raise BadName(f"metric {text!r}: {why}; write {', '.join(_readings(text, same))}")
    (name,) = same or {text}
    if canonical(name):
        return parse_metric(name)
    if other := other_metric(name):
        return other
    if same:
        why = f"average precision divided by R; AP@k by the smaller of k and R; {name} needs the"
        raise BadName(f"metric {text!r}: {why} package ir-measures")
    if text.startswith(OF_IR_MEASURES):
        why = "the package ir-measures, as it is installed here, does not compute it"
    if why:
        raise BadName(f"metric {text!r}: {why}")
    if own:
        parse_metric(own)
    raise unknown


def _readings(text: str, same: set[str]) -> list[str]:
    """Return the unmistakable names of what tools mean by a name."""
    written = parts_of(text)
    cut = written.cut if written else ""
    others = [one.row for one in rows_of(text, typed=True) if one.row.differs]
    names = [f"{row.tool}:{row.name.removesuffix('k')}{cut}" for row in others]
    return [*sorted(same), *(f"or {name}" for name in names)]


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
