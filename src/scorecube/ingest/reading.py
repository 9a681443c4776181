"""Scores that were read: matrices by collection, gain setting and metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, option
from scorecube.ingest.cells import JOIN
from scorecube.ingest.files import PathLike

Integers = np.ndarray[Any, np.dtype[np.int64]]
Matrices = dict[str, pd.DataFrame]
"""Metric -> runs x topics, NaN for missing scores."""


@dataclass(frozen=True)
class Reading:
    """Scores that were read.

    collections: Name of a collection ('' where no column names one) -> gain setting ('' for none) -> metric -> runs x
        topics.
    taken: What the columns were taken for.
    notes: What is not read, and other things that a user should know.
    topic_groups: Name of a collection -> topic -> its group, where a column names groups.
    """

    collections: dict[str, dict[str, Matrices]]
    taken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    topic_groups: dict[str, dict[str, str]] = field(default_factory=dict)

    def only(self) -> dict[str, Matrices]:
        """Return the scores of the only collection (BadInput for several)."""
        refuse_several(list(self.collections))
        return next(iter(self.collections.values()))


def refuse_several(collections: Sequence[str]) -> None:
    """Refuse scores of several collections where those of one are expected (BadInput)."""
    if len(collections) > 1:
        raise BadInput(
            f"scores of {len(collections)} collections ({listed(collections)}), which are not pooled: collections=True reads each by itself, as the "
            f"command import does without {option('name')}; or choose the column that names collections: {option('collection_column')}"
        )


def by_gain(
    matrices: Mapping[tuple[str, str], pd.DataFrame], path: PathLike | None
) -> dict[str, Matrices]:
    """Return matrices by gain setting and metric by gain setting; those without one apply to all."""
    gains = list(dict.fromkeys(gain for gain, _ in matrices if gain)) or [""]
    metrics = list(dict.fromkeys(metric for gain, metric in matrices if gain in gains))
    without = list(dict.fromkeys(metric for gain, metric in matrices if gain not in gains))
    for metric in metrics:
        if metric in without:
            raise BadInput(
                f"scores of {metric} both with gain setting {gains[0]} and without one", path
            )
        for gain in gains:
            if (gain, metric) not in matrices:
                raise BadInput(f"no score of {metric} at gain setting {gain}, but at others", path)
    return {
        gain: {metric: matrices[gain, metric] for metric in metrics}
        | {metric: matrices["", metric] for metric in without}
        for gain in gains
    }


def axis(
    parts: Iterable[Integers], labels: Mapping[int, str]
) -> tuple[Callable[[Integers], Integers], list[str]]:
    """Return a function from numbers of labels to their places in sorted order, and the labels in this order."""
    used = np.unique(np.concatenate([np.unique(part) for part in parts]))
    names = [labels[number] for number in used.tolist()]
    order = sorted(range(len(names)), key=names.__getitem__)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return lambda numbers: places[np.searchsorted(used, numbers)], [names[k] for k in order]


def collection_name(collection: str) -> str:
    """Return the name of a collection: its labels with hyphens between them and instead of slashes."""
    return "-".join(collection.split(JOIN)).replace("/", "-").replace("\\", "-")
