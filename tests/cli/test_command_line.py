"""Help, completion, suggestions, progress, tables on a terminal, and pipes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from scorecube.analyses import registry
from scorecube.cli import terminal
from scorecube.cli.completion import LISTED
from scorecube.cli.program import app, repeat_option
from scorecube.metrics import DEFINITIONS
from scorecube.report.study_overview import collect_table
from scorecube.report.text_formats import render
from scorecube.report.text_layout import CUT, fit
from scorecube.report.views import view_names, view_of
from scorecube.workflow.api import open_study
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
        repeated = {"evaluate": "--runs", "agreement": "--run-files"}.get(command)
        context = COMMANDS[command].make_context(
            command, repeat_option(words, repeated) if repeated else words
        )
        assert context.args == []


def test_the_program_lists_every_command_with_a_whole_sentence(
    scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = " ".join(help_of(scorecube, monkeypatch).split())
    for name, command in COMMANDS.items():
        sentence = " ".join(command.help.split("\n\n")[0].split())
        assert re.search(rf" {name} {re.escape(sentence.split('. ')[0])}", shown), name


def test_completion_has_all_analyses() -> None:
    assert set(registry.names()) < set(view_names())
    assert LISTED == ("metrics", "analyses", "gains")


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """Return a function from an incomplete command line to the completions of bash, with the installed script."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "scorecube"
    program.write_text(
        f'#!{bash}\nexec {sys.executable} -c "from scorecube.cli.program import main; main()" "$@"\n'
    )
    program.chmod(0o755)
    where = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    script = subprocess.run(
        [program],
        env=where | {"_SCORECUBE_COMPLETE": "source_bash"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    def offered(line: str) -> list[str]:
        words = line.split(" ")
        command_words = f"{script}\nCOMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}\n"
        command_words += '_scorecube_completion scorecube; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(
            [bash, "-c", command_words],
            env=where,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout.split()

    return offered


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("scorecube boo", ["bootstrap"]),
        ("scorecube sw", ["sweep", "swap"]),
        ("scorecube swap study.zarr --dry", ["--dry-run"]),
        ("scorecube show study.zarr sta", ["stability"]),
        ("scorecube show study.zarr swap --format j", ["json"]),
        ("scorecube swap study.zarr --sampling d", ["disjoint"]),
        ("scorecube evaluate study.zarr --order score-d", ["score-docno-desc", "score-docno-asc"]),
        ("scorecube evaluate study.zarr --metrics AP,O", ["AP,O"]),
        ("scorecube list g", ["gains"]),
        ("scorecube show study.zarr swap --table r", ["rates"]),
        ("scorecube show study.zarr leaderboard --table ", ["systems", "matrix", "top"]),
    ],
)
def test_bash_completes(
    complete: Callable[[str], list[str]], line: str, expected: list[str]
) -> None:
    assert complete(line) == expected


@pytest.mark.process
def test_bash_completes_all_metrics_but_those_that_are_named(
    complete: Callable[[str], list[str]],
) -> None:
    offered = complete("scorecube bootstrap study.zarr --metrics nDCG@10,")
    assert {word.removeprefix("nDCG@10,").removesuffix("@") for word in offered} == set(DEFINITIONS)


@pytest.mark.process
def test_bash_completes_the_tables_of_all_analyses_before_one_is_named(
    complete: Callable[[str], list[str]],
) -> None:
    tables = {table for name in view_names() for table in view_of(name).tables}
    assert set(complete("scorecube show --table ")) == tables


@pytest.mark.process
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell: str) -> None:
    command_words = os.environ | {"_SCORECUBE_COMPLETE": f"source_{shell}"}
    command = [sys.executable, "-c", "from scorecube.cli.program import main; main()"]
    assert (
        "_SCORECUBE_COMPLETE"
        in subprocess.run(
            command, env=command_words, capture_output=True, text=True, check=True
        ).stdout
    )


@pytest.mark.parametrize(
    ("words", "status", "meant"),
    [
        ("swop STUDY", 2, "swap"),
        ("swap STUDY --samplin disjoint", 2, "--sampling"),
        ("swap STUDY --sampling disjiont", 2, "Did you mean 'disjoint'"),
        ("correlate STUDY --intervals topic", 2, "Did you mean 'topics'"),
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
    sets = {"agreement": [], "judges": ["--truth", "small"]}
    chosen = sets.get(name, ["--collection", "small"])
    outcome = scorecube(
        name, analysed_study, *chosen, "--trials", 7, "--seed", 2, "--dry-run"
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
    brief = render(frame, "text", WIDTH)
    shown = render(frame, "text", WIDTH, every=True)
    for text in (brief, shown):
        assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    assert ("--all-columns shows" in " ".join(brief.split())) == (brief != shown)
    # Only labels are shortened: a narrow table has all numbers of the wide one.
    missing = set(render(frame, "text").split()) - set(shown.split())
    numbers = {word for word in missing if re.fullmatch(r"-?[\d.]+%?", word)}
    kept = " ".join(shown.split())
    assert {number for number in numbers if number not in kept} == set()


words = st.text(alphabet="abc_012", min_size=1, max_size=30)


@given(st.data())
def test_a_fitted_table_keeps_rows_numbers_and_the_width(data: st.DataObject) -> None:
    n_columns = data.draw(st.integers(1, 8))
    numeric = [
        True,
        *data.draw(st.lists(st.booleans(), min_size=n_columns - 1, max_size=n_columns - 1)),
    ]
    columns = data.draw(st.lists(words, min_size=n_columns, max_size=n_columns, unique=True))
    cell = [st.integers(0, 9999).map(str) if right else words for right in numeric]
    body = data.draw(st.lists(st.tuples(*cell), min_size=1, max_size=5))
    width = data.draw(st.integers(40, 100))
    table = [[name, *cells] for name, cells in zip(columns, zip(*body, strict=True), strict=True)]
    shown = fit(table, numeric, width, every=True)
    labels = sum(not right for right in numeric)
    if labels <= 2:  # as many as these have room beside a number
        assert all(len(line) <= width for line in shown.splitlines())
    for row in body:
        for value, right in zip(row, numeric, strict=True):
            assert not right or value in re.split(r"[ ;\n]+", shown)


def test_long_headings_of_labels_leave_room_for_a_number() -> None:
    table = [["a" * 11, "1"], ["b" * 12, "2"], ["c" * 14, "3"]]
    shown = fit(table, [True, False, False], 40, every=True)
    assert shown.splitlines()[0] == f"{'a' * 11}  {'b' * 12}  cccccc…cccccc"


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
