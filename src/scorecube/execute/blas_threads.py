"""Matrix products on one thread while blocks run: the blocks themselves keep all cores busy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_LOCK = Lock()
_INSIDE = 0
_LIMITER: Any = None


@cache
def controller() -> ThreadpoolController:
    """Return the handle of the libraries that are loaded; finding them takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit matrix libraries to one thread; the first to enter sets the limit, the last to leave lifts it.

    The limit holds for the whole process, so runs in several threads must share it.
    """
    global _INSIDE, _LIMITER
    with _LOCK:
        if _INSIDE == 0:
            _LIMITER = controller().limit(limits=1, user_api="blas")
        _INSIDE += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE -= 1
            if _INSIDE == 0:
                _LIMITER.restore_original_limits()
