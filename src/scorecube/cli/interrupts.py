"""Signals that end a command: Ctrl-C (SIGINT), SIGTERM and SIGHUP end it in the same way.

The first one raises KeyboardInterrupt in the main thread, so that locks, keys and temporary folders are removed as after any other error. Later ones
are ignored, because they would interrupt the removal. The exit status is 128 plus the number of the signal: 130 after Ctrl-C, 143 after SIGTERM.
"""

import atexit
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from scorecube.cli.terminal import notify

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
LIMIT_SECONDS = 60.0
"""Time for the removal of locks and clusters; a command that takes longer is ended without."""


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Turn the first signal that ends a command into KeyboardInterrupt; yield the numbers of the signals received.

    Signals that are ignored when the command starts (nohup, background jobs of a script) stay ignored.
    """
    received: list[int] = []
    timers: list[threading.Timer] = []
    in_main_thread = threading.current_thread() is threading.main_thread()
    known = {number: signal.getsignal(number) for number in SIGNALS if in_main_thread}
    handled = {number: old for number, old in known.items() if old not in (signal.SIG_IGN, None)}

    def interrupt(number: int, _: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            return
        timers.append(threading.Timer(LIMIT_SECONDS, end_now, (number,)))
        timers[0].daemon = True
        timers[0].start()
        raise KeyboardInterrupt

    for number in handled:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for timer in timers:  # main() may have been called by a program that continues
            timer.cancel()
        for number, old in handled.items():
            signal.signal(number, old)


def end_now(number: int) -> None:
    """End this process without further cleaning up."""
    notify(f"error: not stopped within {LIMIT_SECONDS:.0f} s; ended without cleaning up")
    os._exit(status_of(number))


def status_of(number: int) -> int:
    """Return the exit status of a command that a signal ended."""
    return 128 + number


def exit_after(number: int) -> NoReturn:
    """End this process after a signal, when everything is released: threads that still compute a block are not waited for."""
    notify(message_of(number))
    logging.disable()
    atexit._run_exitfuncs()  # of multiprocessing, which reports its semaphores as leaked otherwise
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(status_of(number))


def message_of(number: int) -> str:
    """Return the message of a command that a signal ended."""
    cause = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    return f"interrupted{cause}: recorded blocks and results are kept; rerun the same command to resume"
