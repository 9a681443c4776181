"""Words in and out of the terminal: lists in options, lines and progress on stderr (bars on a terminal, plain lines on a dumb one and elsewhere)."""

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
"""Without a terminal, a line of progress at most this often."""


def say(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


def split(values: str | None) -> list[str] | None:
    """Return the parts of a comma-separated option; None for none."""
    return None if values is None else split_list(values)


def terminal_width() -> int | None:
    """Return the columns of the terminal that stdout is; None for a file or a pipe, which take lines of any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fitted(text: str) -> str:
    """Return lines that are broken between words, and indented below, where they are wider than the terminal."""
    width = terminal_width()
    if width is None:
        return text
    return "\n".join(fill(line, width) for line in text.splitlines())


def fill(line: str, width: int) -> str:
    """Return a line broken between words; what follows stands two columns further in than its beginning.

    Examples
    --------
    >>> print(fill("  metrics  AP, Q, nDCG@10, P+", 24))
      metrics  AP, Q,
        nDCG@10, P+
    """
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    if len(line) <= width:
        return line
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def give_up_stdout() -> None:
    """Send what is still to be printed nowhere, as nobody reads it any more (``scorecube show ... | head -1``)."""
    with suppress(OSError, ValueError):  # where it is no file of the system
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def remaining(done: int, total: int, seconds: float) -> str:
    """Return how long the rest will take at the speed so far.

    Examples
    --------
    >>> remaining(25, 100, 30.0), remaining(1, 1000, 30.0), remaining(0, 10, 30.0)
    ('about 1:30 min left', 'about 8:19 h left', '')
    """
    if done <= 0:
        return ""
    left = round(seconds * (total - done) / done)
    hours = left >= 6000
    high, low = divmod(left // 60 if hours else left, 60)
    return f"about {high}:{low:02d} {'h' if hours else 'min'} left"


@contextmanager
def tracking(what: str, unit: str | None) -> Iterator[Callable[[int, int], None]]:
    """Yield a function (done, total) that shows the progress of long work, and the time left; without a unit, in percent."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        begun = last = time.monotonic()

        def line(done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= PLAIN_SECONDS and done < total:
                last = now
                count = f"{done / total:.0%}" if unit is None else f"{done:,} of {total:,} {unit}"
                say(f"{what}: {', '.join(filter(None, [count, remaining(done, total, now - begun)]))}")

        yield line
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

    share = (TaskProgressColumn(),) if unit is None else (MofNCompleteColumn(), TextColumn(unit))
    columns = (TextColumn("{task.description}"), BarColumn(), *share, TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
