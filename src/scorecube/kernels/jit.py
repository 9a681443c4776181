"""Decorators that compile functions, so that all kernels have the same options.

All of them release the interpreter lock and keep machine code on the disk (`code_cache`). None uses fastmath: results must not depend on
how the compiler reorders floating-point operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property, update_wrapper
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Ufunc = Callable[..., NDArray[Any]]
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
HELPER: dict[str, Any] = {"inline": "never", "no_cpython_wrapper": True}
"""Without the code that takes Python objects apart, a tenth less is compiled."""
BORROWING: dict[str, Any] = OPTIONS | {"borrows": True}
"""Arrays are borrowed from the caller, their references are not counted, and none can be made; see `code_cache.dispatcher`.

Without it, leaving teams out takes 1.5 times as long (40 runs, 3 metrics: 378 ms instead of 245 ms), as the kernel takes
many short slices.
"""


def compiled(function: Function) -> Function:
    """Compile a kernel at its first call with each combination of argument types."""
    return cast("Function", Kernel(function, OPTIONS))


def inlined(function: Function) -> Function:
    """Compile a helper that other kernels call; Python cannot call it."""
    return cast("Function", Kernel(function, OPTIONS | HELPER))


def borrowing(function: Function) -> Function:
    """Compile a kernel that makes no arrays and many slices; see `BORROWING`."""
    return cast("Function", Kernel(function, BORROWING))


def merged(function: Function) -> Function:
    """Compile a helper that is inlined into every `borrowing` kernel that calls it.

    Without ``forceinline`` leaving teams out takes 4 % longer; the time to compile is the same.
    """
    return cast("Function", Kernel(function, BORROWING | HELPER | {"forceinline": True}))


def instruction(function: Function) -> Function:
    """Declare a machine instruction; see `Instruction`."""
    return cast("Function", Instruction(function))


class Kernel:
    """A function that is compiled, or loaded from the disk, when it is first called.

    Until then numba is not imported. Other kernels may call it; of helpers, they alone.

    function: What is compiled.
    options: Of `scorecube.kernels.code_cache.dispatcher`.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options

    @cached_property
    def dispatcher(self) -> Any:
        """The Dispatcher of numba, which compiles for each combination of argument types."""
        from scorecube.kernels.code_cache import dispatcher

        return dispatcher(self.py_func, self.options)

    @property
    def signatures(self) -> list[Any]:
        """Combinations of argument types that are compiled or loaded in this process."""
        return self.dispatcher.signatures if "dispatcher" in vars(self) else []

    @property
    def _numba_type_(self) -> Any:
        """What compiled callers call."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function.

        Raises
        ------
            TypeError: the kernel is a helper, which has no entry for Python.
        """
        if "no_cpython_wrapper" in self.options:
            raise TypeError(f"{self.py_func.__name__} is called by compiled functions only")
        return self.dispatcher(*arguments)

    def __reduce__(self) -> str:
        """Pickle by name."""
        return self.py_func.__qualname__


class Instruction:
    """A machine instruction: plain Python, which compiled callers replace by the code in `machine_code`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function

    @cached_property
    def intrinsic(self) -> Any:
        """Numba's function."""
        from numba.extending import intrinsic

        from scorecube.kernels import machine_code

        return intrinsic(machine_code.INSTRUCTIONS[self.py_func.__name__])

    @property
    def _numba_type_(self) -> Any:
        """What compiled callers call."""
        from numba.core.registry import cpu_target

        made, context = self.intrinsic, cpu_target.typing_context
        context.refresh()  # so that it knows a new one
        return context.resolve_value_type(made)

    def __call__(self, *arguments: Any) -> Any:
        """Call the plain function."""
        return self.py_func(*arguments)


RANKING_SIGNATURE = "(int8[:], int64[:], float64[:], int64, float64[:], float64[:])"
RANKING_LAYOUT = "(rank),(level),(level),(),(parameter)->()"


def over_lists(function: Callable[..., None]) -> Ufunc:
    """Compile at its first call: list of levels -> list of the same length."""

    @cache
    def ufunc() -> Ufunc:
        return _compile(function, "(int8[:], int8[:])", "(rank)->(rank)")

    def call(*arguments: NDArray[np.generic] | float) -> NDArray[Any]:
        return ufunc()(*arguments)

    return call


def _compile(function: Callable[..., None], signature: str, layout: str) -> Ufunc:
    import numba

    from scorecube.kernels.code_cache import one_process

    with one_process(function):  # numba keeps it in two files, which must be of one process
        made: Ufunc = numba.guvectorize([signature], layout, nopython=True, cache=True)(function)
    return made


def over_rankings(function: Callable[..., None]) -> Ufunc:
    """Compile a metric of one ranking into a ufunc over gains, runs and topics."""
    return _compile(function, RANKING_SIGNATURE, RANKING_LAYOUT)
