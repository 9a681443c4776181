"""Datasets as files of a zarr group, as zarr and xarray write them, in a tenth of the time.

zarr format 3; every chunk carries a checksum; labels are strings of variable length. Groups are
written chunk by chunk, so that a dataset may be larger than
memory, and read whole, or by zarr where they are large. Only what is written here is read: no
array can hold a pickled object.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

import numpy as np
import xarray as xr
from numcodecs.vlen import VLenUTF8
from numcodecs.zstd import Zstd
from xarray.conventions import encode_dataset_coordinates

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.run_pairs import FIRST_RUN, SECOND_RUN, pair_labels, positions_of_pairs

METADATA: Final = "zarr.json"
"""Name of the file with the metadata of a group or array."""
CHUNK_LENGTHS: Final[dict[str, dict[str, int]]] = {
    schema.LEVEL_AT_RANK: {names.RUN: 16},
    names.SCORE: {names.METRIC: 1, names.GAIN: 1},
}
"""Chunk length along some dims of some variables; others are cut if a chunk is too large."""
MAX_CHUNK_BYTES: Final = 2**23
"""Before compression."""
NAN: Final = "AAAAAAAA+H8="
"""How xarray writes a missing number into metadata."""
ZSTD: Final = {"name": "zstd", "configuration": {"level": 1, "checksum": True}}
"""Fast, with a checksum, without which a flipped bit would be read as data."""


def encode(dataset: xr.Dataset) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a group with a dataset of numbers, truth values and strings."""
    plain = pairs_as_positions(dataset.drop_encoding())
    variables, attributes = encode_dataset_coordinates(plain)
    yield METADATA, _text({"attributes": attributes, "zarr_format": 3, "node_type": "group"})
    for name, variable in variables.items():
        yield from _encode_array(str(name), variable)


def _encode_array(name: str, variable: xr.Variable) -> Iterator[tuple[str, bytes]]:
    text, dtype, attributes = variable.dtype.kind in "OUT", variable.dtype, dict(variable.attrs)
    if not text and (dtype.kind not in "iufb" or dtype.itemsize > 8):
        raise TypeError(f"{name} is of {dtype}; only numbers, truth values and texts can be stored")
    lengths = chunk_shape(name, variable)
    fill: Any = "" if text else dtype.type(0).item()
    if dtype.kind == "f":
        attributes["_FillValue"], fill = NAN, "NaN"
    serializer: dict[str, Any] = {"name": "vlen-utf8" if text else "bytes"}
    if text or dtype.itemsize > 1:
        serializer["configuration"] = {} if text else {"endian": "little"}
    metadata = {
        "shape": list(variable.shape),
        "data_type": "string" if text else dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(lengths)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": [serializer, ZSTD],
        "attributes": attributes,
        "dimension_names": list(variable.dims),
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }
    yield f"{name}/{METADATA}", _text(metadata)
    for position in _positions(variable.shape, lengths):
        part = np.asarray(variable[_part(position, lengths)].values)
        if part.shape != lengths:  # at an edge
            whole = np.full(lengths, np.nan if fill == "NaN" else fill, object if text else dtype)
            whole[tuple(map(slice, part.shape))] = part
            part = whole
        yield _chunk_key(name, position), _encode_chunk(name, part, text=text)


def _encode_chunk(name: str, values: np.ndarray[Any, Any], *, text: bool) -> bytes:
    if text:
        values = values.astype(object).ravel()
        if not all(isinstance(value, str) for value in values):
            raise TypeError(f"{name} has other objects than texts, which cannot be stored")
        plain = VLenUTF8().encode(values)
    else:
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        plain = np.ascontiguousarray(little).tobytes()
    return bytes(Zstd(level=1, checksum=True).encode(plain))


