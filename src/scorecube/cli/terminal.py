"""Terminal input and output: lists in options, tables, messages and progress.

Messages and progress go to stderr: as bars on a terminal, as plain lines in a file or a pipe.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import typer

from scorecube.analyses.options import split_list
from scorecube.errors import BadOutput, counted, visible

PLAIN_SECONDS = 5.0
"""Shortest time between two plain lines of progress."""
BOLD, FAINT = "1", "2"
"""Styles of headings, and of commands that may follow, as numbers of ANSI's SGR."""
_quiet = [False]


def be_quiet(quiet: bool) -> None:
    """Print errors only, or everything."""
    _quiet[0] = quiet


def is_quiet() -> bool:
    """Whether only errors are printed."""
    return _quiet[0]


def notify(text: str, *, error: bool = False) -> None:
    """Print a line on stderr, with control characters of names as escapes.

    text: The line.
    error: Whether it is printed with --quiet, too.
    """
    if error or not is_quiet():
        print(visible(text, keep="\n"), file=sys.stderr, flush=True)


def echo(text: str, style: str = "") -> None:
    """Print a text on stdout; on a terminal with control characters as escapes.

    text: Of one or several lines.
    style: `BOLD` or `FAINT`, on a terminal with colours.
    Raises BadOutput: The encoding of stdout does not have all characters, or the disk is full.
    """
    if sys.stdout.isatty():
        text = visible(text, keep="\n")
        coloured = os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("NO_COLOR")
        text = f"\x1b[{style}m{text}\x1b[0m" if style and text and coloured else text
    try:
        print(text, flush=True)
    except UnicodeEncodeError as error:
        raise BadOutput(
            f"stdout: {error.object[error.start]!a} has no place in the encoding "
            f"{error.encoding}; set PYTHONIOENCODING=utf-8"
        ) from None
    except BrokenPipeError:  # scorecube show ... | head -1
        discard_stdout()
        raise typer.Exit(0) from None
    except OSError as error:
        discard_stdout()  # or Python tries again when it ends
        raise BadOutput(f"stdout: cannot be written: {error.strerror}") from None


def discard_stdout() -> None:
    """Discard further output, after the reader of a pipe has closed it."""
    with suppress(OSError, ValueError):  # stdout may have no file descriptor, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def echo_table(frame: Any, form: str, **how: Any) -> None:
    """Print a data frame in one of the formats of `scorecube.report.formats`."""
    from scorecube.report.formats import formulas, render_parts

    for part in render_parts(frame, form, terminal_width(), **how):
        echo(part)
    if form == "csv" and (changed := formulas(frame)):
        notify(
            f"note: {counted(len(changed), 'label')} begin like a formula of a spreadsheet "
            f"({changed[0]!r}) and stand behind an apostrophe, which scorecube import removes; "
            "--format json has them as they are"
        )


def echo_results(results: Sequence[Any], study: str = "", top: int | None = None) -> None:
    """Print tables of results of one analysis, the answer, and the next commands.

    results: With equal options, one a collection.
    study: Path or address of the study that holds them; empty for none.
    top: Rows of each table; None for as many as each table declares.
    """
    from scorecube.report.terminal import sentence, summaries

    if is_quiet():
        return
    width = shutil.get_terminal_size().columns
    for summary in summaries(results, width, bars=sys.stdout.isatty(), top=top):
        echo("\n".join(summary.head) + "\n")
        echo(summary.table[0], BOLD)
        echo("\n".join([*summary.table[1:], *summary.below]) + "\n")
    if answer := sentence(results):
        echo(textwrap.fill(answer, width, break_long_words=False, break_on_hyphens=False))
    if study:
        word, name = shlex.quote(study), results[0].attrs["analysis"]
        commands = [f"all rows: scorecube show {word} {name}", f"page: scorecube report {word}"]
        one_line = len("   ".join(commands)) <= width
        echo(("   " if one_line else "\n").join(commands), FAINT)


def write_figure(figure: Any, path: Path) -> None:
    """Write a figure into a file, and say so."""
    from scorecube.report.drawing import save_figure

    for note in save_figure(figure, path):
        notify(f"note: {note}")
    notify(f"figure written to {path}")


def split(values: str | None) -> list[str] | None:
    """Return the parts of a comma-separated option; None if the option is not set."""
    return None if values is None else split_list(values)


def terminal_width() -> int | None:
    """Return the number of columns of the terminal at stdout; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


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


def _plain_progress(label: str, unit: str | None) -> Callable[[int, int], None]:
    """Return a function of (done, total) that prints a line every few seconds."""
    start, before, last = time.monotonic(), -1, time.monotonic()

    def print_progress(done: int, total: int) -> None:
        nonlocal start, before, last
        now = time.monotonic()
        if before <= 0:  # kernels are compiled, and processes start, before anything is done
            start, before = now, done
        if now - last < PLAIN_SECONDS or done >= total:
            return
        last = now
        count = f"{done / total:.0%}" if unit is None else f"{done:,} of {total:,} {unit}"
        left = time_left(done - before, total - before, now - start)
        notify(f"{label}: {', '.join(filter(None, [count, left]))}")

    return print_progress


@contextmanager
def track_progress(label: str, unit: str | None) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (done, total) that shows progress and remaining time.

    label: What makes progress.
    unit: What is counted; None for percent.
    """
    if is_quiet():
        yield lambda _done, _total: None
        return
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _plain_progress(label, unit)
        return
    from rich import progress as bars
    from rich.console import Console

    amount = bars.TaskProgressColumn() if unit is None else bars.MofNCompleteColumn()
    text, left = bars.TextColumn("{task.description}", markup=False), bars.TimeRemainingColumn()
    columns = (text, bars.BarColumn(), amount, unit or "", left, "left")
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(visible(label), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
