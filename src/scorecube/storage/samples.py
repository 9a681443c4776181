"""Resamples stored as zarr groups, to be replayed."""

from __future__ import annotations

import os

import xarray as xr
from zarr.errors import GroupNotFoundError

from scorecube.errors import BadInput
from scorecube.storage.datasets import read_dataset, write_dataset
from scorecube.storage.location import open_location


def read_samples(path: str | os.PathLike[str]) -> xr.Dataset:
    """Read samples written by `write_samples`, or by another program in the same form."""
    samples = _read(path)
    if samples is None:
        raise BadInput(
            "no zarr store with samples there; save the samples of an analysis first, or name another path",
            path,
        )
    return samples


def _read(path: str | os.PathLike[str]) -> xr.Dataset | None:
    try:
        samples = read_dataset(open_location(path), "/")
    except (GroupNotFoundError, FileNotFoundError, NotADirectoryError, ValueError, KeyError):
        return None
    return samples if samples.data_vars else None


def write_samples(samples: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write samples, replacing stored samples; other content is refused."""
    location = open_location(path)
    if location.exists() and not location.holds_zarr():
        raise BadInput("exists and is not a zarr store; choose another path", path)
    if location.exists() and _read(path) is None:
        raise BadInput("exists and does not hold samples; choose another path", path)
    write_dataset(samples, location)
