"""Files of evaluation tools: files that the tools wrote are read into the scores in them, and damaged and mixed ones are refused.

`evaluations/` holds files of lm-eval 0.4.13, inspect-ai 0.3.285, every-eval-ever 0.3.0 (its converter of lm-eval) and autojudge-evaluate 1.1.0, written
by these tools; predictions of MTEB follow the code of their writer (mteb 2.26).
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import scorecube as sc
from scorecube.errors import BadInput
from scorecube.ingest.formats import detect
from scorecube.workflow.api import import_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

DATA = Path(__file__).parent / "evaluations"
FILES = {
    "lm_eval": sorted(DATA.glob("lm_eval/*/samples_*.jsonl")),
    "every_eval_ever": sorted(DATA.glob("every_eval_ever/*.jsonl")),
    "inspect": sorted(DATA.glob("inspect/*.json.gz")),
    "samples of inspect": [DATA / "inspect" / "samples.csv"],
    "autojudge": [DATA / "autojudge" / "judge.eval.jsonl"],
}
Values = dict[tuple[str, str, str, str], float | None]
"""Collection, metric, run (with its seed) and topic -> score."""


def unsaid(line: str) -> None:
    """Notes are not looked at."""


def values_of(cubes: dict[str, Any]) -> Values:
    found: Values = {}
    for name, cube in cubes.items():
        cells = cube["score"].isel(gain=0).stack(cell=("metric", "run", "topic"))
        for (metric, run, topic), value in zip(cells["cell"].values, cells.values, strict=True):
            found[name, str(metric), str(run), str(topic)] = float(value)
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def expected_lm_eval() -> Values:
    found: Values = {}
    for path in FILES["lm_eval"]:
        task = path.name.split("_20")[0].removeprefix("samples_")
        for row in lines(path):
            end = "" if row["filter"] == "none" else f":{row['filter']}"
            for metric in row["metrics"]:
                cell = (task, f"{metric}{end}", path.parent.name, str(row["doc_id"]))
                found[cell] = row[metric]
    return found


def expected_every_eval_ever() -> Values:
    return {
        (row["evaluation_name"].replace("/", "-"), row["evaluation_result_id"], row["model_id"], row["sample_id"]): row["evaluation"]["score"]
        for path in FILES["every_eval_ever"]
        for row in lines(path)
    }  # fmt: skip


def expected_inspect() -> Values:
    worth = {"C": 1.0, "I": 0.0}
    found: Values = {}
    for path in FILES["inspect"]:
        log = json.loads(gzip.decompress(path.read_bytes()))
        for sample in log["samples"]:
            for scorer, score in sample["scores"].items():
                run = f"{log['eval']['model']}#{sample['epoch']}"
                found["arith", scorer, run, sample["id"]] = worth[score["value"]]
    return found


EXPECTED: dict[str, Callable[[], Values]] = {
    "lm_eval": expected_lm_eval,
    "every_eval_ever": expected_every_eval_ever,
    "inspect": expected_inspect,
    "samples of inspect": expected_inspect,
    "autojudge": lambda: {
        ("judge", row["measure"], row["run_id"], row["topic_id"]): row["value"]
        for row in lines(FILES["autojudge"][0])
        if row["topic_id"] != "all"
    },
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_tool_is_found_by_content_and_read_into_its_scores(name: str) -> None:
    assert {detect(path) for path in FILES[name]} == {name.split()[-1]}
    expected = EXPECTED[name]()
    assert len(expected) >= 8
    assert len(set(expected.values())) > 1
    for layout in ("auto", name.split()[-1]):
        cubes = import_scores(FILES[name], layout=layout, collections=True, notify=unsaid)
        assert values_of(cubes) == expected


def test_repetitions_of_inspect_are_runs_of_one_system() -> None:
    cube = import_scores(FILES["inspect"], notify=unsaid)
    assert cube["system"].values.tolist() == ["mockllm/a"] * 2 + ["mockllm/b"] * 2


def test_a_frame_of_inspect_in_parquet_is_read_as_its_file() -> None:
    pytest.importorskip("pyarrow")
    expected = import_scores(FILES["samples of inspect"], notify=unsaid)
    assert import_scores(DATA / "inspect" / "samples.parquet", notify=unsaid).equals(expected)


@pytest.mark.parametrize("name", FILES)
def test_what_is_not_read_is_named(name: str) -> None:
    noted: list[str] = []
    import_scores(FILES[name], collections=True, notify=noted.append)
    left = next((line for line in noted if line.startswith("not read: ")), "")
    named = set(left.removeprefix("not read: ").split(", "))
    wanted = {
        "lm_eval": {"arguments", "doc", "filtered_resps", "prompt_hash", "resps", "target", "target_hash"},
        "every_eval_ever": {"answer_attribution", "evaluation_id", "input", "interaction_type", "metadata", "output", "schema_version"},
    }  # fmt: skip
    assert named == wanted.get(name, named)
    if name.startswith("inspect"):
        assert {"target", "total_time"} <= named


def refused(paths: Any, layout: str = "auto") -> str:
    with pytest.raises(BadInput) as caught:
        import_scores(paths, layout=layout, collections=True, notify=unsaid)
    return caught.value.message()


def test_damaged_and_truncated_files_are_refused(tmp_path: Path) -> None:
    for name, paths in FILES.items():
        content = paths[0].read_bytes()
        content = gzip.decompress(content) if paths[0].suffix == ".gz" else content
        half = tmp_path / "half" / paths[0].name.removesuffix(".gz")
        half.parent.mkdir(exist_ok=True)
        half.write_bytes(content[: len(content) * 2 // 3])
        assert str(half) in refused(half, layout=name.split()[-1]), name
        if paths[0].suffix == ".gz":
            cut = tmp_path / paths[0].name
            cut.write_bytes(paths[0].read_bytes()[:-20])
            assert "cut off" in refused(cut)


def test_mixed_tools_and_runs_are_refused(tmp_path: Path) -> None:
    mixed = refused([*FILES["lm_eval"], *FILES["every_eval_ever"]])
    assert "looks like layout lm_eval" in mixed or "like lm_eval" in mixed
    assert "no samples" in refused(DATA / "mteb" / "Toy_predictions.json", layout="inspect")
    twice = tmp_path / "again" / FILES["lm_eval"][0].parent.name / FILES["lm_eval"][0].name
    twice.parent.mkdir(parents=True)
    twice.write_bytes(FILES["lm_eval"][0].read_bytes())
    assert "a second score" in refused([FILES["lm_eval"][0], twice])


def test_samples_without_a_model_are_refused_with_advice() -> None:
    message = refused(DATA / "inspect" / "without_model.csv")
    assert "no run in any sample; give samples_df the columns EvalModel" in message


QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}
HEADERS = ["query-id\tcorpus-id\tscore", "query_id,doc_id,relevance"]


@pytest.mark.parametrize("header", [*HEADERS, "jsonl"])
def test_judgements_with_a_header_or_as_json_lines(tmp_path: Path, header: str) -> None:
    path = tmp_path / "test.tsv"
    rows = [(q, d, level) for q, documents in QRELS.items() for d, level in documents.items()]
    if header == "jsonl":
        names = ("query-id", "corpus-id", "score")
        text = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    else:
        mark = next(mark for mark in "\t," if mark in header)
        text = "\n".join([header, *(mark.join(map(str, row)) for row in rows)]) + "\n"
    path.write_text(text)
    runs = {"a": {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 1.0}}}
    expected = sc.evaluate(sc.read_rankings(runs, QRELS), ["AP", "nDCG@10"])
    assert sc.evaluate(sc.read_rankings(runs, path), ["AP", "nDCG@10"]).equals(expected)
    path.write_text(text.replace("2", "two", 1) if header == "jsonl" else text.replace("d1", "", 1))
    with pytest.raises(BadInput, match=r"test\.tsv:"):
        sc.evaluate(sc.read_rankings(runs, path), ["AP"])


def test_predictions_of_mteb_are_runs(tmp_path: Path, scorecube: Cli) -> None:
    path, qrels = DATA / "mteb" / "Toy_predictions.json", DATA / "mteb" / "test.tsv"
    content = json.loads(path.read_text())
    runs = {"org/m": content["default"]["test"]}
    expected = sc.evaluate(sc.read_rankings(runs, QRELS), ["AP"])
    assert sc.evaluate(sc.read_rankings(path, qrels), ["AP"]).equals(expected)
    assert "1 run x 2 topics" in scorecube(
        "evaluate", tmp_path / "s.zarr", "--name", "t", "--runs", path, "--qrels", qrels, "--metrics", "AP"
    ).stderr  # fmt: skip
    other = tmp_path / "Toy_predictions.json"
    other.write_text(json.dumps(content | {"en": content["default"]}))
    with pytest.raises(BadInput, match="2 subsets and splits have judged topics"):
        sc.evaluate(sc.read_rankings(other, qrels), ["AP"])
    other.write_text(path.read_text()[:-9])
    with pytest.raises(BadInput, match="cut off"):
        sc.evaluate(sc.read_rankings(other, qrels), ["AP"])


def test_names_of_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"a": {"q1": {"d2": 2.0, "d1": 1.0}}}
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(BadInput, match=r"ir_datasets:toy: ir_datasets is not installed"):
        sc.evaluate(sc.read_rankings(runs, "ir_datasets:toy"), ["AP"])
    module: Any = ModuleType("ir_datasets")
    rows = [
        SimpleNamespace(query_id="q1", doc_id=d, relevance=k) for k, d in enumerate(("d2", "d1"))
    ]
    module.load = lambda name: SimpleNamespace(qrels_iter=lambda: iter({"toy": rows}[name]))
    monkeypatch.setitem(sys.modules, "ir_datasets", module)
    found = sc.evaluate(sc.read_rankings(runs, "ir_datasets:toy"), ["AP"])
    assert found["score"].item() == 0.5
    with pytest.raises(BadInput, match=r"ir_datasets:other: KeyError"):
        sc.evaluate(sc.read_rankings(runs, "ir_datasets:other"), ["AP"])
