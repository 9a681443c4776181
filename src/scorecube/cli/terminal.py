"""Terminal input and output: lists in options, tables, messages and progress.

Messages and progress go to stderr: as bars on a terminal, as plain lines in a file or a pipe.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from scorecube.declare.options import split_list
from scorecube.errors import BadOutput, ScorecubeError, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Unit(NamedTuple):
    """Of times: name, seconds, and the seconds below which it is used."""

    name: str
    seconds: float
    below: float


UNITS = (Unit("s", 1, 120), Unit("min", 60, 7200), Unit("h", 3600, math.inf))
PLAIN_SECONDS = 10.0
"""Shortest time between two plain lines of progress."""
_quiet = [False]


def be_quiet(quiet: bool) -> None:
    """Print errors only, or everything."""
    _quiet[0] = quiet


def is_quiet() -> bool:
    """Whether only errors are printed."""
    return _quiet[0]


def notify(text: str, *, error: bool = False) -> None:
    """Print a line on stderr, with control characters of names as escapes.

    text: The line; on a terminal cut between words, and the rest below.
    error: Whether it is printed with --quiet, too.
    """
    if error or not is_quiet():
        text = visible(text, keep="\n")
        print(wrapped(text) if sys.stderr.isatty() else text, file=sys.stderr, flush=True)


def wrapped(text: str) -> str:
    """Return lines for the width of the terminal, what continues one indented."""
    fill = textwrap.TextWrapper(
        shutil.get_terminal_size().columns,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    ).fill
    return "\n".join(map(fill, text.splitlines()))


def print_notes(notes: Mapping[str, Sequence[str]]) -> None:
    """Print each note once, with the collections that it is about.

    notes: Lines by collection.
    """
    from scorecube.collection.teams import listed

    for line in dict.fromkeys(chain.from_iterable(notes.values())):
        about = listed([name for name, lines in notes.items() if line in lines])
        notify(f"{about}: note: {ScorecubeError(line).message()}")


def echo(text: str) -> None:
    """Print a text on stdout; on a terminal with control characters as escapes.

    Raises BadOutput: The encoding of stdout does not have all characters, or the disk is full.
    """
    if sys.stdout.isatty():
        text = visible(text, keep="\n")
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


def echo_wrapped(text: str) -> None:
    """Print sentences, on a terminal cut between words."""
    echo(text if terminal_width() is None else wrapped(text))


def echo_table(frame: pd.DataFrame, form: str, **how: Any) -> None:
    """Print a data frame in one of the formats of `scorecube.report.text_tables`."""
    from scorecube.report.text_tables import render

    echo(render(frame, form, terminal_width(), **how))


def echo_results(results: Sequence[Any], study: str = "", top: int | None = None) -> None:
    """Print tables of results of one analysis, the answer, and the next commands.

    results: With equal options, one a collection.
    study: Path or address of the study that holds them; empty for none.
    top: Rows of each table; None for as many as each table declares.
    """
    from scorecube.report.text_tables import lines_below, summaries

    if is_quiet():
        return
    width = shutil.get_terminal_size().columns
    for lines in summaries(results, width, top):
        echo("\n".join(lines))
    for line in lines_below(results):
        echo(textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False))
    if study:
        word = shlex.quote(study)
        name = results[0].attrs["analysis"]
        commands = [f"all rows: scorecube show {word} {name}", f"page: scorecube report {word}"]
        one_line = len("   ".join(commands)) <= width
        echo(("   " if one_line else "\n").join(commands))


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure into a file, and say so."""
    from scorecube.report.drawing import save_figure

    save_figure(figure, path)
    notify(f"figure written to {path}")


def split(values: str | None) -> list[str] | None:
    """Return the parts of a comma-separated option; None if the option is not set."""
    return None if values is None else split_list(values)


def terminal_width() -> int | None:
    """Return the number of columns of the terminal at stdout; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _plain_progress(label: str, unit: str | None) -> Callable[[int, int], None]:
    """Return a function of (done, total) that prints a line every few seconds, with rate and end.

    What was done before the first call, of work that is resumed, has no part in the rate, nor has
    the time until then, in which kernels are compiled.
    """
    start = last = 0.0
    before: int | None = None

    def print_progress(done: int, total: int) -> None:
        nonlocal start, last, before
        now = time.monotonic()
        if before is None:
            before = done
            start = last = now
        if now - last < PLAIN_SECONDS or done >= total:
            return
        last = now
        count = f"{done / total:.0%}" if unit is None else f"{done:,} of {total:,} {unit}"
        rate = (done - before) / (now - start)
        if rate > 0:
            speed = "" if unit is None else f", {rate:{',.0f' if rate >= 10 else '.2g'}} a second"
            count += f"{speed}, {duration((total - done) / rate)} left"
        notify(f"{label}: {count}")

    return print_progress


def duration(seconds: float) -> str:
    """Return a duration in words: ``40 s``, ``3 min``, ``2.5 h``.

    Examples
    --------
    >>> duration(40.2), duration(170), duration(9000)
    ('40 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def span(least: float, most: float) -> str:
    """Return the limits of predicted seconds in words, each with one digit that counts.

    Examples
    --------
    >>> span(0.1, 0.4), span(20.8, 46.8), span(700, 1600), span(50, 112), span(9e5, 2e6)
    ('less than 1 s', '20 to 50 s', '10 to 30 min', '50 to 100 s', '200 to 600 h')
    """
    if most < 1:
        return "less than 1 s"
    unit = next(of for of in UNITS if most < of.below)
    low = float(f"{least / unit.seconds:.1g}")
    high = float(f"{most / unit.seconds:.1g}")
    return f"{low:,g} to {high:,g} {unit.name}"


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
    from rich.text import Text

    amount = bars.TaskProgressColumn() if unit is None else bars.MofNCompleteColumn()
    text = bars.TextColumn("{task.description}", markup=False)

    class Left(bars.TimeRemainingColumn):
        def render(self, task: bars.Task) -> Text:
            known = (task.elapsed or 0) > PLAIN_SECONDS / 2  # a first block tells little
            return super().render(task) if known else Text("-:--:--")

    left = Left()
    columns = (text, bars.BarColumn(), amount, unit or "", left, "left")
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(visible(label), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
