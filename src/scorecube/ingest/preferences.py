"""Agreement of metrics with preferences of people, as scores: metrics are runs.

Topics are pairs of runs on a topic that people compared, which is their group (Sakai and Zeng 2021,
ACM TOIS 39: the share of people that agree with the sign of the metric's difference).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.arguments import as_cube
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import uses_gains
from scorecube.errors import BadInput, BadName, nearest
from scorecube.ingest.files import PathLike, read_text
from scorecube.ingest.objects import cube_from_scores
from scorecube.ingest.tables import columns_of, table_of_text

COLUMNS = ("topic", "run_a", "run_b", "preferred")
NEITHER = ("", "tie", "neither", "=")
"""Words for no preference."""
EQUAL = 1e-12
"""Largest difference of equal scores, relative to the largest score of the metric and to 1."""
KINDS = ("agreement", "agreement_half", "tied")
"""Share of people that agree; the same with half of them for equal scores; equal scores."""


class Preference(NamedTuple):
    """What people said of two runs on a topic: the preferred one, or empty for neither."""

    topic: str
    run_a: str
    run_b: str
    preferred: str
    people: float = 1.0


def read_preferences(path: PathLike) -> list[Preference]:
    """Read a table of topic, run_a, run_b, preferred (a run, or tie) and perhaps count."""
    header = table_of_text(read_text(path), path).header
    has_count = "count" in [cell.strip().lower() for cell in header]
    preferences = []
    for line, cells in columns_of(path, (*COLUMNS, "count") if has_count else COLUMNS):
        topic, first, second, preferred, *counts = cells
        if preferred.lower() in NEITHER:
            preferred = ""
        elif preferred not in (first, second):
            text = f"preferred is {preferred!r}; expected {first!r}, {second!r} or tie"
            raise BadInput(text, path, line)
        number = pd.to_numeric(counts[0] if counts else "1", errors="coerce")
        if not 0 < number < np.inf:
            raise BadInput(f"count {counts[0]!r} is no number above 0", path, line)
        preferences.append(Preference(topic, first, second, preferred, float(number)))
    return preferences


def agreement_with_preferences(cube: xr.Dataset, preferences: Iterable[Preference]) -> xr.Dataset:
    """Return the agreement of metrics with preferences of people, as a cube.

    Parameters
    ----------
    cube
        Scores of the runs that people compared, by any metrics.
    preferences
        As of `read_preferences`; those of the same runs and topic belong together.

    Returns
    -------
    agreement
        ``score[metric, gain, run, topic]``: the metrics are `KINDS`, each 0 .. 1; runs are the
        metrics of `cube`, with the gain setting where
        there are several; topics are pairs of runs on a topic, which is their topic group. Missing
        where a score is.

    Raises
    ------
    BadName
        A run or topic that the cube does not have.
    BadInput
        No preference, or one between a run and itself.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=3)
    >>> a, b, _ = cube.run.values
    >>> agreement_with_preferences(cube, [Preference("001", a, b, a)]).sizes["topic"]
    1
    """
    cube = as_cube(cube)
    votes = _votes(cube, preferences)
    if not votes:
        raise BadInput("no preferences: nothing to agree with")
    topics, first, second = map(list, zip(*votes, strict=True))
    scores = cube[names.SCORE].transpose(names.METRIC, names.GAIN, names.RUN, names.TOPIC)
    of_run, of_topic = scores.indexes[names.RUN], scores.indexes[names.TOPIC]
    at = of_topic.get_indexer(topics)
    difference = (
        scores.values[:, :, of_run.get_indexer(first), at]
        - scores.values[:, :, of_run.get_indexer(second), at]
    )
    largest = np.nanmax(np.abs(scores.values), axis=(2, 3), initial=0.0)[..., np.newaxis]
    equal = np.abs(difference) <= EQUAL * np.maximum(1.0, largest)
    signs = np.where(equal, 0.0, np.sign(difference))
    better, worse, neither = np.array(list(votes.values())).T
    total = better + worse + neither
    agreed = (better * (signs > 0) + worse * (signs < 0) + neither * (signs == 0)) / total
    half = agreed + (better + worse) * (signs == 0) / (2 * total)
    uses, gains = uses_gains(cube), labels_of(cube, names.GAIN)
    chosen = {  # a metric that uses no gains has one, whatever the gain settings
        f"{metric} {gain}" if uses[i] and len(gains) > 1 else metric: (i, g)
        for i, metric in enumerate(labels_of(cube, names.METRIC))
        for g, gain in enumerate(gains if uses[i] else gains[:1])
    }
    labels = [f"{topic}: {a} / {b}" for topic, a, b in votes]
    frames = {}
    for kind, values in zip(KINDS, (agreed, half, (signs == 0) * 1.0), strict=True):
        known = np.where(np.isnan(signs), np.nan, values)
        rows = [known[at] for at in chosen.values()]
        frames[kind] = pd.DataFrame(rows, index=list(chosen), columns=labels)
    groups = dict(zip(labels, topics, strict=True))
    agreement: xr.Dataset = cube_from_scores(frames, topic_groups=groups)
    return agreement


def _votes(
    cube: xr.Dataset, preferences: Iterable[Preference]
) -> dict[tuple[str, str, str], list[float]]:
    """Return the people for the first, the second and neither run, by topic and pair."""
    known = {dim: labels_of(cube, dim) for dim in (names.RUN, names.TOPIC)}
    votes: dict[tuple[str, str, str], list[float]] = {}
    for one in preferences:
        for dim, label in (
            (names.TOPIC, one.topic),
            (names.RUN, one.run_a),
            (names.RUN, one.run_b),
        ):
            if label not in known[dim]:
                raise BadName(
                    f"preferences: no {dim} {label!r} in the scores; nearest: "
                    f"{nearest(label, known[dim])}"
                )
        if one.run_a == one.run_b:
            raise BadInput(f"preferences: run {one.run_a!r} is compared with itself on {one.topic}")
        first, second = sorted((one.run_a, one.run_b))
        place = 2 if not one.preferred else int(one.preferred == second)
        votes.setdefault((one.topic, first, second), [0.0, 0.0, 0.0])[place] += one.people
    return dict(sorted(votes.items()))
