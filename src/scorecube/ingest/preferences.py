"""Agreement of metrics with preferences of people, as scores: each metric is a run, each pair of runs on a topic that people compared a topic.

So every analysis of scores is one of agreement: intervals and rank sets of metrics (`Leaderboard`), tests between them (`Tukey`, `MaxT`), all
over topics, as the pairs of a topic are a topic group.

References: Sakai and Zeng 2021, "Retrieval evaluation measures that agree with users' SERP preferences", ACM TOIS 39: the agreement rate of a
pair is the share of its assessors that agree with the sign of the metric's difference.
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
from scorecube.ingest.delimited import read_rows, read_table
from scorecube.ingest.files import PathLike
from scorecube.ingest.in_memory import cube_from_scores
from scorecube.ingest.roles import header_word

COLUMNS = ("topic", "run_a", "run_b", "preferred")
COUNT = "count"
NEITHER = ("", "tie", "neither", "=")
"""Words for no preference."""
EQUAL = 1e-12
"""Largest difference of equal scores, relative to the largest score of the metric and to 1."""
KINDS = ("agreement", "agreement_half", "tied")
"""Share of people that the metric agrees with; the same with half a person for each whose preference meets equal scores; equal scores."""


class Preference(NamedTuple):
    """What some people said of two runs on a topic."""

    topic: str
    run_a: str
    run_b: str
    preferred: str
    """One of the runs, or empty for neither."""
    people: float = 1.0
    """Their number."""


def read_preferences(path: PathLike) -> list[Preference]:
    """Read preferences.

    path: A table with the columns topic, run_a, run_b, preferred (one of the runs, or tie) and perhaps count.
    Raises BadInput: As of `read_table`; a preferred run that is neither of the two; a count that is no positive number.
    """
    words = [header_word(cell) for cell in read_rows(path)[0][1]]
    counted = COUNT in words
    found = []
    for line, cells in read_table(path, (*COLUMNS, COUNT) if counted else COLUMNS):
        topic, first, second, preferred = cells[:4]
        if preferred.lower() in NEITHER:
            preferred = ""
        elif preferred not in (first, second):
            raise BadInput(
                f"preferred is {preferred!r}; expected {first!r}, {second!r} or tie", path, line
            )
        number = cells[4] if counted else "1"
        try:
            count = float(number)
        except ValueError:
            count = 0.0
        if not 0 < count < np.inf:
            raise BadInput(f"count {number!r} is no number above 0", path, line)
        found.append(Preference(topic, first, second, preferred, count))
    return found


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
        ``score[metric, gain, run, topic]``: the metrics are `KINDS`, each 0 .. 1; runs are the metrics of `cube`, with the gain setting where
        there are several; topics are pairs of runs on a topic, which is their topic group. Missing where a score is.

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
    run, topic_at = (
        {label: k for k, label in enumerate(labels_of(cube, dim))}
        for dim in (names.RUN, names.TOPIC)
    )
    topic, first, second = np.array([(topic_at[t], run[a], run[b]) for t, a, b in votes]).T
    scores = cube[names.SCORE].transpose(names.METRIC, names.GAIN, names.RUN, names.TOPIC).values
    largest = np.nanmax(np.abs(scores), axis=(2, 3), initial=0.0)[..., np.newaxis]
    difference = scores[:, :, first, topic] - scores[:, :, second, topic]
    equal = np.abs(difference) <= EQUAL * np.maximum(1.0, largest)
    signs = np.where(equal, 0.0, np.sign(difference))
    better, worse, neither = np.array(list(votes.values())).T
    total = better + worse + neither
    agreed = (better * (signs > 0) + worse * (signs < 0) + neither * (signs == 0)) / total
    half = agreed + (better + worse) * (signs == 0) / (2 * total)
    chosen, labels = _metrics(cube), [f"{t}: {a} / {b}" for t, a, b in votes]
    frames = {}
    for kind, values in zip(KINDS, (agreed, half, (signs == 0) * 1.0), strict=True):
        known = np.where(np.isnan(signs), np.nan, values)
        frames[kind] = pd.DataFrame(
            [known[at] for at in chosen.values()], index=list(chosen), columns=labels
        )
    groups = {label: t for label, (t, *_) in zip(labels, votes, strict=True)}
    return cube_from_scores(frames, topic_groups=groups)


def _metrics(cube: xr.Dataset) -> dict[str, tuple[int, int]]:
    """Return metric and gain setting of each name; a metric that uses no gains has one, whatever the gain settings."""
    uses, gains = uses_gains(cube), labels_of(cube, names.GAIN)
    return {
        f"{metric} {gain}" if uses[i] and len(gains) > 1 else metric: (i, g)
        for i, metric in enumerate(labels_of(cube, names.METRIC))
        for g, gain in enumerate(gains if uses[i] else gains[:1])
    }


def _votes(
    cube: xr.Dataset, preferences: Iterable[Preference]
) -> dict[tuple[str, str, str], list[float]]:
    """Return for each topic and two of its runs, in order, the people that prefer the first, the second, and neither."""
    known = {dim: labels_of(cube, dim) for dim in (names.RUN, names.TOPIC)}
    sets = {dim: set(labels) for dim, labels in known.items()}
    votes: dict[tuple[str, str, str], list[float]] = {}
    for each in preferences:
        said = ((names.TOPIC, each.topic), (names.RUN, each.run_a), (names.RUN, each.run_b))
        for dim, label in said:
            if label not in sets[dim]:
                raise BadName(
                    f"preferences: no {dim} {label!r} in the scores; nearest: {nearest(label, known[dim])}"
                )
        if each.run_a == each.run_b:
            raise BadInput(
                f"preferences: run {each.run_a!r} is compared with itself on {each.topic}"
            )
        first, second = sorted((each.run_a, each.run_b))
        place = 2 if not each.preferred else int(each.preferred == second)
        votes.setdefault((each.topic, first, second), [0.0, 0.0, 0.0])[place] += each.people
    return dict(sorted(votes.items()))
