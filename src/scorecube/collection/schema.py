"""What rankings, a cube and topic samples must be: one record per variable, used to annotate and to check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.errors import BadInput


@dataclass(frozen=True)
class Variable:
    """Name, dims (in order), NumPy kind letters, unit and meaning of one variable.

    Parameters
    ----------
    name
        In datasets.
    dims
        In order.
    kinds
        Letters of the NumPy kinds it may have, e.g. ``iu``.
    units
        ``1`` for none.
    long_name
        Its meaning.
    """

    name: str
    dims: tuple[str, ...]
    kinds: str
    units: str
    long_name: str

    def attrs(self) -> dict[str, str]:
        """Return what a dataset says about it."""
        return {"long_name": self.long_name, "units": self.units}


RANKINGS = (
    Variable(
        names.LEVEL + "_at_rank", (names.RUN, names.TOPIC, names.RANK), "i", "level",
        "relevance level of the document at a rank; -1 unjudged or behind the end of the list",
    ),
    Variable(names.N_RETRIEVED, (names.RUN, names.TOPIC), "iu", "documents", "documents returned for a topic"),
    Variable(names.N_JUDGED, (names.TOPIC, names.LEVEL), "iu", "documents", "documents judged at a level"),
)  # fmt: skip
DOCUMENTS = (
    Variable(
        names.DOCUMENT_AT_RANK, (names.RUN, names.TOPIC, names.RANK), "i", "1",
        "number, within its topic, of the judged document at a rank; -1 unjudged or behind the end of the list",
    ),
    Variable(
        names.LEVEL_OF_DOCUMENT, (names.TOPIC, names.DOCUMENT), "i", "level",
        "relevance level of a judged document; -1 pooled but not judged, or behind the topic's last document",
    ),
)  # fmt: skip
"""Which document stands where; rankings that were stored before these were known lack them."""
INTENTS = (
    Variable(
        names.INTENT_LEVEL, (names.TOPIC, names.DOCUMENT, names.INTENT), "i", "level",
        "relevance level of a judged document for an intent; -1 not judged",
    ),
    Variable(names.INTENT_LABEL, (names.TOPIC, names.INTENT), "OUT", "1", "id of an intent; empty for none"),
    Variable(names.INTENT_PROBABILITY, (names.TOPIC, names.INTENT), "f", "1", "probability of an intent"),
)  # fmt: skip
"""What rankings hold beside `RANKINGS` where documents are judged by intent."""
CUBE = (Variable(names.SCORE, (names.METRIC, names.GAIN, names.RUN, names.TOPIC), "f", "1", "effectiveness score"),)
SAMPLES = (
    Variable(names.TOPIC_SAMPLE, (names.TRIAL, names.HALF, names.DRAW), "OUT", "1", "topic drawn in a trial's sample"),
)
TEAM_SAMPLES = (
    Variable(
        names.TEAM_LEFT_OUT, (names.LEAVE, names.TRIAL, names.TEAM), "b", "1", "whether a team is left out in a trial"
    ),
    Variable(names.TOPIC_KEPT, (names.TOPIC_STEP, names.TOPIC), "b", "1", "whether a topic is in a step of the chain"),
)
LEVEL_AT_RANK = RANKINGS[0].name


def annotate(dataset: xr.Dataset, variables: Iterable[Variable]) -> xr.Dataset:
    """Return the dataset with `long_name` and `units` on its variables.

    Parameters
    ----------
    dataset
        Holds all of the variables.
    variables
        Their descriptions.

    Returns
    -------
    dataset
        A copy; values are shared.
    """
    result = dataset.copy()
    for variable in variables:
        result[variable.name].attrs.update(variable.attrs())
    return result


def check(dataset: xr.Dataset, variables: Iterable[Variable], what: str) -> None:
    """Refuse a dataset that is not what it should be.

    Parameters
    ----------
    dataset
        To be checked; nothing is computed or changed.
    variables
        What it must hold.
    what
        How to call it in the error text, e.g. "the cube".

    Raises
    ------
    BadInput
        Naming the variable, what was found and what was expected.
    """
    for variable in variables:
        if variable.name not in dataset.data_vars:
            raise BadInput(
                f"{what} has no variable {variable.name!r}; found {', '.join(map(str, dataset.data_vars)) or 'none'}"
            )
        array = dataset.variables[variable.name]
        if array.dims != variable.dims:
            raise BadInput(f"{what}: {variable.name} has dims {array.dims}, expected {variable.dims}")
        if array.dtype.kind not in variable.kinds:
            raise BadInput(f"{what}: {variable.name} has dtype {array.dtype}, expected kind {variable.kinds!r}")
    for label in (names.RUN, names.TOPIC):
        if label in dataset.dims:
            check_labels(labels_of(dataset, label), label, what)


def check_labels(labels: list[str], dim: str, what: str) -> None:
    """Refuse labels that are not sorted and unique: digests and draws refer to positions in this order.

    Parameters
    ----------
    labels
        Of one dim.
    dim, what
        For the error text.

    Raises
    ------
    BadInput
        Naming labels that are repeated, or the wrong order.
    """
    if sorted(set(labels)) != labels:
        repeated = sorted({label for label in labels if labels.count(label) > 1})
        problem = f"repeated: {', '.join(repeated[:5])}" if repeated else "not in sorted order"
        raise BadInput(f"{what}: labels of {dim!r} must be sorted and unique; {problem}")


def labels_of(dataset: xr.Dataset, dim: str) -> list[str]:
    """Return the labels of a dim as plain strings.

    Parameters
    ----------
    dataset
        Has a coordinate along the dim.
    dim
        Its name.

    Returns
    -------
    labels
        In order.
    """
    # What a dataset is made of is found at once; an array of it, with all its coordinates, is made anew.
    along = dataset.variables.get(dim)
    return [str(label) for label in (dataset[dim] if along is None else along).values]


def label_array(labels: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Return labels in the form every dataset of ours holds them: object strings, never fixed width."""
    listed = list(labels)
    result = np.empty(len(listed), dtype=object)
    result[:] = listed
    return result
