"""Datasets <-> groups of a store, with a digest over the content."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, Final

import xarray as xr
import zarr
from zarr.core.sync import sync
from zarr.storage import MemoryStore

from scorecube import schema
from scorecube.errors import CorruptStudy
from scorecube.storage.encoding import CONSOLIDATED, ZARR_FORMAT, encoding, plain_bytes
from scorecube.storage.places import METADATA, Place

CONTENT = "content_sha256"
AT_ONCE: Final = 16
"""Objects on their way to a store."""


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
    with open_dataset(place, group) as dataset:
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
    for name, coord in loaded.coords.items():
        if coord.dtype.kind in "OUT":
            loaded = loaded.assign_coords({name: (coord.dims, schema.label_array(map(str, coord.values)))})
    return loaded


def write_dataset(dataset: xr.Dataset, place: Place, group: str = "") -> None:
    """Write one group, replacing what it held."""
    plain = dataset.drop_encoding()
    plain = plain.assign_attrs({CONTENT: content_digest(plain)})
    if place.renames:
        _write(plain, place.store, group)
        return
    # On an object store each request takes its time, and zarr asks for all groups above at each step: made here, sent at once.
    made = MemoryStore()
    _write(plain, made, "")
    root = zarr.open_group(place.store, mode="a", zarr_format=ZARR_FORMAT)
    if group:
        if group in root:
            del root[group]
        root.require_group(group)
    sync(_send(made, place.store, f"{group}/".lstrip("/")))


def _write(dataset: xr.Dataset, store: Any, group: str) -> None:
    dataset.to_zarr(
        store, group=group or None, mode="w", encoding=encoding(dataset), zarr_format=ZARR_FORMAT, consolidated=CONSOLIDATED,
        write_empty_chunks=True,
    )  # fmt: skip


async def _send(made: MemoryStore, store: Any, prefix: str) -> None:
    slots = asyncio.Semaphore(AT_ONCE)

    async def put(key: str) -> None:
        async with slots:
            await store.set(prefix + key, made._store_dict[key])

    # The group itself last: its attributes say what the arrays must hold.
    parts = [key for key in made._store_dict if key != METADATA]
    await asyncio.gather(*map(put, parts))
    await put(METADATA)


def content_digest(dataset: xr.Dataset) -> str:
    """Return the SHA-256 of all variables and coordinates: a missing chunk reads as fill values, and this tells."""
    hasher = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        values = dataset[name].values
        text = values.dtype.kind in "OUT"
        hasher.update(f"{name} {values.shape} {'text' if text else values.dtype.str};".encode())
        hasher.update("\x1f".join(map(str, values.ravel())).encode() if text else plain_bytes(values))
    return hasher.hexdigest()
