"""A metric, an analysis and a format that an installed package adds, each in one file, stand wherever built-in ones do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Files

pytestmark = pytest.mark.process
HERE = Path(__file__).parent
PLUGINS = ("toy_metric", "toy_analysis", "toy_format")
METADATA = "Metadata-Version: 2.1\nName: toys\nVersion: 0.1\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder on the module path with the three files and what an installer writes beside them."""
    folder = tmp_path_factory.mktemp("installed")
    for name in PLUGINS:
        shutil.copy(HERE / f"{name}.py", folder)
    facts = folder / "toys-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(METADATA)
    (facts / "entry_points.txt").write_text(
        "[scorecube.plugins]\n" + "".join(f"{name} = {name}\n" for name in PLUGINS)
    )
    return folder


@pytest.fixture(scope="module")
def study(installed: Path, files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Study with a collection that was evaluated with the toy metric, analysed by a sweep with the toy analysis."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "sweep.toml").write_text(
        f"""study = "study.zarr"
trials = 20
seed = 1

[[collection]]
name = "small"
runs = "{files.runs}"
qrels = "{files.qrels}"
metrics = ["AP", "TopHit"]

[[analysis]]
name = "winner"
n_drawn = 5
grid = {{ ties = ["all", "first"] }}
"""
    )
    scorecube(installed, "sweep", folder / "sweep.toml")
    return folder / "study.zarr"


def scorecube(installed: Path, *words: object) -> str:
    """Run the command line with the plugins installed, and return what it prints."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            [str(installed), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
    }
    command = [sys.executable, "-m", "scorecube", *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_they_are_listed(installed: Path) -> None:
    assert "TopHit" in scorecube(installed, "list", "metrics")
    assert "winner" in scorecube(installed, "list", "analyses")
    assert "Winners: how often is each run the best" in scorecube(installed, "--help")


def test_the_options_of_the_analysis_are_those_of_its_command(installed: Path) -> None:
    shown = scorecube(installed, "winner", "--help")
    assert "--n-drawn" in shown
    assert "--ties" in shown


def test_the_format_is_read(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "scores").write_text("%toy\nAP/r1/401=0.5\nAP/r2/401=0.25\n")
    for name, options in (("detected", ()), ("named", ("--layout", "toy"))):
        assert "2 runs x 1 topic," in scorecube(
            installed, "import", tmp_path / "s.zarr", "--name", name, tmp_path / "scores", *options
        )


def test_a_sweep_runs_the_analysis_and_its_table_is_shown(installed: Path, study: Path) -> None:
    shown = scorecube(installed, "show", study, "winner", "--format", "csv").splitlines()
    assert shown[0] == "collection,metric,gain,run,share"
    assert shown[-1].startswith("note: only the latest result")  # of the two of the sweep
    assert {line.split(",")[1] for line in shown[1:-1]} == {"AP", "TopHit"}
    assert "winner (2)" in scorecube(installed, "info", study)


def test_the_command_finds_the_result_of_the_sweep(installed: Path, study: Path) -> None:
    told = scorecube(installed, "winner", study, "--n-drawn", 5, "--trials", 20, "--seed", 1)
    assert "already there" in told


def test_a_report_has_a_section_for_it(installed: Path, study: Path, tmp_path: Path) -> None:
    scorecube(installed, "report", study, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Winners" in page
    assert "wins most often" in page
