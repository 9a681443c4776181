"""Options: fields of records, from which commands, sweep files, help and checks are made.

`option_field` declares a field, `options_of` returns the declarations of a record. A value is a
truth value, a number, a text, a path or one of a few texts; or a tuple of them; or None.
"""

import inspect
import math
import operator
import re
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from reprlib import repr as shown
from typing import Any, Literal, NamedTuple, TypeVar

from scorecube import names
from scorecube.errors import BadPlan, default_flag, option

T = TypeVar("T")
KINDS = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
LIMITS = {
    "minimum": ("of at least", operator.ge),
    "above": ("above", operator.gt),
    "maximum": ("of at most", operator.le),
    "below": ("below", operator.lt),
}


class Shape(NamedTuple):
    """The values of a type: one or a tuple of a kind, or of a few texts; None where optional."""

    kind: Any
    choices: tuple[str, ...]
    single: bool
    listed: bool
    optional: bool


@dataclass(frozen=True)
class Option:
    """Declaration of one option; `name`, `type` and `default` are of the field.

    help: One sentence; without one the command does not have the option.
    flags: Flags, the main one first; empty for the name with hyphens. The flag of an option that
        is true by default turns the option off.
    minimum, maximum, above, below: Limits of numbers, the last two not included.
    none: Text that stands for None, such as ``all``.
    """

    help: str = ""
    flags: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    none: str = ""
    name: str = ""
    type: Any = str
    default: Any = None

    @property
    def shape(self) -> Shape:
        """The values of the type."""
        return _shape_of(self.type)

    @property
    def flag(self) -> str:
        """Flag on the command line."""
        return self.flags[0] if self.flags else default_flag(self.name)

    @property
    def choices(self) -> tuple[str, ...]:
        """Texts of which the value, or each element, is one; empty where others are possible."""
        return () if self.shape.kind else self.shape.choices

    @property
    def scalar(self) -> Any:
        """Type of a single number, text or truth value; None for others."""
        kind, choices, single, listed, _ = self.shape
        plain = single and not listed and not self.none and not (kind and choices)
        return (kind or str) if plain else None

    @property
    def expected(self) -> str:
        """Type and limits of the value, for users."""
        kind, choices, _, listed, _ = self.shape
        limits = " and ".join(f"{word} {limit:,.16g}" for word, _, limit in self._limits())
        scalar = f"{KINDS.get(kind, 'a path')} {limits}".strip() if kind else ""
        words = list(filter(None, (*choices, self.none, scalar)))
        return "one of " * (len(words) > 1) + ", ".join(words) + ", or several" * listed

    def checked(self, value: Any) -> Any:
        """Return a value in its normal form, or BadPlan; a text or number may stand for a list."""
        kind, choices, single, listed, optional = self.shape
        plain = self._read(value) if isinstance(value, str) else _plain(value)
        if not single and plain is not None and not isinstance(plain, tuple):
            plain = (plain,)
        if plain is None:
            right = optional
        elif isinstance(plain, tuple):
            words = () if kind else choices
            right = listed and (plain != () or not self.default)
            right = right and all(one in words or self._fits(one) for one in plain)
        else:
            right = single and (plain in choices or self._fits(plain))
        if not right:
            text = f"{option(self.name)}: expected {self.expected}; found {shown(value)}"
            raise BadPlan(text, option=self.name)
        return plain

    def default_text(self) -> str | None:
        """Return the default as a text of the command line; None if no text stands for it."""
        if self.default is None or isinstance(self.default, bool):
            return self.none or None
        values = self.default if isinstance(self.default, tuple) else (self.default,)
        return ",".join(f"{one:g}" if isinstance(one, float) else str(one) for one in values)

    def _read(self, text: str) -> Any:
        """Return the value that a text stands for; the text itself where it is none."""
        kind, choices, single, listed, _ = self.shape
        if text and text == self.none:
            return None
        if text in choices or (single and kind is str):
            return text
        words = split_list(text) if listed else [text]
        with suppress(ValueError):
            words = list(map(kind, words)) if kind in (int, float, Path) else words
        return tuple(dict.fromkeys(words)) if listed else words[0]

    def _fits(self, value: Any) -> bool:
        """Return whether a scalar has the type, and is within the limits."""
        kind = self.shape.kind
        if kind not in (int, float):
            return kind is not None and isinstance(value, kind)
        is_number = isinstance(value, int | kind) and not isinstance(value, bool)
        inside = is_number and -math.inf < value < math.inf  # false of NaN, too
        return inside and all(compare(value, limit) for _, compare, limit in self._limits())

    def _limits(self) -> list[tuple[str, Any, float]]:
        stated = [(*rule, getattr(self, name)) for name, rule in LIMITS.items()]
        return [rule for rule in stated if rule[-1] is not None]


