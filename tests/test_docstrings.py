"""Docstrings have the sections that readers and the API pages count on; the pages need no network."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import scorecube
from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from tests.reference_pages import MODULES

REPO = Path(__file__).parents[1]
UNDERLINED = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)
RULES = 'see "How we write" in CONTRIBUTING.md'
NO_EXAMPLE = {"ScorecubeError"}
"""Of `scorecube.__all__`, what an example would not explain: a base class that is only caught."""


def sections(doc: str) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by title; what stands before the first has the title ''."""
    parts = UNDERLINED.split(inspect.cleandoc(doc) + "\n")
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def described(section: str) -> set[str]:
    """Return the names that a Parameters section describes: its lines that are not indented."""
    lines = [line for line in section.splitlines() if line and not line[0].isspace()]
    names = [line.partition(" : ")[0] for line in lines]  # options have their values behind it
    return {name.strip().lstrip("*") for line in names for name in line.split(",")}


def parameters(thing: Any) -> set[str]:
    """Return the names that a caller may give; of classes only records have any, others are made by functions."""
    if inspect.isclass(thing):
        return (
            {field.name for field in dataclasses.fields(thing) if field.init}
            if dataclasses.is_dataclass(thing)
            else set()
        )
    return set(inspect.signature(thing).parameters)


def told_beside(thing: Any) -> set[str]:
    """Return the fields of a record that have a text of their own below them."""
    found: set[str] = set()
    for kind in (
        thing.__mro__[:-1] if inspect.isclass(thing) and dataclasses.is_dataclass(thing) else ()
    ):
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].__dict__["body"]
        for field, text in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                found.add(ast.unparse(field.target))
    return found


def raised(function: Callable[..., Any]) -> set[str]:
    """Return the names of the exceptions that stand in a function's own ``raise`` statements."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(
        ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].__dict__["body"]
    )
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found.add(ast.unparse(node.exc.func))
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return found


def told_in_one_line(thing: Any, doc: str) -> bool:
    """Whether a first line is enough: a function of at most one parameter that says what it returns or does, and refuses nothing."""
    return (
        inspect.isfunction(thing)
        and len(parameters(thing)) <= 1
        and not raised(thing)
        and set(sections(doc)) <= {"", "Examples"}
    )


def lacking(name: str, thing: Any, *, full: bool) -> list[str]:
    """Return what the docstring of a function or class lacks, a line for each thing.

    Parameters
    ----------
    name
        Where it is, for the lines.
    thing
        Function or class.
    full
        Ask for an example, and for all sections however small the function is.
    """
    doc = thing.__doc__
    if not doc:
        return [f"{name} has no docstring"]
    if not full and told_in_one_line(thing, doc):
        return []
    found, problems = sections(doc), []
    wanted, have = parameters(thing), described(found.get("Parameters", ""))
    if wanted - have - told_beside(thing):
        problems.append(
            f"{name}: section Parameters lacks {', '.join(sorted(wanted - have - told_beside(thing)))}"
        )
    if have - wanted and (wanted or inspect.isfunction(thing)):
        problems.append(
            f"{name}: section Parameters describes {', '.join(sorted(have - wanted))}, which it does not take"
        )
    if inspect.isfunction(thing):
        returned = thing.__annotations__.get("return")
        if returned not in (None, "None") and not {"Returns", "Yields"} & set(found):
            problems.append(f"{name}: no section Returns, and it returns {returned}")
        missing = sorted(each for each in raised(thing) if each not in found.get("Raises", ""))
        if missing:
            problems.append(f"{name}: section Raises lacks {', '.join(missing)}")
    if full and "Examples" not in found and name.split(".")[-1] not in NO_EXAMPLE:
        problems.append(f"{name}: no section Examples")
    return problems


def public(module: str) -> Iterator[tuple[str, Any]]:
    """Yield what a module's page shows: `__all__`, or its own public functions and classes."""
    holder = import_module(f"scorecube.{module}")
    named = getattr(holder, "__all__", None)
    for name in named or sorted(vars(holder)):
        thing = getattr(holder, name)
        documentable = (
            inspect.isfunction(thing) or inspect.isclass(thing)
        ) and not name.startswith("_")
        if documentable and (named or thing.__module__ == holder.__name__):
            yield f"scorecube.{module}.{name}", thing


def test_what_the_package_offers_is_told_in_full() -> None:
    problems = [
        line
        for name in scorecube.__all__
        for line in lacking(f"scorecube.{name}", getattr(scorecube, name), full=True)
    ]
    assert not problems, f"docstrings of scorecube.__all__ ({RULES}):\n" + "\n".join(problems)


def untold(kind: type) -> list[str]:
    """Return the options of a record that its docstring leaves out."""
    told = sections(kind.__doc__ or "").get("Parameters", "")
    return [
        f"{kind.__name__}.{name} is not described"
        for name, declared in options_of(kind).items()
        if f"\n{name} : " not in f"\n{told}" or " ".join(declared.help.split()) not in told
    ]


def test_options_of_analyses_are_told_in_full() -> None:
    problems = [line for entry in registry.entries() for line in untold(registry.load(entry.name))]
    assert not problems, f"declarations of options ({RULES}):\n" + "\n".join(problems)


@pytest.mark.parametrize("module", MODULES)
def test_what_has_a_page_is_told(module: str) -> None:
    problems = [line for name, thing in public(module) for line in lacking(name, thing, full=False)]
    assert not problems, f"docstrings ({RULES}):\n" + "\n".join(problems)


ARGUMENTS = re.compile(r"^([a-z]\w*(?:, [a-z]\w*)*): ", re.MULTILINE)


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
    assert not found, f"docstrings ({RULES}):\n" + "\n".join(found)


def test_public_methods_have_a_docstring_or_that_of_a_base_class() -> None:
    found = [
        f"{kind.__module__}.{kind.__qualname__}.{name}"
        for module in pkgutil.walk_packages(scorecube.__path__, "scorecube.")
        if module.name.rpartition(".")[2] != "__main__"
        for kind in vars(import_module(module.name)).values()
        if inspect.isclass(kind) and kind.__module__ == module.name
        for name, member in vars(kind).items()
        if not kind.__name__.startswith("_") and not name.startswith("_")
        if getattr(member, "__qualname__", "") == f"{kind.__qualname__}.{name}"
        or isinstance(member, property)
        if not inspect.getdoc(getattr(kind, name))
    ]
    assert not found, f"no docstring ({RULES}):\n" + "\n".join(found)
