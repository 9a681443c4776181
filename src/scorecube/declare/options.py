"""Options: fields of records, from which commands, sweep files, help and checks are made.

`option_field` declares a field, `options_of` returns the declarations of a record. A value is a
truth value, a number, a text, a path or one of a few texts; or a tuple of them; or None.
"""

import inspect
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from itertools import chain
from reprlib import repr as shown
from textwrap import wrap
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from scorecube.declare.variables import Variable
from scorecube.errors import BadArgument, BadPlan, default_flag, nearest, option

WIDTH = 96
"""Columns of docstrings."""
KINDS = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
LIMITS = {
    "minimum": ("of at least", operator.ge),
    "above": ("above", operator.gt),
    "maximum": ("of at most", operator.le),
    "below": ("below", operator.lt),
}


class _Limit(NamedTuple):
    """A limit of a number: in words, how a number is compared with it, and where it lies."""

    words: str
    compare: Callable[[Any, Any], Any]
    bound: float


@dataclass(frozen=True)
class Option:
    """Declaration of one option; `name`, `type` and `default` are of the field.

    help: One sentence; without one the command does not have the option.
    flag: Flags, separated by blanks, the main one first; empty for the name with hyphens. The flag
        of an option that is true by default turns the option off.
    minimum, maximum, above, below: Limits of numbers, the last two not included.
    none: Text that stands for None, such as ``all``.
    argument: Name in the help of what a command takes by its place, not by a flag.

    The type says what values there are: of one `kind`, or of a few `texts`; `single`, `listed` in a
    tuple, or None where `optional`.
    """

    help: str = ""
    flag: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    none: str = ""
    argument: str = ""
    name: str = ""
    type: Any = str
    default: Any = None
    kind: Any = field(init=False)
    texts: tuple[str, ...] = field(init=False)
    single: bool = field(init=False)
    listed: bool = field(init=False)
    optional: bool = field(init=False)

    def __post_init__(self) -> None:
        """Take the type apart."""
        is_union = get_origin(self.type) in (Union, UnionType)
        members = dict.fromkeys(get_args(self.type) if is_union else [self.type])
        tuples = [member for member in members if get_origin(member) is tuple]
        singles = [member for member in members if member not in (*tuples, NoneType)]
        scalars = [*singles, *(get_args(member)[0] for member in tuples)]
        literals = [scalar for scalar in scalars if get_origin(scalar) is Literal]
        texts = dict.fromkeys(chain.from_iterable(map(get_args, literals)))
        kind = next((scalar for scalar in scalars if scalar not in literals), None)
        # A frozen record does not let its fields be set.
        self.__dict__.update(kind=kind, texts=tuple(texts), optional=NoneType in members)
        self.__dict__.update(single=bool(singles), listed=bool(tuples))

    @property
    def is_required(self) -> bool:
        """Whether there is no default."""
        return self.default is MISSING

    @property
    def flags(self) -> list[str]:
        """Flags on the command line, the main one first."""
        return self.flag.split() or [default_flag(self.name)]

    @property
    def choices(self) -> tuple[str, ...]:
        """Texts of which the value, or each element, is one; empty where others are possible."""
        return () if self.kind else self.texts

    @property
    def scalar(self) -> Any:
        """Type of a single number, text or truth value; None for others."""
        is_mixed = bool(self.none or (self.kind and self.texts))
        if self.listed or is_mixed or not self.single:
            return None
        return self.kind or str

    @property
    def expected(self) -> str:
        """Type and limits of the value, for users."""
        limits = " and ".join(f"{limit.words} {limit.bound:,.16g}" for limit in self._limits())
        scalar = f"{KINDS.get(self.kind, 'a path')} {limits}".strip() if self.kind else ""
        words = list(filter(None, (*self.texts, self.none, scalar)))
        text = ", ".join(words)
        if len(words) > 1:
            text = f"one of {text}"
        return f"{text}, or several" if self.listed else text

    def checked(self, value: object) -> Any:
        """Return a value in its normal form, or BadPlan; a text or number may stand for a list."""
        plain = self._read(value) if isinstance(value, str) else _plain(value)
        if not self.single and plain is not None and not isinstance(plain, tuple):
            plain = (plain,)
        if plain is None:
            right = self.optional
        elif isinstance(plain, tuple):
            are_right = all(one in self.choices or self._fits(one) for one in plain)
            may_be_empty = not self.default
            right = self.listed and are_right and (len(plain) > 0 or may_be_empty)
        else:
            right = self.single and (plain in self.texts or self._fits(plain))
        if not right:
            text = f"{option(self.name)}: expected {self.expected}; found {shown(value)}"
            raise BadPlan(text, option=self.name)
        return plain

    def default_text(self) -> str | None:
        """Return the default as a text of the command line; None if no text stands for it."""
        if self.is_required or self.default is None or isinstance(self.default, bool):
            return self.none or None
        values = self.default if isinstance(self.default, tuple) else (self.default,)
        return ",".join(f"{one:g}" if isinstance(one, float) else str(one) for one in values)

    def _read(self, text: str) -> Any:
        """Return the value that a text stands for; the text itself where it is none."""
        if text and text == self.none:
            return None
        if text in self.texts or (self.single and self.kind is str):
            return text
        words: list[Any] = split_list(text) if self.listed else [text]
        with suppress(ValueError):
            words = words if self.kind in (None, bool) else list(map(self.kind, words))
        return tuple(dict.fromkeys(words)) if self.listed else words[0]

    def _fits(self, value: Any) -> bool:
        """Return whether a scalar has the kind, and is within the limits."""
        if self.kind not in (int, float):
            return self.kind is not None and isinstance(value, self.kind)
        is_number = isinstance(value, int | self.kind) and not isinstance(value, bool)
        inside = is_number and -math.inf < value < math.inf  # false of NaN, too
        return inside and all(limit.compare(value, limit.bound) for limit in self._limits())

    def _limits(self) -> list[_Limit]:
        """Return the limits that are declared."""
        limits = []
        for name, (words, compare) in LIMITS.items():
            bound = getattr(self, name)
            if bound is not None:
                limits.append(_Limit(words, compare, bound))
        return limits


