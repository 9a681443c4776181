"""Terminal input and output: lists in options, wrapped lines, messages and progress on stderr.

Progress is shown as bars on a terminal, and as plain lines on a dumb terminal, in a file or in a pipe.
"""

import os
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorecube.analyses.options import split_list
from scorecube.errors import BadOutput, counted, visible

PLAIN_SECONDS, NOTE_SECONDS = 5.0, 0.5
"""Shortest time between two plain lines of progress, and between two changes of the note behind a bar."""
ENOUGH = 10
"""Number of blocks, or tenth of fewer, after which the remaining time is told: single ones differ in length."""


@dataclass
class Messages:
    """Where messages and progress go; the command line sets it once.

    quiet: Whether only errors are printed.
    """

    quiet: bool = False


MESSAGES = Messages()
STYLES = {"head": "1", "next": "2"}
"""Headings of tables in bold, and commands that may follow in faint letters, as numbers of ANSI's SGR."""


def notify(text: str, *, error: bool = False) -> None:
    """Print a line on stderr, with control characters of names as escapes.

    text: The line.
    error: Whether it is printed with --quiet, too.
    """
    shown = visible(text, keep="\n")
    if error or not MESSAGES.quiet:
        print(shown, file=sys.stderr, flush=True)


def echo(text: str, style: str = "") -> None:
    """Print a text on stdout: as it is in files and pipes, with control characters as escapes on a terminal.

    style: Of `STYLES`, on a terminal with colours.
    Raises BadOutput: The encoding of stdout does not have all characters, or the disk is full.
    """
    shown = visible(text, keep="\n") if sys.stdout.isatty() else text
    if style and shown and has_colours():
        shown = f"\x1b[{STYLES[style]}m{shown}\x1b[0m"
    try:
        print(shown, flush=True)
    except UnicodeEncodeError as error:
        raise BadOutput(
            f"stdout: {error.object[error.start]!a} has no place in the encoding {error.encoding}; set PYTHONIOENCODING=utf-8"
        ) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()  # or Python tries again when it ends
        raise BadOutput(f"stdout: cannot be written: {error.strerror}") from None


def echo_table(frame: Any, form: str, **how: Any) -> None:
    """Print a data frame in one of the formats of `scorecube.report.text_formats`, as of `render_parts`."""
    from scorecube.report.text_formats import formulas, render_parts

    for part in render_parts(frame, form, terminal_width(), **how):
        echo(part)
    if form == "csv" and (changed := formulas(frame)):
        notify(
            f"note: {counted(len(changed), 'label')} begin like a formula of a spreadsheet ({changed[0]!r}) and stand behind an apostrophe, "
            "which scorecube import removes; --format json has them as they are"
        )


def echo_results(results: Sequence[Any], study: str = "", top: int | None = None) -> None:
    """Print what a terminal shows of results of one analysis: tables, what may be concluded, and the next commands.

    results: With equal options, one a collection.
    study: Path or address of the study that holds them; empty for none.
    top: Rows of each table; None for as many as each table declares.
    """
    from scorecube.report.text_summary import sentence, summaries

    if MESSAGES.quiet:
        return
    width = shutil.get_terminal_size().columns
    for shown in summaries(results, width, bars=sys.stdout.isatty(), top=top):
        echo("\n".join(shown.head) + "\n")
        echo(shown.table[0], "head")
        echo("\n".join([*shown.table[1:], *shown.below]) + "\n")
    if concluded := sentence(results):
        echo(wrap_line(concluded, width, indent=0))
    if study:
        word, name = shlex.quote(study), results[0].attrs["analysis"]
        commands = [f"all rows: scorecube show {word} {name}", f"page: scorecube report {word}"]
        one_line = len("   ".join(commands)) <= width
        echo(("   " if one_line else "\n").join(commands), "next")


def write_figure(figure: Any, path: Path) -> None:
    """Write a figure into a file, and say so."""
    from scorecube.report.figures.files import save_figure

    for note in save_figure(figure, path):
        notify(f"note: {note}")
    notify(f"figure written to {path}")


def has_colours() -> bool:
    """Whether stdout is a terminal that shows colours, and the user has not refused them (NO_COLOR)."""
    known = os.environ.get("TERM", "dumb") != "dumb"
    return sys.stdout.isatty() and known and not os.environ.get("NO_COLOR")


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


def wrap_line(line: str, width: int, indent: int = 2) -> str:
    """Return a line wrapped between words; continuation lines are indented by two more columns, or as many as are given.

    Examples
    --------
    >>> print(wrap_line("  metrics  AP, Q, nDCG@10, P+", 24))
      metrics  AP, Q,
        nDCG@10, P+
    """
    before = " " * (len(line) - len(line.lstrip()) + indent)
    if len(line) <= width:
        return line
    return textwrap.fill(
        line, width, subsequent_indent=before, break_long_words=False, break_on_hyphens=False
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


def _plain_progress(
    label: str, unit: str | None, note: Callable[[], str]
) -> Callable[[int, int], None]:
    """Return a function of (done, total) that prints a line every few seconds."""
    first: tuple[float, int] | None = None
    last = time.monotonic()

    def print_progress(done: int, total: int) -> None:
        nonlocal first, last
        now = time.monotonic()
        if first is None:  # kernels are compiled before the first call
            first, last = (now, done), now
            return
        if first[1] == 0 < done:  # processes start before anything is done
            first = now, done
        start, before = first
        if now - last >= PLAIN_SECONDS and done < total:
            last = now
            count = f"{done / total:.0%}" if unit is None else f"{done:,} of {total:,} {unit}"
            new, rest = done - before, total - before
            enough = new >= min(ENOUGH, rest / ENOUGH)
            left = time_left(new, rest, now - start) if enough else ""
            notify(f"{label}: {', '.join(filter(None, [count, note(), left]))}")

    return print_progress


@contextmanager
def track_progress(
    label: str, unit: str | None, note: Callable[[], str] = str
) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (done, total) that shows progress and remaining time; in percent without a unit.

    label: What makes progress.
    unit: What is counted.
    note: Returns further text on what is done.
    """
    if MESSAGES.quiet:
        yield lambda _done, _total: None
        return
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _plain_progress(label, unit, note)
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
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *amount,
        TimeRemainingColumn(),
        TextColumn("left{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(visible(label), total=None, note="")

        shown, noted_at = "", -NOTE_SECONDS

        def update(done: int, total: int) -> None:
            nonlocal shown, noted_at
            if time.monotonic() > noted_at + NOTE_SECONDS:
                noted, noted_at = note(), time.monotonic()
                shown = visible(f"; {noted}") if noted else ""
            bar.update(task, completed=done, total=total, note=shown)

        yield update
