"""Runs that are evaluated into a collection that exists, and results of scores that were replaced."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import xarray as xr

from scorecube.analyses import plan
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
        options.append(["--runs", str(folder), "--qrels", str(files.qrels)])
        options[-1] += ["--teams", str(files.teams)]
    return options


def test_results_of_scores_that_were_replaced_are_outdated(
    parts: list[list[str]], tmp_path: Path, scorecube: Cli
) -> None:
    study, name = tmp_path / "study.zarr", ["--name", "demo"]
    scorecube("evaluate", study, *name, *parts[0], *METRICS).succeeded()
    for trials in (20, 30):
        scorecube("swap", study, "--trials", trials, "--seed", 1).succeeded()
    added = scorecube("evaluate", study, *name, *parts[1], *METRICS)
    assert "they differ in" in added.stderr
    added = scorecube("evaluate", study, *name, *parts[1], *METRICS, "--replace").succeeded()
    assert "demo: outdated, as they are of scores that were replaced: swap (2)" in added.stderr
    assert "outdated swap (2)" in scorecube("info", study).succeeded().stdout
    refused = scorecube("show", study, "swap")
    assert refused.status == 1
    assert "no result of swap of the scores that are there now" in refused.stderr
    scorecube("swap", study, "--trials", 20, "--seed", 1).succeeded()
    assert open_study(study)["demo"].contents()["outdated"] == {}
    scorecube("verify", study).succeeded()


def test_a_sweep_refuses_runs_that_changed_unless_it_replaces(
    parts: list[list[str]], files: Files, tmp_path: Path, scorecube: Cli
) -> None:
    study, folder = tmp_path / "study.zarr", tmp_path / "all"
    shutil.copytree(parts[0][1], folder)

    def sweep(*words: str) -> str:
        file = tmp_path / "sweep.toml"
        file.write_text(
            f'study = "{study}"\ntrials = 20\nseed = 1\n[[collection]]\nname = "demo"\nruns = "{folder}"\nqrels = "{files.qrels}"\n'
            f'teams = "{files.teams}"\nmetrics = ["AP"]\n[[analysis]]\nname = "swap"\n'
        )
        outcome = scorecube("sweep", file, *words)
        return outcome.stderr if outcome.status else ""

    assert sweep() == ""
    (first, *_) = sorted(folder.iterdir())
    first.write_text("".join(reversed(first.read_text().splitlines(keepends=True)[:60])))
    assert "they differ in" in sweep()
    for run in Path(parts[1][1]).iterdir():
        shutil.copy(run, folder)
    assert sweep("--replace") == ""
    assert open_study(study)["demo"].cube.sizes["run"] == 6
    scorecube("verify", study).succeeded()


@pytest.mark.parametrize(
    ("before", "now", "named"),
    [
        ([], ["--order", "file"], "order (it was score)"),
        ([], ["--depth", "3"], "depth (it was 0)"),
    ],
)  # fmt: skip
def test_scores_of_other_conditions_are_not_mixed(
    parts: list[list[str]], tmp_path: Path, scorecube: Cli,
    before: list[str], now: list[str], named: str,
) -> None:  # fmt: skip
    study, name = tmp_path / "study.zarr", ["--name", "demo"]
    scorecube("evaluate", study, *name, *parts[0], *METRICS, *before).succeeded()
    held = open_study(study)["demo"].head
    given = [*parts[0], "--metrics", "RR"]
    refused = scorecube("evaluate", study, *name, *given, *now)
    assert refused.status == 1
    assert named in refused.stderr
    assert "--replace or another --name" in refused.stderr or "another --name" in refused.stderr
    assert open_study(study)["demo"].head == held
    scorecube("evaluate", study, *name, *given, *before).succeeded()


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
    study, judged = tmp_path / "study.zarr", ["--qrels", parts[0][3], *METRICS]
    alone = scorecube("evaluate", study, "--name", "a", "--runs", strange, *judged)
    assert alone.status == 1
    assert "judges none of the documents of the 4 runs" in alone.stderr
    one = min(strange.iterdir())
    shutil.copy(one, tmp_path / "first/strange")
    beside = scorecube("evaluate", study, "--name", "a", *parts[0], *METRICS).succeeded()
    tag = one.read_text().split()[5]
    assert tag in beside.stderr


def test_a_command_hashes_the_cube_once(
    scorecube: Cli, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest, cubes = plan.cube_digest, list[xr.Dataset]()

    def counting(cube: xr.Dataset) -> str:
        cubes.append(cube)
        return digest(cube)

    monkeypatch.setattr(plan, "cube_digest", counting)
    scorecube("teams", study, "--trials", 2).succeeded()
    assert len(cubes) == 1
