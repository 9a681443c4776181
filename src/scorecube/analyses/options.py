"""Declared options: fields that give commands, sweep files, help and option tables.

`option_field` declares a field of an analysis; `options_of` returns the declarations of a class.
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


@dataclass(frozen=True)
class Option:
    """Declaration of one option.

    help: One sentence for the command line and for option tables.
    flags: Flags on the command line, the main one first; empty for the name with hyphens. The flag of an option that is true by default
        turns the option off.
    detail: What documentation says behind `help`; instead of it for an option that is true by default, whose `help` is about turning it
        off.
    choices: Allowed values, or allowed elements of a list; empty for any. Of a field whose type is a `Literal`, or a tuple of it, its
        values.
    minimum, maximum: Limits of a number, or of the elements of a list; None for none.
    above, below: Limits that are not included.
    may_be_empty: Whether a list may have no elements.
    level: Kind of level of tests or intervals, of `scorecube.errors.USUAL_LEVELS`; empty for another number.
    unit: Unit of a number, such as ``topics``.
    finalize: Whether only `Analysis.finalize` reads the option, so that blocks are the same for all its values.
    aliases: Texts that stand for a value, such as ``all`` for None.
    convert: Function that returns the value of a text; None to parse the text by the type.
    on_command_line: Whether the command has the option.
    positional: Whether the command has it as an argument behind the study, without a flag.
    name, type, default: Name, type and default of the field.
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
    unit: str = ""
    finalize: bool = False
    aliases: Mapping[str, Any] = field(default_factory=dict)
    convert: Callable[[str], Any] | None = None
    on_command_line: bool = True
    positional: bool = False
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
        types_allowed = [
            hint for hint in (typing.get_args(self.type) or (self.type,)) if hint is not type(None)
        ]
        single = (
            len(types_allowed) == 1
            and types_allowed[0] in TYPE_NAMES
            and typing.get_origin(self.type) is not tuple
        )
        return types_allowed[0] if single and self.convert is None and not self.aliases else None

    @property
    def words(self) -> tuple[Any, ...]:
        """Texts that are allowed beside a whole number, such as ``auto``."""
        return tuple(
            word
            for member in typing.get_args(self.type)
            if typing.get_origin(member) is typing.Literal
            for word in typing.get_args(member)
        )

    def parse(self, text: str) -> Any:
        """Return the value of a text from the command line or a sweep file.

        Raises BadPlan: A text that cannot be parsed.
        """
        if text in self.aliases:
            return self.aliases[text]
        if self.convert is not None:
            return self.convert(text)
        if self.scalar is str or (text in self.words):
            return text
        element = _element_type(self.type)
        try:
            numbers = [kind for kind in (int, float) if kind in typing.get_args(self.type)]
            if element is None and numbers:
                return numbers[0](text)
            if element is None:
                raise ValueError(text)
            return (
                parse_integers(text)
                if element is int
                else tuple(dict.fromkeys(map(element, split_list(text))))
            )
        except ValueError:
            expected = {float: "numbers", int: "whole numbers"}.get(element, "a list")
            expected = f"{expected} separated by commas"
            if element is None and int in typing.get_args(self.type):
                words = " or ".join(["a whole number", *self.aliases])
                expected = self.expected if self.words else words
            raise BadPlan(
                f"{option(self.name)} {text!r} is not {expected}", option=self.name
            ) from None

    def read(self, value: Any) -> Any:
        """Return the value for a sweep file's: lists become tuples, texts are parsed.

        Raises BadPlan: A value of another type, or one that is not allowed.
        """
        converted = normal_value(value)
        if isinstance(value, str) and not has_type(converted, self.type):
            converted = self.parse(value)
        if not has_type(converted, self.type):
            raise BadPlan(f"expected {self.expected}", option=self.name)
        self.check(converted)
        return converted

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
        return " and ".join(
            f"{word} {_as_limit(limit)}" for word, limit in words.items() if limit is not None
        )

    @property
    def expected(self) -> str:
        """Type and limits of the value, for users."""
        return " ".join(filter(None, [describe_type(self.type), self.limits]))

    def problem(self, value: Any) -> str | None:
        """Return an error text for a value that is not among the choices, else None."""
        wrong = [
            element for element in _elements(value) if self.choices and element not in self.choices
        ]
        return f"{wrong[0]!r} is not one of {', '.join(map(str, self.choices))}" if wrong else None

    def check(self, value: Any) -> None:
        """Raise BadPlan for a value of another type, out of range, or not among the choices."""
        if not has_type(value, self.type):
            raise BadPlan(
                f"{option(self.name)}: expected {self.expected}; found {shown(value)}",
                option=self.name,
            )
        if problem := self.problem(value):
            raise BadPlan(f"{option(self.name)} {problem}", option=self.name)
        empty = value == () and not self.may_be_empty
        if empty or not all(map(self._is_in_range, _elements(value))):
            subject = option(self.name, value if repr_of(value) == shown(value) else None)
            expected = self.expected
            if empty:
                expected = expected.replace("a list", "a list that is not empty")
            raise BadPlan(f"{subject}: expected {expected}{self._meant(value)}", option=self.name)

    def doubts(self, value: Any) -> list[str]:
        """Return what is said of values that are possible, and more often a mistake."""
        return doubts_of_levels(self.level, _elements(value)) if self.level else []

    def checked(self, value: Any) -> Any:
        """Return a value in its normal form, for an alias the value it stands for; raise BadPlan as `check`."""
        normal = normal_value(value)
        if isinstance(normal, str):
            normal = self.aliases.get(normal, normal)
        self.check(normal)
        return normal

    def _is_in_range(self, value: Any) -> bool:
        if value in self.words:
            return True
        # Comparisons with NaN are false.
        limits = (
            self.minimum is None or value >= self.minimum,
            self.maximum is None or value <= self.maximum,
            self.above is None or value > self.above,
            self.below is None or value < self.below,
            value == value,
            value not in (math.inf, -math.inf),
        )
        return all(limits)

    def _meant(self, value: Any) -> str:
        """Return a question after the share that a percentage stands for; empty unless values are shares."""
        wrong = next((each for each in _elements(value) if not self._is_in_range(each)), math.nan)
        largest = self.below if self.maximum is None else self.maximum
        return meant(wrong, self.level) if largest is not None and largest <= 1 else ""

    def default_text(self) -> str | None:
        """Return the default as a text of the command line; None if no text stands for it."""
        for text, value in self.aliases.items():
            if value == self.default:
                return text
        if isinstance(self.default, tuple):
            return ",".join(map(_as_text, self.default))
        return (
            None
            if self.default is None or isinstance(self.default, bool)
            else _as_text(self.default)
        )


