"""Datasets <-> groups of a store, with a digest over the content."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import xarray as xr
import zarr
from zarr.storage import MemoryStore

from scorecube.collection import schema
from scorecube.errors import CorruptStudy
from scorecube.storage.encoding import CONSOLIDATED, METADATA, ZARR_FORMAT, encoding, plain_bytes
from scorecube.storage.location import Place

CONTENT = "content_sha256"
CHUNKS_AT_ONCE: Final = 4
"""Of a large array: each takes memory for itself and for what it becomes."""
READ_WHOLE: Final = 2**28
"""Bytes up to which a result is read as a whole."""
MAKING_GROUPS: Final = threading.Lock()
"""Threads that store results of one analysis would make the group around them at the same time."""
MADE_IN_MEMORY: Final = 2**26
"""Bytes up to which a group is made in memory first."""


def open_dataset(place: Place, group: str) -> xr.Dataset:
    """Open one group; its values are read when they are used.

    Of zarr's formats only the third is read: the second has arrays of pickled objects.
    """
    opened: xr.Dataset = xr.open_zarr(
        place.store, group=group, chunks=None, consolidated=CONSOLIDATED, zarr_format=ZARR_FORMAT
    )
    return opened


def read_dataset(place: Place, group: str) -> xr.Dataset:
    """Read one group into memory, labels as object strings."""
    return _read(open_dataset(place, group), place, group)


def read_or_open(place: Place, group: str) -> xr.Dataset:
    """Read one group; of a large one labels only, and other values when they are used, each chunk with its own checksum."""
    dataset = open_dataset(place, group)
    if dataset.nbytes <= READ_WHOLE:
        return _read(dataset, place, group)
    arrays = zarr.open_group(place.store, path=group, mode="r", zarr_format=ZARR_FORMAT).arrays()
    missing = [name for name, array in arrays if array.nchunks_initialized < array.nchunks]
    if missing:
        raise CorruptStudy(
            f"{place.text}: {group} misses parts of {', '.join(sorted(missing))}; run scorecube verify, and make it again"
        )
    del dataset.attrs[CONTENT]
    return _with_labels(dataset)


def _read(dataset: xr.Dataset, place: Place, group: str) -> xr.Dataset:
    with dataset:
        try:
            loaded: xr.Dataset = dataset.load()
        except RuntimeError as error:  # what codecs raise
            raise CorruptStudy(
                f"{place.text}: {group} cannot be read: {error}; run scorecube verify, and make it again"
            ) from None
    recorded = loaded.attrs.pop(CONTENT, None)
    if recorded is not None and recorded != content_digest(loaded):
        raise CorruptStudy(
            f"{place.text}: {group} does not hold what was written; run scorecube verify, and make it again"
        )
    return _with_labels(loaded)


def _with_labels(dataset: xr.Dataset) -> xr.Dataset:
    for name, coord in dataset.coords.items():
        if coord.dtype.kind in "OUT":
            dataset = dataset.assign_coords({name: (coord.dims, schema.label_array(map(str, coord.values)))})
    return dataset


def write_dataset(
    dataset: xr.Dataset, place: Place, group: str = "", *, last: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Write one group, replacing what it held; the attributes `last` are set when all else is there.

    zarr asks its store many times for each array, and a file system or an object store takes its time for each: a small group is made in
    memory, and its objects are sent as they are.
    """
    plain = dataset.drop_encoding()
    if plain.nbytes <= MADE_IN_MEMORY:
        made = MemoryStore()
        _write(plain.assign_attrs({CONTENT: content_digest(plain), **last}), made, "")
        send(made, place, group)
        return
    with (
        ThreadPoolExecutor(1, thread_name_prefix="digest") as other,
        zarr.config.set({"async.concurrency": CHUNKS_AT_ONCE}),
    ):
        digest = other.submit(content_digest, plain)  # while zarr compresses
        _write(plain, place.store, group)
    zarr.open_group(place.store, path=group, mode="a", zarr_format=ZARR_FORMAT).attrs.update(
        {CONTENT: digest.result(), **last}
    )


def _write(dataset: xr.Dataset, store: Any, group: str) -> None:
    dataset.to_zarr(
        store, group=group or None, mode="w", encoding=encoding(dataset), zarr_format=ZARR_FORMAT, consolidated=CONSOLIDATED,
        write_empty_chunks=True,
    )  # fmt: skip


def send(made: MemoryStore, place: Place, group: str) -> None:
    """Put a group that was made in memory in its place; its own metadata last, as its attributes say what the arrays must hold."""
    above = group.rpartition("/")[0]
    with MAKING_GROUPS:
        if group and not place.holds_zarr(above):
            zarr.open_group(place.store, path=above, mode="a", zarr_format=ZARR_FORMAT)
    parts = {key: value.to_bytes() for key, value in made._store_dict.items()}
    after = parts.pop(METADATA)
    place.replace(group, parts, _bare_group(), after)


@cache
def _bare_group() -> bytes:
    """Return the metadata of a group that has no attributes yet."""
    made = MemoryStore()
    zarr.create_group(made, zarr_format=ZARR_FORMAT)
    return made._store_dict[METADATA].to_bytes()


def content_digest(dataset: xr.Dataset) -> str:
    """Return the SHA-256 of all variables and coordinates: a missing chunk reads as fill values, and this tells."""
    hasher = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        values = dataset[name].values
        text = values.dtype.kind in "OUT"
        hasher.update(f"{name} {values.shape} {'text' if text else values.dtype.str};".encode())
        hasher.update("\x1f".join(map(str, values.ravel())).encode() if text else plain_bytes(values))
    return hasher.hexdigest()
