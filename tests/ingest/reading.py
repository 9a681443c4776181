"""Scores that were read, as data frames of runs x topics in the order of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from scorecube.ingest.cubes import cubes_of
from scorecube.ingest.formats import read_collections
from scorecube.ingest.objects import read_objects
from scorecube.ingest.scores import SCORE, Reading

Matrices = dict[str, pd.DataFrame]


def matrices_of(reading: Reading) -> dict[str, Matrices]:
    """Return gain setting -> metric -> runs x topics, of the only collection."""
    reading.only()
    cubes_of(reading, notify=lambda _: None)  # refuses what makes no cube
    found: dict[str, Matrices] = {}
    runs, topics = (list(dict.fromkeys(reading.frame[dim].astype(str))) for dim in ("run", "topic"))
    for (gain, metric), part in reading.frame.groupby(
        ["gain", "metric"], sort=False, observed=True
    ):
        labels = part[["run", "topic"]].astype(str).assign(score=part[SCORE])
        frame = labels.set_index(["run", "topic"])["score"].unstack()
        frame = frame.reindex(index=runs, columns=topics).rename_axis(index=None, columns=None)
        found.setdefault(str(gain), {})[str(metric)] = frame
    return found


def read_scores(paths: list[Path], **options: Any) -> dict[str, Matrices]:
    """Return the scores of files of one collection."""
    return matrices_of(read_collections(paths, **options))


def read_matrix(path: Path, *, transpose: bool = False, header: bool = True) -> pd.DataFrame:
    """Return the scores of a matrix."""
    layout = "matrix" if header else "numbers"
    (frame,) = read_scores([path], layout=layout, transpose=transpose)[""].values()
    return frame


def to_matrices(scores: Any) -> Matrices:
    """Return scores in memory."""
    return matrices_of(read_objects(scores))[""]
