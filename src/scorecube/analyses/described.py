"""Docstrings of records of options, whose parameters are told by the declarations of fields."""

import dataclasses
import inspect
import re
import textwrap
from typing import Any

from scorecube.analyses.options import DECLARED, Option

SECTION = re.compile(r"^(\w+)\n-+$", re.MULTILINE)
"""A section of a docstring."""
LITERAL = re.compile(r"(tuple\[)?Literal\[[^\]]*\](, \.\.\.\])?")
WIDTH = 110
"""Letters of a line that is made."""


class Described:
    """Base of records that state an option once, in its field, for help() and the pages.

    A docstring that has a section Parameters stays as it is.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        text = inspect.cleandoc(cls.__doc__ or "")
        if not text or "Parameters" in SECTION.findall(text):
            return
        # The class is not a record yet, unlike its bases.
        fields: dict[str, Any] = {}
        for base in reversed(cls.__mro__[1:]):
            fields |= getattr(base, "__dataclass_fields__", {})
        fields |= {
            name: each for name, each in vars(cls).items() if isinstance(each, dataclasses.Field)
        }
        entries = [
            _entry(
                dataclasses.replace(each.metadata[DECLARED], name=name, default=each.default),
                _choices(cls, name),
            )
            for name, each in fields.items()
            if DECLARED in each.metadata
        ]
        if entries:
            first = SECTION.search(text)
            place = first.start() if first else len(text)
            section = "\n".join(["Parameters", "----------", *entries])
            parts = (text[:place].rstrip(), section, text[place:])
            cls.__doc__ = "\n\n".join(filter(None, parts)) + "\n"


def _choices(kind: type, name: str) -> list[str]:
    """Return the values of a literal field, or of a tuple of it, of a class in the making."""
    types = [vars(base).get("__annotations__", {}).get(name) for base in kind.__mro__]
    hint = str(next(filter(None, types), "")).replace("typing.", "")
    return re.findall(r"[\"']([^\"']+)[\"']", hint) if LITERAL.fullmatch(hint) else []


def _entry(declared: Option, choices_of: list[str]) -> str:
    """Return the lines about an option: name, values and default, then its description."""
    choices = "{" + ", ".join(map(repr, choices_of)) + "}" if choices_of else ""
    values = ", ".join(filter(None, [choices, declared.limits, f"default {declared.default!r}"]))
    lines = textwrap.wrap(
        declared.description, WIDTH, break_long_words=False, break_on_hyphens=False
    )
    return "\n    ".join([f"{declared.name} : {values}", *lines])
