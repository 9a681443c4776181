"""Words in and out of the terminal: lists in options, lines and progress on stderr (bars on a terminal, plain lines elsewhere)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PLAIN_SECONDS = 5.0
"""Without a terminal, a line of progress at most this often."""


def say(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


def split(values: str | None) -> list[str] | None:
    """Return the parts of a comma-separated option; commas inside brackets do not separate."""
    if values is None:
        return None
    parts, depth, current = [], 0, ""
    for letter in values:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += letter
    return [part.strip() for part in [*parts, current] if part.strip()]


@contextmanager
def tracking(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function (done, total) that shows the progress of long work."""
    if not sys.stderr.isatty():
        last = time.monotonic()

        def line(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= PLAIN_SECONDS and done < total:
                last = time.monotonic()
                say(f"{what}: {done:,} of {total:,} {unit}")

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
