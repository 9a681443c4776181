"""Nested dictionaries as JSON: what pytrec_eval returns is read bit for bit, whatever file it is in, and other JSON is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import scorecube as sc
from scorecube.ingest.formats import detect
from scorecube.workflow.api import import_scores

QRELS = {"401": {"x": 1, "y": 0, "z": 2}, "402": {"x": 0, "y": 1}}
RUNS = {
    "bm25": {"401": {"x": 3.0, "y": 2.0, "z": 1.0}, "402": {"y": 2.0, "x": 1.0}},
    "dense": {"401": {"y": 3.0, "z": 2.0}, "402": {"x": 2.0, "y": 1.0}},
}


def evaluated() -> dict[str, Any]:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS, {"map", "ndcg_cut_10", "num_ret"})
    return {run: evaluator.evaluate(ranked) for run, ranked in RUNS.items()}


def written(path: Path, content: object, indent: int | None = None) -> Path:
    path.write_text(json.dumps(content, indent=indent))
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_results_of_pytrec_eval_are_read(tmp_path: Path, indent: int | None) -> None:
    found = evaluated()
    files = [written(tmp_path / f"{run}.json", found[run], indent) for run in found]
    whole = written(tmp_path / "whole.json", found, indent)
    assert {detect(path) for path in (*files, whole)} == {"pytrec_eval"}
    for cube in (import_scores(files), import_scores(whole), sc.cube_from_scores(found)):
        assert sorted(cube.metric.values) == ["AP", "nDCG@10"]
        for run, topics in found.items():
            for topic, scores in topics.items():
                values = cube["score"].isel(gain=0).sel(run=run, topic=topic)
                assert values.sel(metric="AP").item() == scores["map"]
                assert values.sel(metric="nDCG@10").item() == scores["ndcg_cut_10"]


def test_objects_a_line_are_no_dictionaries(tmp_path: Path) -> None:
    row = {"meta": {"n": 1}, "model": "a", "item": "1", "acc": 1}
    one = written(tmp_path / "one.jsonl", row)
    two = tmp_path / "two.jsonl"
    two.write_text(f"{json.dumps({'tags': {'n': 1}})}\n" * 2)
    assert (detect(one), detect(two)) == ("long", "long")
