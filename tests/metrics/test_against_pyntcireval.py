"""All measures of pyNTCIREVAL, Python's counterpart of Sakai's NTCIREVAL: equal, or different as said here.

It has no bpref.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyNTCIREVAL import Labeler
from pyNTCIREVAL import metrics as ntcir

from scorecube.metrics import parse_metric
from tests.metrics.test_against_oracles import N_LEVELS, Case, cases

Make = Callable[[list[int], list[float], int], Any]
"""Documents per level, gains from level 1 on, and a cut-off -> a measure of pyNTCIREVAL."""

WHOLE_LIST: dict[str, Make] = {
    "RR": lambda counts, gains, k: ntcir.RR(),
    "O": lambda counts, gains, k: ntcir.OMeasure(counts, gains, 1.0),
    "P-measure": lambda counts, gains, k: ntcir.PMeasure(counts, gains, 1.0),
    "P+": lambda counts, gains, k: ntcir.PPlusMeasure(counts, gains, 1.0),
    "AP": lambda counts, gains, k: ntcir.AP(counts, gains),
    "Q": lambda counts, gains, k: ntcir.QMeasure(counts, gains, 1.0),
    "ERR": lambda counts, gains, k: ntcir.ERR(counts, gains),
    "nERR": lambda counts, gains, k: ntcir.nERR(counts, gains, None),
    "RBP": lambda counts, gains, k: ntcir.RBP(counts, gains, 0.95),
    "RBP(p=0.8)": lambda counts, gains, k: ntcir.RBP(counts, gains, 0.8),
    "NCUgu": lambda counts, gains, k: ntcir.NCUguBR(counts, gains, gains, 1.0),
    "NCUgu(nu=P)": lambda counts, gains, k: ntcir.NCUguP(counts, gains, gains),
    "NCUrb": lambda counts, gains, k: ntcir.NCUrbBR(counts, gains, 0.95, 1.0),
    "NCUrb(nu=P,gamma=0.8)": lambda counts, gains, k: ntcir.NCUrbP(counts, gains, 0.8),
}
WITH_CUTOFF: dict[str, Make] = {
    "P": lambda counts, gains, k: ntcir.Precision(k),
    "Hit": lambda counts, gains, k: ntcir.Hit(k),
    "AP": lambda counts, gains, k: ntcir.AP(counts, gains, k),
    "Q": lambda counts, gains, k: ntcir.QMeasure(counts, gains, 1.0, k),
    "nDCG": lambda counts, gains, k: ntcir.MSnDCG(counts, gains, k),
    # Both discount by log_b(b) = 1 at rank b, though the one says "from b on" and the other "after b".
    "nDCG(b=2)": lambda counts, gains, k: ntcir.nDCG(counts, gains, 2.0, k),
    "nDCG(b=3)": lambda counts, gains, k: ntcir.nDCG(counts, gains, 3.0, k),
    "nDCG(b=3.5)": lambda counts, gains, k: ntcir.nDCG(counts, gains, 3.5, k),
    "nDCG(b=10)": lambda counts, gains, k: ntcir.nDCG(counts, gains, 10.0, k),
    "nERR": lambda counts, gains, k: ntcir.nERR(counts, gains, k),
}
TRUNCATED = ["RR", "O", "P-measure", "P+", "ERR", "RBP"]
"""Measures without a cut-off there; here ``@k`` is the measure of the first k documents."""
NATURAL = "nDCG(b=0)@5"


@st.composite
def topics(draw: st.DrawFn) -> Case:
    """Draw a list of a topic with a relevant document, and gains above 0 that rise with the level."""
    case = draw(cases(min_relevant=1))
    gains = draw(st.lists(st.floats(0.1, 12.0), min_size=N_LEVELS, max_size=N_LEVELS))
    return replace(case, gains=[0.0, *sorted(gains)])


def ours(case: Case, name: str) -> float:
    return case.score(parse_metric(name))


def theirs(
    case: Case, make: Make, cutoff: int = 0, truncate: int | None = None, condensed: bool = False
) -> float:
    """Label the list and score it as the commands ``label`` and ``compute`` of pyNTCIREVAL do."""
    found = {f"found{k}": level for k, level in enumerate(case.levels) if level >= 0}
    missed = {
        f"missed{level}-{k}": level
        for level, count in enumerate(case.judged)
        for k in range(count - case.levels.count(level))
    }
    labeler = Labeler(found | missed, truncate=truncate, is_condensed=condensed)
    labelled = labeler.label([f"found{k}" for k in range(len(case.levels))])
    counts = labeler.compute_per_level_doc_num(len(case.gains))
    assert counts == case.judged
    return float(make(counts, case.gains[1:], cutoff).compute(labelled))


def near(score: float) -> Any:
    return pytest.approx(score, rel=0, abs=1e-9)


@pytest.mark.parametrize("name", WHOLE_LIST)
@settings(deadline=None, max_examples=60)
@given(case=topics())
def test_whole_lists(name: str, case: Case) -> None:
    assert ours(case, name) == near(theirs(case, WHOLE_LIST[name]))


@pytest.mark.parametrize("name", WITH_CUTOFF)
@settings(deadline=None, max_examples=60)
@given(case=topics(), cutoff=st.integers(1, 20))
def test_cut_offs(name: str, case: Case, cutoff: int) -> None:
    assert ours(case, f"{name}@{cutoff}") == near(theirs(case, WITH_CUTOFF[name], cutoff))


@pytest.mark.parametrize("name", TRUNCATED)
@settings(deadline=None, max_examples=60)
@given(case=topics(), cutoff=st.integers(1, 20))
def test_cut_off_is_a_shorter_list(name: str, case: Case, cutoff: int) -> None:
    assert ours(case, f"{name}@{cutoff}") == near(theirs(case, WHOLE_LIST[name], truncate=cutoff))


@pytest.mark.parametrize("name", WHOLE_LIST)
@settings(deadline=None, max_examples=40)
@given(case=topics())
def test_condensed_lists(name: str, case: Case) -> None:
    assume(max(case.levels) >= 0)  # pyNTCIREVAL cannot score an empty list
    metric = (
        f"{name.removesuffix(')')},judged_only=True)"
        if "(" in name
        else f"{name}(judged_only=True)"
    )
    assert ours(case, metric) == near(theirs(case, WHOLE_LIST[name], condensed=True))


def case_of(levels: Sequence[int], judged: Sequence[int]) -> Case:
    return Case(list(levels), list(judged), [0.0, 1.0, 2.0, 3.0])


def test_base_0_is_the_natural_logarithm_from_rank_2_on_as_in_ntcireval_and_not_from_rank_3() -> (
    None
):
    """NTCIREVAL divides by ln 2 < 1 at rank 2; pyNTCIREVAL takes base e, which does not discount rank 2 at all."""
    case = case_of([0, 3], [1, 0, 0, 1])
    assert theirs(case, lambda counts, gains, k: ntcir.nDCG(counts, gains, math.e, k), 5) == 1.0
    assert ours(case, NATURAL) == near(1 / math.log(2))
    assert ours(case, f"nDCG(b={math.e!r})@5") == 1.0


def test_ideal_list_is_sorted_by_level_and_not_by_gain() -> None:
    """Only through `Metric.score`: a gain setting that rises towards the lowest level is refused."""
    case = Case([1], [0, 1, 1, 0], [0.0, 2.0, 1.0, 2.0])
    assert theirs(case, WHOLE_LIST["O"]) == 1.0
    assert ours(case, "O") == near((1 + 2) / (1 + 1))
