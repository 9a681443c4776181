"""Errors that a user can cause: what is wrong, where, what was found, what to do.

Messages name arguments with `option`: as ``size=25`` in Python and of sweep files, as ``--size 25``
on the command line; where the two differ by more, `either` has both.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from scorecube.names import plural

START = "\x02"
END = "\x03"
"""Control characters around an argument in a message, perhaps with its value."""
BETWEEN = "\x04"
"""Control character between what Python and what the command line says."""
MARKED = re.compile(f"{START}([^{END}]*){END}")
LONG_WORD = re.compile(f"[^\\s{START}{END}]{{300,}}")
"""Text without blanks that is shortened in messages: cells of files may have any length."""
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that give orders to a terminal or break lines, and bytes that are no text."""


def option(name: str, value: object = None) -> str:
    """Return marked text that names an argument in a message.

    name: Name of the argument in Python.
    value: Value to name with it; None names the argument alone.

    Examples
    --------
    >>> words = option("size", 25), option("drop_unpooled", True), option("metrics")
    >>> error = ScorecubeError("use {} or {}, or fewer {}".format(*words))
    >>> print(error)
    use size=25 or drop_unpooled=True, or fewer metrics
    >>> error.message()
    'use --size 25 or --drop-unpooled, or fewer --metrics'
    """
    if value is None:
        return f"{START}{name}{END}"
    plain = value.item() if hasattr(value, "item") else value
    is_plain = isinstance(plain, bool | int | float | str | list | tuple)
    return f"{START}{name}={plain if is_plain else str(plain)!r}{END}"


def either(python: str, command: str) -> str:
    """Return marked text of which a message shows one: that of its channel.

    Examples
    --------
    >>> error = ScorecubeError(f"use {either('select(cube, runs=...)', '--runs')}")
    >>> print(error, error.message(), sep="; ")
    use select(cube, runs=...); use --runs
    """
    return f"{START}{python}{BETWEEN}{command}{END}"


def in_python(marked: str) -> str:
    """Return the text of a message with its marked arguments as in Python."""
    return MARKED.sub(lambda match: match[1].partition(BETWEEN)[0], marked)


class Note(str):
    """A line that is said of a result: as in Python, and `message` as on the command line.

    marked: Text; arguments in it are named with `option` or `either`.
    """

    marked: str

    def __new__(cls, marked: str) -> Note:
        note = super().__new__(cls, in_python(marked))
        note.marked = marked
        return note


def marked(line: str) -> str:
    """Return a line with its arguments still marked, for use inside another `Note`."""
    return str(getattr(line, "marked", line))


def on_command_line(line: str) -> str:
    """Return a line as on the command line, which a `Note` says in its own way."""
    return ScorecubeError(marked(line)).message()


def _parts(match: re.Match[str]) -> tuple[str, Any]:
    """Return the name and the value of a marked argument; None for no value."""
    name, _, text = match[1].partition("=")
    try:
        return name, ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError):  # such as nan
        return name, text


def default_flag(name: str) -> str:
    """Return the flag of an argument: ``--top-runs`` of ``top_runs``."""
    return "--" + name.replace("_", "-")


class ScorecubeError(ValueError):
    """Base of all errors raised on purpose; the command line exits with status 1.

    text: Message; arguments in it are named with `option`.
    option: Name of the argument that is wrong, if one is.
    """

    def __init__(self, text: str = "", *, option: str | None = None) -> None:
        super().__init__(text)
        self.option = option

    @property
    def marked(self) -> str:
        """Message with its arguments still marked, for use inside the message of another error."""
        return str(self.args[0])

    def __str__(self) -> str:
        return in_python(self.marked)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def message(self, flag_of: Callable[[str], str] = default_flag) -> str:
        """Return the message with flags, as `flag_of` returns them for arguments."""

        def on_command_line(match: re.Match[str]) -> str:
            _, is_either, command = match[1].partition(BETWEEN)
            if is_either:
                return command
            name, value = _parts(match)
            if value is None or isinstance(value, bool):
                return flag_of(name)
            text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            return f"{flag_of(name)} {shlex.quote(text)}"

        return MARKED.sub(on_command_line, self.marked)


