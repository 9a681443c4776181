"""What is imported from where."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from scorecube.execute.clusters import open_executor
from scorecube.testing import simulate_cube
from scorecube.workflow.api import open_study

FILES = Path(__file__).parents[1] / "cluster"


@pytest.mark.process
def test_dask_imports_from_a_scratch_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = tmp_path / "dask-scratch-space"  # as another user may have made it
    shared.mkdir()
    shared.chmod(0o777)
    with open_executor(FILES / "processes.yaml") as executor:
        assert executor.client is not None
        paths = {*sys.path, *executor.client.run(eval, "__import__('sys').path").popitem()[1]}
        scratch = {Path(each) for each in paths if shared.name in each}
        assert scratch
        assert not any(each.is_relative_to(shared) for each in scratch)
        (own,) = {tmp_path / each.relative_to(tmp_path).parts[0] for each in scratch}
        assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert not own.exists()
    assert not list(shared.iterdir())


@pytest.mark.process
def test_programs_import_nothing_from_the_current_directory(tmp_path: Path) -> None:
    study = tmp_path / "study.zarr"
    open_study(study, mode="a").add("demo", cube=simulate_cube(n_runs=5))
    place = tmp_path / "place"
    for name in ("multiprocessing", "numba", "numpy", "distributed", "socket", "scorecube"):
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')")
    program = Path(sys.executable).with_name("scorecube")
    for words in (
        ("swap", str(study), "--cluster", str(FILES / "processes.yaml"), "--trials", "100"),
        ("report", str(study), "--out", str(tmp_path / "page.html")),
    ):
        ended = subprocess.run(
            [program, *words], cwd=place, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
    assert not (tmp_path / "trace").exists()
