"""Processes for drawing and compiling: order, memory, errors, and their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scorecube.execute.processes import WAITING, ordered_map, processes

pytestmark = pytest.mark.process
PROGRAM = """
import os, sys, time
from scorecube.execute.processes import processes
if __name__ == "__main__":
    with processes(2) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 60).result()
"""


def late(number: int) -> int:
    time.sleep(0.05 if number % 3 else 0.2)
    return number


def fail(number: int) -> int:
    if number == 2:
        raise ValueError(f"no {number}")
    return number


def test_results_come_in_order_and_few_items_are_taken_in_advance() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(20):
            taken.append(number)
            yield number

    with processes(2) as pool:
        for expected, number in enumerate(ordered_map(pool, 2, late, items())):
            assert number == expected
            assert len(taken) <= expected + 2 * WAITING + 1
    assert taken == list(range(20))


def test_an_error_reaches_the_caller_and_ends_the_processes() -> None:
    with pytest.raises(ValueError, match="no 2"), processes(2) as pool:
        list(ordered_map(pool, 2, fail, range(1000)))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_the_one_that_started_them(tmp_path: Path, number: int) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(number)
        parent.wait(30)
    deadline = time.monotonic() + 20
    while _runs(child):
        assert time.monotonic() < deadline, "the child outlives its parent"
        time.sleep(0.05)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
