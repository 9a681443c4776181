"""Schemas of rankings, score cubes and samples: a record per variable."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.errors import BadInput

LARGEST_SCORE: Final = 1e12
"""Largest absolute value of a score: squares of sums of a million of them are finite."""
SMALLEST_MAXIMUM: Final = 1e-12
"""Smallest maximum of the scores of a metric, unless all are 0: smaller ones lost their digits."""
MAX_LOADED_BYTES: Final = 2**28
"""Larger cubes and results are opened without loading their values."""
KINDS = {"count": "iu", "flag": "b", "label": "OUT"}
"""Role -> dtype kinds of its values; of others ``f``."""
WORDS = {"low": "lower", "high": "upper"}


@dataclass(frozen=True)
class Variable:
    """Schema of one variable of a dataset.

    name: Name in datasets.
    dims: Dims, in order.
    kinds: Letters of the allowed NumPy dtype kinds, e.g. ``iu``.
    units: Unit; ``1`` for none.
    long_name: Meaning.
    role: What its values are: estimate, low, high, p_value, standard_error, statistic, count,
        share, flag, label or condition; empty if that is not declared.
    of: Name of the variable that limits or a standard error belong to.
    heading: Words for people, where the name in words is not enough.
    form: How numbers are written, as a format, e.g. ``.2f`` or ``.1%``; by role if empty.
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

    def attrs(self) -> dict[str, str]:
        """Return the attributes of the variable in a dataset."""
        role = {"role": self.role} if self.role else {}
        return {"long_name": self.long_name, "units": self.units, **role}


def read_variables(text: str) -> tuple[Variable, ...]:
    """Return declared variables: ``name | role | units | meaning``, below a line with their dims.

    A heading may follow the name after ``=``, other dtype kinds the role after ``/``, the variable
    that it belongs to after ``:``, and a format the units after a space. The role ``limits``
    declares two, ``name_low`` and ``name_high``: the lower and the upper of what is said.

    Examples
    --------
    >>> mean, low, high = read_variables(
    ...     '''
    ...     [metric run]
    ...     mean = mean score | estimate | score .3f | mean score of a run
    ...     mean | limits:mean | score | limit of the mean
    ...     '''
    ... )
    >>> mean.dims, mean.heading, mean.form, low.of, low.long_name
    (('metric', 'run'), 'mean score', '.3f', 'mean', 'lower limit of the mean')
    """
    declared: list[Variable] = []
    dims: tuple[str, ...] = ()
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            dims = tuple(line.strip("[]").split())
            continue
        named, role, unit, meaning = (part.strip() for part in line.split(" | "))
        name, _, heading = named.partition(" = ")
        role, _, of = role.partition(":")
        role, _, kinds = role.partition("/")
        units, _, form = unit.partition(" ")
        kinds = kinds or KINDS.get(role, "f")
        for end in ("low", "high") if role == "limits" else ("",):
            kind, long_name = (end, f"{WORDS[end]} {meaning}") if end else (role, meaning)
            full = f"{name}_{end}" if end else name
            declared.append(Variable(full, dims, kinds, units, long_name, kind, of, heading, form))
    return tuple(declared)


COORDINATES = read_variables(
    """
    []
    alpha | condition | 1 .2f | significance level
    confidence | condition | 1 .2f | confidence level
    fuzziness | condition | 1 .2f | share of the larger mean below which two means are a tie
    lower | condition | 1 .2f | lower edge of a bin
    target | condition | 1 .2f | coefficient that is asked for
    bin | condition/i | 1 | number of a bin of differences
    left_out | condition/i | 1 | teams that are left out
    n_topics_wanted | condition/i | 1 | topics that are to be left
    rank | condition/i | 1 | place of a run, or of a pair by its p-value
    size | condition/i | 1 | topics in a sample
    trial | condition/i | 1 | number of a trial
    system | label/O | 1 | runs that are repetitions of one system
    """
)
"""What rows of results are about; tables may declare these names otherwise."""

CELL = (names.METRIC, names.GAIN)
"""Dims of metrics under gain settings."""
RANKINGS = read_variables(
    """
    [run topic rank]
    level_at_rank | /i | level | relevance level at a rank; -1 unjudged or behind the end
    [run topic]
    n_retrieved | /iu | documents | documents returned for a topic
    [topic level]
    n_judged | /iu | documents | documents judged at a level
    """
)
DOCUMENTS = read_variables(
    """
    [run topic rank]
    document_at_rank | /i | 1 | number of the judged document at a rank; -1 for none
    [topic document]
    level_of_document | /i | level | relevance level; -1 not judged, or behind the last one
    """
)
"""Documents at ranks."""
KEYS = read_variables(
    """
    [topic document]
    document_key | /i | 1 | hash of the id of a judged document; 0 behind the topic's last document
    """
)
"""Documents under other judgements; absent from digests."""
CUBE = read_variables("[metric gain run topic]\n score |  | 1 | effectiveness score")
LEVEL_AT_RANK = RANKINGS[0].name


def annotate(dataset: xr.Dataset, variables: Iterable[Variable]) -> xr.Dataset:
    """Return a dataset with the attributes set of some of its variables."""
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
            raise BadInput(f"{subject}: labels of {dim!r} must be sorted and unique")


def in_chunks(arrays: Sequence[xr.DataArray]) -> list[xr.DataArray]:
    """Return arrays, in chunks that are read on use where they are large together."""
    if sum(array.nbytes for array in arrays) <= MAX_LOADED_BYTES:
        return list(arrays)
    stored = [array.encoding.get("preferred_chunks", "auto") for array in arrays]
    return [a if a.chunks else a.chunk(of) for a, of in zip(arrays, stored, strict=True)]


def labels_of(dataset: xr.Dataset, dim: str) -> list[str]:
    """Return the labels of a dim as plain strings, in its order."""
    # dataset[dim] builds an array with all coordinates, which is slow.
    variable = dataset.variables.get(dim)
    return [str(label) for label in (dataset[dim] if variable is None else variable).values]


def label_array(labels: Iterable[Any]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Return labels as an array of objects."""
    listed = list(labels)
    result = np.empty(len(listed), dtype=object)
    result[:] = listed
    return result
