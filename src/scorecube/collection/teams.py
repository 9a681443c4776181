"""Labels of runs and topics from tables: teams, systems and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import counted

SHOWN = 5
"""Names that a message lists."""
KINDS = {names.SYSTEM: (names.RUN, names.SYSTEM), names.TOPIC_GROUP: (names.TOPIC, "group")}
"""Coordinate -> its dim, and what a label is called."""


def teams_of(
    runs: Sequence[str],
    teams: Mapping[str, str] | None,
    *,
    path: str | None = None,
    notify: Callable[[str], None],
    kind: str = "team",
    of: str = names.RUN,
) -> list[str]:
    """Return the team of each run, or the system, or the group of each topic.

    A run without a team is a team of its own.

    teams: Run -> team; None for teams of one run each. It may name other runs, as a table of a
        whole track does.
    path: The file it was read from, for messages.
    notify: Called with a line of text about runs without a team, and one about teams of other runs.
    kind, of: ``team``, ``system`` or ``group``, and whose, for messages.
    """
    if teams is None:
        return list(runs)
    lacking = [run for run in runs if run not in teams]
    others = [run for run in teams if run not in set(runs)]
    where = "" if path is None else f"{path}: "
    if lacking:
        count = counted(len(lacking), of)
        notify(f"{where}no {kind} for {count}, each a {kind} of its own: {listed(lacking)}")
    if others:
        count = counted(len(others), of)
        notify(f"{where}{kind}s of {count} that are not here: {listed(others)}")
    return [teams.get(run, run) for run in runs]


def labelled(
    dataset: xr.Dataset,
    labels: Mapping[str, str] | None,
    coordinate: str,
    *,
    path: str | None = None,
    notify: Callable[[str], None],
) -> xr.Dataset:
    """Return scores or rankings with the system of each run, or the group of each topic.

    dataset: Has the dim run, or topic.
    labels: Run -> system, or topic -> group; None or nothing leaves the dataset as it is.
    coordinate: `names.SYSTEM` or `names.TOPIC_GROUP`.
    path, notify: As of `teams_of`.
    """
    if not labels:
        return dataset
    dim, kind = KINDS[coordinate]
    of = schema.labels_of(dataset, dim)
    found = teams_of(of, labels, path=path, notify=notify, kind=kind, of=dim)
    return dataset.assign_coords({coordinate: (dim, schema.label_array(found))})


with_systems = partial(labelled, coordinate=names.SYSTEM)
"""`labelled` with the system that each run is a repetition of."""
with_topic_groups = partial(labelled, coordinate=names.TOPIC_GROUP)
"""`labelled` with the group of each topic."""


def listed(labels: Sequence[str], between: str = ", ") -> str:
    """Return the first names of a list, and how many there are beside them.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    return between.join(labels[:SHOWN]) + more
