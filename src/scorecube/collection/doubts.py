"""Doubts about scores: what is possible, and more often a mistake in a file or in how it was read.

One function for each rule: it returns what was found, where, and what to do. They look at labels and values alone, so the same sentences are
said when scores are read, in `info --warnings` and on the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.lower_is_better import KNOWN, PREFIX
from scorecube.collection.schema import labels_of
from scorecube.collection.teams import listed

UNIT_METRICS = frozenset(
    ("AP", "P", "R", "Rprec", "RR", "nDCG", "Q", "nERR", "ERR", "RBP", "bpref", "Success", "infAP")
)
"""Metrics between 0 and 1, without a cut-off."""
MEANS = frozenset(("all", "amean", "average", "avg", "gmean", "mean", "overall", "total"))
"""Labels of rows and columns of means, in lower case."""
COUNTERS = frozenset(("#", "id", "idx", "index", "no", "no.", "query no", "query_no", "unnamed: 0"))
"""Headers of columns of numbers of topics, in lower case."""
LOWER = re.compile(
    r"(^|[^a-z])(rmse|mse|mae|wer|cer|latency|loss|perplexity|ppl|error_rate|runtime|seconds|cost)([^a-z]|$)"
)
"""Words in names of measures whose smaller values are better."""
DIGITS_LOST = 1e-3
"""Largest distance of k times a P@k from a whole number that comes of rounding its decimals."""
FEWEST = 5
"""Different scores of a run, or topics of a metric, from which on equal ones are no chance."""


def doubts_of(cube: xr.Dataset) -> list[str]:
    """Return doubts about the scores of a cube ``score[metric, gain, run, topic]``, one sentence each.

    Examples
    --------
    >>> import pandas as pd
    >>> from scorecube.ingest.in_memory import cube_from_scores
    >>> cube = cube_from_scores({"AP": pd.DataFrame({"1": [54.3, 40.0], "2": [10.0, 3.0]}, index=["a", "b"])})
    >>> doubts_of(cube)
    ['AP lies between 0 and 1, and 4 scores do not, such as 54.3 of run a on topic 1: perhaps percentages, sentinels, or estimates of it']
    """
    return [doubt for rule in RULES for doubt in rule(cube)]


def _by_metric(cube: xr.Dataset) -> Iterator[tuple[str, Any]]:
    """Yield the metrics with their scores (gain, run, topic)."""
    scores = cube[names.SCORE].transpose(names.METRIC, names.GAIN, names.RUN, names.TOPIC).values
    yield from zip(labels_of(cube, names.METRIC), scores, strict=True)


def _outside_their_range(cube: xr.Dataset) -> Iterator[str]:
    runs, topics = labels_of(cube, names.RUN), labels_of(cube, names.TOPIC)
    for metric, scores in _by_metric(cube):
        if re.split(r"[@(]", metric)[0] not in UNIT_METRICS:
            continue
        outside = np.argwhere((scores < 0.0) | (scores > 1.0))
        if len(outside):
            gain, run, topic = outside[0]
            yield (
                f"{metric} lies between 0 and 1, and {len(outside):,} scores do not, such as {scores[gain, run, topic]:g} of run {runs[run]} on topic "
                f"{topics[topic]}: perhaps percentages, sentinels, or estimates of it"
            )


def _precision_of_no_list(cube: xr.Dataset) -> Iterator[str]:
    for metric, scores in _by_metric(cube):
        found = re.fullmatch(r"P@(\d{1,3})", metric)
        if found is None:
            continue
        times = scores[np.isfinite(scores)] * int(found[1])
        wrong = int((np.abs(times - np.rint(times)) > DIGITS_LOST * int(found[1])).sum())
        if wrong:
            yield f"{metric} is a number of {found[1]}ths, and {wrong:,} scores are not: perhaps another measure, or means"


def _means_among_labels(cube: xr.Dataset) -> Iterator[str]:
    for dim in (names.TOPIC, names.RUN):
        means = [each for each in labels_of(cube, dim) if each.lower() in MEANS]
        if means:
            yield f"{dim} {listed(means)} looks like means over others: leave it out of the file"


def _counters_among_runs(cube: xr.Dataset) -> Iterator[str]:
    counters = [each for each in labels_of(cube, names.RUN) if each.lower() in COUNTERS]
    if counters:
        yield f"run {listed(counters)} looks like a column of numbers, not like a system: leave it out of the file"


def _runs_and_topics_exchanged(cube: xr.Dataset) -> Iterator[str]:
    runs, topics = labels_of(cube, names.RUN), labels_of(cube, names.TOPIC)
    if all(map(str.isdecimal, runs)) and not any(re.search(r"\d", topic) for topic in topics):
        yield f"the runs are numbers ({listed(runs)}) and the topics are not ({listed(topics)}): perhaps runs are rows; then transpose"


def _smaller_is_better(cube: xr.Dataset) -> Iterator[str]:
    for metric in labels_of(cube, names.METRIC):
        if metric in KNOWN or (LOWER.search(metric.lower()) and not metric.startswith(PREFIX)):
            are = "are" if metric in KNOWN else "seem to be"
            yield f"{metric}: smaller values {are} better, and every analysis takes larger scores as better; declare it as lower is better"


def _equal_metrics(cube: xr.Dataset) -> Iterator[str]:
    if cube.sizes[names.TOPIC] >= FEWEST and (alike := _alike(_by_metric(cube))):
        yield f"metrics with equal scores everywhere: {listed(alike)}; perhaps one file under two names"


def _equal_runs(cube: xr.Dataset) -> Iterator[str]:
    scores = cube[names.SCORE].transpose(names.RUN, ...).values
    # Of a measure with few values, such as the reciprocal rank, good runs have the same.
    many = max(FEWEST, cube.sizes[names.TOPIC] / 2)
    runs = [
        (run, values)
        for run, values in zip(labels_of(cube, names.RUN), scores, strict=True)
        if len(np.unique(values)) >= many
    ]
    if alike := _alike(runs):
        yield f"runs with equal scores everywhere: {listed(alike)}; perhaps one run under two names"


def _alike(named: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the groups of names with equal values that are not all the same number, as ``a = b``."""
    groups: dict[bytes, list[str]] = {}
    for name, values in named:
        known = values[np.isfinite(values)]
        if len(known) and known.min() != known.max():
            groups.setdefault(np.ascontiguousarray(values).tobytes(), []).append(name)
    return [" = ".join(group) for group in groups.values() if len(group) > 1]


RULES: tuple[Callable[[xr.Dataset], Iterator[str]], ...] = (
    _outside_their_range,
    _precision_of_no_list,
    _means_among_labels,
    _counters_among_runs,
    _runs_and_topics_exchanged,
    _smaller_is_better,
    _equal_metrics,
    _equal_runs,
)
"""Each returns its doubts about a cube."""
