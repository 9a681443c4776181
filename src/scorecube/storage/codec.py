"""Datasets as files of a zarr group, as zarr and xarray write them, in a tenth of the time.

zarr format 3; numbers are compressed with a checksum, texts are of variable length. Groups are
written chunk by chunk, so that a dataset may be larger than memory. Only what is written here is
read: no array can hold a pickled object, and no chunk becomes larger than its metadata say. What
the metadata say is checked as a whole before anything is allocated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from numcodecs.vlen import VLenUTF8
from numcodecs.zstd import Zstd
from xarray.conventions import encode_dataset_coordinates

from scorecube.collection import schema
from scorecube.collection.pair_index import with_pairs
from scorecube.storage.bounds import refuse_too_large
from scorecube.storage.forms import OWN_ATTRIBUTE, check_array, take_format

METADATA: Final = "zarr.json"
"""Name of the file with the metadata of a group or array."""
MAX_CHUNK_BYTES: Final = 2**23
"""Before compression; a text counts as 8."""
CODEC: Final = Zstd(level=1, checksum=True)
CODECS: Final[dict[bool, list[dict[str, Any]]]] = {
    True: [{"name": "vlen-utf8", "configuration": {}}],
    False: [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 1, "checksum": True}},
    ],
}
"""Of texts, and of numbers."""


def encode(dataset: xr.Dataset) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a group with a dataset; TypeError for other than numbers and texts."""
    variables, attributes = encode_dataset_coordinates(dataset.drop_encoding())
    yield METADATA, describe_group(attributes)
    for key, variable in variables.items():
        yield from encode_variable(str(key), variable)


def describe_group(attributes: Mapping[Any, Any], **more: Any) -> bytes:
    """Return the metadata of a group; `more` stands beside its attributes."""
    attributes = {**attributes, **OWN_ATTRIBUTE}
    return encode_json({"attributes": attributes, "zarr_format": 3, "node_type": "group", **more})


