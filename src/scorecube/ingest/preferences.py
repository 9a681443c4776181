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
from scorecube.ingest.files import PathLike
from scorecube.ingest.objects import cube_from_scores
from scorecube.ingest.tables import columns_of

NEITHER = ("", "tie", "neither", "=")
"""Words for no preference."""


class Preference(NamedTuple):
    """What people said of two runs on a topic: the preferred one, or empty for neither."""

    topic: str
    run_a: str
    run_b: str
    preferred: str
    people: float = 1.0


def read_preferences(path: PathLike) -> list[Preference]:
    """Read a table of topic, run_a, run_b, preferred (a run, or tie) and perhaps count."""
    preferences = []
    columns = ("topic", "run_a", "run_b", "preferred")
    for line, (topic, run_a, run_b, preferred, count) in columns_of(path, columns, ("count",)):
        winner = "" if preferred.lower() in NEITHER else preferred
        if winner not in ("", run_a, run_b):
            text = f"preferred is {preferred!r}; expected {run_a!r}, {run_b!r} or tie"
            raise BadInput(text, path, line)
        number = pd.to_numeric(count or "1", errors="coerce")
        if not 0 < number < np.inf:
            raise BadInput(f"count {count!r} is no number above 0", path, line)
        preferences.append(Preference(topic, run_a, run_b, winner, float(number)))
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
        ``score[metric, gain, run, topic]`` of agreement (the share of people that agree),
        agreement_half (the same with half of them for equal scores) and tied (equal scores); runs
        are the metrics of `cube`, with the gain setting where there are several; topics are pairs
        of runs on a topic, which is their topic group. Missing where a score is.

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
    labels = [f"{topic}: {a} / {b}" for topic, a, b in votes]
    topics, first, second = map(list, zip(*votes, strict=True))
    better, worse, neither = np.array(list(votes.values())).T
    uses, gains = uses_gains(cube), labels_of(cube, names.GAIN)
    rows: dict[str, list[pd.Series]] = {"agreement": [], "agreement_half": [], "tied": []}
    for i, metric in enumerate(labels_of(cube, names.METRIC)):
        # A metric that uses no gains has one score, whatever the gain settings.
        for gain in gains if uses[i] else gains[:1]:
            name = f"{metric} {gain}" if uses[i] and len(gains) > 1 else metric
            scores = cube[names.SCORE].sel(metric=metric, gain=gain)
            of_topics = scores.sel(topic=xr.DataArray(topics, dims="pair"))
            a, b = (
                of_topics.sel(run=xr.DataArray(runs, dims="pair")).values
                for runs in (first, second)
            )
            # Scores are equal up to 1e-12 of the largest of the metric, and of 1.
            limit = 1e-12 * max(1.0, np.nanmax(np.abs(scores.values), initial=0.0))
            signs = np.where(np.abs(a - b) <= limit, 0.0, np.sign(a - b))
            agreed = better * (signs > 0) + worse * (signs < 0) + neither * (signs == 0)
            half = agreed + (better + worse) * (signs == 0) / 2
            for kind, values in zip(rows, (agreed, half, signs == 0), strict=True):
                share = values * 1.0 if kind == "tied" else values / (better + worse + neither)
                values = np.where(np.isnan(signs), np.nan, share)
                rows[kind].append(pd.Series(values, labels, name=name))
    frames = {kind: pd.DataFrame(parts) for kind, parts in rows.items()}
    groups = dict(zip(labels, topics, strict=True))
    agreement: xr.Dataset = cube_from_scores(frames, topic_groups=groups)
    return agreement


def _votes(
    cube: xr.Dataset, preferences: Iterable[Preference]
) -> dict[tuple[str, str, str], list[float]]:
    """Return the people for the first, the second and neither run, by topic and pair."""
    votes: dict[tuple[str, str, str], list[float]] = {}
    for topic, run_a, run_b, preferred, people in preferences:
        for dim, label in ((names.TOPIC, topic), (names.RUN, run_a), (names.RUN, run_b)):
            if label not in (labels := labels_of(cube, dim)):
                text = f"no {dim} {label!r} in the scores; nearest: {nearest(label, labels)}"
                raise BadName(f"preferences: {text}")
        if run_a == run_b:
            raise BadInput(f"preferences: run {run_a!r} is compared with itself on {topic}")
        first, second = sorted((run_a, run_b))
        place = 2 if not preferred else int(preferred == second)
        votes.setdefault((topic, first, second), [0.0, 0.0, 0.0])[place] += people
    return dict(sorted(votes.items()))
