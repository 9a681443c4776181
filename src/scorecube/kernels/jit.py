"""Decorators that compile functions, so that all kernels have the same options.

All of them release the interpreter lock and cache machine code on disk. None uses fastmath: results must not depend on
how the compiler reorders floating-point operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn, TypeVar, cast

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Ufunc = Callable[..., NDArray[Any]]
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
HELPER: dict[str, Any] = {"inline": "never", "no_cpython_wrapper": True}
"""Without the code that takes Python objects apart, a tenth less is compiled."""
BORROWING: dict[str, Any] = OPTIONS | {"_nrt": False}
"""Without numba's runtime (NRT): arrays are borrowed from the caller, their references are not counted, and none can be
made.

numba documents the option for helpers of extensions (``register_jitable(_nrt=False)``), not for `numba.njit`. Without
it, leaving teams out takes 1.5 times as long (40 runs, 3 metrics: 378 ms instead of 245 ms), as the kernel takes many
short slices. `tests/kernels/test_jit.py` fails if numba ignores or drops the option.
"""


def compiled(function: Function) -> Function:
    """Compile a kernel at its first call with each combination of argument types."""
    return cast("Function", numba.njit(**OPTIONS)(function))


def inlined(function: Function) -> Function:
    """Compile a helper that other kernels call; Python cannot call it."""
    return _helper(OPTIONS | HELPER, function)


def borrowing(function: Function) -> Function:
    """Compile a kernel that makes no arrays and many slices; see `BORROWING`."""
    return cast("Function", numba.njit(**BORROWING)(function))


def merged(function: Function) -> Function:
    """Compile a helper that is inlined into every `borrowing` kernel that calls it.

    Without ``forceinline`` leaving teams out takes 4 % longer; the time to compile is the same.
    """
    return _helper(BORROWING | HELPER | {"forceinline": True}, function)


class Helper(CPUDispatcher):
    """A compiled function without an entry for Python: a call would end the process."""

    def __call__(self, *_: object) -> NoReturn:
        """Refuse.

        Raises
        ------
            TypeError: always.
        """
        raise TypeError(f"{self.py_func.__name__} is called by compiled functions only")


def _helper(options: dict[str, Any], function: Function) -> Function:
    made = numba.njit(**options)(function)
    made.__class__ = Helper
    return cast("Function", made)


def is_kernel(value: object) -> bool:
    """Whether a value is a function that is compiled at its first call."""
    return isinstance(value, Dispatcher)


RANKING_SIGNATURE = "(int8[:], int64[:], float64[:], int64, float64[:], float64[:])"
RANKING_LAYOUT = "(rank),(level),(level),(),(parameter)->()"
INTENT_SIGNATURE = "(int32[:], int8[:,:], int64[:], float64[:], float64[:], int64, float64[:], float64, float64[:])"
INTENT_LAYOUT = "(rank),(document,intent),(intent),(intent),(level),(),(parameter),()->()"
IDEAL_SIGNATURE = "(int8[:,:], float64[:], float64[:], int64, float64[:], int32[:])"
IDEAL_LAYOUT = "(document,intent),(intent),(level),(),(parameter)->(document)"


def over_lists(function: Callable[..., None]) -> Ufunc:
    """Compile at its first call: list of levels -> list of the same length."""
    return _at_first_call(function, "(int8[:], int8[:])", "(rank)->(rank)")


def over_documents(function: Callable[..., None]) -> Ufunc:
    """Compile at its first call: list of documents -> list of the same length."""
    return _at_first_call(
        function, "(int32[:], int8[:,:], int32[:])", "(rank),(document,intent)->(rank)"
    )


def over_topics(function: Callable[..., None]) -> Ufunc:
    """Compile at its first call: one topic's judged documents -> an order of them."""
    return _at_first_call(function, IDEAL_SIGNATURE, IDEAL_LAYOUT)


def _at_first_call(function: Callable[..., None], signature: str, layout: str) -> Ufunc:
    @cache
    def ufunc() -> Ufunc:
        return _compile(function, signature, layout)

    def call(*arguments: NDArray[np.generic] | float) -> NDArray[Any]:
        return ufunc()(*arguments)

    return call


def _compile(function: Callable[..., None], signature: str, layout: str) -> Ufunc:
    made: Ufunc = numba.guvectorize([signature], layout, nopython=True, cache=True)(function)
    return made


def over_rankings(function: Callable[..., None]) -> Ufunc:
    """Compile a metric of one ranking into a ufunc over gains, runs and topics."""
    return _compile(function, RANKING_SIGNATURE, RANKING_LAYOUT)


def over_intents(function: Callable[..., None]) -> Ufunc:
    """Compile a metric of one ranking with levels by intent, see `over_rankings`."""
    return _compile(function, INTENT_SIGNATURE, INTENT_LAYOUT)
