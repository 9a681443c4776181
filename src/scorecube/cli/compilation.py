"""Telling the user that kernels are compiled, while they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from scorecube.cli.terminal import notify

COMPILE_SECONDS = 6.0
"""Time that compiling the readers and the default metrics takes on a current core, approximately."""
SILENT_SECONDS = 3.0
"""Longest time without a line while a function is compiled."""


@contextmanager
def announced_compilation(kernels: str, seconds: float) -> Iterator[None]:
    """Print a line when the first kernel is compiled within the context, and further ones while it takes long.

    Machine code that is loaded from the disk is not mentioned.

    Parameters
    ----------
    kernels
        Whose kernels they are, such as the name of an analysis.
    seconds
        How long it takes, approximately.
    """
    from scorecube.execute.kernel_state import watched_compilation

    started, depth, over = 0.0, 0, threading.Event()

    def begun() -> None:
        nonlocal started, depth
        depth += 1
        if not started:
            started = time.monotonic()
            notify(
                f"compiling {kernels} kernels for this processor (first use, about {seconds:.0f} s)"
            )

    def ended() -> None:
        nonlocal depth
        depth -= 1

    def report() -> None:
        while not over.wait(SILENT_SECONDS):
            if depth:
                notify(f"compiling {kernels} kernels: {time.monotonic() - started:.0f} s so far")

    reporter = threading.Thread(target=report, name="compilation", daemon=True)
    reporter.start()
    try:
        with watched_compilation(begun, ended):
            yield
    finally:
        over.set()
        reporter.join()
