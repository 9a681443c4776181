"""Odd inputs have the outcomes that `tests.odd_inputs` lists; what looks like a mistake in scores is said everywhere, and nothing of good ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.collection.plausibility import RULES, doubts_of
from scorecube.ingest.objects import cube_from_scores
from scorecube.storage import open_study
from scorecube.testing import simulate_cube
from scorecube.workflow.api import import_scores
from tests.conftest import Cli
from tests.odd_inputs import CASES, observe
from tests.odd_inputs.reading import SHOWN, read

TOPICS = [str(301 + k) for k in range(8)]
GOOD = pd.DataFrame(np.random.default_rng(1).random((4, 8)).round(1), index=list("abcd"), columns=TOPICS)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_odd_input_has_its_outcome(name: str, tmp_path: Path) -> None:
    found = observe(CASES[name], tmp_path)
    expected = CASES[name].outcome
    if " | " not in expected:
        found = found.partition(" | ")[0]
    assert (found[:SHOWN] if len(expected) == SHOWN else found) == expected


def test_good_scores_have_no_doubts() -> None:
    good = {"AP": GOOD, "RR": GOOD / 2, "my_score": GOOD * 100}
    assert doubts_of(cube_from_scores(good)) == []
    assert doubts_of(simulate_cube(metrics=("AP", "nDCG@10", "P@10", "RR"), n_runs=30)) == []
    for method in ("z", "std-CDF", "std-AB"):
        assert doubts_of(sc.standardise(simulate_cube(n_runs=6, seed=2), method=method)) == []
    zeros = pd.DataFrame(0.0, index=list("ab"), columns=TOPICS)
    assert doubts_of(cube_from_scores({"M": zeros, "N": zeros})) == []


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
    GOOD.T.assign(b=GOOD.T["a"]).rename_axis("topic").to_csv(path)
    noted: list[str] = []
    import_scores(path, notify=noted.append)
    _, doubt = noted
    assert f"note: {doubt}" in scorecube("import", study, "--name", "c", path).succeeded().stderr
    assert doubt in scorecube("info", study, "--warnings").succeeded().stdout
    assert open_study(study)["c"].head.facts["cube"]["doubts"] == [doubt]
    scorecube("report", study, "--out", tmp_path / "x.html").succeeded()
    assert doubt[1:] in (tmp_path / "x.html").read_text()


LISTED = {
    "adhoc8": ["runs with equal"], "clef-ehealth-2015": ["num_rel: all runs", "runs with equal"], "clef-mono-ap": ["runs with equal"] * 2,
    "clef-tar-2017": ["last_rel: smaller values", "runs with equal"], "gop-t09": ["nostop_3grams_ifb2_noltr_long: 0 on"],
    "robust2004": ["runs with equal"] * 3, "trec8-adhoc": ["num_rel: all runs", "runs with equal"],
    "web2010": ["runs with equal"], "web2011": ["runs with equal"], "web2012": ["runs with equal"], "web2014": ["runs with equal"],
}  # fmt: skip
"""The beginnings of all that is said of the scores. Runs that are alike were submitted twice, or an option of theirs has no effect."""
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
            # statAP, an estimate: 73 of 29,978 exceed 1
            ranges = {"AP": (0, 1.7)} if folder.name == "mq2007" else {}
            for doubt in doubts_of(import_scores(part, ranges=ranges, notify=lambda _: None)):
                found.setdefault(folder.name, []).append(" ".join(doubt.split()[:3]))
    assert {name: sorted(doubts) for name, doubts in found.items()} == LISTED