REQUIRED = MISSING
"""Default of an option that must be given."""


class _SignatureOfInit:
    def __get__(self, _: object, kind: Any) -> inspect.Signature:
        whole = inspect.signature(kind.__init__)
        return whole.replace(parameters=list(whole.parameters.values())[1:])


class Record:
    """Base of records of options: dataclasses that name the nearest option for an unknown one."""

    __signature__ = _SignatureOfInit()
    elsewhere: ClassVar[str] = ""
    """What is said of arguments that are taken to be options."""

    def __new__(cls, *_values: Any, **options: Any) -> Self:
        """Return an empty record; BadArgument for options that it does not have."""
        known = [entry.name for entry in fields(cast("Any", cls))]
        if unknown := next((name for name in options if name not in known), None):
            close = nearest(unknown, known, 3)
            text = (
                f"{cls.__name__} has no option {option(unknown)}; nearest: {close}{cls.elsewhere}"
            )
            raise BadArgument(text, option=unknown)
        return super().__new__(cls)


def option_field(default: object, help: str, **settings: Any) -> Any:  # noqa: A002
    """Declare a field of a record as an option; settings are other parameters of `Option`.

    default: `REQUIRED` for none.
    """
    return field(default=default, metadata={"option": Option(help, **settings)})


@cache
def options_of(kind: type) -> Mapping[str, Option]:
    """Return the options of a record, by the names of its fields."""
    hints = get_type_hints(kind)
    options = {}
    for entry in fields(kind):
        facts = {"name": entry.name, "type": hints[entry.name], "default": entry.default}
        options[entry.name] = replace(entry.metadata.get("option", Option()), **facts)
    return options


def document(kind: type, variables: Iterable[Variable] = ()) -> None:
    """Add its fields, and the variables of its results, to the docstring of a record without them.

    They are sections Parameters, and Notes before the examples.
    """
    text = inspect.cleandoc(kind.__doc__ or "")
    lines = ["Parameters", "-" * 10]
    if "\n".join(lines) in text:
        return
    for name, item in options_of(kind).items():
        default = "" if item.is_required else f", default {item.default!r}"
        lines.append(f"{name} : {item.expected}{default}")
        lines += wrap(item.help, WIDTH, initial_indent="    ", subsequent_indent="    ")
    summary, *sections = re.split(r"\n\n(?=\w+\n-+\n)", text)
    notes = ["Notes", "-----", "Variables of a result:", ""]
    for variable in variables:
        dims = ", ".join(variable.dims)
        units = "" if variable.units == "1" else f", {variable.units}"
        line = f"- `{variable.name}` ({dims}){units}: {variable.long_name}"
        notes += wrap(line, WIDTH, subsequent_indent="  ")
    titles = [section.partition("\n")[0] for section in sections]
    if variables and "Notes" not in titles:
        place = titles.index("Examples") if "Examples" in titles else len(titles)
        sections.insert(place, "\n".join(notes))
    kind.__doc__ = "\n\n".join([summary, "\n".join(lines), *sections]) + "\n"


def split_list(text: str) -> list[str]:
    """Return the elements of a comma-separated text; commas inside brackets do not separate."""
    elements = [element.strip() for element in re.split(r",(?![^(]*\))", text)]
    return [element for element in elements if element]


def _plain(value: object) -> Any:
    """Return a value as plans store it: sequences as tuples, numbers of NumPy as Python's."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, list | tuple | range):
        return tuple(map(_plain, plain))
    return plain
