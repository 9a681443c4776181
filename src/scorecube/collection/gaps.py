"""Missing scores: which topics and runs they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import counted

MOST_DROPPED, UNLIKE = 0.05, 2.0
"""Share of the topics that may be left out without a warning, and standard errors from which on their mean is unlike that of the others."""
NAMED = 3
"""Runs that lack most scores, by name."""


def which_lack_most(missing: Any, runs: Sequence[str]) -> str:
    """Return the runs that lack most scores, with numbers of topics; missing: bool (run, topic)."""
    lacking = missing.sum(axis=1)
    most = [int(run) for run in np.argsort(-lacking, kind="stable") if lacking[run]][:NAMED]
    return ", ".join(f"{runs[run]} ({lacking[run]})" for run in most)


def about_left_out(cube: xr.Dataset, complete: Any) -> str:
    """Return which topics are used of those of a cube, why the others are not, and whether that may change results.

    cube: Scores, some of them missing.
    complete: bool (topic,): topics that are used.
    """
    scores = cube[names.SCORE].transpose(..., names.RUN, names.TOPIC).values
    scores = scores.reshape(-1, *scores.shape[-2:])
    lacks, n = np.isnan(scores).any(axis=0), len(complete)
    most = which_lack_most(lacks, schema.labels_of(cube, names.RUN))
    text = f"{int(complete.sum())} of {counted(n, 'topic')} are used: scores are missing on the others, most of {most}."
    if 1 - complete.mean() > MOST_DROPPED:
        text += " Runs that lack scores of hard topics gain by it."
    others = scores[0][~lacks.any(axis=1)]
    if len(others) and min(complete.sum(), (~complete).sum()) > 1:
        used, dropped = (others[:, chosen].mean(axis=0) for chosen in (complete, ~complete))
        error = np.sqrt(used.var(ddof=1) / len(used) + dropped.var(ddof=1) / len(dropped))
        if abs(used.mean() - dropped.mean()) > UNLIKE * error:
            text += (
                f" The topics that are left out are unlike the others: the mean of the other runs ({schema.labels_of(cube, names.METRIC)[0]}) is "
                f"{dropped.mean():.2f} on them, and {used.mean():.2f} on those that are used."
            )
    return text


def on_complete_topics(cube: xr.Dataset) -> xr.Dataset:
    """Return the topics of a cube without missing scores, with what is said of those left out; the cube itself without any."""
    complete = cube[names.SCORE].notnull().all([names.METRIC, names.GAIN, names.RUN]).values
    if complete.all():
        return cube
    said = about_left_out(cube, complete)
    return cube.isel(topic=np.flatnonzero(complete)).assign_attrs({names.LEFT_OUT: said})
