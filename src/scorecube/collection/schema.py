"""Schemas of rankings, score cubes and samples: a record per variable."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.errors import BadInput

MAX_LOADED_BYTES: Final = 2**28
"""Larger cubes and results are opened without loading their values."""
ROLES = (
    *("estimate", "low", "high", "p_value", "standard_error", "statistic"),
    *("count", "share", "flag", "label", "condition"),
)
"""What the values of a variable are: estimates and shares are averaged over collections."""


@dataclass(frozen=True)
class Variable:
    """Schema of one variable of a dataset.

    name: Name in datasets.
    dims: Dims, in order.
    kinds: Letters of the allowed NumPy dtype kinds, e.g. ``iu``.
    units: Unit; ``1`` for none.
    long_name: Meaning.
    role: What its values are, of `ROLES`; empty if that is not declared yet.
    of: Name of the variable that limits or a standard error belong to.
    heading: Words for people, where the name in words is not enough.
    form: How numbers are written, as a format, e.g. ``.2f`` or ``.1%``; by role if empty.
    Raises ValueError: An unknown role.
    """

    name: str
    dims: tuple[str, ...]
    kinds: str
    units: str
    long_name: str
    role: str = ""
    of: str = ""
    heading: str = ""
    form: str = ""

    def __post_init__(self) -> None:
        """Check the role."""
        if self.role and self.role not in ROLES:
            raise ValueError(f"{self.name}: no role {self.role!r}; known: {', '.join(ROLES)}")

    def attrs(self) -> dict[str, str]:
        """Return the attributes of the variable in a dataset."""
        return {"long_name": self.long_name, "units": self.units}


def variables(
    dims: tuple[str, ...],
    role: str,
    units: str = "1",
    kinds: str = "",
    *,
    of: str = "",
    form: str = "",
    headings: Any = None,
    **long_names: str,
) -> tuple[Variable, ...]:
    """Return variables that have all but their names and meanings in common.

    kinds: As of `Variable`; by role if empty.
    headings: Of `Variable`, by name, of those that need one.
    long_names: Meanings by name.
    """
    kinds = kinds or {"count": "iu", "flag": "b", "label": "OUT"}.get(role, "f")
    return tuple(
        Variable(
            name, dims, kinds, units, long_name, role, of, (headings or {}).get(name, ""), form
        )
        for name, long_name in long_names.items()
    )


def limits(
    of: str,
    dims: tuple[str, ...],
    units: str,
    meaning: str,
    kinds: str = "f",
    *,
    name: str = "",
    form: str = "",
) -> tuple[Variable, Variable]:
    """Return the lower and the upper limit of an estimate.

    of: Name of the estimate.
    meaning: With braces in place of ``lower`` and ``upper``.
    name: Before ``_low`` and ``_high``; by default that of the estimate.
    """
    low, high = (
        Variable(
            f"{name or of}_{role}", dims, kinds, units, meaning.format(end), role, of, form=form
        )
        for role, end in (("low", "lower"), ("high", "upper"))
    )
    return low, high


COORDINATES = (
    *variables(
        *((), "condition", "1", "f"),
        form=".2f",
        alpha="significance level",
        confidence="confidence level",
        fuzziness="share of the larger mean below which two means are a tie",
        lower="lower edge of a bin",
        target="coefficient that is asked for",
        threshold="tau that is asked for",
    ),
    *variables(
        *((), "condition", "1", "i"),
        bin="number of a bin of differences",
        cutoff="depth of a metric",
        k="number of leading runs",
        left_out="teams that are left out",
        n_topics_wanted="topics that are to be left",
        rank="place of a run, or of a pair by its p-value",
        size="topics in a sample",
        trial="number of a trial",
    ),
    *variables((), "label", "1", "O", system="runs that are repetitions of one system"),
)
"""What rows of results are about; tables may declare these names otherwise."""

CELL = (names.METRIC, names.GAIN)
"""Dims of metrics under gain settings."""
_JUDGED = (names.TOPIC, names.DOCUMENT)
RANKINGS = (
    *variables(
        *((names.RUN, names.TOPIC, names.RANK), "", "level", "i"),
        level_at_rank="relevance level of the document at a rank; -1 unjudged or behind the end",
    ),
    *variables(
        *((names.RUN, names.TOPIC), "", "documents", "iu"),
        n_retrieved="documents returned for a topic",
    ),
    *variables(
        *((names.TOPIC, names.LEVEL), "", "documents", "iu"), n_judged="documents judged at a level"
    ),
)
DOCUMENTS = (
    *variables(
        *((names.RUN, names.TOPIC, names.RANK), "", "1", "i"),
        document_at_rank="number of the judged document at a rank; -1 unjudged or behind the end",
    ),
    *variables(
        *(_JUDGED, "", "level", "i"),
        level_of_document="relevance level of a document; -1 not judged, or behind the last one",
    ),
)
"""Documents at ranks."""
KEYS = variables(
    *(_JUDGED, "", "1", "i"),
    document_key="hash of the id of a judged document; 0 behind the topic's last document",
)
"""Documents under other judgements; absent from digests."""
CUBE = variables((*CELL, names.RUN, names.TOPIC), "", score="effectiveness score")
LEVEL_AT_RANK = RANKINGS[0].name


def annotate(dataset: xr.Dataset, variables: Iterable[Variable]) -> xr.Dataset:
    """Return a dataset with `long_name` and `units` set on some of its variables."""
    result = dataset.copy()
    for variable in variables:
        result[variable.name].attrs.update(variable.attrs())
    return result


def check(dataset: xr.Dataset, variables: Iterable[Variable], subject: str) -> None:
    """Refuse a dataset that does not match its schema; lazy data are not computed.

    dataset, variables: The dataset, and the schemas of the variables that it must have.
    subject: Name of the dataset in messages, e.g. "the cube".
    Raises BadInput: A variable is missing or has other dims or another dtype kind, or labels are
        not sorted and unique.
    """
    for variable in variables:
        if variable.name not in dataset.data_vars:
            has = ", ".join(map(str, dataset.data_vars)) or "none"
            raise BadInput(f"{subject} has no variable {variable.name!r}; found {has}")
        array, what = dataset.variables[variable.name], f"{subject}: {variable.name}"
        if array.dims != variable.dims:
            raise BadInput(f"{what} has dims {array.dims}, expected {variable.dims}")
        if array.dtype.kind not in variable.kinds:
            raise BadInput(f"{what} has dtype {array.dtype}, expected kind {variable.kinds!r}")
    for dim in {names.RUN, names.TOPIC} & {*dataset.dims}:
        labels = labels_of(dataset, str(dim))
        if not all(map(operator.lt, labels, labels[1:])):
            repeated = sorted(label for label, count in Counter(labels).items() if count > 1)
            problem = f"repeated: {', '.join(repeated[:5])}" if repeated else "not in sorted order"
            raise BadInput(f"{subject}: labels of {dim!r} must be sorted and unique; {problem}")


def labels_of(dataset: xr.Dataset, dim: str) -> list[str]:
    """Return the labels of a dim as plain strings, in its order."""
    # dataset[dim] builds an array with all coordinates, which is slow.
    variable = dataset.variables.get(dim)
    return [str(label) for label in (dataset[dim] if variable is None else variable).values]


def label_array(labels: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Return labels as an array of string objects."""
    listed = list(labels)
    result = np.empty(len(listed), dtype=object)
    result[:] = listed
    return result
