"""Names of metrics: what ``nERR(form=exp2)@10`` says, and what is wrong with a name."""

import re
from itertools import pairwise

from scorecube.errors import BadName, UnknownName, nearest
from scorecube.metrics.parameters import Parameter, Value
from scorecube.metrics.registry import (
    DEFINITIONS,
    EVERY_METRIC,
    HIGHEST_LEVEL,
    NAME,
    Definition,
    Metric,
)

DEEPEST = 10**7
"""Largest cut-off."""
_SHAPE = re.compile(rf"^(?P<name>{NAME}?)(\((?P<inside>[^()]*)\))?(@(?P<cutoff>[0-9]+))?\Z")


def has_known_name(text: str) -> bool:
    """Return whether `parse_metric` knows the name in a text; quick for texts of any kind.

    Examples
    --------
    >>> has_known_name("nDCG(b=2)@10"), has_known_name("P"), has_known_name("401")
    (True, True, False)
    """
    return _known_parts(text) is not None


def _known_parts(text: str) -> re.Match[str] | None:
    """Return name, inside of the brackets and cut-off of a metric; None for an unknown name."""
    parts = _SHAPE.match(text.replace(" ", ""))
    return parts if parts and parts["name"] in DEFINITIONS else None


def parse_metric(text: str) -> Metric:
    """Parse a metric name such as ``AP``, ``AP(rel=2)``, ``nDCG(b=2)@10`` or ``NWRR(beta=2:3:4)``.

    Parameters
    ----------
    text
        Name, parameters in brackets, ``@`` and cut-off; spaces are ignored.

    Returns
    -------
    metric
        With all parameters set.

    Raises
    ------
    BadName
        An unknown name, with the nearest known ones; an unknown parameter; an invalid value.

    Examples
    --------
    >>> str(parse_metric("nERR( form=exp2 )@10"))
    'nERR(form=exp2)@10'
    >>> parse_metric("AP(rel=2)").rel
    2
    """
    parts = _known_parts(text)
    if parts is None:
        start = re.match(NAME, text.strip())
        name = start[0] if start else text
        raise UnknownName(
            f"unknown metric {text!r}; the nearest known ones are: "
            f"{nearest(name, list(DEFINITIONS))}"
        )
    definition = DEFINITIONS[parts["name"]]
    cutoff = whole_number(parts["cutoff"] or "0", DEEPEST)
    if cutoff is None:
        raise BadName(f"metric {text!r}: the cut-off is above {DEEPEST:,}")
    if parts["cutoff"] is not None and (definition.cutoff == "none" or cutoff < 1):
        raise BadName(f"metric {text!r}: {definition.name} takes no cut-off @{parts['cutoff']}")
    if parts["cutoff"] is None and definition.cutoff == "required":
        raise BadName(
            f"metric {text!r}: {definition.name} needs a cut-off, for example {definition.name}@10"
        )
    rel, judged_only, settings = _parse_settings(text, parts["inside"] or "", definition)
    return Metric(definition.name, rel, cutoff, settings, judged_only)


def whole_number(text: str, largest: int) -> int | None:
    """Return an integer of at least 0; None for other texts, and for numbers above `largest`.

    Examples
    --------
    >>> whole_number("010", 100), whole_number("-1", 100), whole_number("9" * 5000, 100)
    (10, None, None)
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(largest)):  # Python refuses to convert thousands of digits
        return None
    number = int(digits)
    return number if number <= largest else None


def _parse_settings(
    text: str, inside: str, definition: Definition
) -> tuple[int, bool, tuple[tuple[str, Value], ...]]:
    """Return `rel`, `judged_only` and the values that differ from the defaults, of a bracket."""
    items = [item.partition("=") for item in inside.split(",")] if inside else []
    keys = [key for key, _, _ in items]
    repeated = [key + equals + value for key, equals, value in items if keys.count(key) > 1]
    if repeated:
        raise BadName(f"metric {text!r}: {', '.join(repeated)} set the same thing")
    rel = 1
    judged_only = False
    values: dict[str, Value] = {}
    for key, equals, value in items:
        if key == "rel" and (level := whole_number(value, HIGHEST_LEVEL)):
            rel = level
        elif key == "judged_only" and value in ("True", "False"):
            judged_only = value == "True"
        elif key in definition.parameters:
            values[key] = _parse_value(text, key, value, definition.parameters[key])
        else:
            known = ", ".join([*EVERY_METRIC, *definition.parameters])
            raise BadName(
                f"metric {text!r}: {key + equals + value!r} is not a setting of "
                f"{definition.name}; known: {known}"
            )
    for key in values:
        needed = definition.parameters[key].form
        if needed and values.get("form") != needed:
            raise BadName(f"metric {text!r}: {key} is a setting of form={needed}; add it")
    settings = tuple(
        (key, values[key])
        for key, declared in definition.parameters.items()
        if values.get(key, declared.default) != declared.default
    )
    return rel, judged_only, settings


def _parse_value(text: str, key: str, value: str, parameter: Parameter) -> Value:
    if parameter.words:
        if value not in parameter.words:
            raise BadName(
                f"metric {text!r}: {key}={value!r}; expected one of {', '.join(parameter.words)}"
            )
        return value
    try:
        numbers = tuple(float(part) for part in value.split(":"))
    except ValueError:
        numbers = ()
    if not numbers or not all(parameter.allows(number) for number in numbers):
        raise BadName(f"metric {text!r}: {key}={value!r} is not a number{parameter.bounds()}")
    if parameter.rising and any(after <= before for before, after in pairwise(numbers)):
        raise BadName(
            f"metric {text!r}: {key}={value!r} must rise from the highest level to the lowest"
        )
    if isinstance(parameter.default, tuple):
        return numbers
    if len(numbers) > 1:
        raise BadName(f"metric {text!r}: {key} takes one number, found {value!r}")
    return numbers[0]
