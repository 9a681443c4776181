"""Resamples as files, to be replayed."""

from __future__ import annotations

import os

import xarray as xr
from zarr.errors import GroupNotFoundError

from scorecube.errors import BadInput
from scorecube.storage.datasets import read_dataset, write_dataset
from scorecube.storage.location import open_place


def read_samples(path: str | os.PathLike[str]) -> xr.Dataset:
    """Read samples written by `write_samples`, or by anything that writes the same Dataset."""
    found = _read(path)
    if found is None:
        raise BadInput(
            "no zarr store with samples there; save the samples of an analysis first, or name another path", path
        )
    return found


def _read(path: str | os.PathLike[str]) -> xr.Dataset | None:
    try:
        found = read_dataset(open_place(path), "/")
    except (GroupNotFoundError, FileNotFoundError, NotADirectoryError, ValueError, KeyError):
        return None
    return found if found.data_vars else None


def write_samples(samples: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write samples; an existing file of samples is replaced, anything else is refused."""
    place = open_place(path)
    if place.is_there() and not place.holds_zarr():
        raise BadInput("exists and is not a zarr store; choose another path", path)
    if place.is_there() and _read(path) is None:
        raise BadInput("exists and holds something else than samples; choose another path", path)
    write_dataset(samples, place)
