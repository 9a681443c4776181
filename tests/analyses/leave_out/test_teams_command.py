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

if TYPE_CHECKING:
    from tests.conftest import Cli, Files

VARIANCE = [
    "collection",
    "metric",
    "gain",
    "left_out",
    "n_topics_wanted",
    "variance_mean",
    "variance_low",
    "variance_high",
    "trials",
    "runs_min",
    "runs_max",
    "topics_min",
    "topics_max",
    "topics_needed",
    "topics_needed_tool",
]
TRIALS = [
    "collection",
    "metric",
    "gain",
    "left_out",
    "n_topics_wanted",
    "trial",
    "variance",
    "n_runs",
    "n_topics",
    "teams_left_out",
]


def records(scorecube: Cli, study: Path, table: str) -> list[dict[str, Any]]:
    shown = (
        scorecube("show", study, "teams", "--table", table, "--format", "json").succeeded().stdout
    )
    listed = json.loads(shown)
    assert isinstance(listed, list)
    return listed


def test_the_words_of_the_contract(scorecube: Cli, study: Path) -> None:
    words = [
        "--leave",
        "1,2",
        "--topics",
        "6,3",
        "--trials",
        4,
        "--pool-depth",
        5,
        "--seed",
        1,
        "--metrics",
        "AP,nDCG@10",
    ]
    scorecube("teams", study, *words).succeeded()
    rows = records(scorecube, study, "variance")
    assert all(list(row) == VARIANCE for row in rows)
    assert len(rows) == 2 * 2 * 3 * 3
    assert {row["left_out"] for row in rows} == {0, 1, 2}
    # Steps of the chain beside all topics, not a selection of topics.
    assert {row["n_topics_wanted"] for row in rows} == {8, 6, 3}
    for row in rows:
        assert row["topics_min"] <= row["topics_max"] <= row["n_topics_wanted"]
        if row["left_out"] == 0:
            assert (row["trials"], row["variance_low"], row["variance_high"]) == (1, None, None)
            assert row["runs_min"] == row["runs_max"] == 6
        else:
            # Three teams of two runs each.
            assert row["runs_min"] == row["runs_max"] == 6 - 2 * row["left_out"]
            assert row["trials"] <= 4
    default = json.loads(scorecube("show", study, "teams", "--format", "json").succeeded().stdout)
    assert default == rows


def test_trials_are_those_of_the_result(scorecube: Cli, study: Path) -> None:
    scorecube(
        "teams", study, "--topics", "5", "--trials", 3, "--seed", 2, "--gains", "auto"
    ).succeeded()
    result = sc.open_study(study)["small"].result("teams")
    rows = records(scorecube, study, "trials")
    assert all(list(row)[: len(TRIALS)] == TRIALS for row in rows)
    assert len(rows) == 3 * 2 * (1 + 2 * 3)
    for row in rows:
        at = result.sel(metric=row["metric"], gain=row["gain"], leave=row["left_out"]).isel(
            trial=row["trial"]
        )
        step = result["topic_step"].values.tolist().index(row["n_topics_wanted"])
        value = float(at["variance"].isel(topic_step=step))
        assert row["variance"] == (None if value != value else value)
        assert (row["n_runs"], row["n_topics"]) == (
            int(at["n_runs"]),
            int(at["n_topics"].isel(topic_step=step)),
        )
        teams = row["teams_left_out"].split(",") if row["teams_left_out"] else []
        assert len(teams) == row["left_out"]
        assert set(teams) == {
            str(team) for team in result["team"].values[at["team_left_out"].values]
        }


def test_all_teams_but_one_by_default(scorecube: Cli, study: Path) -> None:
    scorecube("teams", study, "--trials", 2, "--seed", 1, "--metrics", "AP").succeeded()
    default = records(scorecube, study, "variance")
    assert [row["left_out"] for row in default if row["gain"] == "auto"] == [0, 1, 2]
    said = (
        scorecube("teams", study, "--leave", "all", "--trials", 2, "--seed", 1, "--metrics", "AP")
        .succeeded()
        .stderr
    )
    assert "already there" in said


