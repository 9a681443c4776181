"""Datasets as files of a zarr group, as zarr and xarray write them, in a tenth of the time.

zarr format 3; every chunk carries a checksum; labels are strings of variable length. Groups are
written chunk by chunk, so that a dataset may be larger than memory. Only what is written here is
read: no array can hold a pickled object, and no chunk becomes larger than its metadata say.
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

METADATA: Final = "zarr.json"
"""Name of the file with the metadata of a group or array."""
CHUNK_LENGTHS: Final[dict[str, dict[str, int]]] = {
    schema.LEVEL_AT_RANK: {names.RUN: 16},
    names.SCORE: {names.METRIC: 1, names.GAIN: 1},
}
"""Chunk length along some dims of some variables; others are cut if a chunk is too large."""
MAX_CHUNK_BYTES: Final = 2**23
"""Before compression; a text counts as 8."""
MAX_TEXT_BYTES: Final = 2**28
"""Of all texts of a chunk."""
NAN: Final = "AAAAAAAA+H8="
"""How xarray writes a missing number into metadata."""
ZSTD: Final = {"name": "zstd", "configuration": {"level": 1, "checksum": True}}
TEXT: Final = {"name": "vlen-utf8", "configuration": {}}
NUMBERS: Final = {"name": "bytes", "configuration": {"endian": "little"}}
CODEC: Final = Zstd(level=1, checksum=True)


def encode(dataset: xr.Dataset) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a group with a dataset of numbers, truth values and strings."""
    variables, attributes = encode_dataset_coordinates(dataset.drop_encoding())
    yield METADATA, _json({"attributes": attributes, "zarr_format": 3, "node_type": "group"})
    for key, variable in variables.items():
        name, dtype, lengths = str(key), variable.dtype, chunk_shape(str(key), variable)
        metadata = _describe(name, variable, lengths)
        yield f"{name}/{METADATA}", _json(metadata)
        if dtype.kind in "OUT":
            dtype = np.dtype(object)
        for chunk, place in _chunks(name, variable.shape, lengths):
            part = np.asarray(variable[place].values, dtype)
            if part.shape != lengths:  # at an edge
                whole = np.full(lengths, np.asarray(metadata["fill_value"], dtype), dtype)
                whole[tuple(map(slice, part.shape))] = part
                part = whole
            yield chunk, bytes(CODEC.encode(_plain(name, part)))


def _plain(name: str, values: np.ndarray[Any, Any]) -> Any:
    """Return values without compression; TypeError for objects other than texts."""
    if values.dtype.kind != "O":
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        return np.ascontiguousarray(little)
    if not all(isinstance(value, str) for value in values.flat):
        raise TypeError(f"{name} has other objects than texts, which cannot be stored")
    return VLenUTF8().encode(values.ravel())


