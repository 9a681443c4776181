"""Reading and writing datasets as zarr groups, each with a digest of its content."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import xarray as xr
from xarray.core.indexing import ExplicitlyIndexed

from scorecube.collection import schema
from scorecube.collection.schema import MAX_LOADED_BYTES
from scorecube.errors import CorruptStudy, ScorecubeError
from scorecube.storage.encoding import (
    CONSOLIDATED,
    ZARR_FORMAT,
    chunk_shape,
    compressor,
    encoding,
    pairs_as_labels,
    pairs_as_positions,
    plain_bytes,
)
from scorecube.storage.layout import METADATA
from scorecube.storage.location import Location
from scorecube.storage.manifest import digests_of, read_checked
from scorecube.storage.nodes import child_array, open_group
from scorecube.storage.small_groups import (
    PACKED,
    chunk_keys,
    consolidate,
    consolidated,
    decode_group,
    encode_dataset,
    is_inline,
    pack,
    unpack,
)

if TYPE_CHECKING:
    import zarr
    from zarr.abc.buffer import Buffer

Form = Literal["plain", "consolidated", "packed"]
REFORM: Final[dict[Form, Callable[[Mapping[str, bytes]], Mapping[str, bytes]]]] = {
    "plain": dict,
    "consolidated": consolidate,
    "packed": pack,
}
"""How the objects of a small group are put together."""
CONTENT = "content_sha256"
CONCURRENT_CHUNKS: Final = 4
"""Chunks of a large array that are written at a time; each needs memory for itself and for its compressed form."""
MAX_DIRECT_BYTES: Final = 2**24
"""Of a group that is read without zarr, which reads several chunks of larger ones at a time."""
MAX_PACKED_BYTES: Final = 2**20
"""Larger groups are written array by array to an object store too, and only arrays have their metadata."""
MAX_BUFFERED_BYTES: Final = 2**26
"""Larger datasets are written directly, not through memory; larger arrays part by part, which may be made only then."""
PART_BYTES: Final = 2**25
"""Of an array that is read or written part by part."""


def open_dataset(location: Location, group: str) -> xr.Dataset:
    """Open one group; its values are read on use.

    Only zarr format 3 is read: arrays of format 2 may hold pickled objects.
    """
    opened: xr.Dataset = xr.open_zarr(
        location.store, group=group, chunks=None, consolidated=CONSOLIDATED, zarr_format=ZARR_FORMAT
    )
    if PACKED in opened.attrs:
        inline = is_inline(opened.attrs)
        return unpack(dict(opened.attrs), None if inline else opened[PACKED].values)
    return opened


def open_lazily(location: Location, group: str) -> xr.Dataset:
    """Open one group of a study; nothing is compared with digests. CorruptStudy if that is impossible."""
    try:
        with location.failures():
            return open_dataset(location, group)
    except (ScorecubeError, FileNotFoundError):
        raise
    except Exception as error:
        raise _corrupt(location, group, f"cannot be read: {error}") from None


def read_dataset(
    location: Location, group: str, files: Mapping[str, str] | None = None, among: int | None = None
) -> xr.Dataset:
    """Read one group into memory, with labels as object strings.

    location: Of the store.
    group: Path of the group.
    files: Digests of its metadata files; None if they are unknown.
    among: How many groups are in use together: values of one that takes more than its share of `MAX_LOADED_BYTES` are read and checked on use. None: all are read.
    Raises CorruptStudy: Metadata or values that are missing, cannot be read, or do not match their digests.
    """
    with _reading(location, group, files) as metadata:
        direct = min(MAX_DIRECT_BYTES, MAX_LOADED_BYTES)
        keys = chunk_keys(metadata, direct) if metadata else None
        if keys is not None:  # a small group
            chunks = location.read_many([f"{group}/{key}" for key in keys])
            decoded = decode_group(metadata, {key: chunks[f"{group}/{key}"] for key in keys})
            return _load(decoded, location, group)
        dataset = open_dataset(location, group)
        if among is None or dataset.nbytes * among <= MAX_LOADED_BYTES:
            return _load(dataset, location, group)
        opened = open_group(location, group)
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
def _reading(
    location: Location, group: str, files: Mapping[str, str] | None
) -> Iterator[dict[str, bytes]]:
    """Check and yield the metadata of a group, and raise failures to read it as `CorruptStudy`."""
    with location.failures():
        metadata, problems = _read_metadata(location, group, files)
    if problems:
        raise _corrupt(location, group, "; ".join(problems))
    try:
        with location.failures():
            yield metadata
    except ScorecubeError:
        raise
    except Exception as error:
        if files is None:
            raise  # a group without digests may be no group of ours at all
        raise _corrupt(location, group, f"cannot be read: {error}") from None


def _read_metadata(
    location: Location, group: str, files: Mapping[str, str] | None
) -> tuple[dict[str, bytes], list[str]]:
    """Return the metadata files of a group by key, and what is wrong with them; one file of a small group has them all."""
    if files is None:
        return {}, []
    own, problems = read_checked(location, group, {METADATA: files[METADATA]})
    if problems:
        return own, problems
    every = consolidated(own[METADATA])
    if every is not None:
        return every, []
    others = {key: digest for key, digest in files.items() if key != METADATA}
    rest, problems = read_checked(location, group, others)
    return own | rest, problems


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
    labels = {
        name: (coord.dims, schema.label_array(map(str, coord.values)))
        for name, coord in dataset.coords.items()
        if coord.dtype.kind in "OUT"
    }
    return pairs_as_labels(dataset.assign_coords(labels) if labels else dataset)


def write_dataset(
    dataset: xr.Dataset, location: Location, group: str = "", form: Form = "plain"
) -> dict[str, str]:
    """Write a new group and return the digests of its metadata files; install or sync it afterwards.

    A small group is written in the form that is asked for, where each object is a request: ``consolidated``, with all metadata in one object too,
    or ``packed``, as one object (see `scorecube.storage.small_groups`).

    zarr sends many requests per array, each with the latency of the file system or object store. A small group is therefore built
    in memory and its objects are copied.
    """
    plain = pairs_as_positions(dataset.drop_encoding())
    if plain.nbytes <= MAX_BUFFERED_BYTES:
        objects: Mapping[str, bytes] = dataset_objects(plain)
        if plain.nbytes <= MAX_PACKED_BYTES:
            objects = REFORM[form](objects)
        location.write_new(group, objects)
        return digests_of(objects)
    large = [
        str(name)
        for name, each in plain.data_vars.items()
        if each.nbytes > MAX_BUFFERED_BYTES and each.dtype.kind not in "OUT"
    ]
    _write(plain.drop_vars(large), location.store, group)
    opened = open_group(location, group, "a")
    arrays = {name: _create_array(opened, name, plain.variables[name]) for name in large}
    opened.attrs.update({CONTENT: _write_large(plain, arrays)})
    return digests_of(location.metadata(group))


def _create_array(group: zarr.Group, name: str, variable: xr.Variable) -> zarr.Array[Any]:
    """Create an array without values, as xarray would; opened again, it would leave out chunks of zeros."""
    return group.create_array(
        name,
        shape=variable.shape,
        dtype=variable.dtype,
        chunks=chunk_shape(name, variable),
        compressors=compressor(),
        fill_value=np.nan if variable.dtype.kind == "f" else None,
        dimension_names=tuple(map(str, variable.dims)),
        attributes=variable.attrs,
        config={"write_empty_chunks": True},
    )


def _write_large(dataset: xr.Dataset, arrays: Mapping[str, zarr.Array[Any]]) -> str:
    """Write the values of large arrays part by part, and return the digest of all values, see `content_digest`."""
    import zarr

    hasher = hashlib.sha256()
    with (
        ThreadPoolExecutor(1, thread_name_prefix="digest") as thread,
        zarr.config.set({"async.concurrency": CONCURRENT_CHUNKS}),
    ):
        for name in sorted(map(str, dataset.variables)):
            variable = dataset.variables[name]
            if name not in arrays:
                _add(hasher, name, variable.values)
                continue
            array = arrays[name]
            hasher.update(_header(name, variable.shape, variable.dtype))
            for part in parts(variable.shape, array.chunks, variable.dtype.itemsize):
                values = np.ascontiguousarray(variable[part].values)
                digest = thread.submit(hasher.update, plain_bytes(values))  # while zarr compresses
                array[part] = values
                digest.result()
    return hasher.hexdigest()


def parts(
    shape: tuple[int, ...], chunks: tuple[int, ...], itemsize: int
) -> Iterator[tuple[slice, ...]]:
    """Yield the parts of an array in its order: whole chunks, about `PART_BYTES` of them, next to each other in memory.

    Examples
    --------
    >>> [part[1] for part in parts((1, 5, 2**20), (1, 1, 2**20), 8)]
    [slice(0, 4, None), slice(4, 5, None)]
    """
    axis, below = 0, math.prod(shape) // max(shape[0], 1) * itemsize
    while below * chunks[axis] > PART_BYTES and axis + 1 < len(shape):
        axis += 1
        below //= max(shape[axis], 1)
    step = max(PART_BYTES // max(below, 1) // chunks[axis], 1) * chunks[axis]
    rest = tuple(slice(0, size) for size in shape[axis + 1 :])
    for before in itertools.product(*(range(size) for size in shape[:axis])):
        for first in range(0, shape[axis], step):
            own = slice(first, min(first + step, shape[axis]))
            yield (*(slice(k, k + 1) for k in before), own, *rest)


def missing_values(location: Location, group: str, name: str) -> int:
    """Return the number of missing values of a stored array, read part by part."""
    array = child_array(open_group(location, group), name)
    each = parts(array.shape, array.chunks, array.dtype.itemsize)
    return sum(int(np.isnan(np.asarray(array[part])).sum()) for part in each)


def is_made_on_use(dataset: xr.Dataset, name: str) -> bool:
    """Whether the values of a variable are not in memory."""
    return isinstance(dataset.variables[name]._data, ExplicitlyIndexed)


def dataset_objects(dataset: xr.Dataset) -> dict[str, bytes]:
    """Return the objects of a group that holds a dataset, by key.

    dataset: Without encoding and without labels of pairs of runs.
    """
    sealed = dataset.assign_attrs({CONTENT: content_digest(dataset)})
    encoded = encode_dataset(sealed)
    return _objects_of_zarr(sealed) if encoded is None else encoded


def _objects_of_zarr(dataset: xr.Dataset) -> dict[str, bytes]:
    from zarr.storage import MemoryStore

    objects: dict[str, Buffer] = {}
    _write(dataset, MemoryStore(objects), "")
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
        _add(hasher, name, dataset[name].values)
    return hasher.hexdigest()


def stored_digest(location: Location, group: str) -> str:
    """Return the digest of a stored group's content, without making a dataset of it.

    It equals `content_digest` for arrays that xarray reads as they are stored, as it does all of ours.
    """
    arrays = dict(open_group(location, group).arrays())
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        if not array.ndim or array.dtype.kind in "OUT" or array.nbytes <= MAX_BUFFERED_BYTES:
            _add(hasher, name, np.asarray(array[...]))
            continue
        hasher.update(_header(name, array.shape, array.dtype))
        for part in parts(array.shape, array.chunks, array.dtype.itemsize):
            hasher.update(plain_bytes(np.asarray(array[part])))
    return hasher.hexdigest()


def _header(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    return f"{name} {shape} {'text' if dtype.kind in 'OUT' else dtype.str};".encode()


def _add(hasher: hashlib._Hash, name: str, values: np.ndarray[Any, Any]) -> None:
    """Add a whole array to a digest."""
    hasher.update(_header(name, values.shape, values.dtype))
    text = values.dtype.kind in "OUT"
    hasher.update("\x1f".join(map(str, values.ravel())).encode() if text else plain_bytes(values))
