"""What is private in numba: its option `_nrt`, see `scorecube.kernels.code_cache.dispatcher`, does what it is used for."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache

from scorecube.kernels.code_cache import PACKAGE, KernelCache, dispatcher
from scorecube.kernels.jit import BORROWING, OPTIONS


@numba.njit
def double(row: Any) -> None:
    for k in range(row.shape[0]):
        row[k] *= 2.0


def double_rows(values: Any) -> None:
    for k in range(values.shape[0]):
        double(values[k])


def make_array(length: Any) -> Any:
    return np.zeros(length)


def compile_with(options: dict[str, Any], function: Any) -> Any:
    made = dispatcher(function, options)
    made._cache = NullCache()
    return made


@pytest.mark.parametrize(("options", "counts"), [(OPTIONS, True), (BORROWING, False)])
def test_borrowing_kernels_count_no_references(options: dict[str, Any], counts: bool) -> None:
    kernel, values = compile_with(options, double_rows), np.ones((3, 2))
    kernel(values)
    assert (values == 2.0).all()
    (code,) = kernel.inspect_llvm().values()
    assert ("NRT_incref" in code) == counts
    assert ("NRT_decref" in code) == counts


def test_borrowing_kernels_cannot_make_arrays() -> None:
    assert compile_with(OPTIONS, make_array)(3).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(numba.core.errors.NumbaError):
        compile_with(BORROWING, make_array)(3)


def test_one_module_uses_what_is_private_in_numba() -> None:
    private = re.compile(r"\b_nrt\b|\bmade\._\w+ =|numba\.core\.(caching|runtime)")
    found = {path.name for path in PACKAGE.rglob("*.py") if private.search(path.read_text("utf-8"))}
    assert found == {"code_cache.py"}
    kernel = dispatcher(double_rows, OPTIONS)
    assert isinstance(numba.njit(double_rows)._cache, NullCache)
    assert isinstance(kernel._cache, KernelCache)
