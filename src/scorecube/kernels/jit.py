"""The ways this project compiles a function, so that every kernel is compiled alike.

All release the interpreter lock, cache machine code on disk, and never reorder floating-point
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


BORROWING: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False}


def borrowing(function: Function) -> Function:
    """Compile a kernel that makes no arrays: for short work on many, where counting who uses each costs more than the work."""
    return cast("Function", numba.njit(**BORROWING)(function))


def merged(function: Function) -> Function:
    """Compile a helper into every such kernel that calls it."""
    return cast("Function", numba.njit(**BORROWING, forceinline=True)(function))


RANKING_SIGNATURE = "(int8[:], int64[:], float64[:], int64, float64[:], float64[:])"
RANKING_LAYOUT = "(rank),(level),(level),(),(parameter)->()"
INTENT_SIGNATURE = "(int32[:], int8[:,:], int64[:], float64[:], float64[:], int64, float64[:], float64, float64[:])"
INTENT_LAYOUT = "(rank),(document,intent),(intent),(intent),(level),(),(parameter),()->()"
IDEAL_SIGNATURE = "(int8[:,:], float64[:], float64[:], int64, float64[:], int32[:])"
IDEAL_LAYOUT = "(document,intent),(intent),(level),(),(parameter)->(document)"


def over_lists(function: Callable[..., None]) -> Callable[..., Any]:
    """Compile, at its first call, a function that turns one list of levels into another of the same length."""
    return _at_first_call(function, "(int8[:], int8[:])", "(rank)->(rank)")


def over_documents(function: Callable[..., None]) -> Callable[..., Any]:
    """Compile, at its first call, a function that turns one list of judged documents into another of the same length."""
    return _at_first_call(function, "(int32[:], int8[:,:], int32[:])", "(rank),(document,intent)->(rank)")


def over_topics(function: Callable[..., None]) -> Callable[..., Any]:
    """Compile, at its first call, a function that puts one topic's judged documents in an order."""
    return _at_first_call(function, IDEAL_SIGNATURE, IDEAL_LAYOUT)


def _at_first_call(function: Callable[..., None], signature: str, layout: str) -> Callable[..., Any]:
    @cache
    def ufunc() -> Callable[..., Any]:
        return _compile(function, signature, layout)

    def call(*arguments: Any) -> Any:
        return ufunc()(*arguments)

    return call


def _compile(function: Callable[..., None], signature: str, layout: str) -> Callable[..., Any]:
    made: Callable[..., Any] = numba.guvectorize([signature], layout, nopython=True, cache=True)(function)
    return made


def over_rankings(function: Callable[..., None]) -> Callable[..., Any]:
    """Compile a metric of one ranking into a NumPy ufunc that broadcasts over gains, runs and topics."""
    return _compile(function, RANKING_SIGNATURE, RANKING_LAYOUT)


def over_intents(function: Callable[..., None]) -> Callable[..., Any]:
    """Compile a metric of one ranking with levels by intent, as `over_rankings`."""
    return _compile(function, INTENT_SIGNATURE, INTENT_LAYOUT)