def option_field(default: T, help: str, *, flag: str = "", **settings: Any) -> T:  # noqa: A002
    """Declare a field of a record as an option; settings are other parameters of `Option`."""
    flags = {"flags": (flag,)} if flag else {}
    return field(default=default, metadata={"option": Option(help, **(settings | flags))})


@cache
def options_of(kind: Any) -> Mapping[str, Option]:
    """Return the options of a record, by the names of its fields."""
    hints, options = typing.get_type_hints(kind), {}
    for entry in fields(kind):
        facts = {"name": entry.name, "type": hints[entry.name], "default": entry.default}
        options[entry.name] = replace(entry.metadata.get("option", Option()), **facts)
    return options


def document(kind: type) -> None:
    """Add a section Parameters to the docstring of a record without one, from its fields."""
    text, lines = inspect.cleandoc(kind.__doc__ or ""), ["Parameters", "-" * 10]
    if "\n".join(lines) in text:
        return
    for name, declared in options_of(kind).items():
        lines += [f"{name} : {declared.expected}, default {declared.default!r}"]
        lines += [f"    {declared.help}"]
    summary, *sections = re.split(r"\n\n(?=\w+\n-+\n)", text, maxsplit=1)
    kind.__doc__ = "\n\n".join([summary, "\n".join(lines), *sections]) + "\n"


def split_list(text: str) -> list[str]:
    """Return the elements of a comma-separated text; commas inside brackets do not separate."""
    words = re.split(r",(?![^(]*\))", text)
    return [word.strip() for word in words if word.strip()]


@cache
def _shape_of(hint: Any) -> Shape:
    """Return what values a type has."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    members = set(typing.get_args(hint) if is_union else (hint,))
    tuples = {member for member in members if typing.get_origin(member) is tuple}
    singles = members - tuples - {types.NoneType}
    scalars = [*singles, *(typing.get_args(member)[0] for member in tuples)]
    texts = [kind for kind in scalars if typing.get_origin(kind) is Literal]
    kinds = [kind for kind in scalars if kind not in texts]
    choices = tuple(text for kind in texts for text in typing.get_args(kind))
    optional = types.NoneType in members
    return Shape(kinds[0] if kinds else None, choices, bool(singles), bool(tuples), optional)


def _plain(value: Any) -> Any:
    """Return a value as plans store it: sequences as tuples, numbers of NumPy as Python's."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(_plain, plain)) if isinstance(plain, list | tuple | range) else plain


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """Options of all analyses, whose values are passed on by name."""

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
    cluster: Path | None = option_field(None, "Cluster file, e.g. cluster/processes.yaml.")  # noqa: RUF009
    scheduler: str | None = option_field(None, "Address of a running dask scheduler.")
    dry_run: bool = option_field(False, "Only report what would be done.")


SHARED = options_of(SharedOptions)
"""Name -> declaration."""
SELECTION = ("metrics", "gains", "runs", "topics", "top_runs", "by", "missing", "bags")
"""Options that select a part of a collection."""
