"""Runs that are evaluated into a collection that exists, and results of scores that were replaced."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scorecube.storage import open_study
from tests.conftest import Cli, Files

METRICS = ["--metrics", "AP,nDCG@5", "--gains", "auto,1:1:1"]


@pytest.fixture
def parts(files: Files, tmp_path: Path) -> list[list[str]]:
    """Options of ``evaluate`` for four runs, and for the other two."""
    runs = sorted(files.runs.iterdir())
    options = []
    for name, chosen in (("first", runs[:4]), ("second", runs[4:])):
        folder = tmp_path / name
        folder.mkdir()
        for run in chosen:
            shutil.copy(run, folder)
        options.append(["--name", "demo", "--runs", str(folder), "--qrels", str(files.qrels)])
    return options


def test_results_of_scores_that_were_replaced_are_outdated(
    parts: list[list[str]], tmp_path: Path, scorecube: Cli
) -> None:
    study = tmp_path / "study.zarr"
    scorecube("evaluate", study, *parts[0], *METRICS).succeeded()
    for trials in (20, 30):
        scorecube("swap", study, "--trials", trials, "--seed", 1).succeeded()
    added = scorecube("evaluate", study, *parts[1], *METRICS, "--replace").succeeded()
    assert "swap (2)" in added.stderr
    assert "outdated swap (2)" in scorecube("info", study).succeeded().stdout
    assert scorecube("show", study, "swap").status == 1
    scorecube("swap", study, "--trials", 20, "--seed", 1).succeeded()
    assert open_study(study)["demo"].contents()["outdated"] == {}
    scorecube("verify", study).succeeded()


@pytest.mark.parametrize(("now", "named"), [("--order=file", "order"), ("--depth=3", "depth")])
def test_scores_of_other_conditions_are_not_mixed(
    parts: list[list[str]], tmp_path: Path, scorecube: Cli, now: str, named: str
) -> None:
    study, given = tmp_path / "study.zarr", [*parts[0], "--metrics", "RR"]
    scorecube("evaluate", study, *parts[0], *METRICS).succeeded()
    held = open_study(study)["demo"].head
    refused = scorecube("evaluate", study, *given, now)
    assert refused.status == 1
    assert named in refused.stderr
    assert open_study(study)["demo"].head == held
    scorecube("evaluate", study, *given).succeeded()


def test_runs_without_a_judged_document_are_named_or_refused(
    parts: list[list[str]], tmp_path: Path, scorecube: Cli
) -> None:
    """Runs of another task with topics of the same numbers."""
    strange = tmp_path / "strange"
    shutil.copytree(tmp_path / "first", strange)
    for run in strange.iterdir():
        rows = [line.split() for line in run.read_text().splitlines()]
        lines = [" ".join([t, q, f"other-{d}", r, s, f"x{tag}"]) for t, q, d, r, s, tag in rows]
        run.write_text("\n".join(lines) + "\n")
    study = tmp_path / "study.zarr"
    alone = scorecube("evaluate", study, *parts[0][:2], "--runs", strange, *parts[0][4:])
    assert alone.status == 1
    assert "judges none" in alone.stderr
    one = min(strange.iterdir())
    shutil.copy(one, tmp_path / "first/strange")
    beside = scorecube("evaluate", study, *parts[0], *METRICS).succeeded()
    assert one.read_text().split()[5] in beside.stderr
