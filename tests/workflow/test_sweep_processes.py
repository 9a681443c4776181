"""Sweeps and imports in worker processes: the same results as on threads, found again, and failures that end them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from scorecube.storage import Study, open_study
from scorecube.storage.verify import verify_study
from scorecube.workflow import sweep_processes, sweep_sources
from tests.conftest import Cli

pytestmark = pytest.mark.process
COUNT = 5


@pytest.fixture
def matrices(tmp_path: Path) -> Path:
    folder = tmp_path / "matrices"
    folder.mkdir()
    for number in range(COUNT):
        values = np.random.default_rng(number).random((8, 5)).round(4)
        rows = [",".join([str(k + 1), *map(str, row)]) for k, row in enumerate(values)]
        (folder / f"c{number}.csv").write_text("\n".join(["topic,a,b,c,d,e", *rows]) + "\n")
    return folder


def sweep_file(folder: Path, study: str, matrices: Path, size: int = 3) -> Path:
    lines = [f'study = "{folder / study}"', "trials = 20", "seed = 1"]
    for path in sorted(matrices.iterdir()):
        lines += ["[[collection]]", f'name = "{path.stem}"', f'scores = "{path}"', 'metric = "AP"']
    lines += ["[[analysis]]", 'name = "swap"', f"size = {size}", "[[analysis]]", 'name = "tukey"']
    file = folder / f"{study}.toml"
    file.write_text("\n".join(lines))
    return file


def results(study: Study) -> dict[tuple[str, str], xr.Dataset]:
    return {
        (name, analysis): study[name].result(analysis)
        for name in study
        for analysis in ("swap", "tukey")
    }


def test_results_are_those_of_threads(
    tmp_path: Path, matrices: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorecube("sweep", sweep_file(tmp_path, "threads", matrices), "--workers", 2).succeeded()
    monkeypatch.setattr(sweep_processes, "FEWEST", 1)
    monkeypatch.setattr(sweep_processes, "AT_ONCE", 2)
    monkeypatch.setattr(sweep_sources, "FEWEST", 1)
    monkeypatch.setattr(sweep_sources, "AT_ONCE", 2)
    file = sweep_file(tmp_path, "processes", matrices)
    done = scorecube("sweep", file, "--workers", 2, "--memory", "4GB").succeeded().stderr
    assert f"{COUNT} small collections in 2 processes" in done
    assert f"{2 * COUNT} results in" in done
    threads, processes = (open_study(tmp_path / name) for name in ("threads", "processes"))
    for key, expected in results(threads).items():
        found = results(processes)[key]
        xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
        assert found.attrs["digest"] == expected.attrs["digest"]
    assert verify_study(processes)[1] == []
    assert not list(tmp_path.glob("**/.*lock"))
    again = scorecube("sweep", file, "--workers", 2).succeeded().stderr
    assert f"{2 * COUNT} plans, {2 * COUNT} done already" in again


def test_a_repeated_sweep_reads_no_scores(
    tmp_path: Path, matrices: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = sweep_file(tmp_path, "study", matrices)
    scorecube("sweep", file).succeeded()
    with monkeypatch.context() as context:
        context.setattr("scorecube.storage.collection.read_dataset", None)
        again = scorecube("sweep", file).succeeded().stderr
    assert f"{2 * COUNT} plans, {2 * COUNT} done already" in again
    other = sweep_file(tmp_path, "study", matrices, size=4)
    assert f"{2 * COUNT} plans, {COUNT} done already" in scorecube("sweep", other).stderr
    said = scorecube("sweep", other, "--status").succeeded().stdout
    assert "results: 10 of 10 stored, 5 of them before; 0 failed" in said
    (matrices / "c0.csv").write_text("topic,a,b\n" + "".join(f"{k},0.{k},0.1\n" for k in range(8)))
    text = file.read_text().replace('name = "c0"', 'name = "c0"\nreplace = true')
    file.write_text(text)
    changed = scorecube("sweep", file).succeeded().stderr
    assert f"{2 * COUNT} plans, {2 * COUNT - 2} done already" in changed


def test_an_impossible_plan_stops_or_is_listed(
    tmp_path: Path, matrices: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (matrices / "few.csv").write_text("topic,a,b\n1,0.5,0.25\n2,0.25,0.5\n")
    monkeypatch.setattr(sweep_processes, "FEWEST", 1)
    file = sweep_file(tmp_path, "study", matrices)
    done = scorecube("sweep", file, "--workers", 2, "--memory", "4GB").succeeded().stderr
    assert "left out: swap of few" in done
    assert f"{2 * COUNT + 1} results in" in done
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert "results: 11 of 11 stored, 0 of them before; 0 failed; 1 plans left out" in said
