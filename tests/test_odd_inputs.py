"""Malformed, hostile and odd inputs have the outcomes that `tests.odd_inputs` lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.odd_inputs import CASES, observe
from tests.odd_inputs.reading import SHOWN


@pytest.mark.parametrize("name", CASES)
def test_an_odd_input_has_its_outcome(name: str, tmp_path: Path) -> None:
    found = observe(CASES[name], tmp_path)
    expected = CASES[name].outcome
    if " | " not in expected:
        found = found.partition(" | ")[0]
    assert (found[:SHOWN] if len(expected) == SHOWN else found) == expected
