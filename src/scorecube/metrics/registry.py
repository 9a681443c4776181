"""What a metric is, how one is declared, and how names are read and printed.

A metric is one small function of one ranking, declared with `@metric` in the file of its family; NumPy broadcasts it
over gain settings, runs and topics. Its arguments, in this order:

levels
    int8 (rank,): relevance level at each rank, 0 judged not relevant, -1 unjudged or behind the list's end. Levels
    below ``rel`` have become 0.
judged
    int64 (level,): number of judged documents of the topic at each level, in the same sense.
gains
    float64 (level,): gain of each level; ``gains[0]`` is 0.
cutoff
    int64: the ``@k``; 0 stands for none.

Parameters
----------
    float64 (parameter,): the values of the declared parameters, in order of declaration.
out
    float64 (1,): the score. Topics without a relevant document need no care, they become NaN in `Metric.score`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from scorecube.errors import BadName, nearest
from scorecube.kernels.jit import over_rankings
from scorecube.metrics.common import condense

SUMMARIES = ("mean", "geo", "area")
"""How topics are summed up: arithmetic mean, geometric mean (``geo:AP``), area measure (``area:AP``)."""
Value = float | str | tuple[float, ...]
Cutoff = Literal["none", "optional", "required"]


@dataclass(frozen=True)
class Parameter:
    """A metric's parameter: its default; for words, the number each stands for; for numbers, their bounds.

    Numbers lie above and below the bounds, or are among `also`; `rising` numbers must each be larger than the one before.

    Parameters
    ----------
    default
        Value where none is given.
    words
        Word -> the number it stands for.
    above, below
        Open bounds of numbers.
    also
        Numbers allowed outside the bounds.
    rising
        Whether each of several numbers must be larger than the one before.
    """

    default: Value
    words: Mapping[str, float] = field(default_factory=dict)
    above: float = -math.inf
    below: float = math.inf
    also: tuple[float, ...] = ()
    rising: bool = False

    def allows(self, number: float) -> bool:
        """Whether a number is one this parameter can have."""
        return math.isfinite(number) and (self.above < number < self.below or number in self.also)

    def bounds(self) -> str:
        """Return what a number must be, in words."""
        above = f" above {self.above:g}" if self.above > -math.inf else ""
        below = f" below {self.below:g}" if self.below < math.inf else ""
        return above + below + "".join(f" or {number:g}" for number in self.also)

    def encode(self, value: Value) -> tuple[float, ...]:
        """Return the numbers the kernel gets."""
        if isinstance(value, str):
            return (self.words[value],)
        return value if isinstance(value, tuple) else (value,)


@dataclass(frozen=True)
class Definition:
    """A family of metrics: one function, its parameters and where it is defined.

    Parameters
    ----------
    name
        As users write it.
    function
        Scores one ranking; compiled by `kernel`.
    source
        Where the metric is defined.
    cutoff
        Whether a cut-off ``@k`` is ``required``, ``optional`` or there is ``none``.
    uses_gains
        Whether scores depend on the gain setting.
    parameters
        By name.
    """

    name: str
    function: Callable[..., None]
    source: str
    cutoff: Cutoff
    uses_gains: bool
    parameters: Mapping[str, Parameter]

    @property
    def by_intent(self) -> bool:
        """Whether the metric needs levels by intent, see `scorecube.metrics.intents`."""
        return False

    @cached_property
    def kernel(self) -> Callable[..., Any]:
        """The compiled function; compiled, or read from the disk cache, at first use."""
        return over_rankings(self.function)


DEFINITIONS: dict[str, Definition] = {}


def metric(
    name: str, *, source: str, cutoff: Cutoff = "optional", uses_gains: bool = False, **parameters: Parameter
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function of one ranking as the metric `name`.

    Parameters
    ----------
    name
        As users will write it.
    source
        Where it is defined.
    cutoff
        Whether a cut-off ``@k`` is ``required``, ``optional`` or there is ``none``.
    uses_gains
        Whether scores depend on the gain setting.
    parameters
        By name, in the order in which the function takes them.

    Returns
    -------
    register
        Decorator that leaves the function as it is.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        DEFINITIONS[name] = Definition(name, function, source, cutoff, uses_gains, parameters)
        return function

    return register


@dataclass(frozen=True)
class Metric:
    """A definition with all its parameters set, e.g. ``nERR(form=exp2)@10``.

    `str()` gives the canonical name, which parses back to an equal metric.

    Parameters
    ----------
    name
        Of its `Definition`.
    rel
        Lowest level that is relevant, >= 1.
    cutoff
        Ranks that count; 0 for all.
    settings
        Parameters and values that are not the defaults, sorted.
    judged_only
        Whether unjudged documents are taken out of the lists.
    summary
        How topics are summed up: ``mean``, ``geo`` or ``area``.
    """

    name: str
    rel: int = 1
    cutoff: int = 0
    settings: tuple[tuple[str, Value], ...] = ()
    judged_only: bool = False
    summary: str = "mean"

    @property
    def definition(self) -> Definition:
        """The metric's definition."""
        return DEFINITIONS[self.name]

    def __str__(self) -> str:
        shown: list[tuple[str, Value]] = [("rel", float(self.rel))] if self.rel != 1 else []
        shown += [("judged_only", "True")] if self.judged_only else []
        inside = ",".join(f"{key}={_print_value(value)}" for key, value in [*shown, *self.settings])
        prefix = "" if self.summary == "mean" else f"{self.summary}:"
        return prefix + self.name + (f"({inside})" if inside else "") + (f"@{self.cutoff}" if self.cutoff else "")

    def score(
        self,
        levels: np.ndarray[Any, np.dtype[np.int8]],
        judged: np.ndarray[Any, np.dtype[np.int64]],
        gains: np.ndarray[Any, np.dtype[np.float64]],
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Score rankings; leading dims of the three arguments broadcast.

        Parameters
        ----------
        levels
            (..., rank) relevance levels, -1 for unjudged.
        judged
            (..., level) judged documents per level.
        gains
            (..., level) gain of each level.
        """
        if self.definition.by_intent:
            raise BadName(f"metric {self} scores levels by intent, not one level for each document")
        if self.judged_only:
            levels = condense(levels)
        if self.rel > 1:
            # Below `rel` is judged not relevant; done before any counting, unlike a gain of 0.
            levels = np.where((levels > 0) & (levels < self.rel), np.int8(0), levels)
            low = judged[..., : self.rel].sum(axis=-1, keepdims=True)
            zeros = np.zeros_like(judged[..., 1 : self.rel])
            judged = np.concatenate([low, zeros, judged[..., self.rel :]], axis=-1)
        self._check_levels(judged.shape[-1] - 1)
        # Vector code evaluates both sides of a condition; flags raised on the side not taken mean nothing.
        with np.errstate(invalid="ignore", divide="ignore"):
            scores: np.ndarray[Any, np.dtype[np.float64]] = self.definition.kernel(
                levels, judged, gains, np.int64(self.cutoff), self.numbers()
            )
        return np.where(judged[..., 1:].any(axis=-1), scores, np.nan)

    def numbers(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the values of all parameters as the kernel gets them, (parameter,)."""
        given = dict(self.settings)
        numbers = [
            number
            for key, parameter in self.definition.parameters.items()
            for number in parameter.encode(given.get(key, parameter.default))
        ]
        return np.array(numbers or [0.0], dtype=np.float64)

    def _check_levels(self, n_levels: int) -> None:
        """Refuse settings with one value a level, of which there are more or fewer than levels."""
        for key, value in self.settings:
            if isinstance(value, tuple) and len(value) != n_levels:
                raise BadName(
                    f"metric {self}: {key} has {len(value)} values, but the collection has {n_levels} relevant levels; "
                    "give one value for each level, highest level first"
                )


_PREFIX = re.compile(rf"^({'|'.join(SUMMARIES[1:])}):")
_SHAPE = re.compile(r"^(?P<name>[A-Za-z][\w+\-#]*?)(\((?P<inside>[^()]*)\))?(@(?P<cutoff>[0-9]+))?\Z")


def parse_metric(text: str) -> Metric:
    """Read a metric name such as ``AP``, ``AP(rel=2)``, ``nDCG(b=2)@10`` or ``NWRR(beta=2:3:4)``.

    Parameters
    ----------
    text
        Name, parameters in brackets, ``@`` and cut-off; spaces do not count.

    Returns
    -------
    metric
        With all parameters set.

    Raises
    ------
    BadName
        If the name, a parameter or a value is unknown; the text lists the nearest known names.

    Examples
    --------
    >>> str(parse_metric("nERR( form=exp2 )@10"))
    'nERR(form=exp2)@10'
    >>> parse_metric("AP(rel=2)").rel
    2
    """
    bare = text.replace(" ", "")
    prefix = _PREFIX.match(bare)
    summary, rest = (prefix[1], bare[prefix.end() :]) if prefix else ("mean", bare)
    shape = _SHAPE.match(rest)
    if shape is None or shape["name"] not in DEFINITIONS:
        start = re.match(r"[A-Za-z][\w+\-#]*", text.strip())
        name = shape["name"] if shape else start[0] if start else text
        raise BadName(f"unknown metric {text!r}; the nearest known ones are: {nearest(name, list(DEFINITIONS))}")
    definition = DEFINITIONS[shape["name"]]
    cutoff = int(shape["cutoff"] or 0)
    if shape["cutoff"] is not None and (definition.cutoff == "none" or cutoff < 1):
        raise BadName(f"metric {text!r}: {definition.name} takes no cut-off @{shape['cutoff']}")
    if shape["cutoff"] is None and definition.cutoff == "required":
        raise BadName(f"metric {text!r}: {definition.name} needs a cut-off, for example {definition.name}@10")
    rel, judged_only = 1, False
    settings: dict[str, Value] = {}
    given = shape["inside"].split(",") if shape["inside"] else []
    if repeated := [
        item for item in given if [other.partition("=")[0] for other in given].count(item.partition("=")[0]) > 1
    ]:
        raise BadName(f"metric {text!r}: {', '.join(repeated)} set the same thing")
    for item in given:
        key, _, value = item.partition("=")
        if key == "rel" and value.isascii() and value.isdigit() and int(value) >= 1:
            rel = int(value)
        elif key == "judged_only" and value in ("True", "False"):
            judged_only = value == "True"
        elif key in definition.parameters:
            settings[key] = _parse_value(text, key, value, definition.parameters[key])
        else:
            known = ["rel", "judged_only", *definition.parameters]
            raise BadName(f"metric {text!r}: {item!r} is not a setting of {definition.name}; known: {', '.join(known)}")
    kept = tuple(
        (key, settings[key])
        for key, parameter in definition.parameters.items()
        if key in settings and settings[key] != parameter.default
    )
    return Metric(definition.name, rel, cutoff, kept, judged_only, summary)


def _parse_value(text: str, key: str, value: str, parameter: Parameter) -> Value:
    if parameter.words:
        if value not in parameter.words:
            raise BadName(f"metric {text!r}: {key}={value!r}; expected one of {', '.join(parameter.words)}")
        return value
    try:
        numbers = tuple(float(part) for part in value.split(":"))
    except ValueError:
        numbers = ()
    if not numbers or not all(parameter.allows(number) for number in numbers):
        raise BadName(f"metric {text!r}: {key}={value!r} is not a number{parameter.bounds()}")
    if parameter.rising and any(later <= sooner for sooner, later in pairwise(numbers)):
        raise BadName(f"metric {text!r}: {key}={value!r} must rise from the highest level to the lowest")
    if isinstance(parameter.default, tuple):
        return numbers
    if len(numbers) > 1:
        raise BadName(f"metric {text!r}: {key} takes one number, found {value!r}")
    return numbers[0]


def _print_value(value: Value) -> str:
    if isinstance(value, str):
        return value
    # All digits, so that a printed name parses back to the same metric.
    return ":".join(repr(number).removesuffix(".0") for number in (value if isinstance(value, tuple) else (value,)))
