"""Metrics that scorecube does not define, computed by ir_measures where it is installed.

They know neither gain settings nor teams that are left out.
"""

import re
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from scorecube.collection.other_names import OF_IR_MEASURES, label_of_ir_measures
from scorecube.errors import BadName
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

        measure, scores = ir_measures.parse_measure(self.measure), np.zeros(retrieved.shape)
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
    return OtherMetric(label_of_ir_measures(name), measure=name)
