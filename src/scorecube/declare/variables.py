"""Variables: what datasets hold, a record each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Role = Literal[
    "",
    "estimate",
    "low",
    "high",
    "p_value",
    "standard_error",
    "statistic",
    "count",
    "share",
    "flag",
    "label",
    "condition",
]
"""What values are; empty if that is not declared."""
KINDS = {"count": "iu", "flag": "b", "label": "OUT"}
"""Role -> dtype kinds of its values; of others ``f``."""
ENDS: tuple[tuple[Literal["low", "high"], str], ...] = (("low", "lower"), ("high", "upper"))


@dataclass(frozen=True)
class Variable:
    """Declaration of one variable of a dataset.

    Parameters
    ----------
    name
        In datasets.
    role
        What its values are.
    long_name
        In a few words, the attribute ``long_name``.
    units
        ``1`` for none.
    form
        How numbers are written, as a format, e.g. ``.2f`` or ``.1%``; by role if empty.
    heading
        Words for people, where the name in words is not enough.
    of
        Name of the variable that limits or a standard error belong to.
    kinds
        Letters of the allowed NumPy dtype kinds, e.g. ``iu``; by role if empty.
    dims
        In order, see `along`.
    """

    name: str
    role: Role
    long_name: str
    units: str = "1"
    form: str = ""
    heading: str = ""
    of: str = ""
    kinds: str = ""
    dims: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Set the dtype kinds that follow from the role."""
        object.__setattr__(self, "kinds", self.kinds or KINDS.get(self.role, "f"))

    def attrs(self) -> dict[str, str]:
        """Return the attributes of the variable in a dataset."""
        role = {"role": self.role} if self.role else {}
        return {"long_name": self.long_name, "units": self.units, **role}


def limits_of(
    name: str, long_name: str, units: str = "1", form: str = "", of: str = ""
) -> tuple[Variable, Variable]:
    """Return the lower and the upper limit, ``name_low`` and ``name_high``.

    of: The estimate that they belong to; `name` by default.

    Examples
    --------
    >>> low, high = limits_of("mean", "limit of the mean", "score")
    >>> low.name, low.long_name, high.of
    ('mean_low', 'lower limit of the mean', 'mean')
    """
    low, high = (
        Variable(f"{name}_{end}", end, f"{word} {long_name}", units, form, of=of or name)
        for end, word in ENDS
    )
    return low, high


def along(
    dims: Iterable[str], *variables: Variable | tuple[Variable, Variable]
) -> tuple[Variable, ...]:
    """Return variables with dims; those of a pair of limits one after the other.

    Examples
    --------
    >>> mean, low, high = along(
    ...     ("metric", "run"),
    ...     Variable("mean", "estimate", "mean score of a run", "score", ".3f"),
    ...     limits_of("mean", "limit of the mean", "score"),
    ... )
    >>> mean.dims, low.of, high.long_name
    (('metric', 'run'), 'mean', 'upper limit of the mean')
    """
    named = tuple(dims)
    flat: list[Variable] = []
    for each in variables:
        flat += [each] if isinstance(each, Variable) else each
    return tuple(replace(each, dims=named) for each in flat)
