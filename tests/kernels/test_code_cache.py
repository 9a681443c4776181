"""Machine code on the disk: kept under names that depend on all kernels' source."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scorecube.kernels import code_cache

PROGRAM = """
import numpy as np
from scorecube.kernels import code_cache
if {digest!r}:
    code_cache.source_digest = lambda: {digest!r}
from scorecube.kernels.jit import compiled
from scorecube.kernels.random import philox
words = np.zeros(8, np.uint64)
fill = compiled(philox.fill_words.py_func)
fill(np.zeros(2, np.uint64), 0, words)
stats = fill.dispatcher.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), hex(int(words.sum())))
"""


def compile_with(folder: Path, digest: str) -> list[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", PROGRAM.format(digest=digest)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.split()


@pytest.mark.process
def test_code_of_other_sources_is_neither_used_nor_kept(tmp_path: Path) -> None:
    assert compile_with(tmp_path, "aaaaaaaa")[:2] == ["0", "1"]
    assert compile_with(tmp_path, "aaaaaaaa")[:2] == ["1", "0"]
    assert any(tmp_path.rglob("philox.fill_words-*-aaaaaaaa.*nbi"))
    assert compile_with(tmp_path, "bbbbbbbb")[:2] == ["0", "1"]
    assert not any(tmp_path.rglob("philox.fill_words-*-aaaaaaaa.*"))
    assert any(tmp_path.rglob("philox.fill_words-*-bbbbbbbb.*nbc"))


def test_all_compiled_functions_are_in_the_folders_of_the_digest() -> None:
    package = code_cache.PACKAGE
    compiled = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(
            r"^from scorecube\.kernels\.jit import|^import numba", path.read_text("utf-8"), re.M
        )
    }
    folders = tuple(f"{folder}/" for folder in code_cache.FOLDERS)
    assert {path.rpartition("/")[0] for path in compiled} >= {
        "kernels/swap",
        "metrics",
        "analyses/leave_out",
    }
    assert not [path for path in compiled if not path.startswith(folders)]


UFUNC = """
import numpy as np
from scorecube.kernels import code_cache
code_cache.source_digest = lambda: {digest!r}
from scorecube.metrics import DEFINITIONS
DEFINITIONS["RR"].kernel
"""


@pytest.mark.process
def test_ufuncs_of_other_sources_are_compiled_again(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    made = []
    for digest in ("aaaaaaaa", "aaaaaaaa", "bbbbbbbb"):
        command = [sys.executable, "-c", UFUNC.format(digest=digest)]
        subprocess.run(command, env=environment, check=True)
        made.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("guf-*.nb[ic]")})
    assert made[0]
    assert made[0] == made[1]
    assert made[1].keys() == made[2].keys()
    assert all(made[2][path] > time for path, time in made[1].items())


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


def test_the_digest_depends_on_every_file_of_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scorecube.kernels import code_cache

    def digest() -> str:
        code_cache.source_digest.cache_clear()
        return code_cache.source_digest()

    monkeypatch.setattr(code_cache, "PACKAGE", tmp_path)
    (tmp_path / "kernels" / "deep").mkdir(parents=True)
    file = tmp_path / "kernels" / "deep" / "helper.py"
    seen = {digest()}
    for content in ("", "one = 1\n", "one = 2\n"):
        file.write_text(content)
        seen.add(digest())
    file.rename(tmp_path / "kernels" / "helper.py")
    seen.add(digest())
    assert len(seen) == 5
    code_cache.source_digest.cache_clear()
