"""The two ways this project compiles a function, so that every kernel is compiled alike.

Both release the interpreter lock, cache machine code on disk, and never reorder floating-point
arithmetic (no fastmath): results must not depend on the compiler's mood.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a kernel at its first call; callers pass one set of array types only."""
    return cast("Function", numba.njit(nogil=True, cache=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile a helper that other kernels call."""
    return cast("Function", numba.njit(nogil=True, cache=True, error_model="numpy", inline="never")(function))


RANKING_SIGNATURE = "(int8[:], int64[:], float64[:], int64, float64[:], float64[:])"
RANKING_LAYOUT = "(rank),(level),(level),(),(parameter)->()"


def over_lists(function: Callable[..., None]) -> Callable[..., Any]:
    """Compile, at its first call, a function that turns one list of levels into another of the same length."""

    @cache
    def ufunc() -> Callable[..., Any]:
        made: Callable[..., Any] = numba.guvectorize(
            ["(int8[:], int8[:])"], "(rank)->(rank)", nopython=True, cache=True
        )(function)
        return made

    def call(levels: Any) -> Any:
        return ufunc()(levels)

    return call


def over_rankings(function: Callable[..., None]) -> Callable[..., Any]:
    """Compile a metric of one ranking into a NumPy ufunc that broadcasts over gains, runs and topics."""
    ufunc: Callable[..., Any] = numba.guvectorize([RANKING_SIGNATURE], RANKING_LAYOUT, nopython=True, cache=True)(
        function
    )
    return ufunc
