"""Help, suggestions, and one line of error for each command."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
import typer

from scorecube.cli.program import QUESTIONS, app

if TYPE_CHECKING:
    from tests.conftest import Cli

PROGRAM: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = {name: PROGRAM.build(name) for name in PROGRAM.commands}


def examples_of(command: Any) -> list[list[str]]:
    """Return the words of the examples in the help of a command, without the name of the program."""
    paragraphs = [" ".join(part.split()) for part in command.help.split("\n\n")]
    start = "Example: scorecube "
    return [shlex.split(part.removeprefix(start)) for part in paragraphs if part.startswith(start)]


@pytest.mark.parametrize("name", ["", *COMMANDS])
@pytest.mark.parametrize(("columns", "most"), [(80, 65), (100, 50)])
def test_help_fits_a_screen(
    scorecube: Cli, monkeypatch: pytest.MonkeyPatch, name: str, columns: int, most: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = scorecube(*filter(None, [name]), "--help").succeeded().stdout.splitlines()
    assert [line for line in lines if len(line) > columns] == []
    assert not name or len(lines) <= (40 if (name, columns) == ("import", 80) else most)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_parse(name: str) -> None:
    examples = examples_of(COMMANDS[name])
    assert examples
    for command, *words in examples:
        assert command == name
        assert COMMANDS[name].make_context(name, words).args == []


def test_the_program_lists_every_command_by_question(scorecube: Cli) -> None:
    shown = scorecube("--help").succeeded().stdout
    for title, names in QUESTIONS.items():
        assert title in shown
        for name in names.split():
            assert COMMANDS[name].help
            assert re.search(rf"│ {name} +\S", shown), name
    assert scorecube().stdout == shown


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage_is_one_line(scorecube: Cli, name: str) -> None:
    outcome = scorecube(name, "--no-such-option")
    assert (outcome.status, outcome.stdout) == (2, "")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("error: No such option: --no-such-option")