def option_field(
    default: T,
    help: str,  # noqa: A002
    *,
    flag: str | None = None,
    **settings: Any,
) -> T:
    """Declare a field of a record as an option.

    default: Default of the field.
    help: One sentence for the command line and for option tables.
    flag: Flag on the command line; None for the field's name with hyphens.
    settings: Other parameters of `Option`, such as `choices`, `unit`, `finalize`.
    """
    flags = {} if flag is None else {"flags": (flag,)}
    return field(default=default, metadata={DECLARED: Option(help, **(settings | flags))})


def level_field(kind: str, default: T, help: str, **settings: Any) -> T:  # noqa: A002
    """Declare a field of significance levels (``alpha``) or confidence levels (``confidence``)."""
    return option_field(default, help, above=0, below=1, level=kind, **settings)


def set_field(which: str) -> str:
    """Declare the name of one of two sets of judgements that an analysis compares."""
    help = f"Name of the {which}; empty for that of the cube."  # noqa: A001
    return option_field("", help, finalize=True, on_command_line=False)


@cache
def options_of(kind: type) -> Mapping[str, Option]:
    """Return the options of a record, by the names of its fields.

    Examples
    --------
    >>> from scorecube.analyses.swap import Swap
    >>> options_of(Swap)["rule"].choices, options_of(Swap)["rule"].flag
    (('s0', 's1'), '--rule')
    """
    hints, found = typing.get_type_hints(kind), {}
    for entry in dataclasses.fields(kind):
        hint, declared = hints[entry.name], entry.metadata.get(DECLARED, Option(""))
        facts = {"name": entry.name, "type": hint, "default": entry.default}
        literal = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else hint
        if typing.get_origin(literal) is typing.Literal:
            plain = str if literal is hint else tuple[str, ...]
            facts |= {"choices": typing.get_args(literal), "type": plain}
        found[entry.name] = dataclasses.replace(declared, **facts)
    return found


def doubts_of(record: Any) -> list[str]:
    """Return what is said of a record's options that are possible, and more often a mistake."""
    kind: type = type(record)
    return [
        doubt
        for name, option in options_of(kind).items()
        for doubt in option.doubts(getattr(record, name))
    ]


