"""Published facts that are data files of the package."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np

LEVELS = ("b", "a", "s")
"""Columns of relevant documents at levels 1, 2 and 3 (B, A and S of NTCIR)."""


def ntcir_clir() -> dict[str, tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.int64]]]]:
    """Return topics and numbers of relevant documents of Sakai 2007, Tables 7-9.

    Returns facts: Collection -> (topic ids, int64 (topic, 3) numbers of relevant documents at
        levels 1, 2, 3).

    Examples
    --------
    >>> topics, judged = ntcir_clir()["NTCIR-3 Chinese"]
    >>> len(topics), judged.mean(axis=0).round(1).tolist()
    (42, [32.3, 24.9, 21.0])
    """
    text = files("scorecube").joinpath("data/ntcir_clir.csv").read_text(encoding="utf-8")
    by_collection: dict[str, tuple[list[str], list[list[int]]]] = {}
    for row in csv.DictReader(text.splitlines()):
        topics, counts = by_collection.setdefault(row["collection"], ([], []))
        topics.append(row["topic"])
        counts.append([int(row[level]) for level in LEVELS])
    return {
        name: (topics, np.array(counts, np.int64))
        for name, (topics, counts) in by_collection.items()
    }
