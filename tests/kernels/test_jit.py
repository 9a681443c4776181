"""Kernels are compiled once, and their machine code is kept by the sources of all kernels."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorecube.kernels import jit
from scorecube.kernels.jit import compiled

HOLDER = "process 7 of a stopped node"


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
fill_words(stream_key(1, 1), 0, np.zeros(8, np.uint64), 0, 0)
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


MODULE = """
from scorecube.kernels.jit import compiled

@compiled
def scaled(values, factor):
    return values * factor

@compiled
def scaled_sum(values):
    return scaled(values, 3.0).sum()
"""
ONCE = """
import sys
import numpy as np
from scorecube.kernels import jit
jit.NOTICE, jit.PATIENCE = 0.1, 0.3
from own import scaled, scaled_sum
{first}
print(scaled_sum(np.arange({number})), sum(scaled_sum.dispatcher.stats.cache_hits.values()))
"""


@pytest.fixture
def once(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that sums scaled numbers in another process, and what this one says."""
    (tmp_path / "own.py").write_text(MODULE)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{jit.PACKAGE.parent}"}

    def call(number: str = "3", first: str = "", folder: str = "cache") -> tuple[str, str]:
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / folder)
        command = [sys.executable, "-c", ONCE.format(number=number, first=first)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return done.stdout.strip(), done.stderr

    return call


@pytest.mark.process
def test_who_finds_the_marker_takes_no_lock_and_others_do_not_wait_for_ever(
    once: Any, tmp_path: Path
) -> None:
    assert once() == ("9.0 0", "")
    locks = sorted(tmp_path.rglob("*.lock"))
    assert {path.name.split("-")[0] for path in locks} == {"scaled", "scaled_sum"}
    # All whose index was written were locked; only what was called has a marker.
    indexes = [path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")]
    assert sorted(indexes) == ["own.scaled", "own.scaled_sum"]
    (marker,) = tmp_path.rglob("*.done")
    with ExitStack() as stack:
        for path in locks:
            file = stack.enter_context(path.open("r+"))
            flock(file, LOCK_EX)
            file.write(HOLDER)
            file.flush()
        assert once() == ("9.0 1", "")
        printed, said = once("3.0")
        assert printed == "9.0 0"
        waiting, alone = said.splitlines()
        assert HOLDER in waiting
        assert "scaled" in waiting
        assert HOLDER in alone
        # The one wait is for all kernels of the process, those that are loaded too.
        _, said = once("3.0", "scaled_sum(np.arange(3)); print(scaled(np.float32(2), 1.0))")
        assert len(said.splitlines()) == 2
        assert [*tmp_path.rglob("*.done")] == [marker]
    assert once("3.0") == ("9.0 0", "")
    assert once("3.0") == ("9.0 1", "")


@pytest.mark.process
@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("import shutil, os; scaled(np.arange(3), 2); shutil.rmtree(os.environ['NUMBA_CACHE_DIR'])", ""),
        ("sys.modules['fcntl'] = None", "fcntl"),
        ("import fcntl; fcntl.flock = lambda *_: open('/no/lock')", "/no/lock"),
        ("jit.cache_folder = lambda: None", "NUMBA_CACHE_DIR"),
    ],
)  # fmt: skip
def test_kernels_run_whatever_happens_to_the_folder(once: Any, first: str, words: str) -> None:
    printed, said = once("3", first)
    assert printed == "9.0 0"
    assert words in said
    assert len(said.splitlines()) == bool(words)
    assert once()[0] == f"9.0 {0 if words else 1}"  # what is compiled alone is not kept


def test_a_child_process_holds_no_lock_of_another_thread() -> None:
    entered = threading.Event()
    left = threading.Event()

    def compile_meanwhile() -> None:
        with jit._COMPILING:
            entered.set()
            left.wait(0.2)

    thread = threading.Thread(target=compile_meanwhile)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if jit._COMPILING.acquire(timeout=1) else 1)
    left.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.process
def test_a_stopped_process_stops_no_other(once: Any, tmp_path: Path) -> None:
    once()
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{jit.PACKAGE.parent}"}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
    command = [sys.executable, "-c", ONCE.format(number="3.0", first="")]
    with subprocess.Popen(command, env=environment) as compiling:
        while not any(path.stat().st_size for path in tmp_path.rglob("*.lock")):
            assert compiling.poll() is None
        compiling.send_signal(signal.SIGSTOP)
        try:
            assert once() == ("9.0 1", "")
            printed, said = once("3.0")
            assert printed == "9.0 0"
            assert said.count(f"process {compiling.pid} of") == 2
        finally:
            compiling.kill()


@pytest.mark.process
@pytest.mark.slow
def test_processes_that_compile_at_a_time_do_not_mix_their_code(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", TOGETHER]
    for _ in range(2):  # compiled, and then loaded
        running = [subprocess.Popen(command, env=environment) for _ in range(4)]
        assert {each.wait(300) for each in running} == {0}


TOGETHER = """
import scorecube as sc
from scorecube.testing import simulate_rankings
rankings = simulate_rankings(n_runs=4)
sc.evaluate(rankings, ("nDCG@10", "ERR@10"), ("auto",))
"""
