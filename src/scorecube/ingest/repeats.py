"""Repeated rows: what tells the scores of one run on one topic apart, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import option
from scorecube.ingest.columns import FILE, Column, choice
from scorecube.ingest.headings import IDENTIFIER


def advice_on_repeats(
    tidy: Sequence[pd.DataFrame],
    rests: Sequence[pd.DataFrame | None],
    keys: Sequence[str],
    runs: Sequence[str],
) -> str:
    """Return which columns that are not read tell repeated rows apart, and the options for them.

    tidy, rests: Scores of each file, and its columns that are not read; by line.
    keys: Labels of which no two scores may have the same.
    runs: Columns of runs.
    """
    unread = [
        pd.DataFrame(index=frame.index) if rest is None else rest.loc[frame.index]
        for frame, rest in zip(tidy, rests, strict=True)
    ]
    whole = pd.concat(unread)
    columns = [Column(str(name), whole[name], [0]) for name in whole]
    columns.sort(key=lambda column: column.fact == IDENTIFIER)  # of every row, whatever they are
    labels = {one.name: pd.factorize(one.values)[0] for one in columns if one.may_tell}
    if len(tidy) > 1:
        labels[FILE] = np.repeat(np.arange(len(tidy)), [*map(len, tidy)])
    scores = pd.concat(tidy)[[*keys]].reset_index(drop=True)
    telling = [name for name in labels if not scores.assign(other=labels[name]).duplicated().any()]
    if not telling:
        return "; no other column tells these rows apart"
    first = telling[0]
    is_file = first == FILE
    of_runs = ",".join([*(name for name in runs if name != FILE), first])
    return (
        f"; {'the file' if is_file else listed(telling)} tell{'s' * (len(telling) == 1)} the "
        f"rows apart: {choice('run', of_runs)} for runs, {choice('seed', first)} for repetitions, "
        f"{choice('collection', first)} for collections"
        + f"; for other metrics, import each file by itself with its {option('metric')}"
        * is_file
    )
