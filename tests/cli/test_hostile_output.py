"""What names from files may do to a terminal, to messages and to streams: nothing but be shown."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube as sc
from scorecube.cli.program import main
from scorecube.cli.terminal import echo, notify, track_progress
from scorecube.errors import CONTROL, BadOutput, visible
from tests.report.hostile import CONTROL as CONTROLS
from tests.report.hostile import HOSTILE, hostile_study
from tests.terminal import program

if TYPE_CHECKING:
    from tests.conftest import Cli


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run tags that give orders to terminals, as a study may have them."""
    path = tmp_path_factory.mktemp("hostile") / "study.zarr"
    hostile_study(path, [sc.Stability()], [*CONTROLS.values()])
    return path


SHOWN: list[list[str]] = [
    ["info"],
    ["info", "--format", "json"],
    ["list", "gains"],
    *(
        ["show", "scores", "--format", form]
        for form in ("text", "csv", "json", "markdown", "latex")
    ),
    ["show", "stability"],
    ["stability", "--seed", "2", "--trials", "10"],
    ["show", "scores", "--collection", "\x1b[31mnone"],
]


def words_of(words: list[str], study: Path) -> list[str]:
    """Insert the study where commands expect it."""
    after = 2 if words[0] == "list" else 1
    return [*words[:after], str(study), *words[after:]]


class Screen(io.StringIO):
    """A terminal that keeps everything."""

    def isatty(self) -> bool:
        return True


@contextmanager
def on_screen(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm") -> Iterator[Screen]:
    """Let stdout and stderr be a terminal of 400 columns; a dumb one has no bars, whose orders are their own."""
    shown = Screen()
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # which main sets, and later tests do not expect
    with redirect_stdout(shown), redirect_stderr(shown):
        yield shown


@pytest.mark.parametrize(
    "words", SHOWN, ids=[" ".join(words).replace("\x1b", "") for words in SHOWN]
)
def test_no_order_reaches_a_terminal(
    words: list[str], study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["scorecube", *words_of(words, study)])
    with on_screen(monkeypatch, "dumb") as screen, suppress(SystemExit):
        main()
    seen = screen.getvalue()
    assert seen
    assert not [each for each in CONTROL.findall(seen) if each != "\n"]
    if words[:2] == ["show", "scores"] and "--collection" not in words:
        found = visible(CONTROLS["terminal"])
        shown = {
            "json": json.dumps(CONTROLS["terminal"]),
            "latex": "textbackslash{}x1b]0;owned",
            "markdown": re.sub(r"([\\\[\]])", r"\\\1", found),
            "text": found[:6],  # shortened in its middle
        }
        assert shown.get(words[-1], found) in seen


def test_files_and_pipes_have_exact_names(scorecube: Cli, study: Path) -> None:
    """Escape sequences are not taken out of a name, so that two names do not become one."""
    cells = scorecube("show", study, "scores", "--format", "csv").succeeded().stdout
    runs = {row["run"] for row in csv.DictReader(io.StringIO(cells, newline=""))}
    assert {CONTROLS["terminal"], CONTROLS["c1"], CONTROLS["zero"]} <= runs
    rows = scorecube("show", study, "scores", "--format", "json").succeeded().stdout
    assert set(CONTROLS.values()) <= {row["run"] for row in json.loads(rows)}


@pytest.mark.parametrize(
    "label", [*HOSTILE.values(), *CONTROLS.values()], ids=[*HOSTILE, *CONTROLS]
)
def test_progress_shows_names_as_they_are(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in brackets are no styles: an unknown one was a traceback."""
    with on_screen(monkeypatch) as screen, track_progress(label, "trials") as progress:
        progress(1, 2)
    assert visible(label)[:200] in screen.getvalue()
    assert "\x1b]0;" not in screen.getvalue()
    assert "\x9b" not in screen.getvalue()


def test_plain_progress_and_notes_have_no_orders(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scorecube.cli.terminal.PLAIN_SECONDS", -1.0)
    with track_progress(CONTROLS["terminal"], "trials") as progress:
        progress(1, 2)
    notify(f"first\n{CONTROLS['lines']}")
    said = capsys.readouterr().err
    assert not [each for each in CONTROL.findall(said) if each != "\n"]
    assert "first\none\\r\ntwo\\u2028three\\tfour\n" in said


def test_a_character_without_a_place_in_the_encoding_is_one_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    with pytest.raises(
        BadOutput,
        match=r"'\\u691c' has no place in the encoding latin-1; set PYTHONIOENCODING=utf-8",
    ):
        echo("name \u691c")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout_is_one_message(study: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            program("info", study), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (
        1,
        "error: stdout: cannot be written: No space left on device\n",
    )
