"""An entry for tests to helpers of kernels, which Python cannot call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def entry(helper: Function) -> Function:
    """Return a compiled function that passes its arguments on to a helper."""

    @numba.njit
    def call(*arguments: object) -> object:
        return helper(*arguments)

    return cast("Function", call)
