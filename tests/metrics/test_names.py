"""Metric names and gain settings parse, print, and say what is wrong with them."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorecube.collection.metrics_of_tools import read_metric
from scorecube.errors import BadName
from scorecube.metrics import DEFINITIONS, Metric, Parameter, gain_values, metric, parse_metric


def values(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Draw any value a user may type."""
    if parameter.words:
        return st.sampled_from(list(parameter.words))
    highest = min(parameter.below, sys.float_info.max)
    numbers = st.floats(parameter.above, highest, exclude_min=True, exclude_max=True)
    if parameter.also:
        numbers |= st.sampled_from(parameter.also)
    if isinstance(parameter.default, tuple):  # rising as the level falls
        return st.lists(numbers, min_size=1, max_size=4, unique=True).map(
            lambda drawn: tuple(sorted(drawn))
        )
    return numbers


def written(value: Any) -> str:
    """Write a value with all its digits."""
    return (
        value
        if isinstance(value, str)
        else ":".join(map(repr, value if isinstance(value, tuple) else (value,)))
    )


@pytest.mark.parametrize("name", DEFINITIONS)
@given(data=st.data())
def test_round_trip(name: str, data: st.DataObject) -> None:
    definition = DEFINITIONS[name]
    cutoff = (
        0
        if definition.cutoff == "none"
        else data.draw(st.integers(int(definition.cutoff == "required"), 10_000))
    )
    rel = data.draw(st.integers(1, 20))
    given_ = {
        key: data.draw(values(p))
        for key, p in definition.parameters.items()
        if data.draw(st.booleans())
    }
    if given_.get("form") != "exp2":
        given_.pop("max", None)
    inside = ",".join([f"rel={rel}", *(f"{key}={written(value)}" for key, value in given_.items())])
    kept = tuple(
        (key, value) for key, value in given_.items() if value != definition.parameters[key].default
    )

    metric = parse_metric(f"{name}({inside})" + (f"@{cutoff}" if cutoff else ""))

    assert metric == Metric(name, rel, cutoff, kept)
    assert parse_metric(str(metric)) == metric
    assert str(parse_metric(str(metric))) == str(metric)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("AP()", "AP"),
        ("AP(judged_only=False)", "AP"),
        ("Q(rel=2,judged_only=True)@20", "Q(rel=2,judged_only=True)@20"),
        (" nDCG ( b = 2.0 ) @ 10 ", "nDCG(b=2)@10"),
        ("nDCG(b=10,rel=2)@3", "nDCG(rel=2,b=10)@3"),
        ("NWRR(beta=1.5:2.50)", "NWRR(beta=1.5:2.5)"),
        ("ERR(form=linear)@20", "ERR@20"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert str(parse_metric(text)) == canonical
    assert str(parse_metric(canonical)) == canonical


REFUSED = {
    "unknown metric": "@10|(rel=2)|AP@|AP@x|AP@-1|AP@1.5|AP(rel=2|AP)|AP,P@10|AP@10(rel=2)|geo:AP|mean:AP|AP@\N{FULLWIDTH DIGIT FIVE}",
    "needs a cut-off": "P|P(rel=2)|nCG|Hit",
    "takes no cut-off @": "Rprec@10|Rmeasure(rel=2)@1|bpref@5|AP@0|P@0|nDCG(b=2)@00",
    "is a setting of form=exp2": "ERR(max=3)@5|nERR(max=3,form=linear)",
    "known: rel, judged_only": "AP(b=2)|nDCG(base=2)|WRR(form=exp2)|nERR(exp2)|AP(judged_only=yes)",
    "rel=": "AP(rel=0)|AP(rel=-1)|AP(rel=1.5)|AP(rel=x)|AP(rel=)|AP(rel=2:3)|AP(rel=\N{SUPERSCRIPT TWO})",
    "is not a number above 1": "nDCG(b=1)|nDCG(b=nan)|WRR(beta=-2)|NWRR(beta=2:x)|nDCG(b=)",
    "is not a number above 0 below 1": "RBP(p=0)@10|RBP(p=1)@10|RBP(p=1.5)@10|RBP(p=nan)|RBP(p=x)",
    "takes one number": "nDCG(b=2:3)",
    "expected one of linear, exp2": "nERR(form=exp)|nERR(form=)|nERR(form=2)|nERR(form=LINEAR)",
    "must rise": "NWRR(beta=4:3:2)|NWRR(beta=2:2:2)|NWRR(beta=2:4:3)",
    "set the same thing": "AP(rel=2,rel=3)|AP(,)",
    "the cut-off is above": f"AP@{10**8}",
}  # fmt: skip
"""What is wrong -> names."""


@pytest.mark.parametrize(
    ("text", "part"), [(text, part) for part, row in REFUSED.items() for text in row.split("|")]
)
def test_wrong_names_are_refused(text: str, part: str) -> None:
    with pytest.raises(BadName) as caught:
        parse_metric(text)
    assert part in str(caught.value)
    assert repr(text) in str(caught.value)


SAME = {
    "map": "AP", "P_10": "P@10", "precision@5": "P@5", "NDCG@10": "nDCG@10", "ndcg_cut_10": "nDCG@10", "MRR@10": "RR@10",
    "recip_rank": "RR", "R@100": "Recall@100", "recall_1000": "Recall@1000", "Success@5": "Hit@5", "hit_rate@3": "Hit@3",
    "r-precision": "Rprec", "rbp(p=0.8)": "RBP(p=0.8)", "map(rel=2)": "AP(rel=2)", "P+": "P+",
    "nDCG(dcg='exp-log2')@10": "nDCG(form=exp2)@10", 'ndcg(dcg="exp-log2",rel=2)@10': "nDCG(rel=2,form=exp2)@10",
    "nDCG(dcg='log2')@5": "nDCG@5", "P.10": "P@10", "ndcg_burges@10": "nDCG(form=exp2)@10", "map@10": "map_cut_10",
    "MAP@10": "map_cut_10", "ir_measures:AP": "AP", "ir_measures:ERR@20": "ERR(form=exp2)@20", "SetR": "Recall",
}  # fmt: skip


def test_spellings_of_other_tools_are_known_and_any_case() -> None:
    assert {typed: str(read_metric(typed)) for typed in SAME} == SAME
    for name, definition in DEFINITIONS.items():
        cut = "@10" if definition.cutoff == "required" else ""
        same = parse_metric(name + cut)
        assert read_metric(name.lower() + cut) == read_metric(name.upper() + cut) == same


@pytest.mark.parametrize(
    "typed",
    [
        "hits",
        "hits@10",
        "accuracy@10",
        "Accuracy@10",
        "rbp.95",
        "F1@10",
        "dcg@10",
        "R_cap@10",
        "gm_map",
        "ndgc@10",
    ],
)
def test_measures_that_mean_something_else_are_unknown(typed: str) -> None:
    with pytest.raises(BadName):
        read_metric(typed)


@pytest.mark.parametrize(
    ("text", "n_levels", "expected"),
    [
        ("auto", 3, [0, 1, 2, 3]),
        ("auto", 1, [0, 1]),
        ("3:2:1", 3, [0, 1, 2, 3]),
        ("10:5:1", 3, [0, 1, 5, 10]),
        ("0.3:0.2:0.1", 3, [0, 0.1, 0.2, 0.3]),
        ("3:1", 2, [0, 1, 3]),
        ("1:1:0", 3, [0, 0, 1, 1]),
        ("7", 1, [0, 7]),
    ],
)
def test_gain_setting(text: str, n_levels: int, expected: list[float]) -> None:
    found = gain_values(text, n_levels)
    assert found.dtype == np.float64
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        *[(text, "lower level a larger gain") for text in ("0:1:1", "1:2:3", "3:1:2")],
        *[(text, "not 'auto' or numbers") for text in ("", "3:x:1", "3;2;1", "3::1", "AUTO")],
        *[(f"3:{bad}:1", "gains are 0, or between") for bad in (-1.0, math.inf, math.nan)],
        ("3:2", "has 2 values, but the collection has 3 relevant levels"),
        ("3:2:1:0", "has 4 values, but the collection has 3 relevant levels"),
        ("0:0:0", "not all are 0"),
        ("1e10:1:1", "scale them"),
    ],
)
def test_wrong_gain_settings_are_refused(text: str, part: str) -> None:
    with pytest.raises(BadName, match=part):
        gain_values(text, 3)


def test_a_metric_whose_scores_are_not_finite_is_refused() -> None:
    @metric("Broken", source="a test", cutoff="required")
    def broken(
        ranks: Any, levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
    ) -> None:
        out[0] = 1.0 / (cutoff - 5)

    with pytest.raises(BadName, match="metric Broken@5: "):
        parse_metric("Broken@5").score(
            np.array([0, 1], np.int8), np.array([1, 1]), np.array([0.0, 1.0])
        )
    DEFINITIONS.pop("Broken")


def test_a_metric_is_not_registered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    first = DEFINITIONS["AP"]
    monkeypatch.setitem(DEFINITIONS, "AP", first)
    declare = metric("AP", source="another")
    with pytest.raises(BadName, match=r"'AP' .*other; "):

        @declare
        def other() -> None: ...

    assert DEFINITIONS["AP"] is first
    # A notebook cell that runs again.
    declare(first.function)
    assert DEFINITIONS["AP"].source == "another"
