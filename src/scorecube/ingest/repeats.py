"""Repeated rows: what tells the scores of one run on one topic apart, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import option
from scorecube.ingest.columns import FILE, choice
from scorecube.ingest.tables import labels_of


def advice_on_repeats(
    tidy: Sequence[pd.DataFrame], rests: Sequence[pd.DataFrame | None], keys: Sequence[str]
) -> str:
    """Return which columns that are not read tell repeated rows apart, and the options for them.

    tidy, rests: Scores of each file, and its columns that are not read; by line.
    keys: Labels of which no two scores may have the same.
    """
    unread = [
        pd.DataFrame(index=frame.index) if rest is None else rest.loc[frame.index]
        for frame, rest in zip(tidy, rests, strict=True)
    ]
    whole = pd.concat(unread)
    candidates: dict[str, Sequence[object]] = {
        str(name): labels_of(whole[name]).tolist() for name in whole
    }
    if len(tidy) > 1:
        candidates[FILE] = np.repeat(np.arange(len(tidy)), [*map(len, tidy)]).tolist()
    codes = pd.concat(tidy)[[*keys]].reset_index(drop=True)
    group = codes.groupby([*keys], sort=False, observed=True).ngroup().to_numpy()
    telling = [
        name
        for name, cells in candidates.items()
        if not pd.DataFrame({"group": group, "cell": cells}).duplicated().any()
    ]
    if not telling:
        return "; no other column tells these rows apart"
    first = telling[0]
    if first == FILE:
        return (
            f"; the file tells the rows apart: {choice('run', FILE)} for runs, "
            f"{choice('seed', FILE)} for repetitions, {choice('collection', FILE)} for collections;"
            f" for other metrics, import each file by itself with its {option('metric')}"
        )
    return (
        f"; {listed(telling)} tell{'s' * (len(telling) == 1)} the rows apart: "
        f"{choice('seed', first)} for repetitions, {choice('collection', first)} for collections, "
        f"or name it behind the run's in {choice('run')}, after a comma"
    )
