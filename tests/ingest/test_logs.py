"""Readers of tools: what they refuse, and what they say; `test_readers` has a file of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import scorecube as sc
from scorecube.errors import BadInput

Cells = dict[str, float]
"""Collection, metric, run and topic, where they are not empty -> score."""


def read(paths: Any, **options: Any) -> tuple[Cells, list[str]]:
    """Return the scores of files, without missing ones, and the lines that are said."""
    said: list[str] = []
    cubes = sc.import_scores(paths, collections=True, notify=said.append, **options)
    found: Cells = {}
    for name, cube in cubes.items():
        cells: Any = cube["score"].isel(gain=0, drop=True).to_series().dropna()
        for labels, value in cells.items():
            found[" ".join(filter(None, (name, *labels)))] = round(float(value), 4)
    return found, said


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


def jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def inspect_log(*samples: Any, status: str = "success") -> Any:
    of = {"model": "m/a", "task": "arc"}
    return {"version": 2, "status": status, "eval": of, "plan": {}, "samples": list(samples)}


def scored(topic: Any, value: Any, epoch: int = 1) -> Any:
    return {"id": topic, "epoch": epoch, "scores": {"match": {"value": value}}}


PROMPTFOO = [
    {"promptIdx": 0, "testIdx": 0, "provider": {"id": "x:a"}, "score": 0.5, "success": False, "namedScores": {"tone": 1}},
    {"promptIdx": 0, "testIdx": 1, "provider": {"id": "x:a"}, "score": 1, "success": True, "namedScores": {}},
]  # fmt: skip
PAIR = {"instruction": "tell\nme", "generator_1": "base", "generator_2": "m"}
REPORT = {"total_instances": 3, "completed_ids": ["a", "b"], "resolved_ids": ["a"], "unresolved_ids": ["b"], "error_ids": ["c"]}  # fmt: skip

REFUSED = [
    # Name of the file, content, words of the refusal.
    ("a.json", inspect_log(status="started"), "has no samples (status started)"),
    ("a.json", inspect_log({"id": 1, "epoch": 1}), "inspect score"),
    ("a.json", inspect_log(scored(1, "C"), scored(2, [1, 0])), "a.json: row 2: score '[1, 0]' of match"),
    ("a.json", {"one": inspect_log(), "two": inspect_log()}, "an index of logs of Inspect"),
    ("results.json", {"resolved": ["a"], "no_logs": [], "no_generation": []}, "items='FILE'"),
    ("m.json", {"resolved_ids": ["a"], "completed_ids": ["a", "b"]}, "items='FILE'"),
    ("m.json", {**REPORT, "total_instances": 9}, "name 3 of 9 instances"),
    ("m.json", {**REPORT, "resolved_ids": [["a"]]}, "resolved_ids is no list of ids"),
    ("r.json", {"results": {"arc": {"acc,none": 0.5}}, "configs": {}, "versions": {}}, "--log_samples"),
    ("evaluation.prototext", 'measure {\n key: "nDCG"\n value: "0.5"\n}\n', "evaluation-per-query"),
    ("b.jsonl", jsonl([{"model_a": "x", "model_b": "y", "winner": "z", "question_id": 1}]), "winner 'z': expected model_a, model_b, the name of one, tie"),
    ("b.csv", "run_a,run_b,winner\nx,x,x\n", "a battle of 'x' with itself"),
    ("annotations.json", [{**PAIR, "preference": 7}], "annotations.json: row 1: preference 7"),
    ("j.txt", "r leaf COVERED 0.5\nr bee COVERED 0.5\n", "layout='autojudge' or layout='autojudge_topics'"),
    ("a.txt", "bm25 301 0.27\ndense 301 0.5\n", "layout='run_topic' or layout='trec_eval'"),
    *(("q.qrels", text, "judgements: topic, iteration, document, level: no scores of runs; scorecube evaluate") for text in ("t1 0 x1 1\nt1 0 y1 0\nt2 0 x1 1\n", "1 Q0 x1 1\n")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), REFUSED)
def test_what_has_no_scores_is_refused_with_the_way(
    tmp_path: Path, name: str, content: Any, words: str
) -> None:
    path = put(tmp_path / name, content)
    with pytest.raises(BadInput) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_items_complete_lists_of_resolved_ids(tmp_path: Path) -> None:
    path = put(
        tmp_path / "x_me" / "results" / "results.json", {"resolved": ["b", "a"], "no_logs": []}
    )
    items = put(tmp_path / "all.txt", "a\nb\n\nc\n")
    expected = {"resolved x_me a": 1.0, "resolved x_me b": 1.0, "resolved x_me c": 0.0}
    assert read(path, items=items)[0] == expected
    with pytest.raises(BadInput, match="such as 'b'"):
        read(path, items=put(items, "a\nc\n"))


def test_means_beside_samples_are_left_out_and_named(tmp_path: Path) -> None:
    samples = {"doc_id": 0, "filter": "none", "metrics": ["acc", "bleu"], "acc": 1.0, "bleu": ["a", "b"]}  # fmt: skip
    put(tmp_path / "org" / "samples_t_2026-01-01T10-00-00.0.jsonl", jsonl([samples]))
    put(tmp_path / "org" / "results_2026.json", {"results": {}, "configs": {}, "versions": {}})
    found, said = read(tmp_path)
    assert found == {"t acc org 0": 1.0}
    assert any("results_2026.json" in line for line in said)
    assert any("bleu" in line for line in said)


def test_counts_times_and_costs_of_a_tool_are_no_metrics(tmp_path: Path) -> None:
    stats = [{"name": {"name": name}, "mean": 2.0} for name in ("exact_match", "num_output_tokens", "inference_runtime")]  # fmt: skip
    rows = [{"instance_id": "i", "train_trial_index": 0, "stats": stats}]
    path = put(tmp_path / "mmlu:model=m,k=1" / "per_instance_stats.json", rows)
    found, said = read(path)
    assert found == {"mmlu,k=1 exact_match m i": 2.0}
    assert any({"num_output_tokens", "inference_runtime"} <= {*line.split()} for line in said)
    only = read(path, metric="inference_runtime")[0]
    assert only == {"mmlu,k=1 inference_runtime m i": 2.0}
    path = put(path, [{**rows[0], "stats": stats[1:]}])
    assert len(read(path)[0]) == 2


def test_repeats_and_prompts_of_promptfoo(tmp_path: Path) -> None:
    tests = [{**one, "vars": {"q": one["testIdx"]}, "namedScores": {}} for one in PROMPTFOO]
    again = [*tests, {**tests[0], "testIdx": 2, "score": 0.25}]  # --repeat numbers tests anew
    assert read(put(tmp_path / "r.jsonl", jsonl(again)))[0] == {
        "score x:a#1 0": 0.5, "score x:a#1 1": 1.0, "score x:a#2 0": 0.25,
    }  # fmt: skip
    other = {**PROMPTFOO[0], "promptIdx": 1, "score": 0, "namedScores": {}, "error": "429"}
    found, said = read(put(tmp_path / "r.jsonl", jsonl([*PROMPTFOO, other])))
    assert found["score x:a prompt 1 0"] == 0
    assert found["score x:a prompt 0 0"] == 0.5
    assert any("1 results" in line for line in said)


def test_packed_logs_of_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(b"PK\3\4" + bytes(30))
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(BadInput, match=r"a\.eval > a\.eval\.json;"):
        read(path)
    module: Any = ModuleType("inspect_ai.log")
    content = inspect_log(scored("t", "C"))
    module.read_eval_log = lambda _: SimpleNamespace(model_dump=lambda mode: content)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", module)
    assert read(path)[0] == {"arc match m/a t": 1.0}
    monkeypatch.setattr(module, "read_eval_log", lambda _: 1 / 0)
    with pytest.raises(BadInput, match="division by zero"):
        read(path)
