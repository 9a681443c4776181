"""Scores as other tools hold them in memory: which shapes are told apart, which names they get, what is refused."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

import scorecube as sc
from scorecube.ingest.measure_names import from_ir_measures, from_trec_eval
from tests.ingest.reading import to_matrices

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 0, "b": 2}}
RUNS = {
    "good": {"1": {"c": 3.0, "a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}},
    "bad": {"1": {"b": 3.0, "a": 2.0, "c": 1.0}, "2": {"a": 2.0, "b": 1.0}},
}


class Record(NamedTuple):
    query_id: str
    measure: str
    value: float


def check(scores: Any, metric: str = "AP") -> None:
    """Check that scores become the cube of the two runs."""
    cube = sc.cube_from_scores(scores, teams={"good": "A"})
    assert cube["run"].values.tolist() == ["bad", "good"]
    assert cube["topic"].values.tolist() == ["1", "2"]
    assert cube["team"].values.tolist() == ["bad", "A"]
    expected = np.array([[(1 / 2 + 2 / 3) / 2, 0.5], [1.0, 1.0]])
    np.testing.assert_allclose(cube["score"].sel(metric=metric).values[0], expected)


def test_results_of_pytrec_eval() -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS, pytrec_eval.supported_measures)
    scores = {run: evaluator.evaluate(ranking) for run, ranking in RUNS.items()}
    check(scores)
    metrics = sc.cube_from_scores(scores)["metric"].values.tolist()
    assert {"AP", "nDCG@10", "P@5", "Hit@5", "Recall@1000", "map_cut_10", "Rprec"} <= set(metrics)
    assert not {"num_ret", "gm_map", "runid", "infAP", "relstring"} & set(metrics)


def test_records_of_ir_measures() -> None:
    tool = pytest.importorskip("ir_measures")
    wanted = [
        tool.AP,
        tool.AP @ 10,
        tool.nDCG @ 10,
        tool.P(rel=2) @ 5,
        tool.R @ 100,
        tool.Success @ 5,
    ]
    scores = {run: tool.iter_calc(wanted, QRELS, ranking) for run, ranking in RUNS.items()}
    kept = {run: list(records) for run, records in scores.items()}
    check({run: iter(records) for run, records in kept.items()})
    metrics = sc.cube_from_scores(kept)["metric"].values.tolist()
    assert set(metrics) == {"AP", "map_cut_10", "nDCG@10", "P(rel=2)@5", "Recall@100", "Hit@5"}


def test_counts_of_ir_measures_are_left_out() -> None:
    tool = pytest.importorskip("ir_measures")
    scores = {
        run: tool.iter_calc([tool.AP, tool.NumRel, tool.NumRet], QRELS, ranking)
        for run, ranking in RUNS.items()
    }
    cube = sc.cube_from_scores(scores)
    assert cube["metric"].values.tolist() == ["AP"]
    only = {
        run: list(tool.iter_calc([tool.NumRel], QRELS, ranking)) for run, ranking in RUNS.items()
    }
    assert sc.cube_from_scores(only)["metric"].values.tolist() == ["NumRel"]


def test_measures_of_pyndeval_keep_their_names() -> None:
    scores = {
        run: {t: {"alpha-nDCG@10": v, "strec@5": v, "NRBP": v} for t, v in row.items()}
        for run, row in VALUES.items()
    }
    assert sc.cube_from_scores(scores)["metric"].values.tolist() == [
        "alpha-nDCG@10",
        "strec@5",
        "NRBP",
    ]


VALUES = {"good": {"1": 1.0, "2": 1.0}, "bad": {"1": 7 / 12, "2": 0.5}}


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param({"AP": VALUES}, id="metric first"),
        pytest.param({"AP": VALUES, "own": VALUES}, id="with a name of its own"),
        pytest.param({run: {"AP": row} for run, row in VALUES.items()}, id="metric second"),
        pytest.param(
            {run: {t: {"AP": v} for t, v in row.items()} for run, row in VALUES.items()},
            id="metric last",
        ),
        pytest.param(
            {r: [Record(t, "AP", v) for t, v in row.items()] for r, row in VALUES.items()},
            id="records",
        ),
        pytest.param(
            {r: [(t, "AP", v) for t, v in row.items()] for r, row in VALUES.items()}, id="triples"
        ),
        pytest.param(
            {r: ((int(t), "AP", v) for t, v in row.items()) for r, row in VALUES.items()},
            id="generators",
        ),
        pytest.param({"AP": pd.DataFrame(VALUES).T}, id="data frame"),
    ],
)
def test_shapes_are_told_apart(scores: Any) -> None:
    check(scores)


def test_missing_scores_are_gaps() -> None:
    frames = to_matrices(
        {"AP": {"a": {"1": 1.0, "2": None}, "b": {"3": np.float32(0.5)}}, "RR": {"b": {"1": 1}}}
    )
    nan = math.nan
    assert frames["AP"].index.tolist() == frames["RR"].index.tolist() == ["a", "b"]
    np.testing.assert_array_equal(frames["AP"].to_numpy(), [[1, nan, nan], [nan, nan, 0.5]])
    np.testing.assert_array_equal(frames["RR"].to_numpy(), [[nan, nan, nan], [1, nan, nan]])


def test_names_never_claim_another_definition() -> None:
    """What divides or discounts otherwise than ours of the same name keeps a name that is not ours."""
    assert [from_trec_eval(name) for name in ("map_cut_10", "ndcg_rel", "P_0", "set_P")] == [
        "map_cut_10", "ndcg_rel", "P_0", "set_P",
    ]  # fmt: skip
    theirs = (
        "AP(rel=2)@10",
        "RBP(rel=1)",
        "ERR@20",
        "nDCG(dcg='exp-log2')@10",
        "Bpref",
        "AP(rel=1)",
        "Judged@10",
    )
    ours = (
        "ir_measures:AP(rel=2)@10", "ir_measures:RBP(rel=1)", "ir_measures:ERR@20", "nDCG(dcg='exp-log2')@10", "bpref",
        "AP", "Judged@10",
    )  # fmt: skip
    assert tuple(map(from_ir_measures, theirs)) == ours
