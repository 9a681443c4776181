"""Progress, quiet, pipes and full disks; what names from files may do to a terminal: nothing but be shown."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube as sc
from scorecube.cli import terminal
from scorecube.cli.program import main
from scorecube.errors import CONTROL, visible
from tests.report.hostile import CONTROL as CONTROLS
from tests.report.hostile import HOSTILE, hostile_study
from tests.terminal import WIDTH, on_terminal, program

if TYPE_CHECKING:
    from tests.conftest import Cli

SHOWN: list[list[str]] = [
    ["info"],
    ["info", "--format", "json"],
    *(
        ["show", "scores", "--format", form]
        for form in ("text", "csv", "json", "markdown", "latex")
    ),
    ["show", "stability"],
    ["stability", "--seed", "2", "--trials", "10"],
    ["show", "scores", "--collection", "\x1b[31mnone"],
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run tags that give orders to terminals, as a study may have them."""
    path = tmp_path_factory.mktemp("hostile") / "study.zarr"
    hostile_study(path, [sc.Stability()], [*CONTROLS.values()])
    return path


class Screen(io.StringIO):
    """A terminal that keeps everything."""

    def isatty(self) -> bool:
        return True


@contextmanager
def on_screen(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm") -> Iterator[Screen]:
    """Let stdout and stderr be a terminal of 400 columns; a dumb one has no bars, whose orders are their own."""
    screen = Screen()
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # which main sets, and later tests do not expect
    with redirect_stdout(screen), redirect_stderr(screen):
        yield screen


def orders_in(text: str) -> list[str]:
    """Return the control characters of a text but ends of lines."""
    return [letter for letter in CONTROL.findall(text) if letter != "\n"]


@pytest.mark.parametrize(
    "words", SHOWN, ids=[" ".join(words).replace("\x1b", "") for words in SHOWN]
)
def test_no_order_reaches_a_terminal(
    words: list[str], hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *rest = words
    monkeypatch.setattr(sys, "argv", ["scorecube", command, str(hostile), *rest])
    with on_screen(monkeypatch, "dumb") as screen, suppress(SystemExit):
        main()
    assert screen.getvalue()
    assert not orders_in(screen.getvalue())


@pytest.mark.parametrize(
    "label", [*HOSTILE.values(), *CONTROLS.values()], ids=[*HOSTILE, *CONTROLS]
)
def test_progress_shows_names_as_they_are(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in brackets are no styles: an unknown one was a traceback."""
    with on_screen(monkeypatch) as screen, terminal.track_progress(label, "trials") as progress:
        progress(1, 2)
    assert visible(label)[:200] in screen.getvalue()
    assert "\x1b]0;" not in screen.getvalue()
    assert "\x9b" not in screen.getvalue()


def test_progress_without_a_terminal_starts_with_the_first_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A first file after more than ten seconds of compiling ended in a division by zero."""
    times = iter([60.0, 65.0, 75.0])
    monkeypatch.setattr("scorecube.cli.terminal.time.monotonic", lambda: next(times))
    with terminal.track_progress("reading runs", "files") as progress:
        for done in (1, 11, 31):
            progress(done, 61)
    assert capsys.readouterr().err.splitlines() == [
        "reading runs: 31 of 61 files, 2 a second, 15 s left"
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout_is_one_message(finished_study: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            program("info", finished_study),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    message = "error: stdout: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.process
def test_a_terminal_gets_tables_of_its_width_and_a_pipe_whole_ones(
    scorecube_process: Cli, finished_study: Path
) -> None:
    words = ("show", finished_study, "swap", "--table", "rates")
    status, seen = on_terminal(program(*words))
    assert status == 0
    assert max(map(len, seen.splitlines())) <= WIDTH
    piped = scorecube_process(*words).succeeded().stdout
    assert max(map(len, piped.splitlines())) > WIDTH


@pytest.mark.process
@pytest.mark.parametrize(
    "words", [("show", "STUDY", "scores", "--table", "cells"), ("list", "metrics")]
)
def test_a_closed_pipe_is_no_error(finished_study: Path, words: tuple[str, ...]) -> None:
    command = program(*(str(finished_study) if word == "STUDY" else word for word in words))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 0
