"""Worked examples of Sakai 2007 (S1), Figure 3 and Appendix, exactly; `scorecube.published` has what is printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.metrics import gain_values, parse_metric

S, A, B = 3, 2, 1


def score(
    name: str, levels: Sequence[int], n_s: int = 0, n_a: int = 0, n_b: int = 0, gains: str = "3:2:1"
) -> float:
    """Score a list of a topic with so many S-, A- and B-relevant documents."""
    judged = np.array([len(levels), n_b, n_a, n_s])
    return float(parse_metric(name).score(np.array(levels, np.int8), judged, gain_values(gains, 3)))


def fig3(name: str, levels: Sequence[int], gains: str = "3:2:1") -> float:
    """Score a list of Fig. 3's topic: one S, one A, one B."""
    return score(name, levels, 1, 1, 1, gains)


X, Y, Z = [B, 0, 0], [0, S, 0], [B, S, 0]
PERFECT_INVERSE = [B, A, S]


@pytest.mark.parametrize(
    ("name", "levels", "exact", "printed"),
    [
        ("O", X, 2 / 4, 0.50),
        ("O", Y, 4 / 7, 0.57),
        ("O", Z, 2 / 4, 0.50),
        ("P-measure", X, 2 / 4, 0.50),
        ("P-measure", Y, 4 / 7, 0.57),
        ("P-measure", Z, 6 / 7, 0.86),
        ("P+", X, 2 / 4, 0.50),
        ("P+", Y, 4 / 7, 0.57),
        ("P+", Z, (2 / 4 + 6 / 7) / 2, 0.68),
    ],
)
def test_fig3(name: str, levels: list[int], exact: float, printed: float) -> None:
    found = fig3(name, levels)
    assert found == pytest.approx(exact, rel=1e-12)
    assert round(found, 2) == printed


def test_fig3_nwrr() -> None:
    assert fig3("NWRR", X) == pytest.approx((1 - 1 / 2) / (1 - 1 / 4), rel=1e-12)
    assert fig3("NWRR", Y) == pytest.approx((1 - 1 / 2) / (2 - 1 / 2), rel=1e-12)
    assert fig3("NWRR", Z) == fig3("NWRR", X)


def test_fig3_o_measure_prefers_y_by_default_and_x_with_flatter_gains() -> None:
    assert fig3("O", X) < fig3("O", Y)
    assert fig3("O", X, "2:1.5:1") == pytest.approx(2 / 3, rel=1e-12)
    assert fig3("O", Y, "2:1.5:1") == pytest.approx(3 / 5.5, rel=1e-12)


def test_p_measure_forgives_the_perfect_inverse_and_p_plus_does_not() -> None:
    assert fig3("P-measure", PERFECT_INVERSE) == 1.0
    assert fig3("P+", PERFECT_INVERSE) == pytest.approx((2 / 4 + 5 / 7 + 1) / 3, rel=1e-12)
    assert round(fig3("P+", PERFECT_INVERSE), 2) == 0.74


def test_appendix_ntcir3_chinese_topic_034() -> None:
    found = score("P-measure", [0] * 654 + [B], 4, 8, 7)
    assert f"{found:.4f}" == "0.0029"


def test_wrr_exceeds_one_and_its_bound_depends_on_the_topic() -> None:
    assert fig3("WRR", [S, 0, 0]) == 1 / (1 - 1 / 2)
    assert score("WRR", [B, 0, 0], n_b=2) == pytest.approx(1 / (1 - 1 / 4), rel=1e-12)
    assert score("NWRR", [B, 0, 0], n_b=2) == pytest.approx(1.0, rel=1e-12)


def test_ndcg_of_jarvelin_and_kekalainen_starts_to_discount_after_rank_b() -> None:
    gained = [3 / 1, 2 / 1, 3 / math.log2(3), 1 / math.log2(5)]
    ideal = [3 / 1, 3 / 1, 2 / math.log2(3), 1 / math.log2(4)]
    levels = [S, A, S, 0, B]
    assert score("nDCG(b=2)", levels, 2, 1, 1) == pytest.approx(sum(gained) / sum(ideal), rel=1e-12)
    assert score("nDCG(b=10)", levels, 2, 1, 1) == pytest.approx(9 / 9, rel=1e-12)


