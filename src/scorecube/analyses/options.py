"""Declared options: the commands, sweep files, help texts and option tables of an analysis are made from its fields.

A field of an analysis is declared with `option_field`; `options_of` returns the declarations of a class.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from scorecube.errors import BadPlan, default_flag, option

T = TypeVar("T")
DECLARED = "option"
"""Key of the declaration in the metadata of a field."""
TYPE_WORDS = {float: "a number", int: "a whole number", str: "text", bool: "true or false", Path: "a path"}


@dataclass(frozen=True)
class Option:
    """One option.

    Parameters
    ----------
    help
        One sentence for the command line and for option tables.
    flags
        On the command line, the main one first; empty for the name with hyphens. The flag of an option that is true by default
        turns it off.
    choices
        Values that are allowed, or allowed as elements of a list; empty for any.
    minimum, maximum
        Limits of a number on the command line.
    unit
        Of a number, as in ``topics``.
    finalize
        Whether only `Analysis.finalize` reads the option, so that blocks serve all its values.
    words
        Texts that stand for a value, such as ``all`` for None.
    convert
        Returns the value of a text; None reads it by the type.
    on_command_line
        Whether the command has the option.
    name, type, default
        Of the field.
    """

    help: str
    flags: tuple[str, ...] = ()
    choices: tuple[Any, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    unit: str = ""
    finalize: bool = False
    words: Mapping[str, Any] = field(default_factory=dict)
    convert: Callable[[str], Any] | None = None
    on_command_line: bool = True
    name: str = ""
    type: Any = str
    default: Any = None

    @property
    def flag(self) -> str:
        """Flag on the command line."""
        return self.flags[0] if self.flags else default_flag(self.name)

    @property
    def scalar(self) -> Any:
        """Type of a single number, text or truth value; None for all else, which the command line reads as text."""
        kinds = [each for each in (typing.get_args(self.type) or (self.type,)) if each is not type(None)]
        single = len(kinds) == 1 and kinds[0] in TYPE_WORDS and typing.get_origin(self.type) is not tuple
        return kinds[0] if single and self.convert is None and not self.words else None

    @property
    def optional(self) -> bool:
        """Whether None is a value."""
        return type(None) in typing.get_args(self.type)

    def parse(self, text: str) -> Any:
        """Return the value of a text, as it is written on the command line or in a sweep file.

        Raises
        ------
        BadPlan
            A text that cannot be read.
        """
        if text in self.words:
            return self.words[text]
        if self.convert is not None:
            return self.convert(text)
        if self.scalar is str:
            return text
        kind = _element(self.type)
        try:
            if kind is None:
                raise ValueError(text)
            return tuple(dict.fromkeys(map(READERS[kind], split(text)))) if kind is not int else integers(text)
        except ValueError:
            what = {float: "numbers", int: "whole numbers"}.get(kind, "a list")
            raise BadPlan(f"{option(self.name)} {text!r} is not {what} separated by commas", option=self.name) from None

    def read(self, value: Any) -> Any:
        """Return the value of the option for a value of a sweep file: lists become tuples, texts are parsed.

        Raises
        ------
        BadPlan
            A value of another type, or none of the choices.
        """
        made = tuple(value) if isinstance(value, list) else value
        if isinstance(value, str) and not fits(made, self.type):
            made = self.parse(value)
        if not fits(made, self.type):
            raise BadPlan(f"expected {type_words(self.type)}", option=self.name)
        self.check(made)
        return made

    def unknown(self, value: Any) -> str | None:
        """Return what is wrong with a value that is not among the choices; None for one that is."""
        values = value if isinstance(value, tuple | list) else () if value is None else (value,)
        wrong = [each for each in values if self.choices and each not in self.choices]
        return f"{wrong[0]!r} is not one of {', '.join(map(str, self.choices))}" if wrong else None

    def check(self, value: Any) -> None:
        """Refuse a value that is not among the choices (BadPlan)."""
        if problem := self.unknown(value):
            raise BadPlan(f"{option(self.name)} {problem}", option=self.name)

    def default_text(self) -> str | None:
        """Return the default as it is written on the command line; None where nothing is written."""
        for word, value in self.words.items():
            if value == self.default:
                return word
        if isinstance(self.default, tuple):
            return ",".join(map(_as_text, self.default))
        return None if self.default is None or isinstance(self.default, bool) else _as_text(self.default)


def option_field(
    default: T,
    help: str,  # noqa: A002
    *,
    flag: str | None = None,
    **facts: Any,
) -> T:
    """Declare a field of a record as an option.

    Parameters
    ----------
    default
        Of the field.
    help
        One sentence for the command line and for option tables.
    flag
        On the command line; None for the field's name with hyphens.
    facts
        Other facts of `Option`, such as `choices`, `unit`, `finalize`.
    """
    flags = {} if flag is None else {"flags": (flag,)}
    return field(default=default, metadata={DECLARED: Option(help, **(facts | flags))})


@cache
def options_of(kind: type) -> Mapping[str, Option]:
    """Return the options of a record, by the names of its fields.

    Examples
    --------
    >>> from scorecube.analyses.topic_samples.swap import Swap
    >>> options_of(Swap)["rule"].choices, options_of(Swap)["rule"].flag
    (('s0', 's1'), '--rule')
    """
    hints = typing.get_type_hints(kind)
    return {
        each.name: dataclasses.replace(
            each.metadata.get(DECLARED, Option("")), name=each.name, type=hints[each.name], default=each.default
        )
        for each in dataclasses.fields(kind)
    }


def option_table(kind: type) -> list[dict[str, str]]:
    """Return the options of an analysis as rows of text: argument, flag, type, default, meaning.

    Examples
    --------
    >>> from scorecube.analyses.topic_samples.swap import Swap
    >>> [row["default"] for row in option_table(Swap) if row["argument"] in ("confidence", "signed")]
    ['0.95,0.9,0.8', 'no']
    """
    return [
        {
            "argument": each.name,
            "flag": each.flag if each.on_command_line else "",
            "values": ", ".join(map(str, each.choices)) or type_words(each.type),
            "unit": each.unit,
            "default": {True: "yes", False: "no"}[each.default]
            if isinstance(each.default, bool)
            else each.default_text() or "",
            "meaning": each.help,
        }
        for each in options_of(kind).values()
    ]


def markdown_table(rows: list[dict[str, str]]) -> str:
    r"""Return rows of text as a Markdown table.

    Examples
    --------
    >>> print(markdown_table([{"flag": "--rule", "values": "s0|s1"}]))
    | flag | values |
    |---|---|
    | --rule | s0\|s1 |
    """
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row.values()) + " |" for row in rows]
    return "\n".join(lines)


def split(text: str) -> list[str]:
    """Return the parts of a comma-separated text; commas inside brackets do not separate.

    Examples
    --------
    >>> split("AP, nERR(form=exp2,rel=2)@10,")
    ['AP', 'nERR(form=exp2,rel=2)@10']
    """
    parts, depth, current = [], 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += letter
    return [part.strip() for part in [*parts, current] if part.strip()]


def numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated text, each once; ValueError for other texts."""
    return tuple(dict.fromkeys(map(float, split(text))))


