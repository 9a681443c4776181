"""One BLAS thread per block: blocks that run in parallel already use all cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_LOCK = Lock()
_N_ENTERED = 0
_LIMITER: Any = None


@cache
def _controller() -> ThreadpoolController:
    """Return the controller of the loaded libraries, whose search takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS libraries to one thread.

    The limit holds for the whole process, so concurrent runs share it: the first to enter sets it,
    the last to leave restores it.
    """
    global _N_ENTERED, _LIMITER
    with _LOCK:
        if _N_ENTERED == 0:
            _LIMITER = _controller().limit(limits=1, user_api="blas")
        _N_ENTERED += 1
    try:
        yield
    finally:
        with _LOCK:
            _N_ENTERED -= 1
            if _N_ENTERED == 0:
                _LIMITER.restore_original_limits()
