"""Files as people have them, of kinds that reports have named: read with the right means, or refused with what settles it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import scorecube as sc
from scorecube.errors import ScorecubeError

ROWS = [{"model": model, "item": f"q{k}", "acc": k % 2} for model in ("a", "b") for k in range(4)]
IDS = {"q1": 0.5, "q2": 0.25, "q3": 0.75}
READ: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, float]]] = {
    # Files, options, and the mean of each "metric run".
    "columns of lists": ({"r.json": {key: [row[key] for row in ROWS] for key in ROWS[0]}}, {}, {"acc a": 0.5}),
    "names with dots": ({"r.json": [{"model": {"name": r["model"]}, "item": r["item"], "acc": r["acc"]} for r in ROWS]}, {}, {"acc b": 0.5}),
    "lists of topics by run": ({"r.json": {"runs": [{"name": "a", "scores": [{"qid": "1", "acc": 0.5}, {"qid": "2", "acc": 1}]}]}}, {}, {"acc a": 0.75}),
    "numbers by id": ({"a.json": IDS, "b.json": {**IDS, "q1": 0.8}}, {}, {"score a": 0.5, "score b": 0.6}),
    "flags by name": ({"a.json": {"x": True, "y": False}, "b.json": {"x": True, "y": True}}, {}, {"score a": 0.5, "score b": 1.0}),
    "numbers by name": ({"a.json": {"x": 0.5, "why": 0.25}}, {"run_column": "file"}, {"score a": 0.375}),
    "numbers by id beside a metric": ({"a.json": {"metric": "f1", "scores": IDS}}, {}, {"f1 a": 0.5}),
    "numbers by id of a model": ({"1.json": {"model": "m", "results": IDS}, "2.json": {"model": "n", "results": IDS}}, {}, {"score m": 0.5, "score n": 0.5}),
    "a file each system": ({"1.csv": "model,q1,q2\nm,.1,.2\n", "2.csv": "model,q1,q2\nn,.3,.5\n"}, {}, {"score m": 0.15, "score n": 0.4}),
    "a minus of typesetters": ({"a.csv": "model,item,delta\nm,1,\u22120.5\nm,2,1.5\n"}, {}, {"delta m": 0.5}),
    "other words for no score": ({"a.csv": "model,item,acc\nm,1,n.a.\nm,2,1\nm,3,\u2013\n"}, {}, {"acc m": 1.0}),
    "facts among metrics": ({"a.csv": "model,item,metric,value\nm,1,acc,1\nm,1,total_tokens,9\nm,1,tstamp,1e9\n"}, {}, {"acc m": 1.0}),
    "means of ragas": ({"m.csv": "user_input,response,faithfulness\nwhat?,x,.5\nwho?,y,.25\n"}, {}, {"faithfulness m": 0.375}),
    "ids and --items": ({"a.json": ["x", "y"], "b.json": {"resolved": ["x"]}}, {"items": "xyzw"}, {"resolved a": 0.5, "resolved b": 0.25}),
    "several runs of trec_eval": ({"both": "map 1 .5\nrunid all m\nmap all .5\nmap 2 .7\nrunid all k\nmap all .7\n"}, {}, {"AP m": 0.5, "AP k": 0.7}),
    "runs behind their names": ({"both": "runid all m\nmap 1 .5\nmap all .5\nrunid all k\nmap 1 .7\nmap all .7\n"}, {}, {"AP m": 0.5, "AP k": 0.7}),
    "a row of means by name": ({"a.csv": "item,m,k\nq1,.5,.2\nq2,.7,.4\nAverage (2 items),.6,.3\n"}, {}, {"a m": 0.6, "a k": 0.3}),
}  # fmt: skip
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    # Files, options, and a word of the message.
    "no rows": ({"a.json": []}, {}, "rows"),
    "no fields": ({"a.json": {}}, {}, "rows"),
    "a header": ({"a.csv": "run,topic,ndcg\n"}, {}, "header without scores"),
    "ids of one list": ({"a.json": ["x", "y"]}, {}, "items"),
    "a list of resolved ids": ({"a.json": {"resolved": ["x"]}}, {}, "items"),
    "numbers by name": ({"a.json": {"x": 0.5, "why": 0.25}}, {}, "run_column"),
    "a board with keys": ({"a.csv": "key,Model,rating\na,A,1250\nb,B,1200\n"}, {}, "means"),
    "deviations of LaTeX": ({"a.csv": "topic;m;n\nq1;$71.2 \\pm 1.3$;$70.1 \\pm .9$\n"}, {}, "means"),
    "counts by level": ({"a.json": {"levels": {"0": 30, "1": 4}, "name": "x"}}, {}, "column"),
    "folds of means": ({"a.csv": "model,fold,acc\nm,1,.5\nm,2,.7\nn,1,.4\n"}, {}, "topic_column='fold'"),
    "blanks between cells": ({"a.txt": "model  item  f1\nm  1  0.5\n"}, {}, "commas"),
    "no matrix": ({"a.txt": "map 1 0.5\nmap 2 0.4\n"}, {"layout": "matrix"}, "scores"),
    "a run of trec_eval without its end": ({"both": "map 1 .5\nrunid all m\nmap 1 .7\nrunid all k\nmap 2 .7\n"}, {}, "runid"),
    "tables in an object": ({"a.json": {"runs": ["a", "b"], "topics": ["1", "2"], "scores": [[1, 0], [0, 1]]}}, {}, "scores"),
}  # fmt: skip


def paths_of(folder: Path, files: dict[str, Any]) -> list[Path]:
    for name, content in files.items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return [folder / name for name in files]


@pytest.mark.parametrize("name", READ)
def test_files_of_a_kind_are_read(tmp_path: Path, name: str) -> None:
    files, options, expected = READ[name]
    if "items" in options:
        options = {"items": str(tmp_path / "items.txt")}
        Path(options["items"]).write_text("x\ny\nz\nw\n")
    said: list[str] = []
    cube = sc.import_scores(paths_of(tmp_path, files), notify=said.append, **options)
    means = cube["score"].isel(gain=0).mean("topic")
    assert set(means["metric"].values.tolist()) == {label.split()[0] for label in expected}
    for label, mean in expected.items():
        metric, run = label.split()
        assert means.sel(metric=metric, run=run).item() == pytest.approx(mean)


@pytest.mark.parametrize("name", REFUSED)
def test_files_of_a_kind_are_refused_with_the_way(tmp_path: Path, name: str) -> None:
    files, options, word = REFUSED[name]
    with pytest.raises(ScorecubeError, match=word):
        sc.import_scores(paths_of(tmp_path, files), **options)


RUN = "1 Q0 d1 1 2.5 x\n1 Q0 d2 2 1.5 x\n"


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("x.txt", RUN),
        ("x.csv", "qid,docno,rank,score\n1,d1,1,2.5\n1,d2,2,1.5\n"),
        ("x.tsv", "query_id\tdocid\tscore\n1\td1\t2.5\n1\td2\t1.5\n"),
        ("x.jsonl", '{"qid": "1", "docid": "d1", "score": 2.5}\n{"qid": "1", "docid": "d2", "score": 1.5}\n'),
    ],
)  # fmt: skip
def test_runs_are_read_as_tables_too(tmp_path: Path, name: str, run: str) -> None:
    paths = paths_of(tmp_path, {name: run, "qrels": "1 0 d2 1\n1 0 d1 0\n"})
    cube = sc.evaluate(sc.read_rankings(paths[0], paths[1]), ["AP"])
    assert cube["run"].values.tolist() == ["x"]
    assert cube["score"].item() == 0.5


@pytest.mark.parametrize("qrels", ["1 d1 0 1\n1 d2 0 0\n", "d1 0 1 1\nd2 0 1 0\n", "1,0,d1,1\n"])
def test_judgements_in_another_order_are_refused(tmp_path: Path, qrels: str) -> None:
    paths = paths_of(tmp_path, {"x": RUN, "qrels": qrels})
    with pytest.raises(ScorecubeError, match=r"order|between blanks"):
        sc.read_rankings(paths[0], paths[1])
