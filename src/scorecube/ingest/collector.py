"""The scores that readers yield, one by one -> matrices: metric -> data frame of runs x topics, NaN for missing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike
from scorecube.ingest.records import Matrices

Nested = Mapping[str, Mapping[str, Mapping[str, Any]]]


class Collector:
    """Collects scores and refuses a second one of a metric for a run on a topic.

    Tables with columns, which may be large, are collected by `scorecube.ingest.records`.

    label: Returns the name here of a measure of the tool, or its own name where the names here mean something else.
    metric: The only measure to read, by its name here or in the tool; others are noted in `others`.
    counts: Measures that are read only on request.
    """

    def __init__(
        self,
        label: Callable[[str], str],
        metric: str | None = None,
        counts: re.Pattern[str] | None = None,
    ) -> None:
        self.scores: dict[str, dict[str, dict[str, Any]]] = {}
        self.others: set[str] = set()
        self._label, self._metric, self._counts = label, metric, counts
        self._label_of: dict[str, str | None] = {}

    def wanted(self, measure: str) -> str | None:
        """Return the name here of a measure; None if it is not to be read."""
        if measure not in self._label_of:
            label = self._label(measure)
            if self._metric is None:
                is_wanted = self._counts is None or not self._counts.fullmatch(measure)
            else:
                is_wanted = self._metric in (measure, label)
            self._label_of[measure] = label if is_wanted else None
            if not is_wanted:
                self.others.add(label)
        return self._label_of[measure]

    def add(
        self,
        label: str,
        run: str,
        topic: str,
        value: Any,
        path: PathLike | None = None,
        line: int | None = None,
    ) -> None:
        """Add a score of a metric, by its name here; file and line are for messages."""
        row = self.scores.setdefault(label, {}).setdefault(run, {})
        if topic in row:
            raise BadInput(
                f"a second score of {label} for run {run!r} on topic {topic!r}; remove one of them",
                path,
                line,
            )
        row[topic] = value


def matrices_of(scores: Nested) -> Matrices:
    """Return matrices of numbers by metric, run and topic, all with all runs and topics, NaN for missing numbers.

    scores: Metric -> run -> topic -> score.
    Returns matrices: Metric -> data frame of runs x topics.
    Raises BadInput: A value that is not a number, naming metric, run and topic.

    Examples
    --------
    >>> matrices_of({"AP": {"a": {"1": 0.5}, "b": {"1": 0.25, "2": 1.0}}})["AP"].to_numpy().tolist()
    [[0.5, nan], [0.25, 1.0]]
    """
    by_run = list(scores.values())
    run_at = {run: k for k, run in enumerate(sorted({run for runs in by_run for run in runs}))}
    topics = sorted({topic for runs in by_run for values in runs.values() for topic in values})
    topic_at = {topic: k for k, topic in enumerate(topics)}
    result = {}
    for metric, runs in scores.items():
        values = np.full((len(run_at), len(topics)), np.nan)
        for run, row in runs.items():
            places = [topic_at[topic] for topic in row]
            values[run_at[run], places] = [_number(row[topic], metric, run, topic) for topic in row]
        result[metric] = pd.DataFrame(values, index=list(run_at), columns=topics)
    return result


def _number(value: Any, metric: str, run: str, topic: str) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = math.nan if value is None else float(value)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise BadInput(
            f"{metric} of run {run!r} on topic {topic!r} is {value!r}, not a finite number"
        )
    return number
