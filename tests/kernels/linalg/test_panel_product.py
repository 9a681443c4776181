"""The product in wide registers against NumPy's: equal for integers, close for floats, alike without such registers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorecube.kernels.linalg import panel_product as module
from scorecube.kernels.linalg.panel_product import (
    in_panels,
    multiply,
    product,
    product_of_columns,
    room_for_product,
)
from scorecube.kernels.registers import ROWS, has_wide_registers


@given(
    rows=st.integers(1, 40), inner=st.integers(1, 70), columns=st.integers(1, 200), wide=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_products_of_integers_are_exact(
    rows: int, inner: int, columns: int, wide: bool, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    left, right = chance.integers(-99, 100, (rows, inner)), chance.integers(0, 9, (inner, columns))
    with pytest.MonkeyPatch.context() as patch:
        if not wide:
            patch.setattr(module, "has_wide_registers", lambda: False)
        panels = in_panels(right.astype(np.uint16))
        assert panels.dtype == np.float64
        assert (len(panels) == 1) or (wide and has_wide_registers())
        found = product(left.astype(float), panels)
    assert found.shape[0] % ROWS == 0
    np.testing.assert_array_equal(found[:rows, :columns], left @ right)
    assert not found[:, columns:].any()
    assert not found[rows:].any()


def test_products_of_floats_are_those_of_numpy_up_to_rounding() -> None:
    chance = np.random.default_rng(1)
    left, right = chance.random((24, 333)), chance.random((333, 1001))
    panels = in_panels(right)
    out = room_for_product(20, panels)
    assert len(out) == 24
    multiply(left, panels, out)
    np.testing.assert_allclose(out[:, :1001], left @ right, rtol=340 * np.finfo(float).eps)


@pytest.mark.process
@pytest.mark.slow
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


def test_a_processor_without_wide_registers_gives_the_same_bits(tmp_path: Path) -> None:
    script = (
        "import scorecube as sc; from scorecube.testing import simulate_cube; from scorecube.kernels.registers import has_wide_registers\n"
        "result = sc.analyse(simulate_cube(n_runs=7, seed=1), sc.Bootstrap(), trials=500, seed=1)\n"
        "print(has_wide_registers(), result['reached'].values.tolist(), result['kth_difference'].values.tolist())\n"
    )
    told = []
    for number, target in enumerate(
        ({}, {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""})
    ):
        environment = os.environ | target | {"NUMBA_CACHE_DIR": str(tmp_path / str(number))}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told.append([line.partition(" ") for line in done.stdout.splitlines()])
    assert [wide for wide, _, _ in told[1]] == ["False"]
    assert len({numbers for lines in told for _, _, numbers in lines}) == 1
