"""Kernels are compiled once, and their machine code is kept by the sources of all kernels."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorecube.kernels import jit
from scorecube.kernels.jit import compiled


@compiled
def scaled(values: Any, factor: float = 2.0) -> Any:
    """Return values times a factor."""
    return values * factor


@compiled
def scaled_sum(values: Any) -> Any:
    """Return the sum of scaled values."""
    return scaled(values, 3.0).sum()


def test_kernels_call_each_other_and_have_defaults() -> None:
    assert scaled(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert scaled_sum(np.arange(3)) == 9.0
    assert pickle.loads(pickle.dumps(scaled)) is scaled


def test_all_compiled_functions_are_in_the_folders_of_the_digest() -> None:
    calls = re.compile(r"^from scorecube\.kernels\.jit import|^ *import numba", re.MULTILINE)
    found = {
        path.relative_to(jit.PACKAGE).as_posix()
        for path in jit.PACKAGE.rglob("*.py")
        if calls.search(path.read_text("utf-8"))
    }
    assert found
    assert not [
        path for path in found if not path.startswith(tuple(f"{each}/" for each in jit.FOLDERS))
    ]


def test_the_digest_depends_on_every_file_of_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "PACKAGE", tmp_path)
    (tmp_path / "kernels" / "deep").mkdir(parents=True)
    file = tmp_path / "kernels" / "deep" / "helper.py"
    seen = {jit.source_digest()}
    for content in ("", "one = 1\n", "one = 2\n"):
        file.write_text(content)
        seen.add(jit.source_digest())
    file.rename(tmp_path / "kernels" / "helper.py")
    assert len(seen | {jit.source_digest()}) == 5


PROGRAM = """
import numpy as np
from scorecube.kernels import jit
jit.source_digest = lambda: {digest!r}
from scorecube.kernels.random.philox import stream_key, fill_words
from scorecube.metrics import DEFINITIONS
fill_words(stream_key(1, 1), 0, np.zeros(8, np.uint64))
DEFINITIONS["RR"].kernel
print(sum(fill_words.dispatcher.stats.cache_hits.values()))
"""


def run(program: str, folder: Path, **values: str) -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", program.format(**values)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


@pytest.mark.process
def test_code_of_other_sources_is_not_used_and_the_oldest_goes(tmp_path: Path) -> None:
    assert [run(PROGRAM, tmp_path, digest=each) for each in "aab"] == ["0", "1", "0"]
    files = [*(tmp_path / "kernels-a").rglob("*.nb[ic]")]
    assert any(path.name.startswith("guf-") for path in files)
    for each in "cde":
        (tmp_path / f"kernels-{each}").mkdir()
        (tmp_path / f"kernels-{each}" / "used").touch()
    assert run(PROGRAM, tmp_path, digest="f") == "0"
    assert {path.name[-1] for path in tmp_path.iterdir()} == {*"cdef"}


@pytest.mark.process
def test_without_a_folder_that_can_be_written_kernels_are_compiled_all_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    assert run(PROGRAM, tmp_path / "file", digest="a") == "0"


@pytest.mark.process
@pytest.mark.slow
def test_processes_that_compile_at_a_time_do_not_mix_their_code(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", TOGETHER]
    for _ in range(2):  # compiled, and then loaded
        running = [subprocess.Popen(command, env=environment) for _ in range(3)]
        assert [each.wait(300) for each in running] == [0, 0, 0]


TOGETHER = """
import scorecube as sc
from scorecube.testing import simulate_rankings
rankings = simulate_rankings(n_runs=4)
sc.evaluate(rankings, ("nDCG@10", "ERR@10"), ("auto",))
"""