def test_err_forms() -> None:
    # Stop probabilities of S and B: 3/4 and 1/4 in NTCIREVAL, 7/8 and 1/8 on a scale to 3, 7/16 and 1/16 in gdeval.
    assert fig3("ERR", Z) == pytest.approx(1 / 4 + (3 / 4) * (3 / 4) / 2, rel=1e-12)
    assert fig3("ERR(form=exp2,max=3)", Z) == pytest.approx(1 / 8 + (7 / 8) * (7 / 8) / 2)
    assert fig3("ERR(form=exp2)", Z) == pytest.approx(1 / 16 + (15 / 16) * (7 / 16) / 2)
    assert fig3("nERR@1", Z) == pytest.approx((1 / 4) / (3 / 4), rel=1e-12)


def test_bpref_of_r_and_of_n_by_hand() -> None:
    # R = 2 relevant, N = 4 judged not; above the relevant ones 1 and 3 of these.
    levels = np.array([0, B, 0, 0, A], np.int8)
    judged = np.array([4, 1, 1, 0])
    expected = {
        "bpref": ((1 - 1 / 2) + 0) / 2,
        "bpref_R": ((1 - 1 / 2) + 0) / 2,
        "bpref_N": ((1 - 1 / 4) + (1 - 3 / 4)) / 2,
    }
    for name, value in expected.items():
        assert parse_metric(name).score(levels, judged, gain_values("3:2:1", 3)) == value
    few = np.array([1, 1, 1, 0])  # one not relevant, as all that a list can have
    short = np.array([0, B, A], np.int8)
    found = [
        float(parse_metric(name).score(short, few, gain_values("3:2:1", 3)))
        for name in ("bpref", "bpref_R", "bpref_N")
    ]
    assert found == [0.0, 0.5, 0.0]


def test_gap_is_average_precision_of_users_with_different_thresholds() -> None:
    # Thresholds B, A, S are of a third of the users each: sums of precision over relevant documents.
    at_b = 1 / 1 + 2 / 2
    at_a = at_s = 1 / 2
    assert fig3("GAP", Z) == pytest.approx((at_b + at_a + at_s) / (3 + 2 + 1), rel=1e-12)
    assert fig3("GAP", Z, "1:1:1") == pytest.approx(fig3("AP", Z), rel=1e-12)
    assert fig3("GAP@1", Z) == pytest.approx(1 / 3, rel=1e-12)


def test_the_first_answer_of_a_class_counts(tmp_path: Path) -> None:
    """Sakai 2005, section 4.3: answers with levels S, A, B, in classes of equal answers.

    Class 0 has an S- and an A-answer, class 1 a B-answer: R = 2, and the ideal list is S, B.
    Ranks are A, wrong, S, B. S gives the answer of rank 1 again; it counts for nothing.
    """
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("q 0 s 3\nq 0 a 2\nq 1 b 1\nq - wrong 0\nq 0 never 0\n", encoding="utf-8")
    lines = [f"q Q0 {text} {rank} 0 x" for rank, text in enumerate(("a", "wrong", "s", "b"), 1)]
    run.write_text("\n".join(lines), encoding="utf-8")
    rankings = sc.read_rankings([run], qrels, order="rank", qrels_format="trec-classes")
    assert rankings["n_judged"].values.tolist() == [[2, 1, 0, 1]]
    cube = sc.evaluate(rankings, ["Q", "RR", "Hit@1", "Hit@5", "AP"], gains=["3:2:1", "1:1:1"])
    blended = (2 + 1) / (3 + 1) / 2 + (2 + 1 + 2) / (4 + 4) / 2
    flat = (1 + 1) / (1 + 1) / 2 + (2 + 2) / (2 + 4) / 2
    expected = [[blended, flat], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [(1 + 2 / 4) / 2] * 2]
    np.testing.assert_allclose(cube["score"].values[..., 0, 0], expected, rtol=1e-15)
