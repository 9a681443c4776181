"""Resamples stored as zarr groups, to be replayed."""

from __future__ import annotations

import os

import xarray as xr

from scorecube import names
from scorecube.errors import BadInput, CorruptStudy
from scorecube.storage.datasets import dataset_objects, read_dataset
from scorecube.storage.location import Location, open_location

SAMPLES = "scorecube_samples"
"""Attribute of a store of samples: version of its form."""
KNOWN = {names.TOPIC_SAMPLE, names.RUN_SAMPLE, names.TEAM_LEFT_OUT, names.TOPIC_KEPT}
"""Variables of the samples of version 0.1.0, which have no such attribute."""


def read_samples(path: str | os.PathLike[str]) -> xr.Dataset:
    """Read samples written by `write_samples`, or by another program in the same form."""
    samples = _read(path)
    if samples is None:
        raise BadInput(
            "no zarr store with samples there; save the samples of an analysis first, or name another path",
            path,
        )
    return samples.drop_attrs(deep=False).assign_attrs(
        {key: value for key, value in samples.attrs.items() if key != SAMPLES}
    )


def _read(path: str | os.PathLike[str]) -> xr.Dataset | None:
    try:
        samples = read_dataset(open_location(path), "/")
    except CorruptStudy:
        raise
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None
    return samples if samples.data_vars else None


def check_samples_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path to which no samples can be written, before anything is computed for them.

    Raises BadInput: There is something else, or the path lies in a study.
    Raises StoreFailed: A folder that may not be written.
    """
    location = open_location(path)
    with location.failures():
        _refuse_other_content(location, path)
        location.check_writable()


def write_samples(samples: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write samples, replacing stored samples as a whole.

    Raises BadInput: There is something else, or the path lies in a study.
    """
    location = open_location(path)
    with location.failures():
        _refuse_other_content(location, path)
        location.replace_all(dataset_objects(samples.drop_encoding().assign_attrs({SAMPLES: 1})))


def _refuse_other_content(location: Location, path: str | os.PathLike[str]) -> None:
    """Refuse a location that holds anything but samples, or lies in a study."""
    if location.is_below_zarr():
        raise BadInput("lies in a study or another zarr store; choose another path", path)
    if location.exists():
        stored = _read(path) if location.holds_zarr() else None
        if stored is None or not (SAMPLES in stored.attrs or set(stored.data_vars) <= KNOWN):
            raise BadInput("exists and does not hold samples; choose another path", path)
