"""The form of JSON values of a study: checked before use, as anybody may have written them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from scorecube import names
from scorecube.errors import BadStudy

Form = Mapping[str, Callable[[Any], bool]]
"""A test of each value, by name."""
MOST_DIMS: Final = 16
FORMAT: Final = 1
"""Of heads, groups and results; what names none is of the first."""
OWN: Final = "scorecube"
"""Attribute of a group that names its format."""
OWN_ATTRIBUTE: Final[Mapping[str, Any]] = {OWN: {"format": FORMAT}}


def is_text(value: object) -> bool:
    """Whether a value is a text."""
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{1,64}", value) is not None


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def _are_counts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


def _are_words(value: object) -> bool:
    return isinstance(value, list) and _are_texts(value) and len(value) == len(names.USUAL_WORDS)


HEAD: Final[Form] = {
    "name": is_text,
    "number": _is_count,
    "cube": _is_digest,
    "rankings": lambda value: value == "" or _is_digest(value),
    "contains": lambda value: _are_texts(value) and all(map(_is_digest, value)),
    "facts": _is_object,
    "notes": _is_object,
    "id": is_text,
}
GROUP: Final[Form] = {"bytes": _is_count, "files": _is_count}
RANKINGS: Final[Form] = {**GROUP, "levels": _are_counts}
CUBE: Final[Form] = {
    **GROUP,
    **dict.fromkeys(("runs", "topics", "missing_scores"), _is_count),
    **dict.fromkeys(("metrics", "gains"), _are_texts),
    "origin": lambda value: _is_object(value) and _are_texts([*value.values()]),
}
OF_SOME_CUBES: Final[Form] = {
    **dict.fromkeys(("teams", "systems", "fewest_runs", "most_runs"), _is_count),
    names.DOUBTS: _are_texts,
    names.WORDS: _are_words,
}
OF_RESULT: Final[Form] = {
    **dict.fromkeys(("analysis", "digest", "plan", "seed", "versions", "finished"), is_text),
    "warnings": _are_texts,
}
OF_SOME_RESULTS: Final[Form] = {
    names.DOUBTS: _are_texts,
    names.LEFT_OUT: lambda value: is_text(value) or _are_texts(value),
    names.WORDS: _are_words,
    **dict.fromkeys(("collection", "request", "preset"), is_text),
}
ARRAY: Final[Form] = {
    "shape": _are_counts,
    "data_type": is_text,
    "codecs": lambda value: isinstance(value, list),
    "chunk_grid": _is_object,
    "attributes": _is_object,
    "dimension_names": _are_texts,
}


def check(record: object, needed: Form, others: Form | None = None) -> None:
    """Refuse values of another form (ValueError); those without a test are not looked at.

    needed, others: Tests of what must be there, and of what may be.
    """
    if not isinstance(record, dict):
        raise ValueError(f"{str(record)[:40]!r} is found where an object is expected")
    if lacking := needed.keys() - record.keys():
        raise ValueError(f"has no {min(lacking)}")
    for name, test in {**needed, **(others or {})}.items():
        if name in record and not test(record[name]):
            raise ValueError(f"{name} is {str(record[name])[:40]!r}, which no scorecube writes")


def refuse_newer(record: Mapping[str, Any], what: str) -> None:
    """Refuse what a newer version has written (BadStudy), before anything of it is read.

    record: What names its format, if it does.
    what: Its path.
    """
    found = record.get("format", FORMAT)
    if not _is_count(found):
        raise ValueError(f"format is {str(found)[:40]!r}, which no scorecube writes")
    if found > FORMAT:
        raise BadStudy(
            f"{what}: has format {found}, of a newer scorecube; this one reads formats up to "
            f"{FORMAT}: install a newer one (pip install --upgrade scorecube)"
        )


def take_format(attributes: dict[Any, Any], what: str) -> None:
    """Take the format out of the attributes of a group; `refuse_newer` for another one."""
    own = attributes.pop(OWN, {})
    if not isinstance(own, dict):
        raise ValueError(f"{OWN} is {str(own)[:40]!r}, which no scorecube writes")
    refuse_newer(own, what)


def check_head(record: Mapping[str, Any]) -> None:
    """Refuse a head of another form (ValueError)."""
    check(record, HEAD)
    check(record["facts"].get("cube"), CUBE, OF_SOME_CUBES)
    if record["rankings"]:
        check(record["facts"].get("rankings"), RANKINGS)


def check_array(array: Mapping[str, Any]) -> None:
    """Refuse metadata of an array of another form (ValueError)."""
    check(array, ARRAY)
    dims = array["dimension_names"]
    if not len(set(dims)) == len(dims) == len(array["shape"]) <= MOST_DIMS:
        raise ValueError("has other dims than its shape")
