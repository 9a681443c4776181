"""What looks like a mistake in scores is said, in the same words everywhere, and nothing is said of good ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.collection.doubts import RULES, doubts_of
from scorecube.ingest.objects import cube_from_scores
from scorecube.storage import open_study
from scorecube.testing import simulate_cube
from scorecube.workflow.api import import_scores
from tests.conftest import Cli
from tests.odd_inputs import CASES
from tests.odd_inputs.reading import read

TOPICS = [str(301 + k) for k in range(8)]
GOOD = pd.DataFrame(np.random.default_rng(1).random((4, 8)).round(1), index=list("abcd"), columns=TOPICS)  # fmt: skip


def test_good_scores_have_no_doubts() -> None:
    good = {"AP": GOOD, "RR": GOOD / 2, "my_score": GOOD * 100}
    assert doubts_of(cube_from_scores(good)) == []
    assert doubts_of(simulate_cube(metrics=("AP", "nDCG@10", "P@10", "RR"), n_runs=30)) == []
    zeros = pd.DataFrame(0.0, index=list("ab"), columns=TOPICS)
    assert doubts_of(cube_from_scores({"M": zeros, "N": zeros})) == []


def test_standardised_scores_have_no_doubts() -> None:
    cube = simulate_cube(n_runs=6, seed=2)
    for method in ("z", "std-CDF", "std-AB"):
        assert doubts_of(sc.standardise(cube, method=method)) == []


def test_every_rule_has_an_odd_input(tmp_path: Path) -> None:
    missing = {*RULES}
    cases = [case for case in CASES.values() if " | " in case.outcome and case.role == "scores"]
    for number, case in enumerate(cases):
        (tmp_path / str(number)).mkdir()
        cube = read(case, case.write(tmp_path / str(number)), lambda _: None)
        missing -= {rule for rule in RULES if list(rule(cube))}
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
    assert open_study(study).rows()["c"].head.facts["cube"]["doubts"] == [doubt]
    scorecube("report", study, "--out", tmp_path / "x.html").succeeded()
    assert doubt in (tmp_path / "x.html").read_text()


ALIKE = "runs with equal scores everywhere: {}; perhaps one run under two names (leave one out), or runs that differ only where these metrics do not look"
LISTED = {
    "adhoc8": [ALIKE.format("run57 = run59, run69 = run70")],
    "clef-ehealth-2015": [
        ALIKE.format("FDUSGInfo_EN_Run.10 = FDUSGInfo_EN_Run.9, FDUSGInfo_EN_Run.6 = FDUSGInfo_EN_Run.7 = FDUSGInfo_EN_Run.8, LIMSI_EN_run.4 = LIMSI_EN_run.5"),
    ],
    "clef-mono-ap": [
        ALIKE.format("sys113 = sys145, sys114 = sys130 = sys146, sys115 = sys147, sys116 = sys148, sys117 = sys149 and 26 more"),
        ALIKE.format("sys113 = sys145, sys114 = sys146, sys115 = sys147, sys116 = sys148, sys117 = sys133 = sys149 and 26 more"),
    ],
    "clef-tar-2017": [
        "last_rel: smaller values are better, and every analysis takes larger scores as better; declare it as lower is better",
        ALIKE.format("iiit.run1 = iiit.run2 = iiit.run3 = iiit.run4"),
    ],
    "gop-t09": ["nostop_3grams_ifb2_noltr_long: 0 on every topic by every metric; perhaps a run that failed, or under ids that the judgements do not have: leave it out, or run it again"],
    # statAP, an estimate: 73 of 29,978 exceed 1
    "mq2007": ["AP lies between 0 and 1; found 73 other scores, such as 1.04201 of run JuruSynE on topic 3365; divide percentages by 100, leave missing scores empty, or give an estimate another name"],
    "robust2004": [ALIKE.format("sys67 = sys69"), ALIKE.format("run67 = run69"), ALIKE.format("run67 = run69")],
    "trec8-adhoc": [ALIKE.format("Mer8Adtd1 = Mer8Adtd2, isa25t = isa50t")],
    "web2010": [ALIKE.format("sys24 = sys63, sys25 = sys64, sys26 = sys65, sys37 = sys75, sys4 = sys58 and 5 more")],
    "web2011": [ALIKE.format("sys15 = sys45, sys16 = sys47, sys35 = sys60, sys37 = sys61")],
    "web2012": [ALIKE.format("sys31 = sys5, sys32 = sys6")],
    "web2014": [ALIKE.format("sys25 = sys26, sys28 = sys29")],
}  # fmt: skip
"""All that is said of the scores. Runs that are alike were submitted twice, or an option of theirs has no effect: they are equal by all measures of the
collection, and in their run files where there are any."""
OF_NO_RUNS = ("teams.csv", "runs.csv", "systems.csv")
APART = ("clef-mono-ap", "robust2004", "syndl-dl2019", "syndl-dl2020", "test-errors-2019")
"""Collections whose files have different runs or topics."""


@pytest.mark.data
def test_of_the_collections_only_what_was_looked_at_is_said(data: Path) -> None:
    found: dict[str, list[str]] = {}
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        files = [*folder.glob("*.csv*"), *folder.glob("official-per-topic/*.csv")]
        scores = sorted(path for path in files if path.name not in OF_NO_RUNS)
        for part in (
            [[path] for path in scores] if folder.name in APART else [scores] * bool(scores)
        ):
            for doubt in doubts_of(import_scores(part, notify=lambda _: None)):
                found.setdefault(folder.name, []).append(doubt)
    assert {name: sorted(doubts) for name, doubts in found.items()} == {
        name: sorted(doubts) for name, doubts in LISTED.items()
    }
