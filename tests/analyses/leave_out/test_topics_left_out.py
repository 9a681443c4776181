"""S3 section 5.2 on a collection of the paper's shape: every trial's variance is that of plain Python, and so are error bars of 10 topics."""

from __future__ import annotations

import pytest

from tests.validation.topics_left_out import TRIALS, rows


@pytest.mark.slow
def test_error_bars_are_those_of_plain_python() -> None:
    found = list(rows())
    for row in found:
        assert row.difference < 1e-12
        assert row.own == pytest.approx(row.plain, rel=1e-6)
    assert found[-1].survivors[0] > 10
    assert found[-1].trials == TRIALS
