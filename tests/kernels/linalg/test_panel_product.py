"""Products of integers are exact, however many columns are multiplied at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scorecube.kernels.linalg import panel_product as module
from scorecube.kernels.linalg.panel_product import product_of_columns


@pytest.mark.parametrize("at_once", [1, 40, 700, 2**20])
@pytest.mark.parametrize("kind", [np.int8, np.uint16])
def test_columns_of_any_type_are_multiplied_a_few_at_a_time(
    kind: Any, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    chance = np.random.default_rng(3)
    rows, columns = chance.integers(-99, 99, (5, 23)).astype(float), chance.integers(0, 9, (23, 61))
    found = product_of_columns(rows, columns.astype(kind))
    np.testing.assert_array_equal(found, rows @ columns)
