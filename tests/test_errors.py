"""Errors name arguments: as Python spells them in Python, as flags on the command line."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from scorecube.cli.program import app
from scorecube.errors import BadInput, BadPlan, ScorecubeError, option

SOURCE = Path(__file__).parents[1] / "src" / "scorecube"
FLAG = re.compile(r"(?<![\w-])(?<!var\()--[a-z][a-z_-]*")  # var(--x) is a name in a style sheet
COMMAND = re.compile(r": scorecube [a-z]+ .*")
OF_OTHER_TOOLS = {"--by_query", "--output_format", "--no-dashboard", "--dashboard-address"}
UNCONVERTED: tuple[str, ...] = ()
"""Rooms whose messages still name flags."""
DECLARATIONS = {"flag", "flags", "examples"}
"""Arguments and attributes that declare the flags of options and show commands."""

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
        ("level_map", ">=0.5:1", "level_map='>=0.5:1'", "--levels '>=0.5:1'"),
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


def test_an_error_inside_another_keeps_its_arguments() -> None:
    inner = BadPlan(f"use {option('top_runs', 5)}")
    outer = BadPlan(f"web: {inner.marked}")
    assert (str(outer), outer.message(flag_of)) == ("web: use top_runs=5", "web: use --top-runs 5")
    assert (str(ScorecubeError()), ScorecubeError().option) == ("", None)


def test_an_error_crosses_processes_whole() -> None:
    error = BadInput(f"two tags; use {option('run_name', 'file')}", "runs/a", 3, option="run_name")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is BadInput
    assert (str(copy), copy.path, copy.line, copy.option) == (str(error), "runs/a", 3, "run_name")
    assert copy.message() == "runs/a:3: two tags; use --run-name file"


def flags_in(path: Path) -> list[str]:
    """Return the flags that texts of a module name, except docstrings, declarations and commands to be entered."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    formatted = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    left_out = {id(part) for node in formatted for part in node.values}
    left_out |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    left_out |= {
        id(part) for node in nodes for declared in declarations(node) for part in ast.walk(declared)
    }
    texts = [(node.lineno, "".join(map(constant, node.values))) for node in formatted]
    texts += [
        (node.lineno, constant(node))
        for node in nodes
        if isinstance(node, ast.Constant) and id(node) not in left_out
    ]
    return [
        f"{path.name}:{line}: {flag}"
        for line, text in texts
        for flag in FLAG.findall(COMMAND.sub("", text))
        if flag not in OF_OTHER_TOOLS
    ]


def declarations(node: ast.AST) -> list[ast.expr]:
    """Return the values of declarations that a node holds itself."""
    if isinstance(node, ast.keyword) and node.arg in DECLARATIONS:
        return [node.value]
    if isinstance(node, ast.AnnAssign) and node.value and ast.unparse(node.target) in DECLARATIONS:
        return [node.value]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [
            value
            for key, value in pairs
            if isinstance(key, ast.Constant) and key.value in DECLARATIONS
        ]
    return []


def constant(node: ast.expr) -> str:
    """Return the text of a constant; a placeholder for anything else."""
    return str(node.value) if isinstance(node, ast.Constant) else "{}"


def test_no_message_of_the_library_names_a_flag() -> None:
    modules = [
        path
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in ("cli", *UNCONVERTED)
        and path.name != "text_layout.py"  # an option of what a terminal shows
    ]
    assert len(modules) > 50
    assert [found for path in modules for found in flags_in(path)] == []


def test_a_declared_flag_is_no_message(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        'size = option_field(5, "Topics.", flag="--size")\n', encoding="utf-8"
    )
    assert flags_in(tmp_path / "module.py") == []


def test_a_flag_in_a_message_is_found(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        '"""Names --size."""\nraise ValueError(f"use --size {5}")\n', encoding="utf-8"
    )
    assert flags_in(tmp_path / "module.py") == ["module.py:2: --size"]
