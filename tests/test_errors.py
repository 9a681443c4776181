"""Errors name arguments: as Python spells them in Python, as flags on the command line."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import typer

from scorecube.cli.program import app
from scorecube.errors import BadInput, BadPlan, option

commands: Any = typer.main.get_command(app)
flag_of = commands.build("bootstrap").flag_of


@pytest.mark.parametrize(
    ("name", "value", "in_python", "on_command_line"),
    [
        ("size", 25, "size=25", "--size 25"),
        ("metrics", None, "metrics", "--metrics"),
        ("missing", "drop", "missing='drop'", "--missing drop"),
        ("plus_one", False, "plus_one=False", "--no-plus-one"),
        ("sampling", "replacement", "sampling='replacement'", "--sampling replacement"),
        ("collections", ["A", "B"], "collections=['A', 'B']", "--collection A,B"),
        ("alphas", (0.05, 0.01), "alphas=(0.05, 0.01)", "--alpha 0.05,0.01"),
        ("memory", "", "memory=''", "--memory ''"),
    ],
)
def test_an_argument_is_shown_as_python_and_as_the_command_line_spell_it(
    name: str, value: object, in_python: str, on_command_line: str
) -> None:
    error = BadPlan(f"too few topics; use {option(name, value)}, or fewer runs", option=name)
    assert str(error) == f"too few topics; use {in_python}, or fewer runs"
    assert error.message(flag_of) == f"too few topics; use {on_command_line}, or fewer runs"
    assert error.option == name
    assert repr(error) == f"BadPlan({str(error)!r})"


def test_an_error_crosses_processes_whole() -> None:
    error = BadInput(f"two tags; use {option('run_name', 'file')}", "runs/a", 3, option="run_name")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is BadInput
    assert (str(copy), copy.path, copy.line, copy.option) == (str(error), "runs/a", 3, "run_name")
    assert copy.message() == "runs/a:3: two tags; use --run-name file"
