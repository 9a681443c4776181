"""Rankings of further runs, added to those of a collection."""

from itertools import chain

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.doubts import with_doubts
from scorecube.errors import BadStudy, counted, option


def add_runs(stored: xr.Dataset, new: xr.Dataset, what: str) -> xr.Dataset:
    """Return rankings with further runs, as if all runs had been read together.

    stored, new: Rankings of different runs under the same judgements, read with the same options.
    what: Names the collection in messages.
    Returns rankings: Runs sorted; see `scorecube.collection.rankings.build_rankings`.
    Raises BadStudy: A run is there already, or the judgements or the options of reading differ.

    Examples
    --------
    >>> from scorecube.testing import simulate_rankings
    >>> rankings = simulate_rankings(n_runs=4)
    >>> add_runs(rankings.isel(run=[0, 2]), rankings.isel(run=[1, 3]), "demo").equals(rankings)
    True
    """
    known = set(schema.labels_of(stored, names.RUN))
    again = [run for run in schema.labels_of(new, names.RUN) if run in known]
    if again:
        raise BadStudy(
            f"{what} has {counted(len(again), 'run')} of these names already: {', '.join(again[:5])}; give the files of new runs only, "
            f"or all files with {option('replace', True)}"
        )
    new = refuse_other_reading(stored, new, what)
    depth = max(stored.sizes[names.RANK], new.sizes[names.RANK])
    both = xr.concat(
        [_padded(stored, depth), _padded(new, depth)],
        dim=names.RUN,
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
        combine_attrs="override",
    )
    order = np.argsort(np.array(schema.labels_of(both, names.RUN), object), kind="stable")
    arrays = both.isel({names.RUN: order})
    arrays = arrays.assign(
        {name: arrays[name].transpose(*array.dims) for name, array in stored.data_vars.items()}
    )
    noted = [each.attrs.get(names.SCORE_DOUBTS, ()) for each in (stored, new)]
    return with_doubts(arrays, *dict.fromkeys(map(str, chain(*noted))))


def refuse_other_reading(stored: xr.Dataset, new: xr.Dataset, what: str) -> xr.Dataset:
    """Return rankings with the variables of those stored; BadStudy if the judgements or the options of reading differ."""
    if names.DOCUMENT_KEY not in stored:  # of an earlier version
        new = new.drop_vars(names.DOCUMENT_KEY, errors="ignore")
    of_judgements = [
        name for name, array in stored.variables.items() if names.RUN not in array.dims
    ]
    differing = [
        str(name)
        for name in of_judgements
        if name != names.RANK and (name not in new or not stored[name].equals(new[name]))
    ]
    if differing or set(stored.variables) != set(new.variables):
        raise BadStudy(
            f"{what} was evaluated with other judgements or levels (they differ in {', '.join(differing) or 'their kind'}); give the same "
            f"judgements, all runs with {option('replace', True)}, or another {option('name')}"
        )
    settings = [
        key
        for key, value in stored.attrs.items()
        if key not in (names.DOUBTS, names.SCORE_DOUBTS)
        and new.attrs.get(key) != value  # of the runs, not of their reading
    ]
    if settings:
        raise BadStudy(
            f"{what} was read with other options: {', '.join(f'{key}={stored.attrs[key]}, now {new.attrs.get(key)}' for key in settings)}; use the "
            f"same, give all runs with {option('replace', True)}, or another {option('name')}"
        )
    return new


def new_runs(stored: xr.Dataset, rankings: xr.Dataset, what: str) -> xr.Dataset:
    """Return the part of rankings whose runs are not stored.

    stored, rankings: Rankings under the same judgements.
    what: Names the collection in messages.
    Raises BadStudy: A stored run has other rankings.
    """
    known = set(schema.labels_of(stored, names.RUN))
    labels = schema.labels_of(rankings, names.RUN)
    depth = max(stored.sizes[names.RANK], rankings.sizes[names.RANK])
    for run in filter(known.__contains__, labels):
        one, other = (_padded(each.sel({names.RUN: [run]}), depth) for each in (stored, rankings))
        if not one[schema.LEVEL_AT_RANK].equals(other[schema.LEVEL_AT_RANK]):
            raise BadStudy(
                f"{what} has another run {run!r} than its file; use {option('replace', True)} to start over"
            )
    return rankings.sel({names.RUN: [run for run in labels if run not in known]})


def _padded(rankings: xr.Dataset, depth: int) -> xr.Dataset:
    """Return rankings of a larger depth; nothing is ranked behind the end of a list."""
    missing = depth - rankings.sizes[names.RANK]
    if not missing:
        return rankings
    padded = rankings.pad({names.RANK: (0, missing)}, constant_values=names.UNJUDGED)
    return padded.assign_coords({names.RANK: np.arange(1, depth + 1)})
