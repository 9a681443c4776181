"""Options: fields of records, from which commands, sweep files, help and checks are made.

`option_field` declares a field, `options_of` returns the declarations of a record. A field is a
truth value, a number, a text, a path, a `Literal` of texts, a tuple of one of them, or a union.
"""

import inspect
import math
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from scorecube import names
from scorecube.errors import BadPlan, default_flag, doubts_of_levels, kind_of, meant, option

T = TypeVar("T")
ONLY_TOPICS = {"flags": ("--only-topics",), "help": "Topics, by their ids; all by default."}
"""Of the shared option `topics`, where an analysis has numbers of topics under its flag."""
TYPE_NAMES = {
    float: "a number",
    int: "a whole number",
    str: "text",
    bool: "true or false",
    Path: "a path",
}
LIMITS = {
    "minimum": ("of at least", operator.ge),
    "above": ("above", operator.gt),
    "maximum": ("of at most", operator.le),
    "below": ("below", operator.lt),
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
    def choices(self) -> tuple[Any, ...]:
        """Texts of which the value, or each element, is one; empty for any."""
        is_list = typing.get_origin(self.type) is tuple
        kind = typing.get_args(self.type)[0] if is_list else self.type
        return typing.get_args(kind) if _is_literal(kind) else ()

    @property
    def scalar(self) -> Any:
        """Type of a single number, text or truth value; None for others."""
        kinds = [kind for kind in _members(self.type) if kind is not types.NoneType]
        kind = str if _is_literal(kinds[0]) else kinds[0]
        plain = len(kinds) == 1 and kind in TYPE_NAMES and not (self.convert or self.aliases)
        return kind if plain else None

    @property
    def limits(self) -> str:
        """Limits of numbers, for users; empty for none."""
        if self.minimum is not None and self.maximum is not None:
            return f"from {_as_limit(self.minimum)} to {_as_limit(self.maximum)}"
        return " and ".join(f"{word} {_as_limit(limit)}" for word, _, limit in self._limits())

    @property
    def expected(self) -> str:
        """Type and limits of the value, for users."""
        aliases = [f"or {text}" for text in self.aliases]
        return " ".join(filter(None, [describe_type(self.type), self.limits, *aliases]))

    def parse(self, text: str) -> Any:
        """Return the value of a text from the command line or a sweep file (or BadPlan)."""
        if text in self.aliases:
            return self.aliases[text]
        if self.convert is not None:
            return self.convert(text)
        if has_type(text, self.type):
            return text
        for read in (str, float, int):
            with suppress(ValueError):
                words = tuple(dict.fromkeys(map(read, split_list(text))))
                for value in (words, *(words if len(words) == 1 else ())):
                    if has_type(value, self.type):
                        return value
        raise BadPlan(f"{option(self.name)}: {self.problem(text)}", option=self.name)

    def checked(self, value: Any) -> Any:
        """Return a value in its normal form, or BadPlan; a text or number may stand for a list."""
        plain = normal_value(value)
        if isinstance(plain, str) and not has_type(plain, self.type):
            plain = self.parse(plain)
        elif not has_type(plain, self.type) and has_type((plain,), self.type):
            plain = (plain,)
        if problem := self.problem(plain):
            raise BadPlan(f"{option(self.name)}: {problem}", option=self.name)
        return plain

    def problem(self, value: Any) -> str:
        """Return what is expected and what was found; empty for a value that is right."""
        expected, hint = self.expected, ""
        if has_type(value, self.type):
            numbers = [one for one in elements(value) if type(one) in (int, float)]
            wrong = [number for number in numbers if not self._is_in_range(number)]
            if value == () and not self.may_be_empty:
                expected = expected.replace("a list", "a list that is not empty")
            elif not wrong:
                return ""
            else:
                value = wrong[0]
                hint = meant(value, self.level) if (self.below or self.maximum or 2) <= 1 else ""
        return f"expected {expected}; found {shown(value)}{hint}"

    def default_text(self) -> str | None:
        """Return the default as a text of the command line; None if no text stands for it."""
        for text, value in self.aliases.items():
            if value == self.default:
                return text
        if self.default is None or isinstance(self.default, bool):
            return None
        return ",".join(
            f"{value:g}" if isinstance(value, float) else str(value)
            for value in elements(self.default)
        )

    def _limits(self) -> list[tuple[str, Callable[[Any, Any], bool], float]]:
        stated = [(*rule, getattr(self, name)) for name, rule in LIMITS.items()]
        return [rule for rule in stated if rule[-1] is not None]

    def _is_in_range(self, value: Any) -> bool:
        inside = [compare(value, limit) for _, compare, limit in self._limits()]
        return -math.inf < value < math.inf and all(inside)  # false of NaN, too


def option_field(default: T, help: str, *, flag: str = "", **settings: Any) -> T:  # noqa: A002
    """Declare a field of a record as an option.

    help: One sentence for the command line and for option tables.
    flag: Flag on the command line; empty for the field's name with hyphens.
    settings: Other parameters of `Option`, such as `minimum`, `finalize`.
    """
    flags = {"flags": (flag,)} if flag else {}
    return field(default=default, metadata={"option": Option(help, **(settings | flags))})


def level_field(kind: str, default: T, help: str, **settings: Any) -> T:  # noqa: A002
    """Declare a field of significance levels (``alpha``) or confidence levels (``confidence``)."""
    return option_field(default, help, above=0, below=1, level=kind, **settings)


@cache
def options_of(kind: Any) -> Mapping[str, Option]:
    """Return the options of a record, by the names of its fields.

    Examples
    --------
    >>> from scorecube.analyses.swap import Swap
    >>> options_of(Swap)["rule"].choices, options_of(Swap)["rule"].flag
    (('s0', 's1'), '--rule')
    """
    hints, options = typing.get_type_hints(kind), {}
    for entry in fields(kind):
        declared = entry.metadata.get("option", Option(""))
        facts = {"name": entry.name, "type": hints[entry.name], "default": entry.default}
        options[entry.name] = replace(declared, **facts)
    return options


def document(kind: type) -> None:
    """Add a section Parameters to the docstring of a record, from the declarations of its fields.

    A docstring that has the section stays as it is.
    """
    text, lines = inspect.cleandoc(kind.__doc__ or ""), ["Parameters", "-" * 10]
    if "\n".join(lines) in text:
        return
    for name, declared in options_of(kind).items():
        choices = "{" + ", ".join(map(repr, declared.choices)) + "}" if declared.choices else ""
        facts = filter(None, [choices, declared.limits, f"default {declared.default!r}"])
        lines += [f"{name} : {', '.join(facts)}", f"    {declared.description}"]
    summary, *sections = re.split(r"\n\n(?=\w+\n-+\n)", text, maxsplit=1)
    kind.__doc__ = "\n\n".join([summary, "\n".join(lines), *sections]) + "\n"


def doubts_of(record: Any) -> list[str]:
    """Return what is said of levels that are possible, and more often a mistake."""
    doubts = []
    kind: Any = type(record)
    for name, declared in options_of(kind).items():
        if declared.level:
            doubts += doubts_of_levels(declared.level, elements(getattr(record, name)))
    return doubts


def as_named(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by the names of a record, which may have ``alphas`` for ``alpha``."""
    several = "alphas" in options_of(kind)
    return {"alphas" if several and name == "alpha" else name: of for name, of in values.items()}


def split_list(text: str) -> list[str]:
    """Return the elements of a comma-separated text; commas inside brackets do not separate.

    Examples
    --------
    >>> split_list("AP, nERR(form=exp2,rel=2)@10,")
    ['AP', 'nERR(form=exp2,rel=2)@10']
    """
    words = re.split(r",(?![^(]*\))", text)
    return [word.strip() for word in words if word.strip()]


def has_type(value: Any, hint: Any) -> bool:
    """Return whether a value has a type; integers are floats, truth values are not.

    Examples
    --------
    >>> has_type(1, float), has_type(True, int), has_type((0.05, 1), tuple[float, ...])
    (True, False, True)
    """
    members, inside = _members(hint), typing.get_args(hint)
    if len(members) > 1:
        return any(has_type(value, member) for member in members)
    if _is_literal(hint):
        return value in inside
    if inside:  # tuple, Sequence
        return isinstance(value, tuple) and all(has_type(one, inside[0]) for one in value)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return isinstance(value, hint)


def normal_value(value: Any) -> Any:
    """Return a value as plans store it: sequences as tuples, numbers of NumPy as Python's."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(normal_value, plain)) if isinstance(plain, list | tuple | range) else plain


def elements(value: Any) -> tuple[Any, ...]:
    """Return the elements of a list, or a single value as one; none of None."""
    return value if isinstance(value, tuple) else () if value is None else (value,)


def shown(value: Any) -> str:
    """Return a value for a message: short values as Python spells them, others by their type.

    Examples
    --------
    >>> shown(1.5), shown("25"), shown({1: 2}), shown(10**5000)
    ('1.5', "'25'", 'a dict', 'a number of more than 4,300 digits')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    try:
        plain = isinstance(value, bool | int | float | str | list | tuple | None)
        text = repr(value) if plain else kind_of(value)
    except ValueError:  # Python refuses to write it out
        text = "a number of more than 4,300 digits"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def describe_type(hint: Any) -> str:
    """Return the name of a type for users, such as ``a list, each a number``."""
    members, inside = _members(hint), typing.get_args(hint)
    if len(members) > 1:
        kinds = [member for member in members if member is not types.NoneType]
        return " or ".join(map(describe_type, kinds))
    if _is_literal(hint):
        return inside[0] if len(inside) == 1 else f"one of {', '.join(inside)}"
    return f"a list, each {describe_type(inside[0])}" if inside else TYPE_NAMES[hint]


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union; another type alone."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if is_union else (hint,)


def _is_literal(hint: Any) -> bool:
    return typing.get_origin(hint) is Literal


def _as_limit(value: float) -> str:
    """Return a limit for users: that of 64 bits as such."""
    if value == 2**64 - 1:
        return "2**64 - 1"
    return f"{value:,g}" if abs(value) < 1e6 else f"{value:g}"


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """Options of all analyses, whose values are passed on by name.

    Those from `metrics` to `bags` are described by `scorecube.collection.selection.select`,
    `trials` and `seed` by `scorecube.analyse`.
    """

    collection: tuple[str, ...] | None = option_field(
        None,
        "Collections, separated by commas; all by default.",
        flags=("--collection", "--collections"),
    )
    metrics: tuple[str, ...] | None = option_field(
        None, "Metrics, separated by commas; all by default."
    )
    gains: tuple[str, ...] | None = option_field(None, "Gain settings; all by default.")
    runs: tuple[str, ...] | None = option_field(None, "Runs; all by default.")
    topics: tuple[str, ...] | None = option_field(None, "Topics; all by default.")
    top_runs: int | None = option_field(None, "Only the N best runs by mean.", minimum=2)
    by: str | None = option_field(None, "Metric that chooses the best runs; the first by default.")
    missing: Literal["refuse", "drop"] = option_field(
        "refuse", "Refuse missing scores, or drop their topics."
    )
    bags: Literal["none"] | int = option_field(
        names.N_BAGS,
        "Random bags that more than 1,400 topics are put into, or none.",
        minimum=100,
        maximum=1_400,
    )
    trials: int | None = option_field(
        None, "Resampling trials; more trials later extend a result.", minimum=1
    )
    seed: int = option_field(1, "Seed of the random streams.", minimum=0, maximum=2**64 - 1)
    workers: int | None = option_field(None, "Cores to use; all by default.", minimum=1)
    cluster: Path | None = option_field(  # noqa: RUF009
        None, "Cluster file, e.g. cluster/processes.yaml."
    )
    scheduler: str | None = option_field(None, "Address of a running dask scheduler, or its file.")
    dry_run: bool = option_field(False, "Only report what would be done.")


SHARED = options_of(SharedOptions)
"""Name -> declaration."""
SELECTION = ("metrics", "gains", "runs", "topics", "top_runs", "by", "missing", "bags")
"""Options that select a part of a collection."""
