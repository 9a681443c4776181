"""Machine code on the disk: kept under names that depend on all kernels' source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
