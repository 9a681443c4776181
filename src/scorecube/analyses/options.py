"""Declared options: fields of records that give commands, sweep files, help and option tables.

`option_field` declares a field; `options_of` returns the declarations of a class.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from scorecube.errors import BadPlan, default_flag, doubts_of_levels, kind_of, meant, option

T = TypeVar("T")
DECLARED = "option"
"""Key of the declaration in the metadata of a field."""
ONLY_TOPICS = {"flags": ("--only-topics",), "help": "Topics, by their ids; all by default."}
"""Of the shared option `topics`, where an analysis has numbers of topics under its flag."""
TYPE_NAMES = {
    float: "a number",
    int: "a whole number",
    str: "text",
    bool: "true or false",
    Path: "a path",
}
MAX_SHOWN = 60
"""Largest number of letters of a value in a message."""


@dataclass(frozen=True)
class Option:
    """Declaration of one option.

    help: One sentence for the command line and for option tables.
    flags: Flags, the main one first; empty for the name with hyphens. The flag of an option that
        is true by default turns the option off.
    detail: What documentation says behind `help`; instead of it where the default is true.
    choices: Allowed values, or elements of a list; empty for any. Those of a `Literal`.
    minimum, maximum, above, below: Limits of numbers, the last two not included; None for none.
    may_be_empty: Whether a list may have no elements.
    level: Kind of level of tests or intervals, of `scorecube.errors.USUAL_LEVELS`.
    finalize: Whether only results depend on the option, so that blocks are the same.
    aliases: Texts that stand for a value, such as ``all`` for None.
    convert: Returns the value of a text; None to parse the text by the type.
    on_command_line: Whether the command has the option.
    name, type, default: Of the field.
    """

    help: str
    flags: tuple[str, ...] = ()
    detail: str = ""
    choices: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    may_be_empty: bool = False
    level: str = ""
    finalize: bool = False
    aliases: Mapping[str, Any] = field(default_factory=dict)
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
    def description(self) -> str:
        """What documentation says of the option."""
        return self.detail if self.default is True else f"{self.help} {self.detail}".strip()

    @property
    def scalar(self) -> Any:
        """Type of a single number, text or truth value; None for others."""
        (first, *others) = _members(self.type)
        plain = first in TYPE_NAMES and not others and not (self.convert or self.aliases)
        return first if plain else None

    @property
    def words(self) -> tuple[Any, ...]:
        """Texts that are allowed beside a whole number, such as ``auto``."""
        members = _members(self.type)
        literals = [hint for hint in members if typing.get_origin(hint) is typing.Literal]
        return tuple(word for hint in literals for word in typing.get_args(hint))

    def parse(self, text: str) -> Any:
        """Return the value of a text from the command line or a sweep file (or BadPlan)."""
        if text in self.aliases:
            return self.aliases[text]
        if self.convert is not None:
            return self.convert(text)
        if self.scalar is str or text in self.words:
            return text
        members, element = _members(self.type), _element(self.type)
        try:
            if element is not None:
                return _parse_list(text, element)
            (number,) = [kind for kind in (int, float) if kind in members]
            return number(text)
        except ValueError:
            expected = {float: "numbers", int: "whole numbers"}.get(element, "a list")
            expected += " separated by commas"
            if element is None:
                expected = " or ".join([self.expected, *self.aliases])
            message = f"{option(self.name)} {text!r} is not {expected}"
            raise BadPlan(message, option=self.name) from None

    def read(self, value: Any) -> Any:
        """Return the value for a sweep file's: lists become tuples, texts are parsed."""
        plain = normal_value(value)
        if isinstance(value, str) and not has_type(plain, self.type):
            plain = self.parse(value)
        if not has_type(plain, self.type):
            raise BadPlan(f"expected {self.expected}", option=self.name)
        self.check(plain)
        return plain

    @property
    def limits(self) -> str:
        """Limits of numbers, for users; empty for none."""
        if self.minimum is not None and self.maximum is not None:
            return f"from {_as_limit(self.minimum)} to {_as_limit(self.maximum)}"
        words = {
            "of at least": self.minimum,
            "above": self.above,
            "of at most": self.maximum,
            "below": self.below,
        }
        stated = [(word, limit) for word, limit in words.items() if limit is not None]
        return " and ".join(f"{word} {_as_limit(limit)}" for word, limit in stated)

    @property
    def expected(self) -> str:
        """Type and limits of the value, for users."""
        return " ".join(filter(None, [describe_type(self.type), self.limits]))

    def problem(self, value: Any) -> str | None:
        """Return an error text for a value that is not among the choices, else None."""
        for element in _elements(value) if self.choices else ():
            if element not in self.choices:
                return f"{element!r} is not one of {', '.join(map(str, self.choices))}"
        return None

    def check(self, value: Any) -> None:
        """Raise BadPlan for a value of another type, out of range, or not among the choices."""
        expected, name = self.expected, self.name
        if not has_type(value, self.type):
            text = f"{option(name)}: expected {expected}; found {shown(value)}"
            raise BadPlan(text, option=name)
        if problem := self.problem(value):
            raise BadPlan(f"{option(name)} {problem}", option=name)
        empty = value == () and not self.may_be_empty
        wrong = [element for element in _elements(value) if not self._is_in_range(element)]
        if empty or wrong:
            subject = option(name, value if shown(value) == _spelled(value) else None)
            if empty:
                expected = expected.replace("a list", "a list that is not empty")
            largest = self.below if self.maximum is None else self.maximum
            hint = meant(wrong[0], self.level) if wrong and (largest or 2) <= 1 else ""
            raise BadPlan(f"{subject}: expected {expected}{hint}", option=name)

    def checked(self, value: Any) -> Any:
        """Return a value in its normal form, for an alias what it stands for, or BadPlan."""
        normal = normal_value(value)
        if isinstance(normal, str):
            normal = self.aliases.get(normal, normal)
        self.check(normal)
        return normal

    def _is_in_range(self, value: Any) -> bool:
        if value in self.words or isinstance(value, str | Path | bool):
            return True
        # Comparisons with NaN are false.
        return (
            -math.inf < value < math.inf
            and (self.minimum is None or value >= self.minimum)
            and (self.maximum is None or value <= self.maximum)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def default_text(self) -> str | None:
        """Return the default as a text of the command line; None if no text stands for it."""
        for text, value in self.aliases.items():
            if value == self.default:
                return text
        if self.default is None or isinstance(self.default, bool):
            return None
        return ",".join(
            f"{value:g}" if isinstance(value, float) else str(value)
            for value in _elements(self.default)
        )


def option_field(
    default: T,
    help: str,  # noqa: A002
    *,
    flag: str | None = None,
    **settings: Any,
) -> T:
    """Declare a field of a record as an option.

    help: One sentence for the command line and for option tables.
    flag: Flag on the command line; None for the field's name with hyphens.
    settings: Other parameters of `Option`, such as `choices`, `finalize`.
    """
    flags = {} if flag is None else {"flags": (flag,)}
    return field(default=default, metadata={DECLARED: Option(help, **(settings | flags))})


def level_field(kind: str, default: T, help: str, **settings: Any) -> T:  # noqa: A002
    """Declare a field of significance levels (``alpha``) or confidence levels (``confidence``)."""
    return option_field(default, help, above=0, below=1, level=kind, **settings)


@cache
def options_of(kind: type) -> Mapping[str, Option]:
    """Return the options of a record, by the names of its fields.

    Examples
    --------
    >>> from scorecube.analyses.swap import Swap
    >>> options_of(Swap)["rule"].choices, options_of(Swap)["rule"].flag
    (('s0', 's1'), '--rule')
    """
    hints, options = typing.get_type_hints(kind), {}
    for entry in dataclasses.fields(kind):
        hint, declared = hints[entry.name], entry.metadata.get(DECLARED, Option(""))
        facts = {"name": entry.name, "type": hint, "default": entry.default}
        literal = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else hint
        if typing.get_origin(literal) is typing.Literal:
            plain = str if literal is hint else tuple[str, ...]
            facts |= {"choices": typing.get_args(literal), "type": plain}
        options[entry.name] = dataclasses.replace(declared, **facts)
    return options


def doubts_of(record: Any) -> list[str]:
    """Return what is said of levels that are possible, and more often a mistake."""
    kind: type = type(record)
    doubts = []
    for name, declared in options_of(kind).items():
        if declared.level:
            doubts += doubts_of_levels(declared.level, _elements(getattr(record, name)))
    return doubts


def as_named(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options under the names of a record: ``alpha`` for ``alphas``, or the other way round.

    Examples
    --------
    >>> from scorecube.analyses.bootstrap import Bootstrap
    >>> as_named(Bootstrap, {"alpha": 0.05, "plus_one": False})
    {'alphas': (0.05,), 'plus_one': False}
    """
    fields, named = {entry.name for entry in dataclasses.fields(kind)}, dict(values)
    for given, there in (("alpha", "alphas"), ("alphas", "alpha")):
        if given in named and given not in fields and there in fields and there not in named:
            levels = _elements(normal_value(named.pop(given)))
            named = {there: levels if there == "alphas" or len(levels) > 1 else levels[0], **named}
    return named


def split_list(text: str) -> list[str]:
    """Return the elements of a comma-separated text; commas inside brackets do not separate.

    Examples
    --------
    >>> split_list("AP, nERR(form=exp2,rel=2)@10,")
    ['AP', 'nERR(form=exp2,rel=2)@10']
    """
    elements, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            elements.append("")
        else:
            elements[-1] += letter
    return [element.strip() for element in elements if element.strip()]


def parse_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated text, also repeated ones, or ValueError."""
    return tuple(map(float, split_list(text)))


def _parse_list(text: str, element: Any) -> tuple[Any, ...]:
    """Return the distinct elements of a comma-separated text, or ValueError."""
    if element is not int:
        return tuple(dict.fromkeys(map(element, split_list(text))))
    numbers = tuple(dict.fromkeys(parse_numbers(text)))
    if not numbers or any(not number.is_integer() for number in numbers):
        raise ValueError(text)
    return tuple(map(int, numbers))


def has_type(value: Any, hint: Any) -> bool:
    """Return whether a value has a type; integers are floats, truth values are not.

    Examples
    --------
    >>> has_type(1, float), has_type(True, int), has_type((0.05, 1), tuple[float, ...])
    (True, False, True)
    """
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(has_type(value, member) for member in inside)
    if origin is typing.Literal:
        return value in inside
    if isinstance(origin, type) and issubclass(tuple, origin):  # tuple, Sequence
        return isinstance(value, tuple) and all(has_type(element, inside[0]) for element in value)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return hint is Any or (isinstance(hint, type) and isinstance(value, hint))


def normal_value(value: Any) -> Any:
    """Return a value as plans store it: sequences as tuples, numbers of NumPy as Python's."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, list | tuple | range):
        return tuple(map(normal_value, plain))
    return plain


def shown(value: Any) -> str:
    """Return a value for a message: short values as Python spells them, others by their type.

    Examples
    --------
    >>> shown(1.5), shown("25"), shown({1: 2}), shown(10**5000)
    ('1.5', "'25'", 'a dict', 'a number of more than 4,300 digits')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if not isinstance(value, bool | int | float | str | list | tuple | None):
        return kind_of(value)
    text = _spelled(value) or "a number of more than 4,300 digits"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _spelled(value: Any) -> str | None:
    """Return a value as Python spells it; None for integers that it refuses to write out."""
    try:
        return repr(value)
    except ValueError:
        return None


def describe_type(hint: Any) -> str:
    """Return the name of a type for users, such as ``a list, each a number``."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(describe_type, _members(hint)))
    if origin is typing.Literal:
        return " or ".join(map(str, inside))
    if inside:
        return f"a list, each {describe_type(inside[0])}"
    return TYPE_NAMES.get(hint, str(hint))


def _members(hint: Any) -> list[Any]:
    """Return the types that a value may have, without None."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    members = typing.get_args(hint) if is_union else (hint,)
    return [member for member in members if member is not type(None)]


def _element(hint: Any) -> Any:
    """Return the type of the elements of a list type; None for other types."""
    lists = [member for member in _members(hint) if typing.get_origin(member) is tuple]
    return typing.get_args(lists[0])[0] if lists else None


def _elements(value: Any) -> tuple[Any, ...]:
    """Return the elements of a list, or a single value as one; none of None."""
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _as_limit(value: float) -> str:
    """Return a limit for users: that of 64 bits as such."""
    if value == 2**64 - 1:
        return "2**64 - 1"
    return f"{value:,g}" if abs(value) < 1e6 else f"{value:g}"
