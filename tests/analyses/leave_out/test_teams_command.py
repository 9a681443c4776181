"""The command teams: its tables are those of Python, more trials extend them, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

import scorecube as sc
from scorecube.analyses.teams import Teams
from scorecube.collection.rankings import with_rankings

if TYPE_CHECKING:
    from tests.conftest import Cli, Files


def records(scorecube: Cli, study: Path, table: str) -> list[dict[str, Any]]:
    shown = scorecube("show", study, "teams", "--table", table, "--format", "json").succeeded()
    listed: list[dict[str, Any]] = json.loads(shown.stdout)
    return listed


def test_the_command_gives_what_python_gives(scorecube: Cli, study: Path, files: Files) -> None:
    words = ["--topics", "6", "--trials", 3, "--seed", 4, "--pool-depth", 7]
    scorecube("teams", study, *words).succeeded()
    rankings = sc.read_rankings(files.runs, files.qrels, files.teams)
    cube = with_rankings(sc.evaluate(rankings, ["AP", "Q", "nDCG@10"], ["auto", "1:1:1"]), rankings)
    expected = sc.analyse(cube, Teams(topic_sizes=(6,), pool_depth=7), trials=3, seed=4)
    result = sc.open_study(study)["small"].result("teams")
    xr.testing.assert_equal(result.drop_attrs(), expected.drop_attrs())
    for row in records(scorecube, study, "variance"):
        # Three teams of two runs each.
        assert row["runs_min"] == row["runs_max"] == 6 - 2 * row["left_out"]
        if row["left_out"] == 0:
            assert (row["trials"], row["variance_low"], row["variance_high"]) == (1, None, None)
    steps = result["topic_step"].values.tolist()
    for row in records(scorecube, study, "trials"):
        at = result.sel(metric=row["metric"], gain=row["gain"], leave=row["left_out"])
        at = at.isel(trial=row["trial"], topic_step=steps.index(row["n_topics_wanted"]))
        value = float(at["variance"])
        assert row["variance"] == (None if value != value else value)
        assert (row["n_runs"], row["n_topics"]) == (int(at["n_runs"]), int(at["n_topics"]))
        assert row["teams_left_out"] == str(at["teams_left_out"].item())
    assert "already there" in scorecube("teams", study, *words, "--leave", "all").succeeded().stderr


def test_more_trials_extend(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(study, tmp_path / "copy.zarr")
    how = ["--topics", "6,4", "--seed", 3]
    scorecube("teams", study, *how, "--trials", 4, block_units=2).succeeded()
    first = sc.open_study(study)["small"].result("teams")
    scorecube("teams", study, *how, "--trials", 9).succeeded()
    extended = sc.open_study(study)["small"].result("teams")
    before = extended["variance"].isel(trial=slice(4))
    xr.testing.assert_equal(before.drop_attrs(), first["variance"].drop_attrs())
    scorecube("teams", copy, *how, "--trials", 9).succeeded()
    repeated = sc.open_study(copy)["small"].result("teams")
    xr.testing.assert_equal(repeated.drop_attrs(), extended.drop_attrs())
