"""What looks like a mistake in scores is said, in the same words everywhere, and nothing is said of good ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.collection.doubts import RULES, doubts_of
from scorecube.ingest.in_memory import cube_from_scores
from scorecube.storage import open_study
from scorecube.testing import simulate_cube
from scorecube.workflow.api import import_scores
from tests.conftest import Cli
from tests.odd_inputs.reading import QRELS, ranked

TOPICS = [str(301 + k) for k in range(8)]
GOOD = pd.DataFrame(np.random.default_rng(1).random((4, 8)).round(1), index=list("abcd"), columns=TOPICS)  # fmt: skip
RENAMED = {"topic": lambda label: GOOD.rename(columns={"301": label}), "run": lambda label: GOOD.rename(index={"a": label})}  # fmt: skip
SMALLER = "smaller values {} better, and every analysis takes larger scores as better"


def replaced(value: float) -> pd.DataFrame:
    frame = GOOD.copy()
    frame.loc["b", "303"] = value
    return frame


CASES = {
    **{f"{metric} of {value:g}": ({metric: replaced(value)}, f"{metric} lies between 0 and 1, and 1 scores do not, such as {value:g} of run b on topic 303")
       for metric in ("AP", "nDCG@10", "RR") for value in (54.3, -999.0, 1.5, -1.0)},
    **{f"{metric} in percent": ({metric: GOOD * 100 + 2}, f"{metric} lies between 0 and 1, and 32 scores do not") for metric in ("AP", "P@5", "Q")},
    **{f"P@{k} of .{digits}": ({f"P@{k}": replaced(float(f".{digits}"))}, f"P@{k} is a number of {k}ths, and 1 scores are not")
       for k, digits in ((10, "123"), (10, "55"), (20, "333"))},
    **{f"{dim} {label}": ({"M": RENAMED[dim](label)}, f"{dim} {label} looks like means over others")
       for dim in ("topic", "run") for label in ("all", "mean", "Mean", "average", "amean", "overall", "total")},
    **{f"run {label}": ({"M": RENAMED["run"](label)}, f"run {label} looks like a column of numbers")
       for label in ("idx", "Query No", "index", "no", "id", "Unnamed: 0", "#")},
    **{f"runs down, {kind}": ({"M": frame.T.rename_axis(index="run", columns="topic")}, "the runs are numbers (301, 302, 303, 304, 305 and 3 more) and the topics are not")
       for kind, frame in (("letters", GOOD), ("names", GOOD.set_axis(["bm", "dense", "rerank", "fusion"])))},
    **{f"{metric}, smaller is better": ({metric: GOOD}, f"{metric}: " + SMALLER.format("seem to be"))
       for metric in ("rmse", "wer", "latency", "latency_ms", "val-loss", "mae", "perplexity", "error_rate")},
    **{f"{metric}, known": ({metric: GOOD}, f"{metric}: " + SMALLER.format("are")) for metric in ("last_rel", "loss_er")},
    "two metrics alike": ({"M": GOOD, "N": GOOD.copy()}, "metrics with equal scores everywhere: M = N; perhaps one file under two names"),
    "three metrics alike": ({"M": GOOD, "N": GOOD, "O": GOOD}, "metrics with equal scores everywhere: M = N = O"),
    "one run under two names": ({"M": pd.concat([GOOD, GOOD.loc[["c"]].rename({"c": "e"})])}, "runs with equal scores everywhere: c = e; perhaps one run"),
    "two runs under two names": ({"M": pd.concat([GOOD, GOOD.loc[["a", "c"]].rename({"c": "e", "a": "f"})])}, "runs with equal scores everywhere: a = f, c = e"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_doubt_is_said_in_one_sentence(name: str) -> None:
    frames, expected = CASES[name]
    (doubt,) = doubts_of(cube_from_scores(frames))
    assert doubt.startswith(expected)


def test_every_rule_has_a_case_and_good_scores_none() -> None:
    found = {
        rule
        for frames, _ in CASES.values()
        for rule in RULES
        if list(rule(cube_from_scores(frames)))
    }
    assert found == set(RULES)
    good = {"AP": GOOD, "P@10": GOOD + 0.0, "RR": GOOD / 2, "my_score": GOOD * 100, "loss": -GOOD}
    assert (
        doubts_of(cube_from_scores({k: v for k, v in good.items() if k not in ("loss", "P@10")}))
        == []
    )
    assert doubts_of(simulate_cube(metrics=("AP", "nDCG@10", "P@10", "RR"), n_runs=30)) == []
    zeros = pd.DataFrame(0.0, index=list("ab"), columns=TOPICS)
    assert doubts_of(cube_from_scores({"M": zeros, "N": zeros})) == []


def test_it_is_said_at_once_and_later_in_the_same_words(tmp_path: Path, scorecube: Cli) -> None:
    path, study = tmp_path / "AP.csv", tmp_path / "study.zarr"
    replaced(-999.0).T.rename_axis("topic").to_csv(path)
    noted: list[str] = []
    import_scores(path, notify=noted.append)
    (doubt,) = noted
    assert f"note: {doubt}" in scorecube("import", study, "--name", "c", path).succeeded().stderr
    assert doubt in scorecube("info", study, "--warnings").succeeded().stdout
    assert "warning  AP lies between 0 and 1" in scorecube("info", study).succeeded().stdout
    assert open_study(study).rows()["c"].facts["cube"]["doubts"] == [doubt]
    scorecube("report", study, "--out", tmp_path / "x.html").succeeded()
    assert doubt in (tmp_path / "x.html").read_text()


LISTED = {
    "adhoc8": "run57 = run59, run69 = run70",
    "clef-tar-2017": "iiit.run1 = iiit.run2 = iiit.run3 = iiit.run4",
    "clef-ehealth-2015": "FDUSGInfo_EN_Run.10 = FDUSGInfo_EN_Run.9",
    "clef-mono-ap": "sys113 = sys145",
    "trec8-adhoc": "Mer8Adtd1 = Mer8Adtd2, isa25t = isa50t",
    "robust2004": "sys67 = sys69",
    "web2010": "sys24 = sys63, sys25 = sys64, sys26 = sys65, sys37 = sys75, sys4 = sys58 and 5 more",
    "web2011": "sys15 = sys45, sys16 = sys47, sys35 = sys60, sys37 = sys61",
    "web2012": "sys31 = sys5, sys32 = sys6",
    "web2014": "sys25 = sys26, sys28 = sys29",
}
"""Groups of runs that have equal scores in every file of the collection: submitted twice, or without effect of an option."""
OTHER = {
    ("mq2007", "AP lies between 0 and 1"),  # statAP, an estimate: 73 of 29,978 exceed 1
    ("clef-tar-2017", "last_rel: smaller values are better"),
}


def test_of_the_collections_only_what_was_looked_at_is_said(data: Path) -> None:
    found: dict[str, set[str]] = {}
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        for file in sorted([*folder.glob("*.csv"), *folder.glob("official-per-topic/*.csv")]):
            if file.name not in ("teams.csv", "runs.csv", "systems.csv"):
                found.setdefault(folder.name, set()).update(doubts_of(import_scores(file)))
    other = {(name, doubt) for name, doubts in found.items() for doubt in doubts}
    alike = {pair for pair in other if pair[1].startswith("runs with equal scores everywhere")}
    assert {name for name, _ in alike} <= set(LISTED)
    for name, groups in LISTED.items():
        assert any(where == name and groups in doubt for where, doubt in alike), name
    unknown = {(n, d) for n, d in other - alike if not any(n == m and d.startswith(s) for m, s in OTHER)}  # fmt: skip
    assert unknown == set()


RUNS_LISTED = {
    "trec-covid-r1": (
        "1 run (BERT): different scores are equal as 32-bit floats",
        "CincyMedIR-run2 = CincyMedIR-run3, uogTrDPH_QE = uogTrDPH_QE_QQ, wistud_bing = wistud_indri = wistud_noSearch;",
    ),
    "clef-ehealth-2015": (
        "6 runs (KISTI_EN_RUN.2, KISTI_EN_RUN.3, KISTI_EN_RUN.5, KISTI_EN_RUN.6, KISTI_EN_RUN.7 and 1 more): different scores are equal as",
        "FDUSGInfo_EN_Run.10 = FDUSGInfo_EN_Run.9, FDUSGInfo_EN_Run.6 = FDUSGInfo_EN_Run.7 = FDUSGInfo_EN_Run.8, LIMSI_EN_run.4 = LIMSI_EN_run.5;",
    ),
}
"""What is said of run files: runs whose files are equal in what was judged, and runs whose scores differ beyond 32 bits."""


@pytest.mark.parametrize("name", RUNS_LISTED)
def test_of_run_files_only_listed_doubts_are_said(name: str, data: Path) -> None:
    rankings = sc.read_rankings(
        data / name / "runs", data / name / "qrels.txt", run_name="file", duplicates="first"
    )
    found = sc.doubts(rankings)
    assert len(found) == len(RUNS_LISTED[name])
    assert all(text in doubt for text, doubt in zip(RUNS_LISTED[name], found, strict=True))
    assert sc.doubts(sc.evaluate(rankings, ["AP"]))[: len(found)] == found


def test_doubts_of_run_files_are_kept_with_their_scores(tmp_path: Path, scorecube: Cli) -> None:
    (tmp_path / "a").write_bytes(ranked(lambda rank: rank))
    (tmp_path / "qrels").write_bytes(QRELS)
    study = tmp_path / "study.zarr"
    words = ("--name", "c", "--runs", tmp_path / "a", "--qrels", tmp_path / "qrels")
    said = scorecube("evaluate", study, *words).succeeded().stderr
    assert said.count("1 run (a): scores rise along the file") == 1
    kept = scorecube("info", study, "--warnings").succeeded().stdout
    assert "1 run (a): scores rise along the file" in kept
