"""Doubts about scores: what is possible, and more often a mistake in a file or in how it was read.

One function for each rule: it returns what was found, where, and what to do. The same sentences are
said when scores are read, in ``info --warnings`` and on the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.arguments import as_cube
from scorecube.collection.names_of_tools import canonical
from scorecube.collection.ranges import higher_of
from scorecube.collection.schema import labels_of
from scorecube.collection.teams import listed
from scorecube.errors import Note, counted, invisible_in, option
from scorecube.metrics import parse_metric

SUMMARIES = re.compile(
    r"all|amean|average|avg\.?|best|diff(erence)?|gmean|map|max(imum)?|mean|median|min(imum)?|"
    r"overall|p[-_. ]?val(ue)?|sd|std|stddev|stdev|sum|total"
)
"""Labels of rows and columns of means and the like, in lower case."""
LOWER = re.compile(
    r"(^|[^a-z])(rmse|mse|mae|wer|cer|latency|loss|perplexity|ppl|error_rate|runtime|seconds|cost|"
    r"last_rel|loss_e|loss_er|loss_r)([^a-z]|$)"
)
"""Words in names of measures whose smaller values are better."""
MEMBER = re.compile(r"(.*\w)[-_./:#](\w{1,3})")
"""Topic of a group, such as ``31_1`` or ``q12-a``."""
FEWEST = 5
"""Topics, or different scores of a run, from which on equal ones are no chance."""


def doubts_of(cube: xr.Dataset) -> list[str]:
    """Return doubts about scores: what is possible, and more often a mistake.

    cube: ``score[metric, gain, run, topic]``; rankings have no doubts.
    Returns doubts: One sentence each: what was found, where, and what to do.
    """
    cube = as_cube(cube)
    return [doubt for rule in RULES for doubt in rule(cube)] if names.SCORE in cube else []


def _topics_in_groups(cube: xr.Dataset) -> Iterator[str]:
    if names.TOPIC_GROUP in cube.coords:
        return
    topics = labels_of(cube, names.TOPIC)
    parts = [MEMBER.fullmatch(topic) for topic in topics]
    stems = Counter(part[1] for part in parts if part)
    if all(parts) and 1 < len(stems) <= len(topics) / 2 and min(stems.values()) > 1:
        yield Note(
            f"topics seem to come in {len(stems)} groups ({', '.join(topics[:2])}, ...), such as "
            "turns of conversations, and are taken as independent: name the groups "
            f"({option('topic_groups')}), or errors of tests rise several times above their level"
        )


def _invisible(cube: xr.Dataset) -> Iterator[str]:
    """Ids that look alike, and are not."""
    for dim in (names.RUN, names.TOPIC):
        found = [label for label in labels_of(cube, dim) if invisible_in(label)]
        if found:
            letters = "".join(sorted({*"".join(map(invisible_in, found))}))
            codes = listed([f"U+{ord(letter):04X}" for letter in letters])
            count = counted(len(found), dim)
            yield f"{count} with invisible characters ({codes}), such as {found[0]!a}"


def _summaries(cube: xr.Dataset) -> Iterator[str]:
    for dim in (names.TOPIC, names.RUN):
        means = [label for label in labels_of(cube, dim) if SUMMARIES.fullmatch(label.lower())]
        if means:
            yield f"{dim} {listed(means)} looks like a mean of others: leave it out of the file"


def _zero_everywhere(cube: xr.Dataset) -> Iterator[str]:
    """A run that failed: beside others that are not 0 everywhere."""
    runs, scores = _by_run(cube)
    zero = ~np.isnan(scores).all(axis=1) & ~np.nan_to_num(scores).any(axis=1)
    if cube.sizes[names.TOPIC] >= FEWEST and zero.any() and not zero.all():
        yield (
            f"{listed(runs[zero].tolist())}: 0 on every topic by every metric; perhaps a run that "
            "failed, or under other ids: leave it out, or run it again"
        )


def _without_a_level(cube: xr.Dataset) -> Iterator[str]:
    """Topics where a metric is not defined: it asks for levels that no document there has."""
    absent = np.isnan(cube.variables[names.SCORE].values).all(axis=(1, 2))
    topics = np.array(labels_of(cube, names.TOPIC), object)
    for metric, lacks in zip(labels_of(cube, names.METRIC), absent, strict=True):
        known = canonical(metric)
        rel = parse_metric(known).rel if known else 1
        if rel > 1 and lacks.any():
            yield (
                f"{metric} has no score on {counted(int(lacks.sum()), 'topic')} without a document "
                f"of level {rel} or above: {listed(topics[lacks].tolist())}"
            )


def _alike_for_all(cube: xr.Dataset) -> Iterator[str]:
    """Metrics by which no run differs from another on any topic."""
    scores = cube.variables[names.SCORE].values
    if min(cube.sizes[names.RUN], cube.sizes[names.TOPIC]) < 2:
        return
    metrics = labels_of(cube, names.METRIC)
    same = (scores == scores[:, :, :1]).all(axis=(1, 2, 3))
    alike = [metric for metric, is_same in zip(metrics, same, strict=True) if is_same]
    if 0 < len(alike) < len(same):
        yield (
            f"{listed(alike)}: all runs have the same score on every topic, so that "
            "these metrics cannot tell them apart"
        )


def seems_lower(metric: str) -> bool:
    """Return whether smaller values are usually better of metrics with such a name."""
    return LOWER.search(metric.lower()) is not None


def _smaller_is_better(cube: xr.Dataset) -> Iterator[str]:
    for metric, higher in zip(labels_of(cube, names.METRIC), higher_of(cube), strict=True):
        if higher and seems_lower(metric):
            way = option("lower_is_better", metric)
            yield Note(f"{metric}: smaller values seem to be better; declare it by {way}")


def _equal_runs(cube: xr.Dataset) -> Iterator[str]:
    # Of a measure with few values, such as the reciprocal rank, good runs have the same.
    many = max(FEWEST, cube.sizes[names.TOPIC] / 2)
    groups: dict[bytes, list[str]] = {}
    for run, values in zip(*_by_run(cube), strict=True):
        if len(np.unique(values[np.isfinite(values)])) >= many:
            groups.setdefault(values.tobytes(), []).append(run)
    if alike := [listed(group, " = ") for group in groups.values() if len(group) > 1]:
        yield (
            f"runs with equal scores everywhere: {listed(alike)}; perhaps one run under two names: "
            "leave one out"
        )


def _by_run(cube: xr.Dataset) -> tuple[Any, Any]:
    """Return the runs, and all scores of each: (run, score)."""
    scores = cube.variables[names.SCORE].transpose(names.RUN, ...).values
    return np.array(labels_of(cube, names.RUN), object), scores.reshape(len(scores), -1)


RULES: tuple[Callable[[xr.Dataset], Iterator[str]], ...] = (
    _topics_in_groups,
    _invisible,
    _summaries,
    _zero_everywhere,
    _without_a_level,
    _alike_for_all,
    _smaller_is_better,
    _equal_runs,
)
"""Each yields its doubts about a cube."""
