"""What facts of a manifest, and attributes of a result, must be before anybody computes or writes with them.

A study may come from somebody else, or from a program that wrote what no version of scorecube does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from scorecube.errors import CorruptStudy

if TYPE_CHECKING:
    import xarray as xr

REQUIRED: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("runs", "teams", "topics", "missing_scores"), int),
    "metrics": [str],
    "gains": [str],
}
CUBE_FACTS: Final[Mapping[str, Any]] = {
    **REQUIRED,
    **dict.fromkeys(("systems", "fewest_runs", "most_runs"), int),
    "doubts": [str],
    "origin": {str: str},
}
RANKING_FACTS: Final[Mapping[str, Any]] = {"levels": [int]}
ATTRIBUTE_TYPES: Final[Mapping[str, Any]] = {
    **dict.fromkeys(
        ("analysis", "digest", "plan", "versions", "collection", "started", "finished"), str
    ),
    **dict.fromkeys(("trials", "runs", "n_runs", "n_topics", "n_teams"), int),
    "warnings": [str],
    "notes": [str],
    "doubts": [str],
    **dict.fromkeys(("topic_groups", "dropped_topics"), str),
}
"""Of results; those of one analysis alone are not listed."""
EVERY: Final = ("analysis", "digest", "plan", "runs", "seed", "trials")
"""Attributes that every result has."""
RESULT_FACTS: Final[Mapping[str, Any]] = {
    "commit": int,
    "outdated": bool,
    "finished": str,
    "attributes": ATTRIBUTE_TYPES,
}

TYPES: Final = {"cube": CUBE_FACTS, "rankings": RANKING_FACTS}
"""Of the facts of other entries than results."""


def checked(facts: Any, expected: Any, name: str = "facts") -> Any:
    """Return JSON values; TypeError, which says where, if one is not of the type that is expected.

    facts: JSON values.
    expected: A type; a list with the type of all items; a dict with the types of some keys, all of which may be absent;
        ``{str: type}``.
    name: Of the value, for the message.

    Examples
    --------
    >>> checked({"runs": "many"}, {"runs": int})
    Traceback (most recent call last):
    TypeError: runs is 'many', expected int
    """
    kind = expected if isinstance(expected, type) else type(expected)
    if not isinstance(facts, kind):
        raise TypeError(f"{name} is {facts!r:.60}, expected {kind.__name__}")
    if isinstance(facts, list) and isinstance(expected, list):
        for each in facts:
            checked(each, expected[0], f"a value of {name}")
    elif isinstance(facts, dict) and isinstance(expected, dict):
        every = expected.get(str)
        for key, value in facts.items():
            wanted = expected.get(key, every)
            if wanted not in (None, type(value)):
                checked(value, wanted, key)
    return facts


def checked_facts(name: str, facts: Any) -> dict[str, Any]:
    """Return the facts of an entry of a manifest; see `checked`."""
    found = dict(checked(facts, TYPES.get(name, RESULT_FACTS)))
    if name == "cube":
        _require(found, *REQUIRED)
    if "attributes" in found:
        _require(found["attributes"], *EVERY)
    return found


def _require(values: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if key not in values:
            raise KeyError(key)


def unreadable(what: str, error: Exception) -> str:
    """Return the message on a part of a study that holds something else than it should."""
    reason = f"it lacks {error.args[0]}" if isinstance(error, KeyError) else str(error)
    return f"{what} cannot be read: {reason}; run scorecube verify, and compute it again"


def checked_attributes(attributes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the attributes of a result; CorruptStudy, which begins with `where`, if they are none."""
    try:
        _require(attributes, *EVERY)
        return dict(checked(dict(attributes), ATTRIBUTE_TYPES))
    except (KeyError, TypeError) as error:
        raise CorruptStudy(unreadable(f"{where}: the attributes", error)) from None


def check_arrays(result: xr.Dataset, analysis: str, where: str) -> None:
    """Refuse a result that lacks a variable, or has one of other dims or another kind of values than the analysis declares.

    Raises CorruptStudy: The message begins with `where`, the study, collection and result.
    """
    from scorecube.analyses.registry import optional, variables

    absent = {each.name for each in variables(analysis)} - set(result.variables)
    for group in optional(analysis):
        if absent.issuperset(group):
            absent.difference_update(group)
    if absent:
        raise CorruptStudy(unreadable(f"{where}: the result", KeyError(", ".join(sorted(absent)))))
    for each in variables(analysis):
        found = result.variables.get(each.name)
        if found is not None and (found.dims != each.dims or found.dtype.kind not in each.kinds):
            error = TypeError(
                f"it has dims {found.dims} of {found.dtype}, expected {each.dims} of kind {each.kinds!r}"
            )
            raise CorruptStudy(unreadable(f"{where}: the variable {each.name}", error))


def plan_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of a result, with its options, from its attributes; CorruptStudy if there is none.

    Examples
    --------
    >>> plan_of({"plan": '{"options": {"size": 5}, "trials": 9}'})["options"]
    {'size': 5}
    """
    try:
        plan: dict[str, Any] = checked(
            json.loads(attributes["plan"]), {"options": {}, "trials": int, "seed": str}, "the plan"
        )
        _require(plan, "options")
    except (ValueError, KeyError, TypeError) as error:
        name = attributes.get("analysis", "a result")
        raise CorruptStudy(unreadable(f"the plan of {name}", error)) from None
    return plan


def plan_options(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result's plan without what does not distinguish one analysis of other scores from another."""
    return {
        key: value
        for key, value in plan_of(attributes).items()
        if key not in ("cube", "teams", "systems", "seed", "trials")
    }
