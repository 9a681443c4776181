"""Missing scores: which topics and runs they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted

NAMED = 3
"""Runs that lack most scores, by name."""


def which_lack_most(missing: Any, runs: Sequence[str]) -> str:
    """Return the runs that lack most scores, with numbers of topics; missing: bool (run, topic)."""
    lacking = missing.sum(axis=1)
    most = [int(run) for run in np.argsort(-lacking, kind="stable") if lacking[run]][:NAMED]
    return ", ".join(f"{runs[run]} ({lacking[run]})" for run in most)


def about_left_out(cube: xr.Dataset, complete: Any) -> str:
    """Return how many topics of a cube are used, and which runs lack scores on the others.

    cube: Scores, some of them missing.
    complete: bool (topic,): topics that are used.
    """
    gaps = cube[names.SCORE].isnull().any([names.METRIC, names.GAIN])
    lacks = gaps.transpose(names.RUN, names.TOPIC).values
    return (
        f"{int(complete.sum())} of {counted(len(complete), 'topic')} are used: scores are missing "
        f"on the others, most of {which_lack_most(lacks, labels_of(cube, names.RUN))}."
    )


def on_complete_topics(cube: xr.Dataset) -> xr.Dataset:
    """Return the topics of a cube without missing scores, and what is said of the others."""
    complete = cube[names.SCORE].notnull().all([names.METRIC, names.GAIN, names.RUN]).values
    if complete.all():
        return cube
    note = about_left_out(cube, complete)
    return cube.isel(topic=np.flatnonzero(complete)).assign_attrs({names.LEFT_OUT: note})
