"""Tables of scores under many names and in several formats: what columns are taken for, what is refused, what is said."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorecube as sc
from scorecube.errors import BadInput, BadPlan
from scorecube.ingest.roles import take_columns
from scorecube.workflow.api import import_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

SPELLINGS: dict[str, tuple[str, str]] = {
    # Header of six columns -> what they are taken for, and what is not read.
    "run,topic,score": ("run = run, topic = topic, metric = s (score)", ""),
    "system,query,value": ("run = system, topic = query, metric = s (value)", ""),
    "model,item,accuracy": ("run = model, topic = item, metric = accuracy", ""),
    "Model Name,Question ID,EM": ("run = Model Name, topic = Question ID, metric = EM", ""),
    "system_id,topic_no,P_10": ("run = system_id, topic = topic_no, metric = P@10 (P_10)", ""),
    "method,query_id,ndcg_cut_10,map": (
        "run = method, topic = query_id, metrics = nDCG@10 (ndcg_cut_10), AP (map)", ""),
    "model,id,acc": ("run = model, topic = id, metric = acc", ""),
    "classifier_name,dataset_name,accuracy": (
        "run = classifier_name, topic = dataset_name, metric = accuracy", ""),
    "name,qid,measure,value": ("run = name, topic = qid, metric = measure, score = value", ""),
    "run_tag,topic,metric,gain,score": (
        "run = run_tag, topic = topic, metric = metric, gain = gain, score = score", ""),
    "model,benchmark,item,acc": (
        "run = model, topic = item, collection = benchmark, metric = acc", ""),
    "model,dataset_name,split,item,acc": (
        "run = model, topic = item, collection = dataset_name, split, metric = acc", ""),
    "model,item,seed,acc": ("run = model, topic = item, seed = seed, metric = acc", ""),
    "model,query_id,query_group,acc": (
        "run = model, topic = query_id, topic_group = query_group, metric = acc", ""),
    "system,run,item,acc": ("run = run, system = system, topic = item, metric = acc", ""),
    "model,question_id,question,acc": (
        "run = model, topic = question_id, metrics = question, acc", ""),
    ",model,item,acc": ("run = model, topic = item, metric = acc", "column 1 (without a name) (numbers lines)"),
    "Unnamed: 0,model,id,item,acc": (
        "run = model, topic = item, metric = acc", "Unnamed: 0 (numbers lines), id (numbers lines)"),
    "model,item,score,metric,rank": (
        "run = model, topic = item, metric = metric, score = score", "rank"),
}  # fmt: skip


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("header", SPELLINGS)
def test_spellings_and_what_they_are_taken_for(tmp_path: Path, header: str) -> None:
    cells = ["1"] * len(header.split(","))
    noted: list[str] = []
    path = written(tmp_path / "s.csv", f"{header}\n{','.join(cells)}\n")
    import_scores([path], layout="long", notify=noted.append)
    taken, unread = SPELLINGS[header]
    assert noted[0] == f"columns: {taken}"
    assert [line for line in noted if line.startswith("not read")] == (
        [f"not read: {unread}"] if unread else []
    )


AMBIGUOUS = {
    "model,model_id,item,acc": "2 columns may be the run: model, model_id; choose one: --run-column model",
    "run,model,system,item,acc": "3 columns may be the run: run, model, system; choose one: --run-column run",
    "model,query_id,doc_id,score": "2 columns may be the topic: query_id, doc_id; choose one: --topic-column query_id",
    "model,item,seed,epoch,acc": "2 columns may be the seed: seed, epoch; choose one: --seed-column seed",
    "model,item,metric,score,value": "2 columns may be the score: score, value; choose one: --score-column score",
    "model,model,item,acc": "2 columns may be the run: model, model; keep one of them",
    "model,item,metric,acc": "the header has no column for the score (score or value, or a metric); found model, item, metric, acc; name the column with --score-column",
    "model,item,map,AP": "2 columns are the metric AP: map, AP; choose one with --metric",
    "model,item,acc,acc": "several columns are called acc",
    "model,text,acc": "the header has no column for the topic (topic, query, item, question, example, ...); found model, text, acc; name the column with --topic-column",
}


def test_a_column_of_topic_groups(tmp_path: Path) -> None:
    rows = [
        f"{model},{c}_{turn},{c},{(c * turn + k) / 9}"
        for k, model in enumerate("ab")
        for c in (1, 2)
        for turn in (1, 2, 3)
    ]
    path = written(tmp_path / "s.csv", "\n".join(["model,item,conversation_id,acc", *rows, ""]))
    noted: list[str] = []
    cube = import_scores(path, notify=noted.append)
    assert (
        noted[0]
        == "columns: run = model, topic = item, topic_group = conversation_id, metric = acc"
    )
    assert cube["topic_group"].values.tolist() == ["1"] * 3 + ["2"] * 3
    groups = {topic: topic[0] for topic in cube["topic"].values.tolist()}
    plain = import_scores(path, notify=noted.append, topic_groups=groups)
    assert cube.identical(plain)
    frame = pd.read_csv(path).rename(columns={"conversation_id": "c"})
    other = sc.cube_from_scores(frame, topic_group_column="c", notify=noted.append)
    assert other["topic_group"].equals(cube["topic_group"])
    written(path, path.read_text() + "b,1_1,2,0.5\nc,2_1,1,0.5\n")
    with pytest.raises(BadInput, match=r"topic '1_1' is of the topic groups '1' and '2'"):
        import_scores(path)


@pytest.mark.parametrize("header", AMBIGUOUS)
def test_ambiguous_headers_name_the_option_that_settles_them(tmp_path: Path, header: str) -> None:
    path = written(tmp_path / "s.csv", f"{header}\n{','.join('1' * len(header.split(',')))}\n")
    with pytest.raises(BadInput) as caught:
        import_scores([path], layout="long")
    message = caught.value.message().removeprefix(f"{path}:1: ").removeprefix(f"{path}: ")
    assert message == AMBIGUOUS[header]
    if flag := re.search(r"choose one: --([\w-]+)-column (.*)", message):
        role = flag[1].replace("-", "_")
        chosen: Any = {f"{role}_column": flag[2]}
        taken = take_columns(header.split(","), None, {role: flag[2]})
        assert taken.named(role) == flag[2]
        assert (
            import_scores([path], layout="long", **chosen)["score"].size == len(taken.values) or 1
        )


WORDS = [
    *("run", "model", "system", "topic", "item", "query_id", "benchmark", "split", "seed", "epoch"),
    *("metric", "gain", "score", "value", "accuracy", "F1", "notes", "", "id", "index", "name"),
    *("doc_id", "conversation", "question", "task_id", "Accuracy", "Unnamed: 0", "latency", "flag"),
]
CELLS = {"notes": "text", "metric": "AP", "gain": "1:1", "flag": "True"}


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
def test_every_column_is_read_or_named(
    tmp_path_factory: pytest.TempPathFactory, header: list[str]
) -> None:
    path = tmp_path_factory.mktemp("header") / "s.csv"
    cells = [CELLS.get(word, "0.5") for word in header]
    path.write_text(f"{','.join(header)}\n{','.join(cells)}\n")
    noted: list[str] = []
    try:
        cubes = import_scores([path], layout="long", collections=True, notify=noted.append)
    except BadInput:
        return
    taken = noted[0].removeprefix("columns: ")
    unread = "".join(line for line in noted if line.startswith("not read: "))
    roles = re.sub(r", metrics? = .*", "", taken) if "metric" not in header else taken
    (cube,) = cubes.values()
    for k, word in enumerate(header):
        named = word or f"column {k + 1} (without a name)"
        times = header.count(word)
        assert times == 1 or word in ("", "id", "index", "Unnamed: 0") or named in unread + roles
        of_role = re.search(rf"= (.*, )?{re.escape(word)}(,|$)", roles) if word else None
        is_metric = word in cube["metric"].values or f"({word})" in taken
        assert bool(of_role) + (is_metric and "metric" not in header) >= 1 or named in unread
        assert not (of_role and word in unread.replace(",", " ").split())


TYPED = [
    {"model": f"m{m}", "item": item, "benchmark": name, "seed": seed, "correct": bool((m + item + seed) % 3), "f1": (m * 7 + item * 3 + seed) / 11, "tokens": m + item}
    for name in ("gsm8k", "arc") for m in range(3) for seed in ((1, 2) if m == 1 else (1,)) for item in range(4)
]  # fmt: skip


def test_the_same_table_in_all_formats_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    frame = pd.DataFrame(TYPED)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    lines = "".join(json.dumps(row) + "\n" for row in TYPED)
    written(tmp_path / "a.jsonl", lines)
    written(tmp_path / "a.jsonl.gz", gzip.compress(lines.encode()))
    expected = import_scores(tmp_path / "a.csv", collections=True)
    assert list(expected) == ["gsm8k", "arc"]
    cube = expected["arc"]
    assert cube["metric"].values.tolist() == ["correct", "f1", "tokens"]
    assert cube["run"].values.tolist() == ["m0#1", "m1#1", "m1#2", "m2#1"]
    assert cube["system"].values.tolist() == ["m0", "m1", "m1", "m2"]
    assert cube["score"].sel(metric="f1", run="m1#2", topic="3").item() == (7 + 9 + 2) / 11
    others: list[Any] = [tmp_path / "a.tsv", tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz", frame]
    others.append(frame.set_index(["model", "item"]))
    others.append(frame.astype({"model": "category", "tokens": "Int64", "correct": object}))
    for other in others:
        for name, found in import_scores(other, collections=True).items():
            assert found.identical(expected[name])
    for name, found in sc.cube_from_scores(frame, collections=True).items():
        assert found.identical(expected[name])


def test_parquet_and_frames_of_other_libraries(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    frame = pd.DataFrame(TYPED)
    table = pa.table(frame.to_dict("list"))
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    expected = import_scores(frame, collections=True)
    sources: list[Any] = [tmp_path / "a.parquet", table]
    if "polars" in sys.modules or _installed("polars"):
        import polars

        sources.append(polars.from_arrow(table))
    for source in sources:
        for name, found in import_scores(source, collections=True).items():
            assert found.identical(expected[name])
    content = (tmp_path / "a.parquet").read_bytes()
    for damaged in (content[:-200], content[:40] + b"\xff" * 300 + content[340:]):
        path = written(tmp_path / "b.parquet", damaged)
        with pytest.raises(
            BadInput, match=f"^{re.escape(str(path))}: the Parquet file is damaged: "
        ):
            import_scores(path, collections=True)


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    path = written(tmp_path / "a.parquet", b"PAR1 and so on")
    with pytest.raises(
        BadInput, match="not installed: pip install pyarrow, or save the table as CSV"
    ):
        import_scores(path)


def test_all_problems_of_all_files_are_said_at_once(tmp_path: Path) -> None:
    first = written(
        tmp_path / "a.csv",
        "model,item,acc,f1\na,1,1,0.5\na,2,good,0.5\nb,1\n,2,1,0.5\na,1,0,0.25\n",
    )
    second = written(
        tmp_path / "b.jsonl",
        '{"model": "c", "item": "1", "acc": 1, "f1": [0.5]}\n{"model": "c", "item": "2", "ac\n[1]\n{"model": "d", "model": "e"}\n',
    )
    third = written(tmp_path / "c.csv", "model,acc\na,1\n")
    with pytest.raises(BadInput) as caught:
        import_scores([first, second, third], layout="long")
    places = [line.strip().removeprefix(f"{tmp_path}/").split(": ")[0] for line in str(caught.value).splitlines()]  # fmt: skip
    assert places == ["a.csv:4", "b.jsonl:2", "c.csv:1"]
    assert caught.value.path == first
    first.write_text("model,item,acc,f1\na,1,1,0.5\na,2,good,0.5\n,2,1,0.5\na,1,0,0.25\n")
    second.write_text('{"model": "c", "item": "1", "acc": 1, "f1": [0.5]}\n')
    with pytest.raises(BadInput) as caught:
        import_scores([first, second], layout="long")
    places = [line.strip().removeprefix(f"{tmp_path}/").split(": ")[0] for line in str(caught.value).splitlines()]  # fmt: skip
    assert places[:2] == ["a.csv:3", "a.csv:4"]


def test_records_of_several_runs_are_no_output_of_ir_measures(tmp_path: Path) -> None:
    row = {"query_id": "1", "measure": "AP", "value": 0.5}
    lines = "".join(json.dumps(row | {"run": run}) + "\n" for run in "ab")
    cube = import_scores(written(tmp_path / "s.jsonl", lines))
    assert cube["run"].values.tolist() == ["a", "b"]
    assert cube["metric"].values.tolist() == ["AP"]


def test_flags_may_be_words_or_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", "model,item,acc\na,1,True\na,2,1\na,3,FALSE\n")
    assert import_scores(path)["score"].values.ravel().tolist() == [1, 1, 0]


def test_seeds_of_some_models_only(tmp_path: Path) -> None:
    text = "model,seed,item,acc\na,1,x,1\na,2,x,0\nb,,x,1\n"
    cube = import_scores(written(tmp_path / "s.csv", text))
    assert cube["run"].values.tolist() == ["a#1", "a#2", "b"]
    assert cube["system"].values.tolist() == ["a", "a", "b"]
    with pytest.raises(BadInput, match="run 'b' has rows with a seed and rows without one"):
        import_scores(written(tmp_path / "t.csv", text + "b,1,y,1\n"))


def test_a_run_that_numbers_repetitions_is_chosen_as_the_seed(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", "model,run,item,acc\na,1,x,1\na,2,x,0\nb,1,x,1\n")
    text = "run '1' has two systems: 'a' and 'b'; if it is a repetition of both, choose"
    with pytest.raises(BadInput, match=text):
        import_scores(path)
    cube = import_scores(path, run_column="model", seed_column="run")
    assert cube["system"].values.tolist() == ["a", "a", "b"]


def test_metrics_of_one_collection_are_not_those_of_another(tmp_path: Path) -> None:
    text = "model,task,item,em,f1\na,math,1,1,\na,qa,1,,0.5\nb,qa,1,,0.25\n"
    noted: list[str] = []
    cubes = import_scores(written(tmp_path / "s.csv", text), collections=True, notify=noted.append)
    assert {name: cube["metric"].values.tolist() for name, cube in cubes.items()} == {
        "math": ["em"],
        "qa": ["f1"],
    }
    assert noted[1:] == ["no score of f1 in math", "no score of em in qa"]


def test_collections_are_imported_under_their_own_names(scorecube: Cli, tmp_path: Path) -> None:
    frame = pd.DataFrame(TYPED)
    frame["benchmark"] = frame["benchmark"].replace("arc", "ai2/arc")
    path, study = tmp_path / "s.csv", tmp_path / "study.zarr"
    frame.to_csv(path, index=False)
    outcome = scorecube("import", study, path).succeeded()
    assert outcome.stderr.splitlines() == [
        "columns: run = model, topic = item, collection = benchmark, seed = seed, metrics = correct, f1, tokens",
        f"{study}: gsm8k: 4 runs of 3 systems x 4 topics, 3 metrics x 1 gain setting",
        f"{study}: ai2-arc: 4 runs of 3 systems x 4 topics, 3 metrics x 1 gain setting",
    ]
    assert list(sc.open_study(study)) == ["ai2-arc", "gsm8k"]
    named = scorecube("import", tmp_path / "other.zarr", "--name", "x", path)
    assert named.status == 1
    assert "scores of 2 collections (gsm8k, ai2-arc), which are not pooled" in named.stderr
    assert "does without --name" in named.stderr
    only = ["--collection-column", "split", "--metric", "f1"]
    frame.assign(split="test").query("benchmark == 'gsm8k'").to_csv(path, index=False)
    outcome = scorecube("import", tmp_path / "other.zarr", path, *only).succeeded()
    assert "not read: benchmark, correct, tokens" in outcome.stderr
    assert list(sc.open_study(tmp_path / "other.zarr")) == ["test"]


def test_columns_are_chosen_for_tables_only(tmp_path: Path) -> None:
    path = written(tmp_path / "ap.csv", "topic,a\n1,0.5\n")
    with pytest.raises(
        BadPlan,
        match="run_column='a' applies to tables with named columns, and the layout is matrix",
    ):
        import_scores(path, run_column="a")
    with pytest.raises(BadPlan, match="run_column='a' is about data frames with rows for scores"):
        sc.cube_from_scores({"AP": pd.DataFrame([[1.0]], ["a"], ["1"])}, run_column="a")
    with pytest.raises(TypeError, match="unexpected argument 'team'"):
        sc.cube_from_scores(pd.DataFrame(TYPED), team="a")
    path = written(tmp_path / "s.csv", "who,what,acc\na,1,1\n")
    with pytest.raises(
        BadInput,
        match=r"s.csv:1: no column of the run \(run_column='which'\); found who, what, acc",
    ):
        import_scores(path, layout="long", run_column="which", topic_column="what")
    cube = import_scores(path, layout="long", run_column="Who", topic_column="what")
    assert cube["run"].values.tolist() == ["a"]


def test_quotes_blanks_and_irregular_lines_are_read_as_csv_does(tmp_path: Path) -> None:
    lines = ["a,1,0.5", "b, 1,0.25", "", '"a",2,1', '"b","2",0', "a,3,.5", '"b",3,"0.75"']
    for some in itertools.islice(itertools.permutations(lines, 5), 0, None, 41):
        text = "model,item,acc\n" + "\n".join(some)
        cube = import_scores(written(tmp_path / "whole.csv", text))
        rows = [row for row in csv.reader(some, skipinitialspace=True) if row]
        found = {(run, topic): cube["score"].sel(run=run, topic=topic).item() for run, topic, _ in rows}  # fmt: skip
        assert found == {(run, topic): float(value) for run, topic, value in rows}
    path = written(tmp_path / "s.csv", 'model,item,acc\na,1,1\nb,1\n"a",2,1,0\nb,2,"x"\n')
    with pytest.raises(BadInput) as caught:
        import_scores(path)
    assert [line.partition(": ")[0].rpartition(":")[2] for line in str(caught.value).splitlines()] == ["3", "4"]  # fmt: skip


def test_repeated_items_name_the_columns_that_may_tell_them_apart(tmp_path: Path) -> None:
    text = "model,item,language,acc\na,1,en,1\na,1,fr,0\n"
    path = written(tmp_path / "s.csv", text)
    with pytest.raises(BadInput, match=r"the first is in line 2\n  not read: language \(text\)$"):
        import_scores(path)
    cubes = import_scores(path, collection_column="language", collections=True)
    assert list(cubes) == ["en", "fr"]
