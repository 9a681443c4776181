"""Every tolerance has a name, a reason, and a line in `docs/reference/tolerances.md`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tolerances import CONSTANTS, SOURCE, page, reasons

SMALL = 1e-3
TIMES = re.compile(r"cost|seconds|SECONDS", re.IGNORECASE)
"""Functions and constants that estimate times."""
COMPARISONS = {"isclose", "allclose"}
PRECISION = {"finfo", "spacing", "nextafter", "epsilon"}
NAMES = re.compile(
    r"(^|_)(EQUAL|TOLERANCE|TIE|TIED|SNAP|ROUNDING|ROUNDED|SMALLEST|FLOOR|FLAT|GUARDED?|EPS|SAME)(_|$)"
)
LISTED = {(module, name) for constants in CONSTANTS.values() for module, name in constants}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix().removesuffix(".py").replace("/", ".")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def unnamed(module: str, tree: ast.AST) -> Iterator[str]:
    """Yield small numbers, and comparisons with the tolerances of NumPy, that stand outside of the listed constants."""

    def visit(node: ast.AST, where: str) -> Iterator[str]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            where = node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [
                each.id
                for target in targets
                for each in ast.walk(target)
                if isinstance(each, ast.Name)
            ]
            if any((module, name) in LISTED or TIMES.search(name) for name in names):
                return
        if TIMES.search(where):
            return
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, float)
            and 0 < abs(node.value) < SMALL
        ):
            yield f"{module}:{node.lineno}: {node.value}"
        called = (
            node.func.attr
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            else ""
        )
        if called in COMPARISONS and isinstance(node, ast.Call):
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if not {"rtol", "rel_tol"} & given.keys():
                yield f"{module}:{node.lineno}: {called} without a relative tolerance"
        if called in PRECISION and where != "compare_t" and isinstance(node, ast.Call):
            yield f"{module}:{node.lineno}: {called}"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, where)

    yield from visit(tree, "")


def test_small_numbers_are_named_and_listed() -> None:
    found = [line for module, tree in modules() for line in unnamed(module, tree)]
    assert found == [], "give it a name and a reason, and list it in tests/tolerances.py"


@pytest.mark.parametrize(
    "line",
    [
        "def f(x):\n    return x < 1e-9",
        "EDGE = 5e-4",
        "y = np.isclose(a, b)",
        "y = np.finfo(float).eps",
        "def f(x, tolerance=1e-12):\n    return x",
    ],
)
def test_an_unnamed_tolerance_is_found(line: str) -> None:
    assert list(unnamed("room.module", ast.parse(line)))


def test_times_are_no_tolerances() -> None:
    assert not list(
        unnamed(
            "room.module", ast.parse("SECONDS_PER_PAIR = 2e-6\ndef cost(n):\n    return n * 1e-9")
        )
    )


def test_constants_named_as_tolerances_are_listed() -> None:
    found = {
        (module, target.id)
        for module, tree in modules()
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for each in statement.targets
        for target in ast.walk(each)
        if isinstance(target, ast.Name) and target.id.isupper() and NAMES.search(target.id)
    }
    assert found <= LISTED, found - LISTED


def test_every_tolerance_has_a_reason() -> None:
    for module, name in LISTED:
        assert len(reasons(module).get(name, "").split()) > 4, (
            f"{module}.{name} has no text below it"
        )


def test_the_page_is_up_to_date() -> None:
    written = (Path(__file__).parents[1] / "docs/reference/tolerances.md").read_text(
        encoding="utf-8"
    )
    assert written == page(), "run python -m tests.tolerances > docs/reference/tolerances.md"
