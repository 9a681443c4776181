"""Work that a command does once: the digest of a cube, the pools of its teams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scorecube.analyses import plan, teams

if TYPE_CHECKING:
    from tests.conftest import Cli

Counted = Callable[[Any, str], list[int]]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Return a function that counts the calls of a function of a module from now on."""

    def count(module: Any, name: str) -> list[int]:
        function, calls = getattr(module, name), [0]

        def counting(*arguments: Any, **options: Any) -> Any:
            calls[0] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, counting)
        return calls

    return count


def test_a_command_builds_pools_once_and_hashes_the_cube_once(
    scorecube: Cli, study: Path, counted: Counted
) -> None:
    pools, hashed, checked = (
        counted(teams, "build_pools"),
        counted(plan, "cube_digest"),
        counted(teams, "judged_runs"),
    )
    scorecube("teams", study, "--trials", 2).succeeded()
    assert (pools, hashed, checked) == ([1], [1], [1])
