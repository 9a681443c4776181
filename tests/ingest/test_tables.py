"""Tables of scores, long ones and matrices: what columns are taken for, what becomes of them, what is refused."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import scorecube as sc
from scorecube.errors import BadInput, BadPlan
from scorecube.ingest.missing_codes import CODES
from scorecube.workflow.api import import_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

SCORES = st.floats(1e-9, 1e6) | st.floats(-1e6, -1e-9) | st.just(0.0)
SCORES = SCORES.filter(lambda score: score not in CODES)
LABELS = st.text("abcXYZ019._- é", min_size=1, max_size=6).map(str.strip).filter(bool)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(files: Any, **options: Any) -> BadInput:
    with pytest.raises(BadInput) as caught:
        import_scores(files, collections=True, **options)
    return caught.value


# Long tables

ROLES = {
    # Header of a table of a row -> the line about what its columns are taken for.
    "run,topic,score": "runs: column run (1); topics: column topic (1); metrics: score",
    "system,query,value": "runs: column system (1); topics: column query (1); metrics: score (column value)",
    "Model Name,Question ID,EM": "runs: column Model Name (1); topics: column Question ID (1); metrics: EM",
    "method,query_id,ndcg_cut_10,map": "runs: column method (1); topics: column query_id (1); metrics: nDCG@10 (column ndcg_cut_10), AP (column map)",
    "model,id,acc": "runs: column model (1); topics: column id (1); metrics: acc",
    "classifier_name,dataset_name,accuracy": "runs: column classifier_name (1); topics: column dataset_name (1); metrics: accuracy",
    "name,qid,measure,value": "runs: column name (1); topics: column qid (1); metrics: column measure (1)",
    "run_tag,topic,metric,gain,score": "runs: column run_tag (1); topics: column topic (1); metrics: column metric (1)",
    "model,dataset_name,split,item,acc": "runs: column model (1); topics: column item (1); metrics: acc; collections: dataset_name, split (1)",
    "model,item,category,acc": "runs: column model (1); topics: column item (1); metrics: acc; collections: category (1)",
    "model,item,seed,acc": "runs: column model (1); topics: column item (1); metrics: acc; repetitions: seed (1)",
    "model,query_id,conversation,acc": "runs: column model (1); topics: column query_id (1); metrics: acc; groups: conversation (1)",
    "system,run,item,acc": "runs: column run (1); topics: column item (1); metrics: acc; systems: system (1)",
    ",model,item,acc": "runs: column model (1); topics: column item (1); metrics: acc; not read: a column without a name",
    "Unnamed: 0,model,id,item,acc": "runs: column model (1); topics: column item (1); metrics: acc; not read: Unnamed: 0, id",
    "model,item,score,metric,rank": "runs: column model (1); topics: column item (1); metrics: column metric (1); not read: rank",
    "model,item,acc,num_ret,num_shots,n_items": "runs: column model (1); topics: column item (1); metrics: acc; not read: num_ret, num_shots, n_items",
    "model,item,acc,latency_ms,total_tokens,turn,n_docs,acc_std,acc_ci_low,price": (
        "runs: column model (1); topics: column item (1); metrics: acc; not read: latency_ms, total_tokens, turn, n_docs, acc_std, acc_ci_low, price"),
    "syst\u00e8me,requ\u00eate,AP": "runs: column syst\u00e8me (1); topics: column requ\u00eate (1); metrics: AP",
    "user_id,nDCG@10,HR@10": "runs: the file (1); topics: column user_id (1); metrics: nDCG@10, HR@10",
    "model,item,RecipRank,#Params (B),Hub likes": (
        "runs: column model (1); topics: column item (1); metrics: RR (column RecipRank); not read: #Params (B), Hub likes"),
    "sample,truth,predicted,correct": "runs: the file (1); topics: column sample (1); metrics: correct; not read: truth, predicted",
    "Team Name,Query Text,Score": "runs: the file (1); topics: column Query Text (1); metrics: score (column Score); not read: Team Name",
    "topic,bm25,dense": "runs: columns bm25, dense (2); topics: column topic (1); metrics: s",
}  # fmt: skip


@pytest.mark.parametrize("header", ROLES)
def test_what_columns_are_taken_for(tmp_path: Path, header: str) -> None:
    cells = ["1"] * len(header.split(","))
    noted: list[str] = []
    path = written(tmp_path / "s.csv", f"{header}\n{','.join(cells)}\n")
    import_scores([path], notify=noted.append)
    assert [line for line in noted if line.startswith("runs: ")] == [ROLES[header]]


REFUSED = {
    # Table -> words of its refusal, of which those behind -- are options that settle it.
    "model,Banking77,STSB\na,82.14,85.52\nb,85.07,86.42\n": "--layout matrix|means have no topics, and are not read",
    ",ARC,MMLU\na,53.1,46.87\nb,59.98,64.16\n": "--topic-column '' --layout matrix|--run-column '' --layout matrix|means have no topics",
    "algorithm,dataset,split,auc\na,iris,1,.9\nb,iris,1,.8\n": "--topic-column dataset|--topic-column split|--topic-column dataset,split",
    "name,value,item,judge\nf1,.5,q1,x\nem,.2,q1,x\nf1,.1,q2,y\nem,.3,q2,y\nf1,.1,q3,x\nem,.3,q3,x\n": "--run-column name|--run-column judge",
    "rater_name,text_name,foo\na,x,.3\na,y,.4\nb,x,.1\nb,y,.5\n": "--run-column rater_name --topic-column text_name|--run-column text_name",
    "prompt,gpt-4o_score,claude_score\np1,.3,.4\np2,.5,.1\n": "runs gpt-4o, claude in headings: --layout matrix|--run-column file",
    "question,f1_A,f1_B,em_A,em_B\n1,.3,.4,1,0\n2,.5,.1,0,0\n": "--layout matrix|--run-column file",
    "utt,A~acc,B~acc,A~time,B~time\nu1,.3,.4,1,2\nu2,.5,.1,3,4\n": "--topic-column utt --layout matrix|--topic-column utt --run-column file|means",
    "item,gold,gpt4,claude\n1,1,1,0\n2,0,1,1\n": "--layout matrix|--run-column file",
    ",ground_truth,a,b\n0,1,1,0\n1,0,0,1\n": "--topic-column '' --layout matrix|--topic-column '' --run-column file", "a_em,b_em,item\n1,0,x\n0,0,y\n": "--layout matrix|--run-column file",
    "rater,passage,foo\nr,p,.5\nr,q,.2\ns,p,.1\ns,q,.3\n": "--run-column passage|--run-column file --topic-column passage",
    "utt_id,reference,hypothesis,wer\nu1,a,b,.5\nu2,c,c,0\n": "means|--topic-column utt_id --run-column file",
    "Label,Dice_ET,Dice_WT\nx,.51,.52\ny,.63,.34\nMean,.57,.43\nMedian,.57,.43\n25quantile,.5,.4\n": "--topic-column Label --run-column file|means",
    "TeamId,TeamName,SubmissionDate,Score\n7,a,2026-01-02,.9\n9,b,2026-01-03,.8\n": "means, which have no topics: a row for each TeamId",
    "model_names,map@10\na,.5\nb,.25\n": "means, which have no topics",
    ",y_true,y_pred\n0,1,1\n1,0,1\n": "no column of scores|y_true (prediction)|--score-column y_true",
    "task_id,completion\n1,x\n1,y\n": "no column of scores",
    "model,sample_id,score_match\na,1,C\na,2,I\n": "score_match has 'C', 'I'",
    "task,a,b\nx,.5,.4\ny,.84251 (1),.3\n": "s.csv:3: '.84251 (1)' in column a",
    "topic,a,b\nx,.5,.4\ny,.25,.3\nx,.5,.4\n": "s.csv:4: a second score of s for run 'a' on topic 'x'",
    "qid,fold,map\n1,1,.5\n1,2,.4\n": "s.csv:3: a second score|--run-column fold|--seed-column fold|--collection-column fold",
    "model,item,acc,response_time,call_id,prompt\na,1,.5,3.5,7,x\na,1,.2,2.5,8,y\n": "--run-column model,prompt|--seed-column prompt",
    "dataset,model,fold,acc\niris,a,1,.5\niris,a,2,.4\n": "--run-column model,fold|--seed-column fold|--collection-column fold",
    # The first line is no header.
    "301,map,.27\n302,map,.5\n301,ndcg,.1\n302,ndcg,.2\n": "a score, .27:", "bm25,301,.27\nbm25,302,.5\n": "a score, .27:", "bm25,301,1\nbm25,302,0\n": "a header is missing",
    "system mqm seg_id\nA\t-5.0 1\nB\t-2.0 1\n": "s.csv:2: 2 cells, the header has 1",
    "Resamples:,0,1,2\nECG,.1,.2,.3\nBird,.5,.6,.25\n": "repetitions|--layout matrix", "fold,1,2\nECG,.1,.2\nBird,.5,.6\n": "repetitions|--layout matrix",
    "bm25\t301\t.27\ndense\t301\t.5\n": "--layout run_topic|--layout trec_eval", "301 Q0 d1 1 9.5 bm25\n301 Q0 d2 2 8.5 bm25\n": "scorecube evaluate scores runs",
    # Several columns of a role.
    "model,model_id,item,acc\n1,1,1,1\n": "may be the run|--run-column model|--run-column model_id", "run,model,system,item,acc\n1,1,1,1,1\n": "may be the run|--run-column run",
    "model,query_id,doc_id,score\n1,1,1,1\n": "may be the topic|--topic-column query_id", "model,item,seed,epoch,acc\n1,1,1,1,1\n": "may be the seed|--seed-column epoch",
    "model,item,metric,score,value\n1,1,x,1,1\n": "may be the score|--score-column value", "model,passage,foo\na,x,.5\na,y,.4\n": "may be the topic|--topic-column passage",
}  # fmt: skip
WAYS = re.compile("(?:\x02\\w+=[^\x03]*\x03 ?)+")
OPTION = re.compile("\x02(\\w+)=([^\x03]*)\x03")


def settled(files: Any, options: dict[str, Any], depth: int = 0) -> BadInput | None:
    """Follow each way that a refusal offers, alone: files are read, or another thing is refused."""
    try:
        import_scores(files, collections=True, notify=lambda _: None, **options)
    except BadInput as caught:
        error = caught
    else:
        return None
    ways = [dict(OPTION.findall(way)) for way in WAYS.findall(error.marked)]
    assert ways or not depth or "means" in str(error), str(error)
    for way in ways:
        found = {name: ast.literal_eval(value) for name, value in way.items()}
        assert depth < 3, str(error)
        assert not found.items() <= options.items(), str(error)
        settled(files, options | found, depth + 1)
    return error


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_names_options_and_each_settles_it(tmp_path: Path, text: str) -> None:
    error = settled([written(tmp_path / "s.csv", text)], {})
    assert error is not None
    assert [words for words in REFUSED[text].split("|") if words not in error.message()] == []


READ = {
    # Table -> its runs, and the line of roles, or a part of it.
    "model,q1,q2\na,.51,.32\nb,.43,.39\n": "a b", "model,q1,q2\na,.51,.32\nb,.43,.39\nAverage across q1..q2,.5,.4\n": "a b", "run,CD7,CD12\na,.51,.32\nb,.43,.39\n": "a b",
    "model,paris,rome\na,1,0\nb,0,1\n": "a b", ",301,302\na,.51,.32\nb,.43,.39\n": "a b", ",a,b\n301,.51,.32\n302,.43,.39\n": "a b", "model,0.1,0.5\na,1,0\nb,0,1\n": "a b", ",0.1,0.5\na,1,0\nb,0,1\n": "a b",
    "topic,a,b\nx,.5,.4\nmin,.1,.2\n": "a b|topics: column topic (2)", "topic,a,b\nx,.5,.4\nMean,.5,.4\nmin,.5,.4\n25%,.5,.4\n75quantile,.5,.4\n": "a b|topics: column topic (1)",
    "System,T1,T2,Mean,Std\na,.1,.2,.15,.05\nb,.3,.2,.25,.05\nMean,.2,.2,.2,.05\nMin,.1,.2,.1,0\n": "a b|topics: columns T1, T2 (2); metrics: s; not read: Mean, Std", ",fit_time,test_accuracy,test_f1_macro\n0,.2,.3,.2\n1,.4,.5,.1\n": "s|metrics: test_accuracy, test_f1_macro", "image_id,mIoU,Dice\n1,.2,.3\n2,.4,.5\n": "s|metrics: mIoU, Dice", "run,topic,AP,ref_no\na,1,.5,7\na,2,.4,9\n": "a|not read: ref_no",
    "metric,topic,a,b\nAP,1,.1,.2\nRR,1,.3,.4\nAP,2,.1,.2\nRR,2,.3,.4\n": "a b|metrics: AP, RR", "301 map .27\n302 map .5\n302 ndcg20 .5\nall map .4\n": "s.csv",
    "nr,task_id,learner_id,classif.ce\n1,iris,rf,.1\n2,iris,svm,.2\n1,glass,rf,.3\n2,glass,svm,.3\n": "rf svm|metrics: classif.ce; not read: nr",
    "framework,pipeline_id,item,acc\na,1,1,.5\n": "", "pipeline_name,item,number,acc\na,1,1,.5\nb,1,2,.6\n": "a b|not read: number",
}  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_tables_with_one_reading(tmp_path: Path, text: str) -> None:
    path, (runs, *words) = written(tmp_path / "s.csv", text), READ[text].split("|")
    if not runs:
        assert isinstance(settled([path], {}), BadInput)
        return
    said: list[str] = []
    assert import_scores([path], notify=said.append)["run"].values.tolist() == runs.split()
    assert [word for word in words if word not in said[0]] == []


def test_headings_of_runs_and_measures_are_told_apart(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", "question,f1_A,f1_B,em_A,em_B,t\n1,.5,.25,1,0,x\n")
    cube = import_scores([path], layout="matrix")["score"].isel(gain=0, topic=0).to_pandas()
    assert cube.to_dict() == {"A": {"f1": 0.5, "em": 1.0}, "B": {"f1": 0.25, "em": 0.0}}


def test_matrices_of_several_files_are_decided_as_one_is(tmp_path: Path) -> None:
    text = "Estimators:,DBA,k-SC\nECG,.11,.12\nBird,.23,.24\nCar,.35,.36\n"
    files = [written(tmp_path / f"{name}.csv", text) for name in ("ami", "ari")]
    alone, both = settled(files[:1], {}), settled(files, {})
    assert alone is not None
    assert alone.message() == str(both and both.message())
    counted = [written(tmp_path / f"{k}.csv", "index,a,b\n0,.5,.1\n1,.25,.2\n") for k in (1, 2)]
    assert import_scores(counted)["run"].values.tolist() == ["a", "b"]


def test_lines_of_run_topic_and_score(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "bm25 301 .25\nbm25 302 .5\nbm25 all .375\ndense 301 1\n")
    cube = import_scores([path], layout="run_topic", metric="AP")
    assert cube["run"].values.tolist() == ["bm25", "dense"]
    np.testing.assert_array_equal(cube["score"].values[0, 0], [[0.25, 0.5], [1, math.nan]])
    assert refused([written(path, "bm25 301 .25\nbm25 301 .5\n")], layout="run_topic").line == 2


TYPED = [
    {"model": f"m{m}", "item": item, "benchmark": name, "seed": seed, "correct": bool((m + item + seed) % 3), "f1": (m * 7 + item * 3 + seed) / 11, "recall": m + item}
    for name in ("gsm8k", "arc") for m in range(3) for seed in ((1, 2) if m == 1 else (1,)) for item in range(4)
]  # fmt: skip


CELLS = st.tuples(LABELS, LABELS, st.sampled_from(["mae", "last_rel"]))


@given(st.dictionaries(CELLS, SCORES, min_size=1, max_size=30), st.sampled_from(",;\t"))
def test_long_tables_come_back_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory,
    cells: dict[tuple[str, str, str], float],
    delimiter: str,
) -> None:
    path = tmp_path_factory.mktemp("long") / "scores.csv"
    rows = [
        ("run", "topic", "metric", "score"),
        *((*cell, repr(value)) for cell, value in cells.items()),
    ]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
    cube = import_scores([path], layout="long")["score"]
    assert int(cube.notnull().sum()) == len(cells)
    for (run, topic, metric), value in cells.items():
        assert float(cube.sel(run=run, topic=topic, metric=metric).item()) == value


def test_metrics_are_named_by_column_file_or_option(tmp_path: Path) -> None:
    text = "qid,run,score\n1,a,0.5\n1,b,\n"
    path = written(tmp_path / "ndcg_cut_10.csv", text)
    assert import_scores([path])["metric"].values.tolist() == ["score"]
    cube = import_scores([path], metric="wss")
    assert cube["metric"].values.tolist() == ["wss"]
    np.testing.assert_array_equal(cube["score"].values, [[[[0.5], [math.nan]]]])
    other = written(tmp_path / "rr.csv", "qid,run,score\n1,a,0.25\n2,a,0.125\n")
    assert "collection_column" in str(refused([path, other]))
    both = import_scores([path, other], collection_column="file", collections=True)
    assert {name: cube.sizes["topic"] for name, cube in both.items()} == {"ndcg_cut_10": 1, "rr": 2}
    long = written(tmp_path / "s.csv", "run,topic,metric,score\na,1,map,0.5\na,1,map_cut_10,1\n")
    for asked in ("AP", "map"):
        assert import_scores([long], metric=asked)["metric"].values.tolist() == ["AP"]
    assert "AP, map_cut_10" in str(refused([long], metric="Q"))
    assert "--run-column none" in refused([long], run_column="none").message()
    lacking = written(tmp_path / "lacking.csv", "model,text,foo\n1,1,1\n")
    assert "topic" in str(refused([lacking], layout="long"))


def test_gain_settings_become_an_axis(tmp_path: Path) -> None:
    rows = "a,1,Q,1:1,0.5\na,1,Q,2:1,0.25\na,1,AP,,0.75\nb,1,Q,1:1,0\nb,1,Q,2:1,1\nb,1,AP,,1\n"
    path = written(tmp_path / "scores.csv", f"run,topic,metric,gain,score\n{rows}")
    cube = import_scores([path], teams=written(tmp_path / "teams.csv", "run,team\na,A\nb,B\n"))
    assert cube["gain"].values.tolist() == ["1:1", "2:1"]
    assert cube["metric"].values.tolist() == ["Q", "AP"]
    assert cube["team"].values.tolist() == ["A", "B"]
    assert cube["score"].values[..., 0].tolist() == [[[0.5, 0], [0.25, 1]], [[0.75, 1], [0.75, 1]]]
    both = written(tmp_path / "both.csv", path.read_text() + "a,1,Q,,1\n")
    assert re.search(r"\bQ\b.* gain ", str(refused([both])))


def test_collections_are_imported_under_their_own_names(scorecube: Cli, tmp_path: Path) -> None:
    frame = pd.DataFrame(TYPED)
    frame["benchmark"] = frame["benchmark"].replace("arc", "ai2/arc")
    path, study = tmp_path / "s.csv", tmp_path / "study.zarr"
    frame.to_csv(path, index=False)
    outcome = scorecube("import", study, path).succeeded()
    assert outcome.stderr.splitlines()[1].startswith("note: no range is known of f1, recall: ")
    said = [re.findall(r"gsm8k|ai2-arc|\b\d\b", line) for line in outcome.stderr.splitlines()[2:]]
    assert said == [[name, "4", "3", "4", "3"] for name in ("gsm8k", "ai2-arc")]
    assert list(sc.open_study(study)) == ["ai2-arc", "gsm8k"]
    named = scorecube("import", tmp_path / "other.zarr", "--name", "x", path)
    assert named.status == 1
    assert "(gsm8k, ai2-arc)" in named.stderr
    only = ["--collection-column", "split", "--metric", "f1"]
    frame.assign(split="test").query("benchmark == 'gsm8k'").to_csv(path, index=False)
    outcome = scorecube("import", tmp_path / "other.zarr", path, *only).succeeded()
    assert "benchmark, correct, recall" in outcome.stderr
    assert list(sc.open_study(tmp_path / "other.zarr")) == ["test"]


def test_week_and_benchmark_make_collections_of_both(scorecube: Cli, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"week": week, "benchmark": name, "model": m, "item": k, "acc": (k * 7 + len(m) + k // 3) % 5 / 4}
        for week in ("w1", "w2") for name in ("org/a", "b") for m in ("m", "mm", "mmm")[: 3 if name == "b" else 2] for k in range(12)
    )  # fmt: skip
    expected = ["w1/b", "w1/org-a", "w2/b", "w2/org-a"]
    cubes = sc.cube_from_scores(frame, collections=True, notify=lambda _: None)
    assert sorted(cubes) == expected
    frame.to_csv(tmp_path / "s.csv", index=False)
    scorecube("import", tmp_path / "study", tmp_path / "s.csv").succeeded()
    assert sorted(sc.open_study(tmp_path / "study")) == expected
    scorecube("board", tmp_path / "study").succeeded()
    for tree in (sc.analyse(cubes, sc.Paired()), sc.sweep([sc.Paired()], cubes)):
        assert sorted(sc.table(tree, "power")["collection"].unique()) == expected
    with pytest.raises(BadPlan, match="rename"):
        sc.analyse({"w1": cubes["w1/b"]} | cubes, sc.Board(), trials=20)


# Repetitions and groups

SEEDS = "model,seed,item,score\na,1,q1,.1\na,1,q2,.2\na,2,q1,.3\na,2,q2,.4\nb,,q1,.5\nb,,q2,.6\n"


def systems(cube: xr.Dataset) -> dict[str, str]:
    return dict(zip(cube["run"].values.tolist(), cube["system"].values.tolist(), strict=True))


def test_seeds_name_runs(tmp_path: Path) -> None:
    cube = import_scores([written(tmp_path / "m.csv", SEEDS)])
    assert systems(cube) == {"a#1": "a", "a#2": "a", "b": "b"}
    assert cube["score"].sel(run="a#2", topic="q1").item() == 0.3
    assert systems(sc.select(cube, runs=["a#1", "b"])) == {"a#1": "a", "b": "b"}
    wide = pd.DataFrame([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], ["a#1", "a#2", "b"], ["q1", "q2"])
    assert sc.cube_from_scores({"score": wide}, systems=systems(cube)).equals(cube)
    assert refused([written(tmp_path / "again.csv", SEEDS + "a,2,q1,.9\n")]).line == 8
    single = import_scores([written(tmp_path / "m.csv", "run,seed,topic,score\na,7,q1,.1\nb,7,q1,.3\n")])  # fmt: skip
    assert single["run"].values.tolist() == ["a", "b"]
    assert "system" not in single.coords


def test_a_column_of_topic_groups(tmp_path: Path) -> None:
    rows = [f"{run},{c}_{turn},{c},{(c * turn + k) / 9}" for k, run in enumerate("ab") for c in (1, 2) for turn in (1, 2, 3)]  # fmt: skip
    path = written(tmp_path / "s.csv", "\n".join(["model,item,conversation_id,acc", *rows, ""]))
    cube = import_scores(path)
    assert cube["topic_group"].values.tolist() == ["1"] * 3 + ["2"] * 3
    groups = {topic: topic[0] for topic in cube["topic"].values.tolist()}
    assert cube.identical(import_scores(path, topic_groups=groups))
    written(path, path.read_text() + "c,2_1,1,0.5\n")
    assert "topic '2_1'" in str(refused(path))


# Matrices

MATRIX = "topic,r1,r2\n401,0.5,0.25\n402,0.125,1\n403,0,0.75\n"


def test_missing_cells_are_missing_numbers(tmp_path: Path) -> None:
    cells = ["", "NA", "NaN", "null", "None", " ", "-", "N/A", '""', '"NA"']
    rows = [f"{k},{cell},{k / 9}\n" for k, cell in enumerate(cells)]
    path = written(tmp_path / "ap.csv", "".join([MATRIX, *rows]))
    missing = import_scores(path)["score"].isnull().values[0, 0]
    assert missing.sum(axis=1).tolist() == [len(cells), 0]


def test_matrices_become_one_cube(tmp_path: Path) -> None:
    ap = written(tmp_path / "ap.csv", MATRIX.replace("topic", " Topic_ID ").replace("0.5", "5e-01"))
    down = written(tmp_path / "AP.csv", "run,401,402,403\nr1,0.5,0.125,0\nr2,0.25,1,0.75\n")
    assert import_scores(ap)["score"].equals(import_scores(down)["score"])
    other = written(tmp_path / "wss_95.csv", "topic,r2,r1\n403,3,2\n401,5,\n0401,1,0\n")
    cube = import_scores([ap, other])
    assert cube["metric"].values.tolist() == ["AP", "wss_95"]
    assert cube["topic"].values.tolist() == ["0401", "401", "402", "403"]
    nan = math.nan
    np.testing.assert_array_equal(
        cube["score"].values[:, 0],
        [[[nan, 0.5, 0.125, 0], [nan, 0.25, 1, 0.75]], [[0, nan, nan, 2], [1, 5, nan, 3]]],
    )
    assert import_scores([ap], metric="RR")["metric"].values.tolist() == ["RR"]
    assert "second" in str(refused([ap, other], metric="RR"))
