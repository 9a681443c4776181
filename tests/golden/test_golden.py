"""What the code shows of the results of the golden corpus is what is kept of it; see `tests.golden`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.corpus import STUDIES, parts_of
from tests.golden.dump import FOLDER, differences, unpack

MOST_BYTES = 3_000_000
MOST_LINES = 200
"""Of differences that a failing test prints."""


@pytest.mark.parametrize("name", STUDIES)
def test_what_is_shown_is_what_is_kept(name: str, tmp_path: Path) -> None:
    lines = differences(name, unpack(name), parts_of(name, tmp_path))
    assert not lines, "\n".join([*lines[:MOST_LINES], f"all: python -m tests.golden {name}"])


def test_the_dump_is_small_and_has_no_other_files() -> None:
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert files.keys() == {f"{name}.{form}" for name in STUDIES for form in ("txt", "xz")}
    assert sum(files.values()) < MOST_BYTES
