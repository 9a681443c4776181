"""Measures that ranx has too: equal, or different as said here. It has no ERR. Compiling its functions takes half a minute once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube.metrics import parse_metric
from tests.metrics.test_against_oracles import Case, cases

ranx = pytest.importorskip("ranx")
pytestmark = [
    pytest.mark.slow,
    # Of numba, when it compiles ranx's functions.
    pytest.mark.filterwarnings(
        "ignore:unsafe cast from uint64 to int64:numba.core.errors.NumbaTypeSafetyWarning"
    ),
]

NAMES = {
    "AP": "map",
    "AP(rel=2)": "map-l2",
    "P@1": "precision@1",
    "P@5": "precision@5",
    "P@10": "precision@10",
    "P(rel=2)@5": "precision@5-l2",
    "Rprec": "r-precision",
    "Rprec(rel=2)": "r-precision-l2",
    "RR": "mrr",
    "RR@3": "mrr@3",
    "Recall": "recall",
    "Recall@5": "recall@5",
    "Hit@1": "hit_rate@1",
    "Hit@5": "hit_rate@5",
    "nDCG": "ndcg",
    "nDCG@3": "ndcg@3",
    "nDCG@10": "ndcg@10",
    "nDCG(rel=2)": "ndcg-l2",
}
"""Ours -> theirs, gain = level; `ndcg` discounts by log2(r + 1) and cuts off the ideal list, and heeds the level."""
BURGES = {"nDCG": "ndcg_burges", "nDCG@5": "ndcg_burges@5"}
"""With the gains 2^level - 1."""
BINARY = {"RBP(p=0.8)": "rbp.80", "RBP": "rbp.95"}
LEVELS = (0.0, 1.0, 2.0, 3.0)

some_topics = st.lists(cases(min_relevant=1), min_size=1, max_size=6)


def theirs(topics: Sequence[Case], measures: Sequence[str]) -> dict[tuple[str, int], float]:
    """Return the score of each (measure, topic)."""
    labels = [f"{k:02d}" for k in range(len(topics))]
    qrels = {
        label: {f"found{k}": level for k, level in enumerate(case.levels) if level >= 0}
        | {
            f"missed{level}-{k}": level
            for level, count in enumerate(case.judged)
            for k in range(count - case.levels.count(level))
        }
        for label, case in zip(labels, topics, strict=True)
    }
    run = {
        label: {f"found{k}": -float(k) for k in range(len(case.levels))}
        for label, case in zip(labels, topics, strict=True)
    }
    found = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(qrels), found, list(measures), return_mean=False)
    return {
        (measure, int(label)): float(score)
        for measure in measures
        for label, score in found.scores[measure].items()
    }


def ours(case: Case, metric: str, gains: Sequence[float] = LEVELS) -> float:
    return Case(case.levels, case.judged, list(gains)).score(parse_metric(metric))


def one(case: Case, measure: str) -> float:
    return theirs([case], [measure])[measure, 0]


def assert_equal(
    topics: Sequence[Case], known: dict[str, str], gains: Sequence[float] = LEVELS
) -> None:
    found = theirs(topics, list(known.values()))
    assert len(found) == len(known) * len(topics)
    for metric, measure in known.items():
        for k, case in enumerate(topics):
            score = np.nan_to_num(ours(case, metric, gains))  # no document of level `rel`: 0 there
            assert score == pytest.approx(found[measure, k], rel=0, abs=1e-9), (metric, k)


@settings(deadline=None, max_examples=100)
@given(topics=some_topics)
def test_measures(topics: list[Case]) -> None:
    assert_equal(topics, NAMES)


@settings(deadline=None, max_examples=50)
@given(topics=some_topics)
def test_ndcg_of_burges_is_another_gain_setting(topics: list[Case]) -> None:
    assert_equal(topics, BURGES, gains=(0.0, 1.0, 3.0, 7.0))


@settings(deadline=None, max_examples=50)
@given(topics=some_topics)
def test_rank_biased_precision_of_binary_relevance(topics: list[Case]) -> None:
    """Levels are made binary before, since ranx weighs by level."""
    binary = [
        Case([min(level, 1) for level in case.levels], [case.judged[0], sum(case.judged[1:])], [])
        for case in topics
    ]
    assert_equal(binary, BINARY, gains=(0.0, 1.0))


@settings(deadline=None, max_examples=50)
@given(
    topics=st.lists(
        cases(min_relevant=1).filter(lambda case: case.judged[0] > 0), min_size=1, max_size=6
    )
)
def test_bpref(topics: list[Case]) -> None:
    assert_equal(topics, {"bpref": "bpref"})


# ---- Where definitions differ


def test_ap_at_a_cut_off_divides_by_the_smaller_of_cut_off_and_r() -> None:
    case = Case([1, 0, 1, 1], [1, 4, 0, 0], [])
    total = 1 + 2 / 3
    assert one(case, "map@3") == pytest.approx(total / 4)
    assert ours(case, "AP@3") == pytest.approx(total / 3)


def test_rbp_weighs_by_gain_over_the_largest_gain_and_not_by_level() -> None:
    """ranx's can exceed 1."""
    case = Case([3, 3, 1], [0, 1, 0, 2], [])
    assert one(case, "rbp.50") == pytest.approx(3 / 2 + 3 / 4 + 1 / 8)
    assert ours(case, "RBP(p=0.5)") == pytest.approx((3 / 2 + 3 / 4 + 1 / 8) / 3)


def test_bpref_without_a_document_judged_not_relevant_is_that_of_trec_eval_and_not_nan() -> None:
    case = Case([1], [0, 1, 0, 0], [])
    assert math.isnan(one(case, "bpref"))
    assert ours(case, "bpref") == 1.0


def test_precision_needs_a_cut_off_and_theirs_divides_by_the_length_of_the_list() -> None:
    case = Case([1, 0], [1, 1, 0, 0], [])
    assert one(case, "precision") == 0.5
    assert one(case, "precision@5") == ours(case, "P@5") == 0.2


def test_topic_without_a_relevant_document_is_a_gap_and_not_0() -> None:
    case = Case([0], [1, 0, 0, 0], [])
    assert one(case, "map") == 0.0
    assert math.isnan(ours(case, "AP"))


@pytest.mark.parametrize(("given_order", "wanted"), [("ba", 1.0), ("ab", 0.5)])
def test_ties_keep_the_order_in_which_documents_were_given(
    tmp_path: Path, given_order: str, wanted: float
) -> None:
    """Ours go to the larger document id, whatever the order of the file."""
    run = ranx.Run({"1": dict.fromkeys(given_order, 1.0)})
    assert ranx.evaluate(ranx.Qrels({"1": {"b": 1}}), run, "mrr") == wanted
    (tmp_path / "run").write_text("".join(f"1 Q0 {document} 0 1.0 r\n" for document in given_order))
    (tmp_path / "qrels").write_text("1 0 b 1\n")
    rankings = sc.read_rankings(tmp_path / "run", tmp_path / "qrels", workers=1)
    assert sc.evaluate(rankings, ["RR"])["score"].item() == 1.0
