"""Runs and judgements as other tools hold them in memory: the same scores as from files, in any form."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.errors import BadInput

QRELS = {"1": {"a": 1, "b": 0, "c": 2, "d": -1}, "2": {"a": 0, "b": 2}}
RUNS = {
    "good": {"1": {"c": 3.0, "a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}},
    "bad": {"1": {"b": 3.0, "d": 2.5, "a": 2.0, "c": 1.0}, "2": {"a": 2.0, "b": 1.0}},
}
METRICS = ["AP", "nDCG@10", "bpref"]


def object_of(package: str, **attributes: Any) -> Any:
    """Return an object of another package that has the given attributes, without that package."""
    return type("Stand", (SimpleNamespace,), {"__module__": f"{package}.anything"})(**attributes)


def files(folder: Path, runs: dict[str, Any], qrels: dict[str, Any]) -> tuple[list[Path], Path]:
    judged = folder / "qrels.txt"
    judged.write_text(
        "".join(f"{t} 0 {d} {level}\n" for t, row in qrels.items() for d, level in row.items())
    )
    for name, run in runs.items():
        lines = (
            f"{topic} Q0 {document} {rank} {score!r} {name}\n"
            for topic, row in run.items()
            for rank, (document, score) in enumerate(row.items(), 1)
        )
        (folder / f"{name}.run").write_text("".join(lines))
    return [folder / f"{name}.run" for name in runs], judged


@pytest.mark.parametrize("order", ["score", "score-docno-asc", "score-stable", "file", "rank"])
def test_dictionaries_are_ranked_as_the_same_files(tmp_path: Path, order: str) -> None:
    generator = np.random.default_rng(4)
    documents = [f"d{k}" for k in range(30)]
    qrels = {
        t: {d: int(generator.integers(-1, 4)) for d in documents} for t in ("7", "topic-é", "10")
    }
    runs = {
        name: {
            t: {d: float(generator.integers(5)) / 3 for d in generator.permutation(documents)[:20]}
            for t in qrels
        }
        for name in ("x", "y")
    }
    expected = sc.read_rankings(*files(tmp_path, runs, qrels), order=order)
    found = sc.read_rankings(runs, qrels, order=order)
    assert found.drop_attrs().identical(expected.drop_attrs())
    assert not (found["level_at_rank"] == found["level_at_rank"][0]).all()


def records() -> tuple[dict[str, Any], list[Any]]:
    runs = {
        name: [
            SimpleNamespace(query_id=topic, doc_id=document, score=score)
            for topic, row in run.items()
            for document, score in row.items()
        ]
        for name, run in RUNS.items()
    }
    judged = [
        SimpleNamespace(query_id=topic, doc_id=document, relevance=level, iteration="0")
        for topic, row in QRELS.items()
        for document, level in row.items()
    ]
    return runs, judged


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    of_runs, of_qrels = records()
    parts = [pd.DataFrame(map(vars, run)).assign(name=name) for name, run in of_runs.items()]
    runs = pd.concat(parts).rename(columns={"query_id": "qid", "doc_id": "docno"})
    runs["query"] = "words of the query"
    qrels = pd.DataFrame(map(vars, of_qrels))[["query_id", "doc_id", "relevance"]]
    return runs, qrels.set_axis(["qid", "docno", "label"], axis=1)


def of_ranx() -> tuple[list[Any], Any]:
    runs = [
        object_of("ranx", name=name, scores={}, to_dict=lambda run=run: run)
        for name, run in RUNS.items()
    ]
    return runs, object_of("ranx", to_dict=lambda: QRELS)


@pytest.mark.parametrize("form", [records, frames, of_ranx], ids=["records", "frames", "ranx"])
def test_all_forms_give_the_scores_of_dictionaries(form: Any) -> None:
    expected = sc.evaluate(RUNS, METRICS, qrels=QRELS)
    assert expected["score"].sel(metric="AP", run="good").values.tolist() == [[1.0, 1.0]]
    runs, qrels = form()
    assert sc.evaluate(runs, METRICS, qrels=qrels).identical(expected)


def test_ranks_of_frames_are_those_that_files_may_have() -> None:
    frame = pd.DataFrame({"qid": ["1"] * 3, "docno": ["a", "b", "c"], "score": [3, "2.5", 1.0]})
    choices: list[list[Any]] = [[3, 2, 1], ["3", 2.0, "1"]]
    for ranks in choices:
        run = frame.assign(rank=pd.Series(ranks))
        found = sc.read_rankings({"r": run}, QRELS, order="rank")
        assert found["level_at_rank"].sel(run="r", topic="1").values.tolist() == [2, 0, 1]
    for bad, text in ((None, "None"), ("first", "first"), (float("inf"), "inf")):
        runs = {"r": frame.assign(rank=pd.Series([1, 2, bad], dtype=object))}
        ranked = sc.read_rankings(runs, QRELS)  # by score
        assert ranked["level_at_rank"].sel(run="r", topic="1").values.tolist() == [1, 0, 2]
        with pytest.raises(BadInput, match=f"run 'r':3: rank '{text}' is not a number"):
            sc.read_rankings(runs, QRELS, order="rank")


def test_levels_in_memory_are_those_that_files_may_have() -> None:
    def levels(qrels: Any, **options: Any) -> list[int]:
        found = sc.read_rankings(RUNS, qrels, **options)["level_of_document"]
        return [int(level) for level in found.values[0] if level >= 0]

    assert levels({"1": {"a": "L2", "b": "1", "c": 0.0, "d": -1}}) == [2, 1, 0]
    assert levels({"1": {"a": 2, "b": 1, "c": 0}}, level_map={2: 3, 0: 1}) == [3, 1, 1]
    twice = [SimpleNamespace(query_id="1", doc_id="a", relevance=1) for _ in range(2)]
    with pytest.raises(BadInput, match="qrels:2: document 'a' is judged twice in topic 1"):
        levels(twice)


def test_iterators_are_read_once() -> None:
    runs, qrels = records()
    found = sc.evaluate({name: iter(run) for name, run in runs.items()}, ["AP"], qrels=iter(qrels))
    assert found.identical(sc.evaluate(RUNS, ["AP"], qrels=QRELS))


def test_scores_in_objects_of_ranx() -> None:
    scores = {"map": {"1": 0.5, "2": 0.25}}
    runs = [object_of("ranx", name=name, scores=scores) for name in "ab"]
    expected = sc.cube_from_scores({"a": scores, "b": scores})
    assert sc.cube_from_scores(runs).identical(expected)
    assert sc.import_scores({"a": runs[0], "b": runs[1]}).identical(expected)


def test_measures_of_ir_measures_name_metrics_wherever_names_do() -> None:
    tool = pytest.importorskip("ir_measures")
    cube = sc.evaluate(RUNS, ["AP", "nDCG@10", "P@5"], qrels=QRELS)
    chosen = sc.select(cube, metrics=[tool.nDCG @ 10, tool.AP], top_runs=1, by=tool.P @ 5)
    assert chosen["metric"].values.tolist() == ["nDCG@10", "AP"]
    frame = pd.DataFrame([[0.5, 0.25]], index=["r"], columns=["1", "2"])
    names = sc.cube_from_scores({tool.R @ 10: frame, tool.AP @ 10: frame})["metric"]
    assert names.values.tolist() == ["Recall@10", "map_cut_10"]
    assert sc.import_scores({"AP": frame, "RR": frame}, metric=tool.RR).sizes["metric"] == 1
    result = sc.analyse(cube, sc.Bootstrap(), trials=20, seed=1)
    assert sc.figure(result, metrics=[tool.AP]).axes
