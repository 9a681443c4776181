"""Errors that a user can cause; a message names what is wrong, where, what was found and what to do.

Messages name arguments with `option`: as ``dry_run=True`` in Python, as ``--dry-run`` on the command line, as ``dry_run = true`` in a
sweep file.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable

START, SEPARATOR, END = "\x02", "\x1f", "\x03"
"""Control characters around an argument in a message: its name and, if it has a value, the value in Python and in a shell."""
LONG_WORD = re.compile(f"[^\\s{START}{SEPARATOR}{END}]{{300,}}")
"""Text without blanks that is shortened in messages about files, whose cells may have any length."""
MARKED = re.compile(f"{START}([^{END}]*){END}")
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that give orders to a terminal, break lines or turn their direction, and bytes that are no text."""
FLAGS_OF_SWEEPS = ("replace",)
"""Arguments that are said once, on the command line of a sweep, not in its file."""


def option(name: str, value: object = None) -> str:
    """Return marked text that names an argument in a message, for Python and for the command line alike.

    name: Name of the argument in Python.
    value: Value to name with it; None names the argument alone.
    Returns text: For the message of a `ScorecubeError`, which replaces it when it is shown.

    Examples
    --------
    >>> error = ScorecubeError(f"use {option('size', 25)} or {option('dry_run', True)}, or fewer {option('metrics')}")
    >>> print(error)
    use size=25 or dry_run=True, or fewer metrics
    >>> error.message()
    'use --size 25 or --dry-run, or fewer --metrics'
    >>> error.in_file()
    'use size = 25 or dry_run = true, or fewer metrics'
    """
    if value is None:
        return START + name + END
    if isinstance(value, bool):
        shell = ""
    elif isinstance(value, list | tuple):
        shell = shlex.quote(",".join(map(str, value)))
    else:
        shell = shlex.quote(str(value))
    return START + SEPARATOR.join([name, repr(value), shell]) + END


def default_flag(name: str) -> str:
    """Return the flag of an argument whose flag is spelled like it.

    name: Name of the argument in Python.
    Returns flag: With two hyphens.

    Examples
    --------
    >>> default_flag("dry_run")
    '--dry-run'
    """
    return "--" + name.replace("_", "-")


def _in_python(found: re.Match[str]) -> str:
    name, *value = found[1].split(SEPARATOR)
    return f"{name}={value[0]}" if value else name


def _in_file(found: re.Match[str]) -> str:
    name, *value = found[1].split(SEPARATOR)
    if name in FLAGS_OF_SWEEPS or not value:
        return default_flag(name) if value else name
    try:
        return f"{name} = {json.dumps(ast.literal_eval(value[0]), ensure_ascii=False)}"
    except (ValueError, SyntaxError):  # a path, or a number of NumPy
        return f"{name} = {value[0]}"


class ScorecubeError(Exception):
    """Base of all errors raised on purpose; the command line prints the message and exits with status 1.

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
        return MARKED.sub(_in_python, self.marked)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def in_file(self) -> str:
        """Return the message as it is said of a sweep file.

        Returns text: With keys and values as the file has them, such as ``dry_run = true``.
        """
        return MARKED.sub(_in_file, self.marked)

    def message(self, flag_of: Callable[[str], str] = default_flag) -> str:
        """Return the message as the command line prints it.

        flag_of: Returns the flag of an argument, such as ``--dry-run`` of ``dry_run``.
        Returns text: With flags instead of arguments.
        """

        def on_command_line(found: re.Match[str]) -> str:
            name, *value = found[1].split(SEPARATOR)
            return " ".join(filter(None, [flag_of(name), *value[1:]]))

        return MARKED.sub(on_command_line, self.marked)


class BadInput(ScorecubeError):
    """A file or value that does not have the expected content.

    message: What is wrong, what was found and what was expected.
    path: The file, if there is one.
    line: Line number in the file, from 1.
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
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        short = LONG_WORD.sub(lambda word: f"{word[0][:100]}...{word[0][-20:]}", message)
        super().__init__(where + short, option=option)
        self.path = path
        self.line = line


class BadName(ScorecubeError):
    """A metric, gain setting, run, topic or table name that does not exist or does not parse."""


class BadPlan(ScorecubeError):
    """Options that are invalid, or impossible for the data."""


class BadOutput(ScorecubeError):
    """A file or folder outside of studies that cannot be written; what was there is unchanged."""


class BadStudy(ScorecubeError):
    """A study that does not exist, lacks the requested content, or already holds other content."""


class SweepFailed(ScorecubeError):
    """Collections of a sweep that failed; the others are done."""


class ClusterFailed(ScorecubeError):
    """A cluster that was lost during a computation; recorded blocks are kept."""


class FetchFailed(ScorecubeError):
    """Public data that could not be fetched; files already complete are kept."""


class StoreFailed(ScorecubeError):
    """An object store that cannot be reached or refuses a request; recorded blocks are kept."""