def encode_variable(name: str, variable: xr.Variable) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an array."""
    text = variable.dtype.kind in "OUT"
    dtype = np.dtype(object) if text else variable.dtype.newbyteorder("<")
    if not text and (dtype.kind not in "iufb" or dtype.itemsize > 8):
        raise TypeError(f"{name} is of {dtype}; only numbers and texts can be stored")
    lengths = chunk_shape(variable.shape, dtype)
    dims = tuple(map(str, variable.dims))
    array = Array(dims, variable.shape, dtype, lengths, variable.attrs)
    yield f"{name}/{METADATA}", describe(array)
    values: Any = variable.values if variable._in_memory else None
    for position, place in chunks(variable.shape, lengths):
        read = variable[place].values if values is None else values[place]
        part = np.asarray(read, dtype)
        yield chunk_key(name, position), encode_chunk(part, lengths)


def encode_chunk(part: np.ndarray[Any, Any], lengths: tuple[int, ...]) -> bytes:
    """Return the bytes of a chunk of numbers or texts; a part at an edge may be shorter."""
    flat = np.ascontiguousarray(part).reshape(-1)
    if part.shape != lengths:
        flat = np.resize(flat, math.prod(lengths))
    return bytes((VLenUTF8() if part.dtype.kind == "O" else CODEC).encode(flat))


def describe(array: Array) -> bytes:
    """Return the metadata of an array."""
    text = array.dtype.kind == "O"
    fill_values: dict[str, object] = {"O": "", "f": "NaN", "b": False}
    return encode_json(
        {
            "shape": list(array.shape),
            "data_type": "string" if text else array.dtype.name,
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": list(array.lengths)},
            },
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": fill_values.get(array.dtype.kind, 0),
            "codecs": CODECS[text],
            "attributes": array.attributes,
            "dimension_names": list(array.dims),
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        }
    )


def chunk_shape(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Return the shape of an array's chunks; leading dims are cut first."""
    lengths = [max(1, size) for size in shape]
    for axis, length in enumerate(lengths):
        rest = math.prod(lengths[axis + 1 :]) * dtype.itemsize
        lengths[axis] = max(1, min(length, MAX_CHUNK_BYTES // rest))
    return tuple(lengths)


def chunk_key(name: str, position: tuple[int, ...]) -> str:
    """Return the key of a chunk of an array by its position among all."""
    return f"{name}/{'.'.join(['c', *map(str, position)])}"


def chunks(
    shape: tuple[int, ...], lengths: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Yield the position of each chunk among all, and its place in the array."""
    counts = [-(-size // length) for size, length in zip(shape, lengths, strict=True)]
    for position in product(*map(range, counts)):
        place = (slice(k * n, (k + 1) * n) for k, n in zip(position, lengths, strict=True))
        yield position, tuple(place)


class Array(NamedTuple):
    """What is known of an array before anything is allocated.

    dtype: Of objects for texts.
    lengths: Shape of its chunks.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    lengths: tuple[int, ...]
    attributes: dict[str, Any]

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes; a text counts as 8."""
        return math.prod(self.shape) * self.dtype.itemsize


def arrays_of(metadata: Mapping[str, bytes], most: int) -> dict[str, Array]:
    """Return what a group has by name, from its metadata; nothing is allocated.

    metadata: Files by key; others than metadata are not looked at.
    most: Bytes that the arrays may take together.
    Raises ValueError, KeyError, TypeError: What `encode` does not write, or more bytes.
    """
    arrays: dict[str, Array] = {}
    sizes: dict[str, int] = {}
    for key, content in metadata.items():
        name, _, file = key.rpartition("/")
        if not name or file != METADATA:
            continue
        described = json.loads(content)
        check_array(described)
        array = _array(name, described)
        arrays[name] = array
        for dim, size in zip(array.dims, array.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ValueError(f"{name} has another length of {dim} than other arrays")
    needed = sum(array.n_bytes for array in arrays.values())
    if needed > most:
        raise ValueError(f"its arrays take {needed:,} bytes, at most {most:,} are expected")
    return arrays


def _array(name: str, described: Mapping[str, Any]) -> Array:
    is_text = described["data_type"] == "string"
    shape = tuple(described["shape"])
    dtype = np.dtype(object if is_text else described["data_type"])
    lengths = tuple(described["chunk_grid"]["configuration"]["chunk_shape"])
    is_ours = described["codecs"] == CODECS[is_text] and dtype.kind in ("O" if is_text else "iufb")
    if not is_ours or dtype.itemsize > 8 or lengths != chunk_shape(shape, dtype):
        raise ValueError(f"{name} is an array as scorecube does not write it")
    return Array(
        tuple(described["dimension_names"]), shape, dtype, lengths, described["attributes"]
    )


def decode(files: Mapping[str, bytes], most: int = 2**62, what: str = "") -> xr.Dataset:
    """Return the dataset of a group in memory, from all its files by key.

    most: As of `arrays_of`.
    what: Path of the group, in messages.
    Raises ValueError, KeyError, RuntimeError, TypeError: What `encode` does not write, or a chunk
        that is missing or damaged.
    Raises MemoryError: More than there is memory.
    """
    attributes = json.loads(files[METADATA])["attributes"]
    take_format(attributes, what)
    coordinates = set(attributes.pop("coordinates", "").split())
    arrays = arrays_of(files, most)
    refuse_too_large(sum(array.n_bytes for array in arrays.values()), what)
    variables: dict[str, xr.Variable] = {}
    for name, array in arrays.items():
        notes = array.attributes
        coordinates.update(array.dims, notes.pop("coordinates", "").split())
        dims = name if array.dims == (name,) else array.dims
        variables[name] = schema.variable_of(dims, _values(name, array, files), notes)
    named = {name: variables.pop(name) for name in sorted(coordinates & variables.keys())}
    return with_pairs(xr.Dataset(variables, named, attributes))


def _values(name: str, array: Array, files: Mapping[str, bytes]) -> np.ndarray[Any, Any]:
    is_text = array.dtype.kind == "O"
    values: np.ndarray[Any, Any] = np.zeros(array.shape, array.dtype)
    for position, place in chunks(array.shape, array.lengths):
        key = chunk_key(name, position)
        part: np.ndarray[Any, Any] = np.zeros(array.lengths, array.dtype)
        if not is_text:
            CODEC.decode(files[key], out=part)
        elif int.from_bytes(files[key][:4], "little") == part.size:  # so many are made room for
            part[...] = VLenUTF8().decode(files[key]).reshape(array.lengths)
        else:
            raise ValueError(f"{key} holds no {part.size} texts")
        there: Any = (*place, ...)
        values[there] = part[tuple(map(slice, values[there].shape))]
    return values


def open_lazily(store: Any, chunks: Any = None, what: str = "") -> xr.Dataset:
    """Open the group of what zarr opens; its values are read on use.

    chunks: As of `xarray.open_zarr`: None to read what is used as a whole, by one thread.
    what: Path of the group, in messages.
    """
    opened: xr.Dataset = xr.open_zarr(store, chunks=chunks, consolidated=False, zarr_format=3)
    take_format(opened.attrs, what)
    labels = {
        name: (coord.dims, schema.label_array(map(str, coord.values)), coord.attrs)
        for name, coord in opened.coords.items()
        if coord.dtype.kind in "UT" and coord.ndim == 1
    }
    return with_pairs(opened.assign_coords(labels))


def encode_json(metadata: Mapping[str, Any]) -> bytes:
    """Return metadata as text; arrays as lists."""
    plain = json.dumps(metadata, default=lambda value: value.tolist())
    return plain.encode()  # with an indent, Python's encoder is ten times slower