def _describe(name: str, variable: xr.Variable, lengths: tuple[int, ...]) -> dict[str, Any]:
    """Return the metadata of an array; TypeError for values that cannot be stored."""
    dtype, text = variable.dtype, variable.dtype.kind in "OUT"
    if not text and (dtype.kind not in "iufb" or dtype.itemsize > 8):
        raise TypeError(f"{name} is of {dtype}; only numbers, truth values and texts can be stored")
    real = dtype.kind == "f"
    return {
        "shape": list(variable.shape),
        "data_type": "string" if text else dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(lengths)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": "" if text else "NaN" if real else dtype.type(0).item(),
        "codecs": [TEXT if text else NUMBERS, ZSTD],
        "attributes": {**variable.attrs, **({"_FillValue": NAN} if real else {})},
        "dimension_names": list(variable.dims),
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


def chunk_shape(name: str, variable: xr.Variable) -> tuple[int, ...]:
    """Return the shape of a variable's chunks; leading dims are cut first."""
    most = CHUNK_LENGTHS.get(name, {})
    chunks = [max(1, min(size, most.get(str(dim), size))) for dim, size in variable.sizes.items()]
    for axis, length in enumerate(chunks):
        others = math.prod(chunks) // length * variable.dtype.itemsize
        chunks[axis] = max(1, min(length, MAX_CHUNK_BYTES // max(1, others)))
    return tuple(chunks)


def _chunks(
    name: str, shape: tuple[int, ...], lengths: tuple[int, ...]
) -> Iterator[tuple[str, tuple[slice, ...]]]:
    """Yield the key of each chunk, and its place in the array."""
    counts = [-(-size // length) for size, length in zip(shape, lengths, strict=True)]
    for position in product(*map(range, counts)):
        place = (slice(k * n, (k + 1) * n) for k, n in zip(position, lengths, strict=True))
        yield f"{name}/{'.'.join(['c', *map(str, position)])}", tuple(place)


def _layout(array: Mapping[str, Any]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return type and chunk shape of an array; ValueError for one `encode` does not write."""
    kind, lengths = array["data_type"], tuple(array["chunk_grid"]["configuration"]["chunk_shape"])
    dtype = np.dtype(object if kind == "string" else kind)
    written = array["codecs"] == [TEXT if kind == "string" else NUMBERS, ZSTD]
    small = math.prod(lengths) * dtype.itemsize <= MAX_CHUNK_BYTES
    if not written or not small or dtype.kind not in ("O" if kind == "string" else "iufb"):
        raise ValueError(f"an array of {kind} as scorecube does not write it")
    return dtype, lengths


def nbytes_of(metadata: Mapping[str, bytes]) -> int:
    """Return the bytes of arrays in memory, from metadata files by key; a text counts as 8."""
    arrays = [json.loads(content) for key, content in metadata.items() if key != METADATA]
    return sum(math.prod(array["shape"]) * _layout(array)[0].itemsize for array in arrays)


def decode(files: Mapping[str, bytes]) -> xr.Dataset:
    """Return the dataset of a group in memory, from all its files by key.

    Raises ValueError, KeyError, RuntimeError, TypeError: What `encode` does not write, or a chunk
        that is missing or damaged.
    """
    attributes = json.loads(files[METADATA])["attributes"]
    coordinates = set(attributes.pop("coordinates", "").split())
    variables: dict[str, xr.Variable] = {}
    for key in files:
        name, _, file = key.rpartition("/")
        if name and file == METADATA:
            array = json.loads(files[key])
            notes, dims = array["attributes"], array["dimension_names"]
            coordinates.update(dims, notes.pop("coordinates", "").split())
            notes.pop("_FillValue", None)
            variables[name] = xr.Variable(dims, _values(name, array, files), notes)
    named = {name: variables.pop(name) for name in sorted(coordinates & variables.keys())}
    return xr.Dataset(variables, named, attributes)


def _values(
    name: str, array: Mapping[str, Any], files: Mapping[str, bytes]
) -> np.ndarray[Any, Any]:
    dtype, lengths = _layout(array)
    values, count = np.empty(tuple(array["shape"]), dtype), math.prod(lengths)
    for key, place in _chunks(name, values.shape, lengths):
        text, nbytes = dtype.kind == "O", declared_bytes(files[key])
        most = MAX_TEXT_BYTES if text else values.nbytes
        plain = CODEC.decode(files[key]) if nbytes <= most else b""
        # The decoder of texts takes room for as many as the first bytes say.
        if (int.from_bytes(plain[:4], "little") if text else nbytes // dtype.itemsize) != count:
            raise ValueError(f"{key} holds no {count} values")
        part = VLenUTF8().decode(plain) if text else np.frombuffer(plain, dtype)
        inside = tuple(map(slice, values[place].shape))
        values[place] = part.reshape(lengths)[inside]
    return values


def declared_bytes(frame: bytes) -> int:
    """Return the size of the content of a Zstandard frame (RFC 8878, 3.1.1.1)."""
    flags = frame[4]
    kind, single = flags >> 6, flags >> 5 & 1
    start = 6 - single + (0, 1, 2, 4)[flags & 3]
    field = frame[start : start + (single, 2, 4, 8)[kind]]
    return int.from_bytes(field, "little") + 256 * (kind == 1)


def open_lazily(store: Any) -> xr.Dataset:
    """Open the group of what zarr opens; its values are read on use."""
    opened: xr.Dataset = xr.open_zarr(store, chunks=None, consolidated=False, zarr_format=3)
    labels = {
        name: (coord.dims, schema.label_array(map(str, coord.values)))
        for name, coord in opened.coords.items()
        if coord.dtype.kind in "UT" and coord.ndim == 1
    }
    return opened.assign_coords(labels)


def _json(metadata: Mapping[str, Any]) -> bytes:
    plain = json.dumps(metadata, default=lambda value: value.tolist())
    return plain.encode()  # with an indent, Python's encoder is ten times slower
