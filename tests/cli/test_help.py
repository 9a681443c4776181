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


EXPLAINED = {
    "gain settings?": "3:2:1",
    "bags?": "groups",
    "isotonic": "never rise",
    "routes?": "width",
    "E rho|Phi": "[Gg]eneralizability",
    "cells?|plans?|streams?|digests?|swops?|strata|share_behind|open_bin|recorded blocks": "(?!)",
}
"""Words of the source -> what the same text of help explains them by; nothing does for the last."""


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
def test_help_explains_words_of_the_source(name: str) -> None:
    paragraphs = [*COMMANDS[name].help.split("\n\n"), PROGRAM.commands[name].help]
    for text in [*paragraphs, *(one.help for one in COMMANDS[name].params)]:
        for word, meaning in EXPLAINED.items():
            assert not re.search(rf"\b({word})\b", text) or re.search(meaning, text), text


def test_only_options_that_are_used_are_listed(scorecube: Cli) -> None:
    shown = {name: scorecube(name, "--help").stdout for name in ("battles", "swap")}
    flags = ("--metrics", "--gains", "--topics", "--missing", "--bags", "--seed", "--workers")
    for flag in (*flags, "--as"):
        assert (flag in shown["battles"], flag in shown["swap"]) == (False, True)


@pytest.mark.parametrize("name", COMMANDS)
def test_metrics_are_named_together_or_in_parts(name: str) -> None:
    once = COMMANDS[name].with_values_once
    if any("--metrics" in one.opts for one in COMMANDS[name].params):
        assert once(["--metrics", "AP", "s", "--metric=P@5"]) == ["--metrics=AP,P@5", "s"]
    assert once(["--quiet", "--", "--metrics"]) == ["--quiet", "--", "--metrics"]


def test_two_values_of_an_option_that_has_one_are_refused(scorecube: Cli) -> None:
    """The last was taken."""
    same = ["swap", "nowhere", "--seed", 1, "--seed=1"]
    assert scorecube(*same).status == 1  # for there is no study
    refused = scorecube(*same, "--seed", 2)
    assert refused.status == 2
    assert all(word in refused.stderr for word in ("--seed", "1", "2"))


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
