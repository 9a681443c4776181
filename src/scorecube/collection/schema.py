"""Schemas of rankings, score cubes and samples: a record per variable."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.declare import Variable, along
from scorecube.errors import BadInput

LARGEST_SCORE: Final = 1e12
"""Largest absolute value of a score: squares of sums of a million of them are finite."""
SMALLEST_MAXIMUM: Final = 1e-12
"""Smallest maximum of the scores of a metric, unless all are 0: smaller ones lost their digits."""
MAX_LOADED_BYTES: Final = 2**28
"""Larger cubes and results are opened without loading their values."""
COORDINATES = along(
    (),
    Variable("alpha", "condition", "significance level", form=".2f"),
    Variable("confidence", "condition", "confidence level", form=".2f"),
    Variable(
        "fuzziness",
        "condition",
        "share of the larger mean below which two means are a tie",
        form=".2f",
    ),
    Variable("lower", "condition", "lower edge of a bin", form=".2f"),
    Variable("target", "condition", "coefficient that is asked for", form=".2f"),
    Variable("bin", "condition", "number of a bin of differences", kinds="i"),
    Variable("left_out", "condition", "teams that are left out", kinds="i"),
    Variable("n_topics_wanted", "condition", "topics that are to be left", kinds="i"),
    Variable("rank", "condition", "place of a run, or of a pair by its p-value", kinds="i"),
    Variable("size", "condition", "topics in a sample", kinds="i"),
    Variable("trial", "condition", "number of a trial", kinds="i"),
    Variable("system", "label", "runs that are repetitions of one system", kinds="O"),
)
"""What rows of results are about; tables may declare these names otherwise."""
OF_COORDINATES: Final = {
    **{each.name: {"long_name": each.long_name, "units": each.units} for each in COORDINATES},
    names.METRIC: {"long_name": "evaluation metric"},
    names.GAIN: {"long_name": "gain setting: gains of levels, the highest first"},
    names.RUN: {"long_name": "run, or system whose repetitions runs are"},
    names.TEAM: {"long_name": "team of a run"},
    names.TOPIC: {"long_name": "topic"},
    names.RUN_A: {"long_name": "first run of a pair, from whose scores those of run_b are taken"},
    names.RUN_B: {"long_name": "second run of a pair"},
    "metric_a": {"long_name": "first metric that is compared"},
    "metric_b": {"long_name": "second metric that is compared"},
    "gain_a": {"long_name": "gain setting of the first metric"},
    "gain_b": {"long_name": "gain setting of the second metric"},
    "coefficient": {"long_name": "kind of the coefficient of reliability"},
    "curve_topics": {"long_name": "topics of a collection", "units": "topic"},
    "source": {"long_name": "what the variance of scores comes from"},
    names.USES_GAINS: {"long_name": "whether scores depend on the gain setting"},
}
"""Attributes of coordinates of results, as the CF conventions name them."""

CELL = (names.METRIC, names.GAIN)
"""Dims of metrics under gain settings."""
RANKINGS = (
    *along(
        ("run", "topic", "rank"),
        Variable(
            "level_at_rank",
            "",
            "relevance level at a rank; -1 unjudged or behind the end",
            "level",
            kinds="i",
        ),
    ),
    *along(
        ("run", "topic"),
        Variable("n_retrieved", "", "documents returned for a topic", "documents", kinds="iu"),
    ),
    *along(
        ("topic", "level"),
        Variable("n_judged", "", "documents judged at a level", "documents", kinds="iu"),
    ),
)
DOCUMENTS = (
    *along(
        ("run", "topic", "rank"),
        Variable(
            "document_at_rank",
            "",
            "number of the judged document at a rank; -1 for none",
            kinds="i",
        ),
    ),
    *along(
        ("topic", "document"),
        Variable(
            "level_of_document",
            "",
            "relevance level; -1 not judged, or behind the last one",
            "level",
            kinds="i",
        ),
    ),
)
"""Documents at ranks."""
KEYS = along(
    ("topic", "document"),
    Variable(
        "document_key",
        "",
        "hash of the id of a judged document; 0 behind the topic's last document",
        kinds="i",
    ),
)
"""Documents under other judgements; absent from digests."""
INTENTS = (
    *along(
        ("topic", "document", "intent"),
        Variable(
            "intent_level",
            "",
            "relevance level of a document for an intent; -1 not judged",
            "level",
            kinds="i",
        ),
    ),
    *along(("topic", "intent"), Variable("intent_probability", "", "probability of an intent")),
)
"""Judgements by intent, of rankings that have them."""
CUBE = along(("metric", "gain", "run", "topic"), Variable("score", "", "effectiveness score"))
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
        array = dataset.variables[variable.name]
        what = f"{subject}: {variable.name}"
        if array.dims != variable.dims:
            raise BadInput(f"{what} has dims {array.dims}, expected {variable.dims}")
        if array.dtype.kind not in variable.kinds:
            raise BadInput(f"{what} has dtype {array.dtype}, expected kind {variable.kinds!r}")
    for dim in {names.RUN, names.TOPIC} & {*dataset.dims}:
        labels = labels_of(dataset, str(dim))
        if not all(map(operator.lt, labels, labels[1:])):
            raise BadInput(f"{subject}: labels of {dim!r} must be sorted and unique")


def in_chunks(arrays: Sequence[xr.DataArray]) -> list[xr.DataArray]:
    """Return arrays, in chunks that are read on use where they are large together.

    What is in memory stays as it is.
    """
    if sum(array.nbytes for array in arrays) <= MAX_LOADED_BYTES:
        return list(arrays)
    chunked = []
    for array in arrays:
        is_there = array.chunks or array.variable._in_memory
        of_store = array.encoding.get("preferred_chunks", "auto")
        chunked.append(array if is_there else array.chunk(of_store))
    return chunked


def labels_of(dataset: xr.Dataset, dim: str) -> list[str]:
    """Return the labels of a dim as plain strings, in its order."""
    # dataset[dim] builds an array with all coordinates, which is slow.
    variable = dataset.variables.get(dim)
    return [str(label) for label in (dataset[dim] if variable is None else variable).values]


def variable_of(
    dims: str | Sequence[Hashable], values: npt.ArrayLike, attrs: Mapping[str, Any] | None = None
) -> xr.Variable:
    """Return values along dims, or labels of a dim, in memory.

    xarray asks other values whether they are of dask, and imports it to do so.
    """
    array = np.asarray(values)
    if isinstance(dims, str) and array.dtype.kind in "Oif":
        return xr.Variable(dims, pd.Index(array, dtype=array.dtype), attrs)
    return xr.Variable(dims, array, attrs, fastpath=True)


def label_array(labels: Iterable[Any]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Return labels as an array of objects."""
    listed = list(labels)
    result = np.empty(len(listed), dtype=object)
    result[:] = listed
    return result
