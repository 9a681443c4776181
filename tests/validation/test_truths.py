"""The truths of `tests.validation.truths` are true, and the command that measures on them works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.validation import page, truths
from tests.validation.__main__ import SEED, STUDIES
from tests.validation.cases import read, rows_of, write
from tests.validation.ranks import LAWS, PARTS, changes
from tests.validation.truths import Truth, binary, made, samples

MODELS: dict[str, Truth] = {
    **{name: made([law] * 3, 50) for name, law in LAWS.items()},
    "groups": made([binary(0.8)] * 3, truths.unequal_sizes(20), within=0.5),
    "near copies": made(list(LAWS.values())[:6], 50, family=3),
    "changes": changes(0.05, 0.02, 1.0, 50)[0],
    "changes of groups": changes(0.05, 0.1, 0.25, truths.unequal_sizes(20))[0],
}


@pytest.mark.parametrize("name", MODELS)
def test_means_are_those_of_infinitely_many_topics(name: str) -> None:
    """Mean errors over 300 samples, in standard errors: none of up to 120 runs beyond 4.5."""
    drawn = list(samples(MODELS[name], 300, 1))
    errors = np.array([each.scores.mean(axis=-1) - each.means for each in drawn])
    assert np.abs(errors.mean(axis=0) / errors.std(axis=0) * np.sqrt(300)).max() < 4.5


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PARTS, "labels"])
def test_every_case_has_rates(name: str, data: Path, tmp_path: Path) -> None:
    """Two samples of each truth, with the fewest units; rows are read as they were written."""
    assert (data / "README.md").is_file()
    cases = sorted(STUDIES[name](), key=lambda case: -case.units)
    fewest = {(case.truth, case.measure): case for case in cases}
    found = [row for case in fewest.values() for row in rows_of(name, case, 2, SEED)]
    assert len({row.key for row in found}) == len(found) >= len(fewest)
    write(tmp_path / "rows.csv", found)
    assert read(tmp_path / "rows.csv") == found


def test_the_page_has_the_numbers_of_its_table() -> None:
    """Written by the command, never by hand."""
    assert page.renewed(page.PAGE.read_text(), read(page.CSV)) == page.PAGE.read_text()
