"""Commands of analyses: dry runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scorecube.methods import index
from tests.conftest import trials_of
from tests.methods import own

if TYPE_CHECKING:
    from tests.conftest import Cli, Tree


@pytest.mark.slow
@pytest.mark.parametrize("name", index.names())
def test_a_dry_run_changes_no_file(
    scorecube: Cli, analysed_study: Path, tree: Callable[[Path], Tree], name: str
) -> None:
    before = tree(analysed_study)
    chosen = ["--collection", name if own(name, "CUBE") else "small"]
    if name == "judges":
        chosen = ["--collection", "small,stricter", "--truth", "small"]
    words = [*trials_of(name, 7), "--seed", 2, "--dry-run"]
    outcome = scorecube(name, analysed_study, *chosen, *words).succeeded()
    assert outcome.stderr
    assert outcome.stdout == ""
    assert tree(analysed_study) == before