def as_named(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of options under the names that a record has for them: ``alpha`` for ``alphas``, and the other way round.

    Examples
    --------
    >>> from scorecube.analyses.bootstrap import Bootstrap
    >>> as_named(Bootstrap, {"alpha": 0.05, "plus_one": False})
    {'alphas': (0.05,), 'plus_one': False}
    """
    known, named = {each.name for each in dataclasses.fields(kind)}, dict(values)
    for given, own in (("alpha", "alphas"), ("alphas", "alpha")):
        if given in named and given not in known and own in known and own not in named:
            value = normal_value(named.pop(given))
            levels = value if isinstance(value, tuple) else (value,)
            named = {own: levels if own == "alphas" or len(levels) != 1 else levels[0], **named}
    return named


def split_list(text: str) -> list[str]:
    """Return the elements of a comma-separated text; commas inside brackets do not separate.

    Examples
    --------
    >>> split_list("AP, nERR(form=exp2,rel=2)@10,")
    ['AP', 'nERR(form=exp2,rel=2)@10']
    """
    elements, depth, current = [], 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            elements.append(current)
            current = ""
        else:
            current += letter
    return [element.strip() for element in [*elements, current] if element.strip()]


def parse_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated text, also repeated ones; raise ValueError for other texts."""
    return tuple(map(float, split_list(text)))


def parse_integers(text: str) -> tuple[int, ...]:
    """Return the distinct integers of a comma-separated text; ValueError for none."""
    numbers = tuple(dict.fromkeys(parse_numbers(text)))
    if not numbers or any(not number.is_integer() for number in numbers):
        raise ValueError(text)
    return tuple(map(int, numbers))


def has_type(value: Any, hint: Any) -> bool:
    """Return whether a value has a type; integers are floats, truth values are not.

    Examples
    --------
    >>> has_type(1, float), has_type(True, int), has_type((0.05, 1), tuple[float, ...]), has_type("5", int | None)
    (True, False, True, False)
    """
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(has_type(value, member) for member in inside)
    if origin is typing.Literal:
        return value in inside
    if isinstance(origin, type) and issubclass(tuple, origin):  # tuple, Sequence
        return isinstance(value, tuple) and all(has_type(element, inside[0]) for element in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return hint is Any or (isinstance(hint, type) and isinstance(value, hint))


def normal_value(value: Any) -> Any:
    """Return a value as plans store it: sequences as tuples, numbers of NumPy as those of Python.

    Examples
    --------
    >>> normal_value([1, 2]), normal_value(range(5, 16, 5)), normal_value("5")
    ((1, 2), (5, 10, 15), '5')
    """
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, list | tuple | range):
        return tuple(map(normal_value, plain))
    return plain


MAX_SHOWN = 60
"""Largest number of letters of a value in a message."""


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
    text = repr_of(value)
    if text is None:
        return "a number of more than 4,300 digits"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def repr_of(value: Any) -> str | None:
    """Return a value as Python spells it; None for longer integers than Python writes."""
    try:
        return repr(value)
    except ValueError:
        return None


def describe_type(hint: Any) -> str:
    """Return the name of a type for users.

    Examples
    --------
    >>> describe_type(tuple[float, ...]), describe_type(int | None), describe_type(typing.Literal["auto"] | int)
    ('a list, each a number', 'a whole number', 'auto or a whole number')
    """
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe_type(member) for member in inside if member is not type(None))
    if origin is typing.Literal:
        return " or ".join(map(str, inside))
    if inside:
        return f"a list, each {describe_type(inside[0])}"
    return TYPE_NAMES.get(hint, str(hint))


def _element_type(hint: Any) -> Any:
    """Return the type of the elements of a list type; None for other types."""
    for member in (hint, *typing.get_args(hint)):
        if typing.get_origin(member) is tuple:
            return typing.get_args(member)[0]
    return None


def _elements(value: Any) -> tuple[Any, ...]:
    """Return the elements of a list, or a single value as one; none of None."""
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _as_limit(value: float) -> str:
    """Return a limit for users: large powers of two as such."""
    return (
        f"2**{int(value).bit_length()} - 1"
        if value > 2**32 and value == 2 ** int(value).bit_length() - 1
        else f"{value:,g}"
        if abs(value) < 1e6
        else f"{value:g}"
    )


def _as_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
