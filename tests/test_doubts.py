"""What looks like a mistake in scores is said, in the same words everywhere, and nothing is said of good ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.collection.doubts import RANKING_RULES, RULES, doubts_of
from scorecube.ingest.in_memory import cube_from_scores
from scorecube.storage import open_study
from scorecube.testing import simulate_cube
from scorecube.workflow.api import import_scores
from tests.conftest import Cli
from tests.odd_inputs import CASES
from tests.odd_inputs.reading import QRELS, ranked, read

TOPICS = [str(301 + k) for k in range(8)]
GOOD = pd.DataFrame(np.random.default_rng(1).random((4, 8)).round(1), index=list("abcd"), columns=TOPICS)  # fmt: skip


def test_good_scores_have_no_doubts() -> None:
    good = {"AP": GOOD, "RR": GOOD / 2, "my_score": GOOD * 100}
    assert doubts_of(cube_from_scores(good)) == []
    assert doubts_of(simulate_cube(metrics=("AP", "nDCG@10", "P@10", "RR"), n_runs=30)) == []
    zeros = pd.DataFrame(0.0, index=list("ab"), columns=TOPICS)
    assert doubts_of(cube_from_scores({"M": zeros, "N": zeros})) == []


def test_every_rule_has_an_odd_input(tmp_path: Path) -> None:
    missing = {*RULES, *RANKING_RULES}
    for number, case in enumerate(case for case in CASES.values() if " | " in case.outcome):
        (tmp_path / str(number)).mkdir()
        dataset = read(case, case.write(tmp_path / str(number)), lambda _: None)
        rules = RULES if case.role == "scores" else RANKING_RULES
        missing -= {rule for rule in rules if list(rule(dataset))}
    assert missing == set()


def test_it_is_said_at_once_and_later_in_the_same_words(tmp_path: Path, scorecube: Cli) -> None:
    path, study = tmp_path / "AP.csv", tmp_path / "study.zarr"
    GOOD.T.assign(b=-999.0).rename_axis("topic").to_csv(path)
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
