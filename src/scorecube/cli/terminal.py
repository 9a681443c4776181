"""Terminal input and output: lists in options, wrapped lines, messages and progress on stderr.

Progress is shown as bars on a terminal, and as plain lines on a dumb terminal, in a file or in a pipe.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from scorecube.analyses.options import split_list

PLAIN_SECONDS = 5.0
"""Shortest time between two plain lines of progress."""


def notify(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


def split(values: str | None) -> list[str] | None:
    """Return the parts of a comma-separated option; None if the option is not set."""
    return None if values is None else split_list(values)


def terminal_width() -> int | None:
    """Return the number of columns of the terminal at stdout; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrap_lines(text: str) -> str:
    """Return a text with lines wrapped between words to the width of the terminal."""
    width = terminal_width()
    if width is None:
        return text
    return "\n".join(wrap_line(line, width) for line in text.splitlines())


def wrap_line(line: str, width: int) -> str:
    """Return a line wrapped between words; continuation lines are indented by two more columns.

    Examples
    --------
    >>> print(wrap_line("  metrics  AP, Q, nDCG@10, P+", 24))
      metrics  AP, Q,
        nDCG@10, P+
    """
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    if len(line) <= width:
        return line
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def discard_stdout() -> None:
    """Discard further output after the reader of a pipe has closed it (``scorecube show ... | head -1``)."""
    with suppress(OSError, ValueError):  # stdout may have no file descriptor, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def time_left(done: int, total: int, seconds: float) -> str:
    """Return the estimated remaining time at the speed so far; empty before anything is done.

    Examples
    --------
    >>> time_left(25, 100, 30.0), time_left(1, 1000, 30.0), time_left(0, 10, 30.0)
    ('about 1:30 min left', 'about 8:19 h left', '')
    """
    if done <= 0:
        return ""
    left = round(seconds * (total - done) / done)
    hours = left >= 6000
    high, low = divmod(left // 60 if hours else left, 60)
    return f"about {high}:{low:02d} {'h' if hours else 'min'} left"


@contextmanager
def track_progress(label: str, unit: str | None) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (done, total) that shows progress and remaining time; in percent without a unit."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        start = last = time.monotonic()

        def print_progress(done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= PLAIN_SECONDS and done < total:
                last = now
                count = f"{done / total:.0%}" if unit is None else f"{done:,} of {total:,} {unit}"
                notify(
                    f"{label}: {', '.join(filter(None, [count, time_left(done, total, now - start)]))}"
                )

        yield print_progress
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    amount = (TaskProgressColumn(),) if unit is None else (MofNCompleteColumn(), TextColumn(unit))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        *amount,
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
