"""Systems with repeated runs in tables of scores: names of runs, and labels of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from scorecube import names
from scorecube.errors import BadInput
from scorecube.ingest.roles import RUN_HEADERS, header_word


def named_runs(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the name of the run of each system and seed ('' for none): the system itself if no system has two seeds.

    Raises BadInput: A system with a seed on some rows, and without one on others.
    """
    found = list(dict.fromkeys(pairs))
    if len({system for system, _ in found}) == len(found):
        return {pair: pair[0] for pair in found}
    for system, seed in found:
        if not seed and sum(system == other for other, _ in found) > 1:
            raise BadInput(f"run {system!r} has rows with a seed and rows without one")
    return {pair: "{}#{}".format(*pair) if pair[1] else pair[0] for pair in found}


def without_levels(frame: pd.DataFrame, metric: object) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a matrix whose rows have one label, the run, and the system of each run where the rows had two: system and run, or system and seed.

    Raises BadInput: Rows with more labels.
    """
    if frame.columns.nlevels > 1:
        frame = frame.T
    if frame.index.nlevels == 1:
        return frame, {}
    if frame.index.nlevels > 2:
        raise BadInput(
            f"the matrix of {metric} has {frame.index.nlevels} labels for each row; expected run, or system and seed"
        )
    pairs = [(str(system), str(inner)) for system, inner in frame.index]
    inner = frame.index.names[1]
    are_runs = isinstance(inner, str) and header_word(inner) in RUN_HEADERS
    labels = {pair: pair[1] for pair in pairs} if are_runs else named_runs(pairs)
    axis = pd.Index([labels[pair] for pair in pairs], name=names.RUN)
    systems = {labels[pair]: pair[0] for pair in pairs}
    repeated = len(set(systems.values())) < len(systems) or are_runs
    return frame.set_axis(axis, axis=0), systems if repeated else {}


def rows_of_systems(frame: pd.DataFrame, systems: Mapping[str, str]) -> pd.DataFrame:
    """Return a matrix of runs x topics with the system of each run as a further label of its row; without systems as it is."""
    if not systems:
        return frame
    labels = [[systems[run] for run in frame.index], list(frame.index)]
    return frame.set_axis(
        pd.MultiIndex.from_arrays(labels, names=[names.SYSTEM, names.RUN]), axis=0
    )
