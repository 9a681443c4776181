"""Scores that were read, as data frames of runs x topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from scorecube.ingest.objects import read_objects
from scorecube.ingest.scores import Part, cubes_of
from scorecube.ingest.tools import read_collections

Matrices = dict[str, pd.DataFrame]


def matrices_of(parts: list[Part]) -> Matrices:
    """Return metric -> runs x topics, of the only collection and gain setting."""
    (cube,) = cubes_of(parts, notify=lambda _: None).values()
    scores = cube["score"].squeeze("gain", drop=True).reset_coords(drop=True)
    return {
        metric: pd.DataFrame(scores.sel(metric=metric).to_pandas()).rename_axis(
            index=None, columns=None
        )
        for metric in cube["metric"].values.tolist()
    }


def read_scores(paths: list[Path], **options: Any) -> Matrices:
    """Return the scores of files of one collection."""
    return matrices_of(read_collections(paths, **options))


def read_matrix(path: Path, *, header: bool = True) -> pd.DataFrame:
    """Return the scores of a matrix."""
    (frame,) = read_scores([path], layout="matrix" if header else "numbers").values()
    return frame


def to_matrices(scores: Any) -> Matrices:
    """Return scores in memory."""
    return matrices_of([read_objects(scores)])
