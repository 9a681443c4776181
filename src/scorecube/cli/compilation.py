"""Compiling all kernels before their first use, and telling the user that kernels are compiled, while they are."""

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from scorecube.cli.terminal import notify

COMPILE_SECONDS = 6.0
"""Time that compiling the readers and the default metrics takes on a current core, approximately."""
SILENT_SECONDS = 3.0
"""Longest time without a line while a function is compiled."""
EVERYTHING = "everything"
"""What is marked when all kernels are compiled."""
GARBAGE = 100_000
"""Objects between two searches for garbage."""
LIBRARIES = ("numba", "scipy.stats", "xarray", "pandas")
"""Libraries with many modules, of which Python compiles each when it is first imported."""


def compile_all(workers: int, progress: Callable[[int, int], None]) -> bool:
    """Compile every kernel that is not in the cache, side by side in several processes that fill one cache.

    This process imports nothing for it, as the others do that meanwhile.

    workers: Number of processes.
    progress: Called with (parts done, parts in total).
    Returns compiled: False if they all were before.
    """
    from concurrent.futures import as_completed

    from scorecube.execute.processes import processes

    with processes(workers, prepare) as pool:
        first, *_ = [pool.submit(_parts_to_do, k) for k in range(workers)]
        names = first.result()
        if not names:
            return False
        progress(0, len(names))
        running = [pool.submit(_run, name) for name in names]
        for done, finished in enumerate(as_completed(running), 1):
            finished.result()
            progress(done, len(names))
        pool.submit(_mark_all).result()
    return True


def prepare() -> None:
    """Do not print warnings about the small collections, and seldom look for garbage, which takes a tenth of a compiler's time."""
    logging.getLogger("scorecube").setLevel(logging.ERROR)
    gc.set_threshold(GARBAGE)


def _parts_to_do(worker: int) -> list[str]:
    """Return the names of all parts, none if they were done before; import what they need."""
    for k in range(len(LIBRARIES)):  # each process compiles another one first
        import_module(LIBRARIES[(worker + k) % len(LIBRARIES)])
    from scorecube.cli.kernel_parts import parts
    from scorecube.kernels.code_cache import is_marked

    return [] if is_marked(EVERYTHING) else list(parts())


def _run(name: str) -> None:
    from scorecube.cli.kernel_parts import parts

    parts()[name]()


def _mark_all() -> None:
    from scorecube.kernels.code_cache import mark

    mark(EVERYTHING)


@contextmanager
def announced_compilation(kernels: str, seconds: float) -> Iterator[None]:
    """Print a line when the first kernel is compiled within the context, and further ones while it takes long.

    Machine code that is loaded from the disk is not mentioned.

    kernels: Whose kernels they are, such as the name of an analysis.
    seconds: How long it takes, approximately.
    """
    from scorecube.kernels.compilation import watched_compilation

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