def integers(text: str) -> tuple[int, ...]:
    """Return the whole numbers of a comma-separated text, each once; ValueError for other texts and for none."""
    found = numbers(text)
    if not found or any(not value.is_integer() for value in found):
        raise ValueError(text)
    return tuple(map(int, found))


READERS: dict[Any, Callable[[str], Any]] = {float: float, int: int, str: str}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; whole numbers are numbers, and true is no number.

    Examples
    --------
    >>> fits(1, float), fits(True, int), fits((0.05, 1), tuple[float, ...]), fits("5", int | None)
    (True, False, True, False)
    """
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, each) for each in inside)
    if isinstance(origin, type) and issubclass(tuple, origin):  # tuple, Sequence
        return isinstance(value, tuple) and all(fits(each, inside[0]) for each in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return hint is Any or (isinstance(hint, type) and isinstance(value, hint))


def type_words(hint: Any) -> str:
    """Return a type in words.

    Examples
    --------
    >>> type_words(tuple[float, ...]), type_words(int | None)
    ('a list, each a number', 'a whole number')
    """
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_words(each) for each in inside if each is not type(None))
    if inside:
        return f"a list, each {type_words(inside[0])}"
    return TYPE_WORDS.get(hint, str(hint))


def _element(hint: Any) -> Any:
    """Return the type of the elements of a list type, None if it is no list."""
    for each in (hint, *typing.get_args(hint)):
        if typing.get_origin(each) is tuple:
            return typing.get_args(each)[0]
    return None


def _as_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
