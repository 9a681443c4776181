"""Docstrings of what the package offers are whole, and name arguments that there are."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import scorecube

REPO = Path(__file__).parents[1]
UNDERLINED = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)
ARGUMENTS = re.compile(r"^([a-z]\w*(?:, [a-z]\w*)*): ", re.MULTILINE)


def sections(doc: str) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by title; what stands before the first has the title ''."""
    parts = UNDERLINED.split(inspect.cleandoc(doc) + "\n")
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def described(section: str) -> set[str]:
    """Return the names that a Parameters section describes: its lines that are not indented."""
    lines = [line for line in section.splitlines() if line and not line[0].isspace()]
    names = [line.partition(" : ")[0] for line in lines]  # options have their values behind it
    return {name.strip().lstrip("*") for line in names for name in line.split(",")}


def lacking(name: str, thing: Any) -> list[str]:
    """Return what the docstring of a function or a record lacks, a line for each thing."""
    parts = sections(thing.__doc__ or "")
    wanted, have = set[str](), described(parts.get("Parameters", ""))
    if dataclasses.is_dataclass(thing):
        wanted = {field.name for field in dataclasses.fields(thing) if field.init}
    elif inspect.isfunction(thing):
        wanted = set(inspect.signature(thing).parameters)
    problems = [f"{name}: Parameters and {label}" for label in sorted(wanted ^ have) if wanted]
    returned = getattr(thing, "__annotations__", {}).get("return", "None")
    if inspect.isfunction(thing) and returned != "None" and "Returns" not in parts:
        problems.append(f"{name}: no section Returns")
    is_explained = inspect.isclass(thing) and issubclass(thing, scorecube.ScorecubeError)
    if "Examples" not in parts and not (is_explained or inspect.ismodule(thing)):
        problems.append(f"{name}: no section Examples")
    return problems


def test_what_the_package_offers_is_told_in_full() -> None:
    problems = [
        line for name in scorecube.__all__ for line in lacking(name, getattr(scorecube, name))
    ]
    assert not problems, "\n".join(problems)


def strangers(function: ast.FunctionDef) -> set[str]:
    """Return the names before a colon, at the begin of a line of a docstring, that a function does not take."""
    text = sections(ast.get_docstring(function) or "")[""]
    told = {name for line in ARGUMENTS.findall(text) for name in line.split(", ")}
    return told - {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}


def test_lines_about_arguments_name_arguments() -> None:
    found = [
        f"{path.relative_to(REPO)}:{node.lineno}: {node.name} has no {', '.join(sorted(names))}"
        for path in sorted((REPO / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and (names := strangers(node))
    ]
    assert not found, "\n".join(found)
