"""A collection of score matrices of participants imports through the command line: names of metrics, gaps, teams."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scorecube.workflow.api import open_study
from tests.conftest import Cli

METRICS = [
    "NCG_10", "NCG_100", "NCG_20", "NCG_50", "AP", "last_rel", "norm_area", "num_docs", "num_rels", "num_shown", "r",
    "wss_100", "wss_95",
]  # fmt: skip


@pytest.mark.data
def test_teams_and_gaps_of_participants(scorecube: Cli, data: Path, tmp_path: Path) -> None:
    study, folder = tmp_path / "s", data / "clef-tar-2017"
    files = sorted(folder.glob("[!t]*.csv"))
    words = ["--name", "x", *files, "--teams", folder / "teams.csv"]
    said = scorecube("import", study, *words).succeeded().stderr
    assert re.findall(r"x: (\d+) runs x (\d+) topics, (\d+)", said) == [("52", "30", "13")]
    assert f"156 of {13 * 52 * 30}" in said
    cube = open_study(str(study))["x"].cube
    assert cube["metric"].values.tolist() == METRICS
    assert cube["score"].sel(metric="wss_95", run="amc.run", topic="CD007431").item() == -0.009
    assert len(set(cube["team"].values.tolist())) == 15
    assert str(cube["team"].sel(run="iiit.run1").item()) == "iiit"
    gaps = cube["score"].sel(metric="AP").isnull().sum(["gain", "topic"])
    assert cube["run"].values[gaps.values > 0].tolist() == [f"iiit.run{k}" for k in range(1, 5)]
