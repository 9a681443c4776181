"""Output of programs, read into the scores that they wrote, under names here; judgements and runs of other tools.

Predictions of MTEB, in `evaluations/`, follow the code of their writer (mteb 2.26).
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import pytrec_eval

import scorecube as sc
from scorecube.collection import names_of_tools as measure_names
from scorecube.errors import BadInput
from scorecube.ingest.formats import File
from scorecube.ingest.readers import detect, lines
from scorecube.workflow.api import import_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

DATA = Path(__file__).parent / "evaluations"


def written(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


# One cube, written as each tool writes it


DETECTED = [
    ("topic\ta\t1\n401\t0.5\t0.25\n", "table"),  # a run called 1, as in TREC-8
    ("topic\ta\t1\nCD007431\t0.5\t0.25\n", "table"),
    ("1,2\n0.5,0.25\n", "table"),
    ("sys1\n0.5\n", "table"),
    ("a,b\n0.5,x\n0.5,y\n", "table"),  # read as one, and refused with its line
    ("0.5 0.25\n1 0\n", "numbers"),
    ("Topic\tSystem\tnDCG\tValue\n1\ta\t0.5\t1\n", "table"),
    ('{"meta": {"n": 1}, "model": "a", "item": "1", "acc": 1}\n', "table"),
    ("runid all me\nmap all 0.5\n", "trec_eval"),
    ("11pt_avg CD1 0.5\n", "trec_eval"),
    ("map P 0.5\n", "trec_eval"),
    ("Zmap 301 -0.5\n", "trec_eval"),
    ("AP\t0.5\nP@5\t0.5\n", "ir_measures"),  # means, and refused with what to do
    ("runid,topic,alpha-nDCG@20,strec@20\nme,1,0.5,0.25\n", "gdeval"),
]


@pytest.mark.parametrize(("content", "layout"), DETECTED)
def test_formats_are_told_by_content(tmp_path: Path, content: str, layout: str) -> None:
    assert detect(File.read(written(tmp_path / "scores", content))).name == layout


NAMES = {
    "trec_eval": {name: name for name in ("iprec_at_recall_0.00", "set_F", "11pt_avg", "ndcg_rel", "P_0", "set_P", "Zmap")},
    "nev": {"RR": "RR", "P-measure": "P-measure", "NCUgu,P": "NCUgu(nu=P)", "GAP": "GAP", "ERR": "ERR", "AP@0010": "AP@10", "EBR@0010": "EBR@0010", "nDCG@1000": "nDCG(b=2)@1000"},
    "ir_measures": {"AP(rel=2)@10": "ir_measures:AP(rel=2)@10", "RBP(rel=1)": "ir_measures:RBP(rel=1)", "nDCG(dcg='exp-log2')@10": "nDCG(form=exp2)@10",
                    "P(rel=2)@5": "P(rel=2)@5", "Judged@10": "Judged@10", "Accuracy@10": "ir_measures:Accuracy@10"},
    "gdeval": {name: name for name in ("ERR-IA@5", "alpha-nDCG@10", "NRBP", "nNRBP", "MAP-IA", "P-IA@5", "strec@20")},
}  # fmt: skip
"""Layout -> name of the tool beside those of `tests.metrics.test_other_names` -> its name here, which never claims another definition."""
READERS_OF: dict[str, Callable[[str], str]] = {
    "trec_eval": measure_names.from_trec_eval, "nev": lines.NEV.label,
    "ir_measures": measure_names.from_ir_measures, "gdeval": lines.GDEVAL,
}  # fmt: skip


@pytest.mark.parametrize("layout", NAMES)
def test_measures_get_our_names(layout: str) -> None:
    assert {theirs: READERS_OF[layout](theirs) for theirs in NAMES[layout]} == NAMES[layout]


def test_counts_are_read_on_request(tmp_path: Path) -> None:
    counts = ("num_ret", "num_rel_ret", "gm_map", "infAP")
    path = written(tmp_path / "me", "".join(f"{name} 1 3\n" for name in ("map_cut_10", *counts)))
    assert import_scores(path)["metric"].values.tolist() == ["map_cut_10"]
    for name in counts:
        assert import_scores(path, metric=name)["metric"].values.tolist() == [name]


# The tools themselves

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 0, "b": 2}}
RUN = {"1": {"b": 3.0, "a": 2.0, "c": 1.0}, "2": {"b": 2.0, "a": 1.0}}


def test_all_that_trec_eval_computes_is_read(tmp_path: Path) -> None:
    found = pytrec_eval.RelevanceEvaluator(QRELS, pytrec_eval.supported_measures).evaluate(RUN)
    lines = [f"{measure} {topic} {value!r}\n" for topic in found for measure, value in found[topic].items()
             if measure not in ("runid", "relstring")]  # fmt: skip
    files = [written(tmp_path / "me", "".join(lines)), written(tmp_path / "me.json", json.dumps(found))]  # fmt: skip
    whole = written(tmp_path / "whole.json", json.dumps({"me": found}))
    memory = sc.cube_from_scores({"me": found})
    assert {"AP", "nDCG@10", "P@5", "Hit@5", "Recall@1000", "map_cut_10", "Rprec"} <= {*memory["metric"].values}  # fmt: skip
    assert memory["score"].sel(metric="AP", run="me").values.tolist() == [[found[t]["map"] for t in "12"]]  # fmt: skip
    for path in (*files, whole):
        assert import_scores(path)["score"].equals(memory["score"])


@pytest.mark.parametrize("options", [["-q"], ["-q", "-n"], ["-q", "-p", "-1"]], ids=" ".join)
def test_the_program_ir_measures(tmp_path: Path, options: list[str]) -> None:
    pytest.importorskip("ir_measures")
    qrels = written(tmp_path / "qrels", "".join(f"{t} 0 {d} {k}\n" for t in QRELS for d, k in QRELS[t].items()))  # fmt: skip
    run = written(tmp_path / "run", "".join(f"{t} Q0 {d} 1 {k} me\n" for t in RUN for d, k in RUN[t].items()))  # fmt: skip
    command: list[Any] = [*(sys.executable, "-W", "ignore", "-m", "ir_measures"), qrels, run]
    measures = ["AP", "nDCG@10", "P(rel=2)@5", "ERR@20", "R@100", "NumRel"]
    done = subprocess.run([*command, *measures, *options], capture_output=True, text=True, check=True)  # fmt: skip
    path = written(tmp_path / "good.tsv", done.stdout)
    assert detect(File.read(path)).name == "ir_measures"
    cube = import_scores(path)
    assert {*cube["metric"].values} == {"AP", "nDCG@10", "P(rel=2)@5", "ERR(form=exp2)@20", "Recall@100"}  # fmt: skip
    np.testing.assert_allclose(cube["score"].sel(metric="AP").values.ravel(), [7 / 12, 1], atol=5e-5)  # fmt: skip


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
def test_the_program_gdeval(tmp_path: Path) -> None:
    """Its ERR and nDCG are ours with form=exp2, whatever the highest level is."""
    spec = importlib.util.find_spec("ir_measures")
    if spec is None or spec.origin is None:
        pytest.skip("ir_measures brings gdeval.pl along")
    script = Path(spec.origin).parent / "bin" / "gdeval.pl"
    qrels = written(tmp_path / "qrels", "1 0 a 3\n1 0 b 0\n1 0 c 2\n2 0 a 1\n2 0 b 3\n3 0 d 1\n")
    run = written(tmp_path / "run", "1 Q0 c 1 3 me\n1 Q0 a 2 2 me\n1 Q0 x 3 1 me\n2 Q0 a 1 2 me\n2 Q0 b 2 1 me\n")  # fmt: skip
    done = subprocess.run(["perl", script, qrels, run, "20"], capture_output=True, text=True, check=True)  # fmt: skip
    theirs = import_scores([written(tmp_path / "out.csv", done.stdout)])
    metrics = ["nDCG(form=exp2)@20", "ERR(form=exp2)@20"]
    ours = sc.evaluate(sc.read_rankings([run], qrels), metrics)["score"]
    assert theirs["metric"].values.tolist() == metrics
    expected = ours.sel(run="me", gain="auto", topic=["1", "2"]).values
    np.testing.assert_allclose(theirs["score"].values[:, 0, 0], expected, atol=5e-6)


# Names and objects


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "ap\udce9.csv"  # no UTF-8
    path.write_text("topic,a\n1,0.5\n")
    assert sc.import_scores(path, metric="AP")["score"].item() == 0.5
    path = tmp_path / "run\udce9.eval"  # its name is that of the run
    path.write_text("map\t1\t0.5\nmap\t2\t0.25\n")
    with pytest.raises(BadInput, match="file name"):
        sc.import_scores(path)


# Judgements and runs

JUDGED = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}
HEADERS = ["query-id\tcorpus-id\tscore", "query_id,doc_id,relevance"]


@pytest.mark.parametrize("header", [*HEADERS, "jsonl"])
def test_judgements_with_a_header_or_as_json_lines(tmp_path: Path, header: str) -> None:
    path = tmp_path / "test.tsv"
    rows = [(q, d, level) for q, documents in JUDGED.items() for d, level in documents.items()]
    if header == "jsonl":
        names = ("query-id", "corpus-id", "score")
        text = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    else:
        mark = next(mark for mark in "\t," if mark in header)
        text = "\n".join([header, *(mark.join(map(str, row)) for row in rows)]) + "\n"
    path.write_text(text)
    runs = {"a": {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 1.0}}}
    expected = sc.evaluate(sc.read_rankings(runs, JUDGED), ["AP", "nDCG@10"])
    assert sc.evaluate(sc.read_rankings(runs, path), ["AP", "nDCG@10"]).equals(expected)
    path.write_text(text.replace("2", "two", 1) if header == "jsonl" else text.replace("d1", "", 1))
    with pytest.raises(BadInput, match=r"test\.tsv:"):
        sc.evaluate(sc.read_rankings(runs, path), ["AP"])


def test_predictions_of_mteb_are_runs(tmp_path: Path, scorecube: Cli) -> None:
    path, qrels = DATA / "mteb" / "Toy_predictions.json", DATA / "mteb" / "test.tsv"
    content = json.loads(path.read_text())
    runs = {"org/m": content["default"]["test"]}
    expected = sc.evaluate(sc.read_rankings(runs, JUDGED), ["AP"])
    assert sc.evaluate(sc.read_rankings(path, qrels), ["AP"]).equals(expected)
    assert "1 run x 2 topics" in scorecube(
        "evaluate", tmp_path / "s.zarr", "--name", "t", "--runs", path, "--qrels", qrels, "--metrics", "AP"
    ).stderr  # fmt: skip
    other = tmp_path / "Toy_predictions.json"
    other.write_text(json.dumps(content | {"en": content["default"]}))
    with pytest.raises(BadInput, match="2 subsets"):
        sc.evaluate(sc.read_rankings(other, qrels), ["AP"])
    other.write_text(path.read_text()[:-9])
    with pytest.raises(BadInput, match="cut off"):
        sc.evaluate(sc.read_rankings(other, qrels), ["AP"])


def test_names_of_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"a": {"q1": {"d2": 2.0, "d1": 1.0}}}
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(BadInput, match=r"ir_datasets:toy: "):
        sc.evaluate(sc.read_rankings(runs, "ir_datasets:toy"), ["AP"])
    module: Any = ModuleType("ir_datasets")
    rows = [
        SimpleNamespace(query_id="q1", doc_id=d, relevance=k) for k, d in enumerate(("d2", "d1"))
    ]
    module.load = lambda name: SimpleNamespace(qrels_iter=lambda: iter({"toy": rows}[name]))
    monkeypatch.setitem(sys.modules, "ir_datasets", module)
    found = sc.evaluate(sc.read_rankings(runs, Path("ir_datasets:toy")), ["AP"])
    assert found["score"].item() == 0.5
    with pytest.raises(BadInput, match=r"ir_datasets:other: KeyError"):
        sc.evaluate(sc.read_rankings(runs, "ir_datasets:other"), ["AP"])
