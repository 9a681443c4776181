"""Measures that ir_measures has too, through pytrec_eval or gdeval (Perl): equal, or different as said here."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.errors import BadName
from scorecube.metrics import parse_metric
from tests.metrics.test_against_oracles import Case, cases

TREC_NAMES = {
    "AP(rel=2)": "AP(rel=2)", "AP(judged_only=True)": "AP(judged_only=True)", "P(rel=3)@5": "P(rel=3)@5",
    "P(judged_only=True)@5": "P(judged_only=True)@5", "Rprec(rel=2)": "Rprec(rel=2)", "RR(rel=2)": "RR(rel=2)",
    "RR(judged_only=True)": "RR(judged_only=True)", "nDCG(judged_only=True)@10": "nDCG(judged_only=True)@10",
    "bpref(rel=2)": "Bpref(rel=2)", "Hit(rel=2)@5": "Success(rel=2)@5", "Recall": "SetR", "Recall(rel=2)@5": "R(rel=2)@5",
}  # fmt: skip
"""Ours -> theirs, with settings; `test_against_trec_eval` has the others."""
MSMARCO_NAMES = {"RR@5": "RR@5", "RR(rel=2)@5": "RR(rel=2)@5"}
GDEVAL_NAMES = {"ERR(form=exp2)@5": "ERR@5", "ERR(form=exp2)@20": "ERR@20"}
GDEVAL_NDCG = {"nDCG@5": "nDCG(dcg='exp-log2')@5", "nDCG@20": "nDCG(dcg='exp-log2')@20"}
EXPONENTIAL = {f"nDCG(form=exp2)@{k}": f"nDCG(dcg='exp-log2')@{k}" for k in (5, 20)}
"""With the gains 2^level - 1."""
FIVE_DECIMALS = 5.1e-6
"""Largest distance from a number that gdeval prints with five decimals."""
needs_perl = pytest.mark.skipif(
    shutil.which("perl") is None, reason="gdeval is a Perl script, and there is no perl"
)

Judgements = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
some_topics = st.lists(cases(min_relevant=1), min_size=1, max_size=6)


def collection(topics: Sequence[Case]) -> tuple[Judgements, Run]:
    """Return judgements and a run without ties, topics numbered from 1."""
    qrels: Judgements = {}
    run: Run = {}
    for number, case in enumerate(topics, 1):
        found = {f"found{k}": level for k, level in enumerate(case.levels) if level >= 0}
        missed = {
            f"missed{level}-{k}": level
            for level, count in enumerate(case.judged)
            for k in range(count - case.levels.count(level))
        }
        qrels[str(number)] = found | missed
        run[str(number)] = {f"found{k}": -float(k) for k in range(len(case.levels))}
    return qrels, run


def theirs(topics: Sequence[Case], measures: Iterable[str]) -> dict[tuple[str, int], float]:
    """Return the score of each (measure, topic)."""
    qrels, run = collection(topics)
    asked = {ir_measures.parse_measure(name): name for name in measures}
    return {
        (asked[each.measure], int(each.query_id) - 1): each.value
        for each in ir_measures.iter_calc(asked, qrels, run)
    }


def ours(case: Case, metric: str, gains: Sequence[float] | None = None) -> float:
    """Score a list; by default gain = level."""
    chosen = list(range(len(case.judged))) if gains is None else list(gains)
    padded = [*case.judged, *[0] * (len(chosen) - len(case.judged))]
    return Case(case.levels, padded, [float(gain) for gain in chosen]).score(parse_metric(metric))


def one(case: Case, measure: str) -> float:
    (score,) = theirs([case], [measure]).values()
    return score


def assert_equal(
    topics: Sequence[Case], known: dict[str, str], tolerance: float = 1e-9, gains: Any = None
) -> None:
    found = theirs(topics, known.values())
    assert len(found) == len(known) * len(topics)
    for metric, name in known.items():
        for k, case in enumerate(topics):
            score = np.nan_to_num(ours(case, metric, gains))  # no document of level `rel`: 0 there
            assert score == pytest.approx(found[name, k], rel=0, abs=tolerance), (metric, k)


@settings(deadline=None, max_examples=100)
@given(topics=some_topics)
def test_measures_of_trec_eval(topics: list[Case]) -> None:
    assert_equal(topics, TREC_NAMES | MSMARCO_NAMES)


@needs_perl
@settings(deadline=None, max_examples=25)
@given(topics=some_topics)
def test_measures_of_gdeval(topics: list[Case]) -> None:
    """gdeval's largest level is 4, whether it occurs or not."""
    assert_equal(topics, GDEVAL_NAMES, FIVE_DECIMALS)
    assert_equal(topics, GDEVAL_NDCG, FIVE_DECIMALS, gains=[0, 1, 3, 7])
    assert_equal(topics, EXPONENTIAL, FIVE_DECIMALS)


# ---- Where definitions differ


def test_ap_at_a_cut_off_divides_by_the_smaller_of_cut_off_and_r() -> None:
    case = Case([1, 0, 1, 1], [1, 4, 0, 0], [])
    total = 1 + 2 / 3
    assert one(case, "AP@3") == pytest.approx(total / 4)
    assert ours(case, "AP@3") == pytest.approx(total / 3)
    assert ours(case, "AP@4") == pytest.approx(one(case, "AP@4"))


@needs_perl
def test_err_divides_by_the_largest_gain_plus_1_unless_told_otherwise() -> None:
    case = Case([2], [0, 0, 1, 0], [])
    assert one(case, "ERR@5") == pytest.approx((2**2 - 1) / 2**4)
    assert ours(case, "ERR@5", [0, 1, 2, 3, 4]) == pytest.approx(2 / (4 + 1))
    assert ours(case, "ERR(form=exp2)@5") == pytest.approx(3 / 2**4)
    assert ours(case, "ERR(form=exp2,max=3)@5") == pytest.approx(3 / 2**3)
    with pytest.raises(BadName, match=r"max=4.*write ERR\(form=exp2,max=7\)"):
        ours(case, "ERR(form=exp2)@5", [0, 1, 2, 7])


def test_ndcg_obeys_rel_and_trec_eval_does_not() -> None:
    """ir_measures asks trec_eval for measures of two levels in two calls, and knows no nDCG(rel=2)."""
    case = Case([1, 2], [0, 1, 1, 0], [])
    evaluator = pytrec_eval.RelevanceEvaluator(collection([case])[0], {"ndcg"}, relevance_level=2)
    assert evaluator.evaluate(collection([case])[1])["1"]["ndcg"] == pytest.approx(
        one(case, "nDCG")
    )
    assert ours(case, "nDCG") == pytest.approx(one(case, "nDCG"))
    assert ours(case, "nDCG(rel=2)") == pytest.approx(1 / math.log2(3))


def test_topic_without_a_relevant_document_is_a_gap_and_not_0() -> None:
    case = Case([0], [1, 0, 0, 0], [])
    assert one(case, "AP") == 0.0
    assert math.isnan(ours(case, "AP"))
