"""The kept inputs of the fuzzer: seeds, and what it found; none raises anything but a `ScorecubeError`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.__main__ import NEEDLESS, nothing
from tests.fuzz.targets import TARGETS, run_target

CORPUS = Path(__file__).parent / "corpus"
INPUTS = sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.glob("*/*"))


def test_each_target_has_a_seed() -> None:
    assert {name.partition("/")[0] for name in INPUTS} == set(TARGETS)


@pytest.mark.parametrize("name", INPUTS)
def test_a_kept_input_is_read_or_refused(name: str) -> None:
    run_target(name.partition("/")[0], (CORPUS / name).read_bytes())


def test_the_fuzzer_runs_without_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, function in NEEDLESS:
        monkeypatch.setattr(f"{module}.{function}", nothing)
    for name in INPUTS:
        run_target(name.partition("/")[0], (CORPUS / name).read_bytes())
