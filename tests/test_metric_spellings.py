"""Names of metrics as people type them."""

from __future__ import annotations

import re

import pytest

from scorecube.collection.metric_spellings import DIFFERENT, SPELLINGS, read_metric
from scorecube.errors import BadName
from scorecube.metrics import DEFINITIONS, parse_metric

SAME = {
    "map": "AP", "MAP": "AP", "P_10": "P@10", "p@10": "P@10", "precision@5": "P@5", "ndcg": "nDCG", "NDCG@10": "nDCG@10",
    "ndcg_cut_10": "nDCG@10", "MRR": "RR", "MRR@10": "RR@10", "recip_rank": "RR", "R@100": "Recall@100", "recall_1000": "Recall@1000",
    "Success@5": "Hit@5", "success_1": "Hit@1", "hit_rate@3": "Hit@3", "r-precision": "Rprec",
    "Rprec": "Rprec", "Bpref": "bpref", "err@20": "ERR@20", "rbp(p=0.8)": "RBP(p=0.8)", "AP(rel=2)": "AP(rel=2)",
    "map(rel=2)": "AP(rel=2)", "P+": "P+",
}  # fmt: skip


@pytest.mark.parametrize(("typed", "name"), SAME.items(), ids=SAME)
def test_spellings_of_other_tools_are_known(typed: str, name: str) -> None:
    assert str(read_metric(typed)) == name


def test_every_metric_is_known_in_any_case() -> None:
    for name, definition in DEFINITIONS.items():
        cut = "@10" if definition.cutoff == "required" else ""
        same = parse_metric(name + cut)
        assert read_metric(name.lower() + cut) == same
        assert read_metric(name.upper() + cut) == same


def test_every_spelling_leads_to_a_metric() -> None:
    for name in SPELLINGS.values():
        assert name in DEFINITIONS
    assert not set(SPELLINGS) & set(DIFFERENT)


@pytest.mark.parametrize("typed", ["ndgc@10", "nDGC_10", "mapp", "recal@10", "succes@5", "rpec"])
def test_suggestions_can_be_pasted(typed: str) -> None:
    with pytest.raises(BadName) as found:
        read_metric(typed)
    listed = re.fullmatch(
        r"unknown metric .*; type one of: (.*); scorecube list metrics has all", str(found.value)
    )
    assert listed
    for name in listed[1].split(", "):
        parse_metric(name)


@pytest.mark.parametrize("typed", ["map_cut_10", "ndcg_burges@10", "F1@10", "gm_map"])
def test_measures_that_mean_something_else_say_so(typed: str) -> None:
    with pytest.raises(BadName, match="here"):
        read_metric(typed)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("nDCG(dcg='exp-log2')@10", "nDCG(form=exp2)@10"),
        ('ndcg(dcg="exp-log2",rel=2)@10', "nDCG(rel=2,form=exp2)@10"),
        ("nDCG(dcg='log2')@5", "nDCG@5"),
    ],
)
def test_forms_of_ir_measures_are_read(typed: str, name: str) -> None:
    assert str(read_metric(typed)) == name
