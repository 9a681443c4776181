"""The command teams: its options and tables as the contract says, extension, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.teams import Teams
from scorecube.collection.rankings import with_rankings
from scorecube.errors import BadStudy

if TYPE_CHECKING:
    from tests.conftest import Cli, Files

TABLES = {
    "absent": 2,
    "trials": 28,
    "first_miss": 4,
    "reusability": 6,
    "own": 12,
    "contributions": 3,
}
"""Rows of tables beside the first, of two metrics."""


def records(scorecube: Cli, study: Path, table: str) -> list[dict[str, Any]]:
    shown = scorecube("show", study, "teams", "--table", table, "--format", "json").succeeded()
    listed = json.loads(shown.stdout)
    assert isinstance(listed, list)
    return listed


def test_the_words_of_the_contract(scorecube: Cli, study: Path) -> None:
    words = ["--leave", "1,2", "--topics", "6,3", "--trials", 4, "--pool-depth", 5, "--seed", 1]
    scorecube("teams", study, *words, "--metrics", "AP,nDCG@10").succeeded()
    rows = records(scorecube, study, "variance")
    assert len(rows) == 2 * 2 * 3 * 3
    assert {row["left_out"] for row in rows} == {0, 1, 2}
    # Steps of the chain beside all topics, not a selection of topics.
    assert {row["n_topics_wanted"] for row in rows} == {8, 6, 3}
    for row in rows:
        assert row["topics_min"] <= row["topics_max"] <= row["n_topics_wanted"]
        # Three teams of two runs each.
        assert row["runs_min"] == row["runs_max"] == 6 - 2 * row["left_out"]
        assert row["trials"] <= 4
        if row["left_out"] == 0:
            assert (row["trials"], row["variance_low"], row["variance_high"]) == (1, None, None)
    default = scorecube("show", study, "teams", "--format", "json").succeeded().stdout
    assert json.loads(default) == rows


def test_tables_are_those_of_the_result(scorecube: Cli, study: Path) -> None:
    words = ["--topics", "5", "--trials", 3, "--seed", 2, "--gains", "auto"]
    scorecube("teams", study, *words, "--metrics", "AP,nDCG@10").succeeded()
    result = sc.open_study(study)["small"].result("teams")
    for table, n_rows in TABLES.items():
        assert len(records(scorecube, study, table)) == n_rows, table
    steps = result["topic_step"].values.tolist()
    for row in records(scorecube, study, "trials"):
        at = result.sel(metric=row["metric"], gain=row["gain"], leave=row["left_out"])
        at = at.isel(trial=row["trial"], topic_step=steps.index(row["n_topics_wanted"]))
        value = float(at["variance"])
        assert row["variance"] == (None if value != value else value)
        assert (row["n_runs"], row["n_topics"]) == (int(at["n_runs"]), int(at["n_topics"]))
        teams = row["teams_left_out"].split(",") if row["teams_left_out"] else []
        assert teams == result["team"].values[at["team_left_out"].values].tolist()
    again = scorecube("teams", study, *words, "--metrics", "AP,nDCG@10", "--leave", "all")
    assert "already there" in again.succeeded().stderr
    scorecube("report", study, "--out", study / "report.html").succeeded()
    page = (study / "report.html").read_text()
    assert "Leaving teams out: pool depth auto" in page
    assert "Runs without the unique contributions of their own team" in page


def test_the_command_gives_what_python_gives(scorecube: Cli, study: Path, files: Files) -> None:
    words = ["--topics", "6", "--trials", 3, "--seed", 4, "--pool-depth", 7]
    said = scorecube("teams", study, *words).succeeded().stderr
    assert "are in no team's pool of depth 7" in " ".join(said.split())
    rankings = sc.read_rankings(files.runs, files.qrels, files.teams)
    cube = with_rankings(sc.evaluate(rankings, ["AP", "Q", "nDCG@10"], ["auto", "1:1:1"]), rankings)
    expected = sc.analyse(cube, Teams(topic_sizes=(6,), pool_depth=7), trials=3, seed=4)
    found = sc.open_study(study)["small"].result("teams")
    xr.testing.assert_equal(found.drop_attrs(), expected.drop_attrs())


def test_more_trials_extend(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(study, tmp_path / "copy.zarr")
    how = ["--topics", "6,4", "--seed", 3]
    scorecube("teams", study, *how, "--trials", 4, block_units=2).succeeded()
    first = sc.open_study(study)["small"].result("teams")
    more = scorecube("teams", study, *how, "--trials", 9).succeeded()
    assert "4 trials are recorded already" in more.stderr
    extended = sc.open_study(study)["small"].result("teams")
    before = extended["variance"].isel(trial=slice(4))
    xr.testing.assert_equal(before.drop_attrs(), first["variance"].drop_attrs())
    scorecube("teams", copy, *how, "--trials", 9).succeeded()
    repeated = sc.open_study(copy)["small"].result("teams")
    xr.testing.assert_equal(repeated.drop_attrs(), extended.drop_attrs())
    scorecube("verify", study).succeeded()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--leave", "3"], "3 teams"),
        (["--leave", "0"], "--leave 0: expected a list, each a whole number of at least 1"),
        (["--leave", "x"], "--leave"),
        (["--topics", "9"], "8 topics"),
        (["--topics", "1"], "--topics 1: expected a list, each a whole number of at least 2"),
        (["--pool-depth", "0"], "pool"),
    ],
)
def test_what_cannot_be_is_refused(
    scorecube: Cli, study: Path, words: list[str], message: str
) -> None:
    outcome = scorecube("teams", study, *words, "--seed", 1, "--trials", 2)
    assert outcome.status in (1, 2)
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not sc.open_study(study)["small"].results("teams")


def test_scores_without_rankings_are_refused(scorecube: Cli, tmp_path: Path) -> None:
    (tmp_path / "ap.csv").write_text("a,b\n0.5,1\n0.25,0.5\n1,0.1\n")
    scorecube("import", tmp_path / "s", "--name", "x", tmp_path / "ap.csv").succeeded()
    outcome = scorecube("teams", tmp_path / "s", "--seed", 1)
    assert outcome.status == 1
    assert "imported as scores and has no rankings" in outcome.stderr
    with pytest.raises(BadStudy):
        _ = sc.open_study(tmp_path / "s")["x"].rankings


def test_teams_of_one_run_are_told_and_one_team_is_refused(
    scorecube: Cli, tmp_path: Path, files: Files
) -> None:
    words = ["--runs", files.runs, "--qrels", files.qrels, "--metrics", "AP"]
    scorecube("evaluate", tmp_path / "s", "--name", "x", *words).succeeded()
    said = scorecube("teams", tmp_path / "s", "--seed", 1, "--trials", 2).succeeded().stderr
    assert "each is its own team" in " ".join(said.split())
    result = sc.open_study(tmp_path / "s")["x"].result("teams")
    assert result["team"].values.tolist() == [f"run{k}" for k in range(6)]
    (tmp_path / "one.csv").write_text("run,team\n" + "".join(f"run{k},only\n" for k in range(6)))
    words += ["--teams", tmp_path / "one.csv"]
    scorecube("evaluate", tmp_path / "t", "--name", "x", *words).succeeded()
    outcome = scorecube("teams", tmp_path / "t", "--seed", 1)
    assert outcome.status == 1
    assert "only one team" in outcome.stderr
