"""Callbacks at the beginning and end of compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def watched_compilation(begun: Callable[[], None], ended: Callable[[], None]) -> Iterator[None]:
    """Call functions at the beginning and end of each function's compilation within the context.

    Functions are compiled within others. Loading machine code from the disk is not compiling.
    """
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, _: Any) -> None:
            begun()

        def on_end(self, _: Any) -> None:
            ended()

    with event.install_listener("numba:compile", Listener()):
        yield