def test_the_command_gives_what_python_gives(scorecube: Cli, study: Path, files: Files) -> None:
    scorecube(
        "teams", study, "--topics", "6", "--trials", 3, "--seed", 4, "--pool-depth", 7
    ).succeeded()
    rankings = sc.read_rankings(files.runs, files.qrels, files.teams)
    cube = with_rankings(sc.evaluate(rankings, ["AP", "Q", "nDCG@10"], ["auto", "1:1:1"]), rankings)
    expected = sc.analyse(cube, Teams(topic_sizes=(6,), pool_depth=7), trials=3, seed=4)
    xr.testing.assert_equal(
        sc.open_study(study)["small"].result("teams").drop_attrs(), expected.drop_attrs()
    )


def test_more_trials_extend(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(study, tmp_path / "copy.zarr")
    how = ["--topics", "6,4", "--seed", 3]
    scorecube("teams", study, *how, "--trials", 4).succeeded()
    first = sc.open_study(study)["small"].result("teams")
    scorecube("teams", study, *how, "--trials", 9).succeeded()
    extended = sc.open_study(study)["small"].result("teams")
    xr.testing.assert_equal(
        extended["variance"].isel(trial=slice(4)).drop_attrs(), first["variance"].drop_attrs()
    )  # fmt: skip
    scorecube("teams", copy, *how, "--trials", 9).succeeded()
    repeated = sc.open_study(copy)["small"].result("teams")
    xr.testing.assert_equal(repeated.drop_attrs(), extended.drop_attrs())
    scorecube("verify", study).succeeded()


@pytest.mark.parametrize("table", ["first_miss", "reusability", "own", "contributions"])
@pytest.mark.parametrize("form", ["text", "csv", "json", "markdown", "latex"])
def test_every_table_in_every_format(scorecube: Cli, study: Path, table: str, form: str) -> None:
    scorecube(
        "teams", study, "--trials", 2, "--seed", 1, "--metrics", "AP", "--gains", "auto"
    ).succeeded()
    shown = scorecube("show", study, "teams", "--table", table, "--format", form).succeeded().stdout
    rows = {"first_miss": 1, "reusability": 3, "own": 6, "contributions": 3}[table]
    if form == "json":
        assert len(json.loads(shown)) == rows
    elif form != "latex":
        assert len(shown.splitlines()) == rows + {"csv": 1, "text": 2, "markdown": 4}[form]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--leave", "3"], "3 teams"),
        (["--leave", "0"], "--leave 0: expected a list, each a whole number of at least 1"),
        (["--leave", "x"], "--leave"),
        (["--leave", ""], "--leave"),
        (["--topics", "9"], "8 topics"),
        (["--topics", "1"], "--topics 1: expected a list, each a whole number of at least 2"),
        (["--topics", "x"], "--topics"),
        (["--pool-depth", "0"], "pool"),
        (["--metrics", "P@7"], "no metric 'P@7'"),
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
    assert "Traceback" not in outcome.stderr
    assert "no rankings" in outcome.stderr


def test_one_team_cannot_be_left_out(scorecube: Cli, tmp_path: Path, files: Files) -> None:
    teams = tmp_path / "teams.csv"
    teams.write_text("run,team\n" + "".join(f"run{k},only\n" for k in range(6)))
    words = ["--runs", files.runs, "--qrels", files.qrels, "--teams", teams, "--metrics", "AP"]
    scorecube("evaluate", tmp_path / "s", "--name", "x", *words).succeeded()
    outcome = scorecube("teams", tmp_path / "s", "--seed", 1)
    assert outcome.status == 1
    assert "team" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_runs_without_a_team_are_told(scorecube: Cli, tmp_path: Path, files: Files) -> None:
    words = ["--runs", files.runs, "--qrels", files.qrels, "--metrics", "AP"]
    scorecube("evaluate", tmp_path / "s", "--name", "x", *words).succeeded()
    said = scorecube("teams", tmp_path / "s", "--seed", 1, "--trials", 2).succeeded().stderr
    assert "team" in said
    result = sc.open_study(tmp_path / "s")["x"].result("teams")
    assert result["team"].values.tolist() == [f"run{k}" for k in range(6)]


def test_the_report_has_a_chapter(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    scorecube("teams", study, "--topics", "6,4", "--trials", 4, "--seed", 1).succeeded()
    scorecube("report", study, "--out", tmp_path / "report.html").succeeded()
    page = (tmp_path / "report.html").read_text()
    for words in (
        "Leaving teams out: pool depth auto",
        "also 6, 4 topics",
        "Runs without the unique contributions of their own team",
    ):
        assert words in page