class CorruptStudy(ScorecubeError):
    """Stored bytes that do not match their recorded digest."""


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with its control characters as escapes, so that a name gives no orders to a terminal.

    text: With names from files.
    keep: Control characters that stay, such as line ends.
    Returns shown: Without other control characters, and without characters that turn the direction
        of writing.

    Examples
    --------
    >>> print(visible("\x1b[31mred\nrun", keep="\n"))
    \x1b[31mred
    run
    """
    return CONTROL.sub(
        lambda found: found[0] if found[0] in keep else repr(found[0])[1:-1].replace("'", ""), text
    )


def kind_of(value: object) -> str:
    """Return the type of a value with its article, for a message.

    value: Argument of a user.
    Returns text: E.g. ``a DataFrame``.

    Examples
    --------
    >>> kind_of({}), kind_of(5)
    ('a dict', 'an int')
    """
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


USUAL_LEVELS = {"alpha": (0.0, 0.5), "confidence": (0.5, 1.0)}
"""Kind of level -> the range outside of which a level is possible, and more often 1 - the level that is meant."""


def doubts_of_levels(kind: str, levels: Iterable[float]) -> list[str]:
    """Return a sentence about each level that is outside of the usual range of its kind.

    kind: Of `USUAL_LEVELS`.
    levels: Between 0 and 1.
    Returns doubts: One sentence each: what was found, and what was probably meant.

    Examples
    --------
    >>> doubts_of_levels("confidence", [0.95, 0.05])
    ['confidence 0.05 is below 0.5, as no usual level is; did you mean 0.95?']
    """
    low, high = USUAL_LEVELS[kind]
    return [
        f"{kind} {level:g} is {f'below {low:g}' if level < low else f'above {high:g}'}, as no usual level is{meant(level, kind)}"
        for level in levels
        if not low <= level <= high
    ]


def meant(value: float, kind: str = "") -> str:
    """Return a question after the share that is probably meant by a percentage, or by 1 - a level; empty for none.

    value: Number of a user.
    kind: Kind of level, of `USUAL_LEVELS`; empty for other shares.
    Returns text: To stand at the end of a message.

    Examples
    --------
    >>> meant(95, "confidence"), meant(5, "confidence"), meant(5, "alpha"), meant(0.05, "alpha")
    ('; did you mean 0.95?', '; did you mean 0.95?', '; did you mean 0.05?', '')
    """
    low, high = USUAL_LEVELS.get(kind, (0.0, 1.0))
    share = value / 100 if 1 < value < 100 else value
    if 0 < share < 1 and not low <= share <= high:
        share = 1 - share
    likely = 0 < share < 1 and share != value
    return f"; did you mean {share:g}?" if likely else ""


def natural_key(label: str) -> list[str | int]:
    """Return what labels are sorted by for people: numbers in them by their size.

    label: Of a topic or a run.
    Returns key: Texts and numbers in turn.

    Examples
    --------
    >>> sorted(["t10", "t9", "T1"], key=natural_key)
    ['T1', 't9', 't10']
    """
    return [int(part) if k % 2 else part for k, part in enumerate(re.split(r"(\d+)", label))]


def counted(number: int, noun: str) -> str:
    """Return a number with a noun in the singular or the plural.

    number: Number of things.
    noun: Singular, with a regular plural.
    Returns text: For a message.

    Examples
    --------
    >>> counted(1, "field"), counted(2, "field")
    ('1 field', '2 fields')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def check_choice(name: str, value: object, known: Iterable[str]) -> None:
    """Refuse a value of an argument that is not among its choices.

    name: Name of the argument.
    value: Its value.
    known: The choices.
    Raises BadPlan: With the choices.

    Examples
    --------
    >>> check_choice("order", "best", ["score", "file"])
    Traceback (most recent call last):
    scorecube.errors.BadPlan: order='best'; expected one of score, file
    """
    choices = list(known)
    if not isinstance(value, str) or value not in choices:
        raise BadPlan(f"{option(name, value)}; expected one of {', '.join(choices)}", option=name)


def nearest(name: str, known: list[str], count: int = 5) -> str:
    """Return the known names most similar to `name`, joined for an error message.

    name: Unknown name.
    known: Existing names.
    count: Largest number of names; twice as many if none is similar.
    Returns text: Names separated by commas.
    """
    import difflib

    # Ignore letter case: it is the most common mistake in metric names.
    by_lower: dict[str, list[str]] = {}
    for word in known:
        by_lower.setdefault(word.lower(), []).append(word)
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=count, cutoff=0.3)
    return ", ".join(
        [word for lower in close for word in by_lower[lower]] or sorted(known)[: 2 * count]
    )


def did_you_mean(name: str, known: list[str]) -> str:
    """Return a question that ends an error message, or '' if no known name is similar to `name`.

    name: Unknown name.
    known: Existing names.
    Returns text: Begins with a full stop.

    Examples
    --------
    >>> did_you_mean("bootstarp", ["swap", "bootstrap"])
    ". Did you mean 'bootstrap'?"
    >>> did_you_mean("xyz", ["swap", "bootstrap"])
    ''
    """
    import difflib

    close = difflib.get_close_matches(name.lower(), known)
    return f". Did you mean {', '.join(map(repr, close))}?" if close else ""
