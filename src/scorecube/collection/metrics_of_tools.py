"""Metrics by names of any tool; those that scorecube lacks are computed by ir_measures.

These need that package, and know neither gain settings nor teams that are left out.
"""

import re
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from scorecube.collection.names_of_tools import (
    OF_IR_MEASURES,
    canonical,
    from_ir_measures,
    names_here,
    own_name,
    parts_of,
    rows_of,
    why_other,
)
from scorecube.errors import BadName
from scorecube.metrics import parse_metric
from scorecube.metrics.common import BEHIND, Lists
from scorecube.metrics.registry import Definition, Metric

OF_SUBTOPICS = ("alpha", "StRecall", "NRBP", "nNRBP")
"""Names of measures that need judgements by subtopic, which are not read."""


@dataclass(frozen=True)
class OtherMetric(Metric):
    """A metric of ir_measures.

    name: Its name here, e.g. ``Judged@10``, ``map_cut_10``, ``ir_measures:RBP``.
    measure: Its whole name there.
    """

    measure: str = ""

    @property
    def definition(self) -> Definition:
        """A definition whose function refuses."""
        return Definition(self.name, self.score_lists, "ir_measures", "optional", False, {})

    def score_lists(self, *_: Any) -> NoReturn:
        raise BadName(f"{self.name}, of ir_measures, cannot be computed without some teams")

    def score_runs(
        self, lists: Lists, judged: NDArray[np.int64], retrieved: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Score lists, (run, topic) of the lengths `retrieved`; NaN where nothing is relevant.

        lists: Judged documents, of level -1 where their level is below 0.
        """
        import ir_measures

        measure = ir_measures.parse_measure(self.measure)
        scores = np.zeros(retrieved.shape)
        for run, of_run in enumerate(scores):
            ranked: dict[str, dict[str, float]] = {}
            labels: dict[str, dict[str, int]] = {}
            for topic, length in enumerate(retrieved[run].tolist()):
                levels, ranks = (of[run, topic] for of in (lists.levels, lists.ranks))
                known = ranks < BEHIND
                # Documents are named by their ranks; others stand for those that are not listed.
                at_rank = zip(ranks[known].tolist(), levels[known].tolist(), strict=True)
                found = levels[levels >= 0]
                left = judged[topic] - np.bincount(found, minlength=judged.shape[1])
                others = np.repeat(np.arange(len(left)), np.maximum(left, 0)).tolist()
                labels[str(topic)] = {f"r{rank}": level for rank, level in at_rank} | {
                    f"o{k}": level for k, level in enumerate(others)
                }
                if length:
                    ranked[str(topic)] = {f"r{k}": float(length - k) for k in range(1, length + 1)}
            try:
                values = list(ir_measures.evaluator([measure], labels).iter_calc(ranked))
            except Exception as error:  # of any provider: Accuracy divides by 0
                problem = f"ir_measures fails on some topic: {type(error).__name__}: {error}"
                raise BadName(f"metric {self.name}: {problem}") from error
            for one in values:
                of_run[int(one.query_id)] = one.value
        scores[:, ~judged[:, 1:].any(axis=1)] = np.nan
        return scores


def other_metric(text: str) -> OtherMetric | None:
    """Return the metric of ir_measures that a text names; None if none can be computed.

    text: Name there, with or without the prefix ``ir_measures:``; or ``map_cut_k``.
    """
    asked = text.removeprefix(OF_IR_MEASURES)
    asked = re.sub(r"^map_cut_(\d+)$", r"AP@\1", asked)
    try:
        import ir_measures

        measure = ir_measures.parse_measure(asked)
        name = str(measure)
        if name.startswith(OF_SUBTOPICS) or "_IA" in name:
            return None
        judged = {"1": {"d": 1, "e": 0}}
        ranked = {"1": {"d": 1.0, "e": 0.0}}
        list(ir_measures.evaluator([measure], judged).iter_calc(ranked))
    except Exception:  # of whatever kind: of the package, its parser and its providers
        return None
    return OtherMetric(from_ir_measures(name), measure=name)


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
        own = from_ir_measures(text.removeprefix(OF_IR_MEASURES))
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
    others = [one for one in rows_of(text, typed=True) if one.differs]
    names = [f"{one.tool}:{one.name.removesuffix('k')}{cut}" for one in others]
    return [*sorted(same), *(f"or {name}" for name in names)]
