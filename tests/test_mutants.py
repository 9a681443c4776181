"""The table of `tests/mutants.py` names tests that exist, for every module, and machine code that depends on a change."""

from __future__ import annotations

import re

import pytest

from tests.mutants import RELATIONS, REPO, TESTS, compiled_again

ROOMS = ("kernels", "statistics", "analyses")
MODULES = sorted(
    path.relative_to(REPO / "src/scorecube").as_posix()
    for room in ROOMS
    for path in (REPO / "src/scorecube" / room).rglob("*.py")
    if path.name != "__init__.py"
)
WITHOUT_CODE = {"kernels/__main__.py", "kernels/arrays.py", "analyses/judges/judge_quantities.py"}


@pytest.mark.parametrize(
    "name", sorted({name for _, tests in TESTS for name in tests} | {RELATIONS})
)
def test_named_tests_exist(name: str) -> None:
    path, _, function = name.partition("::")
    assert (REPO / path).exists()
    assert not function or f"def {function}(" in (REPO / path).read_text(encoding="utf-8")


def test_every_module_has_tests_and_every_pattern_a_module() -> None:
    first = {
        path: next((pattern for pattern, _ in TESTS if re.match(pattern, path)), None)
        for path in MODULES
    }
    assert {path for path, pattern in first.items() if pattern is None} <= WITHOUT_CODE
    assert {pattern for pattern, _ in TESTS} == {*first.values()} - {None}


@pytest.mark.parametrize(
    ("path", "found", "not_found"),
    [
        ("kernels/swap.py", {"kernels.swap"}, {"kernels.lists"}),
        ("kernels/bits.py", {"kernels.random.philox"}, set()),
        ("kernels/lists.py", {"kernels.lists"}, {"metrics.registry"}),
        ("analyses/teams.py", set(), {"analyses.teams"}),
    ],
)  # fmt: skip
def test_kernels_that_call_a_changed_function_are_compiled_again(
    path: str, found: set[str], not_found: set[str]
) -> None:
    modules = compiled_again(path)
    assert {f"scorecube.{name}" for name in found} <= modules
    assert not {f"scorecube.{name}" for name in not_found} & modules
