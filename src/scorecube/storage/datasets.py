"""Reading and writing datasets as zarr groups, each with a digest of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import xarray as xr
import zarr
from zarr.abc.buffer import Buffer
from zarr.storage import MemoryStore

from scorecube.collection import schema
from scorecube.errors import CorruptStudy, ScorecubeError
from scorecube.storage.encoding import (
    CONSOLIDATED,
    ZARR_FORMAT,
    encoding,
    pairs_as_labels,
    pairs_as_positions,
    plain_bytes,
)
from scorecube.storage.location import Location
from scorecube.storage.manifest import check_files, digests_of

CONTENT = "content_sha256"
CONCURRENT_CHUNKS: Final = 4
"""Chunks of a large array that are written at a time; each needs memory for itself and for its compressed form."""
MAX_LOADED_BYTES: Final = 2**28
"""Larger results are opened without loading their values."""
MAX_BUFFERED_BYTES: Final = 2**26
"""Larger datasets are written directly, not through memory."""


def open_dataset(location: Location, group: str) -> xr.Dataset:
    """Open one group; its values are read on use.

    Only zarr format 3 is read: arrays of format 2 may hold pickled objects.
    """
    opened: xr.Dataset = xr.open_zarr(
        location.store, group=group, chunks=None, consolidated=CONSOLIDATED, zarr_format=ZARR_FORMAT
    )
    return opened


def read_dataset(
    location: Location, group: str, files: Mapping[str, str] | None = None
) -> xr.Dataset:
    """Read one group into memory, with labels as object strings.

    Parameters
    ----------
    location
        Of the store.
    group
        Path of the group.
    files
        Digests of its metadata files; None if they are unknown.

    Raises
    ------
    CorruptStudy
        Metadata or values that are missing, cannot be read, or do not match their digests.
    """
    with _reading(location, group, files):
        return _load(open_dataset(location, group), location, group)


def read_or_open(
    location: Location, group: str, files: Mapping[str, str] | None = None
) -> xr.Dataset:
    """Read one group into memory; values of a large one are read and checked on use. See `read_dataset`."""
    with _reading(location, group, files):
        dataset = open_dataset(location, group)
        if dataset.nbytes <= MAX_LOADED_BYTES:
            return _load(dataset, location, group)
        opened = zarr.open_group(location.store, path=group, mode="r", zarr_format=ZARR_FORMAT)
        incomplete = [
            name for name, array in opened.arrays() if array.nchunks_initialized < array.nchunks
        ]
        if incomplete:
            raise _corrupt(
                location, group, f"chunks of {', '.join(sorted(incomplete))} are missing"
            )
        dataset.attrs.pop(CONTENT, None)
        return _with_object_labels(dataset)


@contextmanager
def _reading(location: Location, group: str, files: Mapping[str, str] | None) -> Iterator[None]:
    """Check the metadata of a group, and raise failures to read it as `CorruptStudy`."""
    with location.failures():
        problems = check_files(location, group, files)
    if problems:
        raise _corrupt(location, group, "; ".join(problems))
    try:
        with location.failures():
            yield
    except ScorecubeError:
        raise
    except Exception as error:
        if files is None:
            raise  # a group without digests may be no group of ours at all
        raise _corrupt(location, group, f"cannot be read: {error}") from None


def _load(dataset: xr.Dataset, location: Location, group: str) -> xr.Dataset:
    with dataset:
        try:
            loaded: xr.Dataset = dataset.load()
        except RuntimeError as error:  # raised by codecs
            raise _corrupt(location, group, f"cannot be read: {error}") from None
    recorded = loaded.attrs.pop(CONTENT, None)
    if recorded is not None and recorded != content_digest(loaded):
        raise _corrupt(location, group, "the content does not match its digest")
    return _with_object_labels(loaded)


def _corrupt(location: Location, group: str, problem: str) -> CorruptStudy:
    return CorruptStudy(
        f"{location.name}: {group}: {problem}; run scorecube verify and compute it again"
    )


def _with_object_labels(dataset: xr.Dataset) -> xr.Dataset:
    for name, coord in dataset.coords.items():
        if coord.dtype.kind in "OUT":
            dataset = dataset.assign_coords(
                {name: (coord.dims, schema.label_array(map(str, coord.values)))}
            )
    return pairs_as_labels(dataset)


def write_dataset(dataset: xr.Dataset, location: Location, group: str = "") -> dict[str, str]:
    """Write a new group and return the digests of its metadata files; install or sync it afterwards.

    zarr sends many requests per array, each with the latency of the file system or object store. A small group is therefore built
    in memory and its objects are copied.
    """
    plain = pairs_as_positions(dataset.drop_encoding())
    if plain.nbytes <= MAX_BUFFERED_BYTES:
        objects = dataset_objects(plain)
        location.write_new(group, objects)
        return digests_of(objects)
    with (
        ThreadPoolExecutor(1, thread_name_prefix="digest") as thread,
        zarr.config.set({"async.concurrency": CONCURRENT_CHUNKS}),
    ):
        digest = thread.submit(content_digest, plain)  # while zarr compresses
        _write(plain, location.store, group)
    zarr.open_group(location.store, path=group, mode="a", zarr_format=ZARR_FORMAT).attrs.update(
        {CONTENT: digest.result()}
    )
    return digests_of(location.metadata(group))


def dataset_objects(dataset: xr.Dataset) -> dict[str, bytes]:
    """Return the objects of a group that holds a dataset, by key."""
    plain = pairs_as_positions(dataset.drop_encoding())
    objects: dict[str, Buffer] = {}
    _write(plain.assign_attrs({CONTENT: content_digest(plain)}), MemoryStore(objects), "")
    return {key: value.to_bytes() for key, value in objects.items()}


def _write(dataset: xr.Dataset, store: Any, group: str) -> None:
    dataset.to_zarr(
        store,
        group=group or None,
        mode="w",
        encoding=encoding(dataset),
        zarr_format=ZARR_FORMAT,
        consolidated=CONSOLIDATED,
        write_empty_chunks=True,
    )


def content_digest(dataset: xr.Dataset) -> str:
    """Return the SHA-256 of all variables and coordinates.

    It reveals missing chunks, which read as fill values.
    """
    hasher = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        values = dataset[name].values
        text = values.dtype.kind in "OUT"
        hasher.update(f"{name} {values.shape} {'text' if text else values.dtype.str};".encode())
        hasher.update(
            "\x1f".join(map(str, values.ravel())).encode() if text else plain_bytes(values)
        )
    return hasher.hexdigest()