class BadInput(ScorecubeError):
    """A file or value that does not have the expected content.

    message: What is wrong, what was found and what was expected.
    path, line: The file, if there is one, and the line in it, from 1.
    option: Name of the argument that is wrong, if one is.
    """

    def __init__(
        self,
        message: str,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        *,
        option: str | None = None,
    ) -> None:
        where = ""
        if path is not None:
            where = f"{path}: " if line is None else f"{path}:{line}: "
        short = LONG_WORD.sub(lambda word: f"{word[0][:100]}...{word[0][-20:]}", message)
        super().__init__(where + short, option=option)
        self.path = path
        self.line = line


class BadName(ScorecubeError):
    """A name that does not parse, or cannot be used here, of a metric or a gain setting."""


class UnknownName(BadName, KeyError):
    """A metric, run, topic, table, column or method that does not exist; also a `KeyError`."""


class BadPlan(ScorecubeError):
    """Options that are invalid, or impossible for the data."""


class BadArgument(BadPlan, TypeError):
    """An option that a record does not have."""


class BadOutput(ScorecubeError):
    """A file or folder outside of studies that cannot be written; what was there is unchanged."""


class BadStudy(ScorecubeError):
    """A study that does not exist, lacks the requested content, or already holds other content."""


class UnknownCollection(BadStudy, KeyError):
    """A collection that a study does not hold; also a `KeyError`."""


class SweepFailed(ScorecubeError):
    """Collections of a sweep that failed; the others are done.

    results: Of these, from `scorecube.sweep`.
    """

    results: Any = None


class ClusterFailed(ScorecubeError):
    """A cluster that was lost during a computation; recorded blocks are kept."""


class FetchFailed(ScorecubeError):
    """Public data that could not be fetched; files already complete are kept."""


class StoreFailed(ScorecubeError):
    """An object store that cannot be reached or refuses a request; recorded blocks are kept."""


class CorruptStudy(ScorecubeError):
    """Stored bytes that do not match their recorded digest."""


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with its control characters, but those to keep, as escapes.

    Examples
    --------
    >>> print(visible("\x1b[31mred\nrun", keep="\n"))
    \x1b[31mred
    run
    """
    return CONTROL.sub(
        lambda match: match[0] if match[0] in keep else repr(match[0])[1:-1].replace("'", ""), text
    )


def invisible_in(text: str) -> str:
    """Return the characters of a text that are not seen: marks, joiners, blanks of other kinds."""
    others = set(text) - {" "}
    return "".join(sorted(one for one in others if unicodedata.category(one) in ("Cf", "Zs")))


def kind_of(value: object) -> str:
    """Return the type of a value with its article, e.g. ``a DataFrame``."""
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def natural_key(label: str) -> list[str | int]:
    """Return what labels are sorted by for people: numbers in them by their size, t9 before t10."""
    return [int(part) if k % 2 else part for k, part in enumerate(re.split(r"(\d+)", label))]


def counted(number: int, noun: str) -> str:
    """Return a number with a noun: ``1 field``, ``2 fields``."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def nearest(name: str, known: list[str], count: int = 5) -> str:
    """Return the known names most similar to an unknown one in any letter case, or the first."""
    return ", ".join(_similar(name, known, count, 0.3) or sorted(known)[: 2 * count])


def did_you_mean(name: str, known: list[str]) -> str:
    """Return a question that ends an error message, or '' if no known name is similar."""
    close = _similar(name, known, 3, 0.6)
    return f". Did you mean {', '.join(map(repr, close))}?" if close else ""


def _similar(name: str, known: list[str], count: int, least: float) -> list[str]:
    """Return the known names most similar to another one, the most similar first."""
    from difflib import get_close_matches

    of_lower = {word.lower(): word for word in known}
    return [of_lower[word] for word in get_close_matches(name.lower(), of_lower, count, least)]


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Say what an error of options or names is about."""
    try:
        yield
    except (BadName, BadPlan) as error:
        raise type(error)(f"{subject}: {error.marked}", option=error.option) from None
