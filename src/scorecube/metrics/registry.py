"""What a metric is, how one is declared, and how its name is parsed and printed.

A metric is one small function of the judged documents of one ranked list, declared with `@metric`
in the file of its family or in any file outside this package, and compiled; NumPy broadcasts it
over gain settings, runs and topics.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from scorecube.errors import BadName, option
from scorecube.kernels.jit import over_rankings
from scorecube.metrics.common import Lists, ideal_lists, judged_lists
from scorecube.metrics.parameters import Parameter, Value

Range = tuple[float, float]
UNIT: Range = (0.0, 1.0)
"""Range of most metrics."""
User = Literal["", "many relevant", "one highly relevant", "any one relevant"]
Cutoff = Literal["none", "optional", "required"]
EVERY_METRIC = ("rel", "judged_only")
"""Parameters that all metrics have."""
LARGEST_EXPONENT = 1000
"""Largest gain of a metric that raises 2 to the gain."""
HIGHEST_LEVEL = 127
"""Highest relevance level of judgements."""
NAME = r"[A-Za-z][\w+\-#]*"


class OtherName(NamedTuple):
    """A name of a metric in another tool; a ``k`` at its end stands for a cut-off.

    settings: Of the metric here that is the same number, such as ``form=exp2``.
    """

    tool: str
    name: str
    settings: str = ""


def called(*lists: str, settings: str = "") -> tuple[OtherName, ...]:
    """Return names of a metric in other tools, each list behind the name of its tool.

    Examples
    --------
    >>> called("trec_eval ndcg ndcg_cut_k")[1].name
    'ndcg_cut_k'
    """
    found = []
    for text in lists:
        tool, *named = text.split()
        found += [OtherName(tool, name, settings) for name in named]
    return tuple(found)


@dataclass(frozen=True)
class Definition:
    """A family of metrics: one function, its parameters and where it is defined.

    function: Scores one ranking; compiled by `kernel`.
    by_intent: Whether it is one of `scorecube.metrics.diversity`, with a function of its own form.
    Others: As the arguments of `metric`.
    """

    name: str
    function: Callable[..., Any]
    source: str
    cutoff: Cutoff
    uses_gains: bool
    parameters: Mapping[str, Parameter]
    over_ideal: bool = False
    non_relevant: bool = False
    range: Range | Callable[["Metric"], Range] | None = None
    also_called: Sequence[OtherName] = ()
    user: User = ""
    by_intent: bool = False

    @cached_property
    def kernel(self) -> Callable[..., Any]:
        """The compiled function; compiled, or loaded from the disk cache, at first use."""
        return over_rankings(self.function)


DEFINITIONS: dict[str, Definition] = {}
"""All metrics by name, in order of declaration; written by `register` only."""


def register(definition: Definition) -> None:
    """Add a metric to `DEFINITIONS`; a function that is declared again replaces its former self.

    Raises BadName: Another function has the name; the name cannot be parsed; a parameter has a name
    that all metrics use.
    """
    name = definition.name
    function = definition.function
    where = f"{function.__module__}.{function.__qualname__}"
    if not re.fullmatch(NAME, name):
        raise BadName(
            f"metric name {name!r}, of {where}: use a letter, then letters, digits and _ + - #"
        )
    if reserved := [key for key in definition.parameters if key in EVERY_METRIC]:
        raise BadName(
            f"metric {name!r}, of {where}: every metric has the parameter {reserved[0]}; choose "
            "another name for it"
        )
    if name in DEFINITIONS:
        other = DEFINITIONS[name].function
        taken = f"{other.__module__}.{other.__qualname__}"
        if taken != where:
            raise BadName(
                f"metric {name!r} is defined twice: by {taken} and by {where}; choose another "
                "name for the second"
            )
    DEFINITIONS[name] = definition


def metric(
    name: str,
    *,
    source: str,
    cutoff: Cutoff = "optional",
    uses_gains: bool = False,
    over_ideal: bool = False,
    non_relevant: bool = False,
    range: Range | Callable[["Metric"], Range] | None = None,  # noqa: A002  (as documented)
    also_called: Sequence[OtherName] = (),
    user: User = "",
    **parameters: Parameter,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function of one ranking as the metric `name`.

    The decorator is all that a metric needs: it is evaluated, listed and completed once its file
    is imported.

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
    over_ideal
        Whether what the function writes is divided by what it writes of the ideal list; 0 where
        that is 0.
    non_relevant
        Whether scores depend on the judged documents that are not relevant.
    range
        Least and greatest score that there can be, or a function that returns them for a metric
        with all parameters set; None if unknown: a mean of which few topics differ then has no
        limits. All metrics of this package declare theirs.
    also_called
        Names in other tools of the same number, see `called`.
    user
        What the user of the metric looks for (Sakai 2007, Figure 1); empty if it is not said.
    parameters
        By name, in the order in which the function takes them.

    Returns
    -------
    declare
        Decorator that returns the function unchanged.

    Raises
    ------
    BadName
        See `register`.

    See Also
    --------
    list_metrics : All metrics that are known.
    scorecube.metrics.Parameter : A setting in brackets, such as ``p=0.8``.

    Notes
    -----
    The function is compiled by numba: loops and numbers, no Python objects. Its arguments:

    - `ranks`, int32 (entry,): ranks of the judged documents, from 1, ascending; very large ones
      behind the end of the list, see `common.n_scored`.
    - `levels`, int8 (entry,): their relevance levels; 0 judged not relevant. Levels below ``rel``
      are 0. Documents that are not relevant may be missing, unless the metric is declared with
      `non_relevant`.
    - `judged`, int64 (level,): number of judged documents of the topic at each level, in the same
      sense.
    - `gains`, float64 (level,): gain of each level; ``gains[0]`` is 0.
    - `cutoff`, int64: the ``@k``; 0 for none.
    - `parameters`, float64 (parameter,): values of the declared parameters, in order of
      declaration.
    - `out`, float64 (1,): the score, written by the function. `Metric.score` replaces it by NaN for
      topics without a relevant document.

    Examples
    --------
    Whether the first document is relevant, from 0 to 1:

    >>> @metric("First", source="an example", range=(0, 1))
    ... def first(ranks, levels, judged, gains, cutoff, parameters, out):
    ...     out[0] = 1.0 if len(ranks) > 0 and ranks[0] == 1 and levels[0] > 0 else 0.0
    >>> DEFINITIONS.pop("First").name  # evaluate(rankings, ["First"]) would score runs with it
    'First'
    """

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        definition = Definition(
            name,
            function,
            source,
            cutoff,
            uses_gains,
            parameters,
            over_ideal=over_ideal,
            non_relevant=non_relevant,
            range=range,
            also_called=also_called,
            user=user,
        )
        register(definition)
        return function

    return declare


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
        Deepest rank that is scored; 0 for all.
    settings
        Names and values of parameters that differ from the defaults, in order of declaration.
    judged_only
        Whether unjudged documents are removed from the lists.
    """

    name: str
    rel: int = 1
    cutoff: int = 0
    settings: tuple[tuple[str, Value], ...] = ()
    judged_only: bool = False

    @property
    def definition(self) -> Definition:
        """The metric's definition."""
        return DEFINITIONS[self.name]

    @property
    def range(self) -> Range | None:
        """Least and greatest score that there can be; None if that is not declared."""
        declared = self.definition.range
        return declared(self) if callable(declared) else declared

    @property
    def non_relevant(self) -> bool:
        """Whether scores depend on the judged documents that are not relevant."""
        return self.judged_only or self.definition.non_relevant

    def __str__(self) -> str:
        shown: list[tuple[str, Value]] = []
        if self.rel != 1:
            shown.append(("rel", float(self.rel)))
        if self.judged_only:
            shown.append(("judged_only", "True"))
        shown += self.settings
        inside = ",".join(f"{key}={_print_value(value)}" for key, value in shown)
        brackets = f"({inside})" if inside else ""
        cut = f"@{self.cutoff}" if self.cutoff else ""
        return self.name + brackets + cut

    def score(
        self,
        levels: npt.NDArray[np.int8],
        judged: npt.NDArray[np.int64],
        gains: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """Score rankings; leading dims of the three arguments broadcast.

        Parameters
        ----------
        levels
            (..., rank) relevance levels, -1 for unjudged.
        judged
            (..., level) judged documents per level.
        gains
            (..., level) gain of each level.

        Returns
        -------
        scores
            float64 (...); NaN where no document is relevant.

        Raises
        ------
        BadName
            A parameter with one value a level that has more or fewer values than there are levels.
        """
        return self.score_lists(judged_lists(levels), judged, gains)

    def score_lists(
        self, lists: Lists, judged: npt.NDArray[np.int64], gains: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Score the judged documents of rankings; as `score`."""
        if self.definition.by_intent:
            reason = "needs documents judged by intent, which analyses without some teams have not"
            raise BadName(f"metric {self} {reason}; leave it out of {option('metrics')}")
        if self.judged_only:
            lists = lists.condensed()
        if self.rel > 1:
            # Levels below `rel` count as judged not relevant; a gain of 0 would leave them
            # relevant.
            is_below = (lists.levels > 0) & (lists.levels < self.rel)
            lists = lists._replace(levels=np.where(is_below, np.int8(0), lists.levels))
            not_relevant = judged[..., : self.rel].sum(axis=-1, keepdims=True)
            none_below = np.zeros_like(judged[..., 1 : self.rel])
            relevant = judged[..., self.rel :]
            judged = np.concatenate([not_relevant, none_below, relevant], axis=-1)
        self._check(judged.shape[-1] - 1, gains)
        settings = judged, gains, np.int64(self.cutoff), self.numbers()
        kernel = self.definition.kernel
        # Vectorised code evaluates both sides of a condition, and raises flags on the side that is
        # not taken.
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            scores: npt.NDArray[np.float64] = kernel(lists.ranks, lists.levels, *settings)
            if self.definition.over_ideal:
                ideal = ideal_lists(judged)
                best = kernel(ideal.ranks, ideal.levels, *settings)
                scores = np.where(best > 0.0, scores / best, 0.0)
        has_relevant = judged[..., 1:].any(axis=-1)
        if not np.isfinite(scores).all(where=has_relevant):
            raise BadName(f"metric {self}: its function gives a score that is not finite")
        return np.where(has_relevant, scores, np.nan)

    def values(self, parameter: str) -> tuple[float, ...]:
        """Return the value of one parameter as the metric's function receives it."""
        declared = self.definition.parameters[parameter]
        return declared.encode(dict(self.settings).get(parameter, declared.default))

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return all parameters as the metric's function takes them, float64; never empty."""
        numbers = [*chain.from_iterable(map(self.values, self.definition.parameters))]
        return np.array(numbers or [0.0], dtype=np.float64)

    def _check(self, n_levels: int, gains: npt.NDArray[np.float64]) -> None:
        """Refuse more or fewer values than there are levels, and gains whose power is infinite."""
        for key, value in self.settings:
            if isinstance(value, tuple) and len(value) != n_levels:
                raise BadName(
                    f"metric {self}: {key} has {len(value)} values, but the collection has "
                    f"{n_levels} relevant levels; "
                    "give one value for each level, highest level first"
                )
        if dict(self.settings).get("form") != "exp2":
            return
        found = gains.max(initial=0.0)
        if found > LARGEST_EXPONENT:
            raise BadName(
                f"metric {self} raises 2 to the gain, and a gain is {found:g}; use gains of "
                f"at most {LARGEST_EXPONENT:,}"
            )
        if "max" in self.definition.parameters:
            (largest,) = self.values("max")
            if found > largest:
                raise BadName(
                    f"metric {self}: a gain is {found:g}, above max={largest:g}, the highest level "
                    f"of the scale (4 in gdeval); write {self.name}(form=exp2,max={found:g})"
                )


def _print_value(value: Value) -> str:
    if isinstance(value, str):
        return value
    numbers = value if isinstance(value, tuple) else (value,)
    # repr prints all digits, so that the name parses back to the same metric.
    return ":".join(repr(number).removesuffix(".0") for number in numbers)