def chunk_shape(name: str, variable: xr.Variable) -> tuple[int, ...]:
    """Return the shape of a variable's chunks; leading dims are cut first."""
    lengths = CHUNK_LENGTHS.get(name, {})
    chunks = [
        max(1, min(size, lengths.get(str(dim), size))) for dim, size in variable.sizes.items()
    ]
    for axis in range(len(chunks)):
        others = math.prod(chunks) // chunks[axis] * variable.dtype.itemsize
        if others * chunks[axis] > MAX_CHUNK_BYTES:
            chunks[axis] = max(1, MAX_CHUNK_BYTES // others)
    return tuple(chunks)


def _positions(shape: tuple[int, ...], lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    counts = [-(-size // length) for size, length in zip(shape, lengths, strict=True)]
    return product(*map(range, counts))


def _part(position: tuple[int, ...], lengths: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(k * n, (k + 1) * n) for k, n in zip(position, lengths, strict=True))


def _chunk_key(name: str, position: tuple[int, ...]) -> str:
    return "/".join([name, "c", *map(str, position)])


def nbytes_of(metadata: Mapping[str, bytes]) -> int:
    """Return the bytes of arrays in memory, from metadata files by key; a text counts as 8."""
    arrays = [json.loads(content) for key, content in metadata.items() if key != METADATA]
    return sum(math.prod(array["shape"]) * _dtype(array).itemsize for array in arrays)


def _dtype(array: Mapping[str, Any]) -> np.dtype[Any]:
    """Return the type of an array; ValueError for one that is not written by `encode`."""
    text = array["data_type"] == "string"
    dtype = np.dtype(object if text else array["data_type"])
    serializer, compressor = array["codecs"]
    expected = "vlen-utf8" if text else "bytes"
    little = serializer.get("configuration", {}).get("endian", "little") == "little"
    written = serializer["name"] == expected and compressor["name"] == "zstd" and little
    if not written or dtype.kind not in "iufbO" or (dtype.kind == "O" and not text):
        raise ValueError(
            f"an array of {array['data_type']} with codecs that scorecube does not use"
        )
    return dtype


def decode(files: Mapping[str, bytes]) -> xr.Dataset:
    """Return the dataset of a group in memory, from all its files by key.

    Raises ValueError, KeyError, RuntimeError, TypeError: What `encode` does not write, or a chunk
        that is missing or damaged.
    """
    group = json.loads(files[METADATA])
    attributes = group.get("attributes", {})
    coordinates = set(attributes.pop("coordinates", "").split())
    variables: dict[str, xr.Variable] = {}
    for key in files:
        if key == METADATA or not key.endswith(f"/{METADATA}"):
            continue
        name, array = key.removesuffix(f"/{METADATA}"), json.loads(files[key])
        notes = array["attributes"]
        coordinates.update(notes.pop("coordinates", "").split())
        notes.pop("_FillValue", None)
        values = _decode_array(name, array, files)
        variables[name] = xr.Variable(array.get("dimension_names") or (), values, notes)
    dims = {dim for variable in variables.values() for dim in variable.dims}
    named = {name for name in variables if name in dims or name in coordinates}
    return as_read(
        xr.Dataset(
            {name: variable for name, variable in variables.items() if name not in named},
            {name: variables[name] for name in named},
            attributes,
        )
    )


def _decode_array(
    name: str, array: Mapping[str, Any], files: Mapping[str, bytes]
) -> np.ndarray[Any, Any]:
    shape, dtype = tuple(array["shape"]), _dtype(array)
    lengths = tuple(array["chunk_grid"]["configuration"]["chunk_shape"])
    values, count = np.empty(shape, dtype), math.prod(lengths)
    for position in _positions(shape, lengths):
        key = _chunk_key(name, position)
        plain = Zstd().decode(files[key])
        if dtype.kind != "O":
            part = np.frombuffer(plain, dtype)
        elif int.from_bytes(plain[:4], "little") == count:
            part = VLenUTF8().decode(plain)
        else:  # the decoder takes room for as many texts as the first bytes say
            raise ValueError(f"{key} holds no {count} texts")
        where = _part(position, lengths)
        inside = tuple(map(slice, values[where].shape))
        values[where] = part.reshape(lengths)[inside]
    return values


def open_lazily(store: Any) -> xr.Dataset:
    """Open a group; its values are read on use.

    store: What zarr opens, or the files of the group by key.
    """
    if isinstance(store, Mapping):
        from zarr.core.buffer.cpu import Buffer
        from zarr.storage import MemoryStore

        store = MemoryStore({key: Buffer.from_bytes(content) for key, content in store.items()})
    opened: xr.Dataset = xr.open_zarr(store, chunks=None, consolidated=False, zarr_format=3)
    return as_read(opened)


def as_read(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset with labels as objects, and pairs of runs by the labels of these."""
    labels = {
        name: (coord.dims, schema.label_array(map(str, coord.values)))
        for name, coord in dataset.coords.items()
        if coord.dtype.kind in "UT" and coord.ndim == 1
    }
    return pairs_as_labels(dataset.assign_coords(labels) if labels else dataset)


def pairs_as_positions(dataset: xr.Dataset) -> xr.Dataset:
    """Replace the labels of pairs of runs by positions of runs, for storage."""
    if names.RUN_A not in dataset.coords:
        return dataset
    first, second = positions_of_pairs(dataset)
    positions = {FIRST_RUN: (names.PAIR, first), SECOND_RUN: (names.PAIR, second)}
    return dataset.drop_vars([names.RUN_A, names.RUN_B]).assign_coords(positions)


def pairs_as_labels(dataset: xr.Dataset) -> xr.Dataset:
    """Replace stored positions of pairs of runs by the labels of the runs."""
    if FIRST_RUN not in dataset.coords:
        return dataset
    pairs = (dataset[FIRST_RUN].values, dataset[SECOND_RUN].values)
    labels = pair_labels(dataset[names.RUN], pairs)
    return dataset.drop_vars([FIRST_RUN, SECOND_RUN]).assign_coords(labels)


def _text(metadata: Mapping[str, Any]) -> bytes:
    plain = json.dumps(metadata, default=lambda value: value.tolist())
    return plain.encode()  # with an indent, Python's encoder is ten times slower
