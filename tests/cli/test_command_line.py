"""Help, suggestions, progress, tables on a terminal, and pipes."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import typer

from scorecube.analyses import registry
from scorecube.cli import terminal
from scorecube.cli.program import app, repeat_option
from scorecube.report.study_overview import collect_table
from scorecube.report.text_formats import render
from scorecube.report.text_layout import CUT
from scorecube.report.views import view_names, view_of
from scorecube.workflow.api import open_study
from tests.conftest import trials_of
from tests.terminal import WIDTH, on_terminal, program

if TYPE_CHECKING:
    from tests.conftest import Cli, Tree

PROGRAM: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = {name: PROGRAM.build(name) for name in PROGRAM.commands}


def help_of(scorecube: Cli, monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    return scorecube(*words, "--help").succeeded().stdout


def examples_in(text: str) -> list[str]:
    """Return the examples of a help text, each in one line."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return [
        part.removeprefix("Example: scorecube ")
        for part in paragraphs
        if part.startswith("Example: scorecube ")
    ]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns_and_its_examples_parse(
    scorecube: Cli, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shown = help_of(scorecube, monkeypatch, *filter(None, [name]))
    assert [line for line in shown.splitlines() if len(line) > WIDTH] == []
    examples = examples_in(shown)
    assert examples
    for example in examples:
        command, *words = shlex.split(example)
        assert command == (name or command)
        if command == "evaluate":
            words = repeat_option(words, "--runs")
        context = COMMANDS[command].make_context(command, words)
        assert context.args == []


def test_the_program_lists_every_command_with_a_whole_sentence(
    scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = " ".join(help_of(scorecube, monkeypatch).split())
    for name, command in COMMANDS.items():
        sentence = " ".join(command.help.split("\n\n")[0].split())
        assert re.search(rf" {name} {re.escape(sentence.split('. ')[0])}", shown), name


@pytest.mark.parametrize(
    ("words", "status", "meant"),
    [
        ("swop STUDY", 2, "swap"),
        ("swap STUDY --samplin disjoint", 2, "--sampling"),
        ("swap STUDY --sampling disjiont", 2, "Did you mean 'disjoint'"),
        ("show STUDY swap --format jsn", 2, "Did you mean 'json'"),
        ("list metric", 2, "Did you mean 'metrics'"),
        ("evaluate STUDY --name x --runs x --qrels x --order scor", 2, "Did you mean 'score'"),
        ("evaluate STUDY --name x --runs x --qrels x --metrics nDGC@10", 1, "nDCG"),
        ("swap STUDY --metrics nDCG@1", 1, "nearest: nDCG@10"),
        ("swap STUDY --gains 1:1", 1, "nearest: 1:1:1"),
        ("swap STUDY --runs rnu3", 1, "run3"),
        ("swap STUDY --topics 0003", 1, "003"),
        ("swap STUDY --collection smal", 1, "small"),
        ("show STUDY swpa", 1, "Did you mean 'swap'"),
        ("show STUDY swap --table rate", 1, "rates"),
        ("design STUDY --methd t", 2, "--method"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(
    scorecube: Cli, finished_study: Path, words: str, status: int, meant: str
) -> None:
    outcome = scorecube(*words.replace("STUDY", str(finished_study)).split())
    assert outcome.status == status
    assert outcome.stdout == ""
    assert meant in outcome.stderr.splitlines()[-1]
    assert "Value error" not in outcome.stderr


def test_a_word_unlike_all_known_ones_gets_no_suggestion(
    scorecube: Cli, finished_study: Path
) -> None:
    stderr = scorecube("swap", finished_study, "--sampling", "xyz").stderr.splitlines()[-1]
    assert stderr.endswith("'xyz' is not one of disjoint, replacement, independent")


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.names())
def test_a_dry_run_changes_no_file(
    scorecube: Cli, analysed_study: Path, tree: Callable[[Path], Tree], name: str
) -> None:
    before = tree(analysed_study)
    sets = {"judges": ["--truth", "small"]}
    chosen = sets.get(name, ["--collection", "small"])
    outcome = scorecube(
        name, analysed_study, *chosen, *trials_of(name, 7), "--seed", 2, "--dry-run"
    ).succeeded()
    assert outcome.stderr
    assert outcome.stdout == ""
    assert tree(analysed_study) == before


def test_gain_settings_are_explained_and_listed(
    scorecube: Cli, finished_study: Path, tmp_path: Path
) -> None:
    stderr = scorecube("list", "gains").succeeded().stdout
    assert "highest level first" in stderr
    assert all(len(line) <= WIDTH for line in stderr.splitlines())
    assert (
        scorecube("list", "gains", finished_study).stdout
        == "small: levels 3, 2, 1; gains auto, 1:1:1\n"
    )
    (tmp_path / "ap.csv").write_text("a,b\n0.5,1\n0.25,1\n")
    scorecube(
        "import", tmp_path / "s", "--name", "x", "--gain", "3:1", tmp_path / "ap.csv"
    ).succeeded()
    assert scorecube("list", "gains", tmp_path / "s").stdout == "x: gains 3:1\n"
    refused = scorecube("list", "metrics", finished_study)
    assert refused.status == 2
    assert "scorecube list gains" in refused.stderr


TABLE_NAMES = [(analysis, table) for analysis in view_names() for table in view_of(analysis).tables]


@pytest.mark.parametrize(("analysis", "table"), TABLE_NAMES)
def test_every_table_fits_a_terminal(analysed_study: Path, analysis: str, table: str) -> None:
    frame = collect_table(open_study(analysed_study), analysis, table).head(40)
    shown = render(frame, "text", WIDTH)
    assert [line for line in shown.splitlines() if len(line) > WIDTH] == []


def test_a_table_that_fits_is_unchanged() -> None:
    frame = pd.DataFrame({"collection": ["a", "a"], "metric": ["AP", "Q"], "share": [0.5, 0.25]})
    assert render(frame, "text", WIDTH) == render(frame, "text")
    narrow = render(frame, "text", 22)
    assert narrow.splitlines()[0] == "collection: a"
    assert CUT not in narrow


@pytest.mark.process
def test_a_terminal_gets_tables_of_its_width_and_a_pipe_whole_ones(
    scorecube_process: Cli, finished_study: Path
) -> None:
    command_words = ("show", finished_study, "swap", "--table", "rates")
    status, seen = on_terminal(program(*command_words))
    assert status == 0
    assert max(map(len, seen.splitlines())) <= WIDTH
    assert seen.startswith("collection: small")
    piped = scorecube_process(*command_words).succeeded().stdout
    assert max(map(len, piped.splitlines())) > WIDTH
    assert piped.rstrip("\n") == render(
        collect_table(open_study(finished_study), "swap", "rates"), "text"
    )


COLOUR, CONTROL = re.compile(r"\x1b\[[0-9;]*[349][0-7](;[0-9;]*)?m"), re.compile(r"\x1b")


@pytest.mark.process
@pytest.mark.slow
def test_colours_and_bars_depend_on_the_terminal(study: Path, scorecube_process: Cli) -> None:
    command_words = ("randomisation", study, "--seed", 1, "--workers", 1, "--trials")
    _, coloured = on_terminal(program(*command_words, 2000, block_units=1))
    assert "left" in coloured
    assert COLOUR.search(coloured)
    _, plain = on_terminal(program(*command_words, 2001, block_units=1), NO_COLOR="1")
    assert "left" in plain
    assert not COLOUR.search(plain)
    _, dumb = on_terminal(program(*command_words, 2002, block_units=1), TERM="dumb")
    assert not CONTROL.search(dumb)
    piped = scorecube_process(*command_words, 2003, block_units=1).succeeded()
    assert not CONTROL.search(piped.stdout + piped.stderr)


@pytest.mark.process
@pytest.mark.parametrize(
    "command_words",
    [("show", "STUDY", "scores", "--table", "cells"), ("list", "metrics"), ("--help",)],
)
def test_a_closed_pipe_is_no_error(finished_study: Path, command_words: tuple[str, ...]) -> None:
    command = program(*(str(finished_study) if word == "STUDY" else word for word in command_words))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize(
    ("unit", "expected"), [("trials", "work: {} of 4 trials"), (None, "work: {}")]
)
def test_plain_progress_shows_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    unit: str | None,
    expected: str,
) -> None:
    monkeypatch.setattr(terminal, "PLAIN_SECONDS", 0.0)
    with terminal.track_progress("work", unit) as progress:
        for done in (0, 1, 2, 4):
            progress(done, 4)
    # The time of the first trial includes the start of processes.
    counts = (1, 2) if unit else ("25%", "50%")
    first, second = map(expected.format, counts)
    assert capsys.readouterr().err.splitlines() == [first, f"{second}, about 0:00 min left"]


def test_no_time_left_is_told_after_one_piece_of_many(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "PLAIN_SECONDS", 0.0)
    with terminal.track_progress("compiling kernels", "parts") as progress:
        for done in (0, 1, 2, 3, 4):
            progress(done, 23)
    lines = capsys.readouterr().err.splitlines()
    assert [" left" in line for line in lines] == [False, False, False, True]


def test_json_of_info_is_for_programs(scorecube: Cli, finished_study: Path) -> None:
    facts = json.loads(scorecube("info", finished_study, "--format", "json").succeeded().stdout)
    assert facts["collections"][0]["name"] == "small"
