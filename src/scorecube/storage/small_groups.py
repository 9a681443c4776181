"""Encoding and decoding small groups directly: the same arrays and metadata as zarr and xarray write, in a tenth of the time.

zarr waits for its event loop several times for every array, which costs more than everything else that is done for a small result.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, Final

import numpy as np
import xarray as xr
from numcodecs.vlen import VLenUTF8
from numcodecs.zstd import Zstd
from xarray.conventions import encode_dataset_coordinates

from scorecube.storage.encoding import ZARR_FORMAT, chunk_shape
from scorecube.storage.layout import METADATA

LEVEL: Final = 1
"""As of `scorecube.storage.encoding.compressor`."""
PACKED: Final = "packed"
"""Array of a packed group, and attribute of the group: see `pack`."""
READ: Final = "by scorecube, or by other readers after: scorecube unpack STUDY"
"""What a packed group says to who opens it without scorecube."""
MOST_INLINE: Final = 2**16
"""Compressed bytes of a packed group that are kept in its metadata."""
CONSOLIDATED: Final = "consolidated_metadata"
"""As zarr writes it: the metadata of all arrays in that of their group, so that reading it is one request."""
NAN: Final = "AAAAAAAA+H8="
"""How xarray writes a missing number into metadata."""


def encode_dataset(dataset: xr.Dataset) -> dict[str, bytes] | None:
    """Return the objects of a group that holds a dataset, by key; None for types that only zarr can encode.

    dataset: Numbers, truth values and strings of any shape, with attributes that are JSON values.
    """
    if not all(_is_plain(variable) for variable in dataset.variables.values()):
        return None
    variables, attributes = encode_dataset_coordinates(dataset)
    group = {
        "attributes": {key: _plain(value) for key, value in attributes.items()},
        "zarr_format": ZARR_FORMAT,
        "node_type": "group",
    }
    objects = {METADATA: _text(group)}
    for name, variable in variables.items():
        objects |= _encode_array(str(name), variable)
    return objects


def _is_plain(variable: xr.Variable) -> bool:
    if variable.dtype.kind not in "OUT":
        return variable.dtype.kind in "iufb" and variable.dtype.itemsize <= 8
    return all(isinstance(value, str) for value in variable.values.ravel())


def _encode_array(name: str, variable: xr.Variable) -> dict[str, bytes]:
    values = np.asarray(variable.values)
    text = values.dtype.kind in "OUT"
    if not text:
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    chunks = chunk_shape(name, variable)
    attributes = {key: _plain(value) for key, value in variable.attrs.items()}
    fill: Any = "" if text else values.dtype.type(0).item()
    if values.dtype.kind == "f":
        attributes["_FillValue"], fill = NAN, "NaN"
    metadata = {
        "shape": list(values.shape),
        "data_type": "string" if text else values.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": [
            _serializer(values, text=text),
            {"name": "zstd", "configuration": {"level": LEVEL, "checksum": True}},
        ],
        "attributes": attributes,
        "dimension_names": list(variable.dims),
        "zarr_format": ZARR_FORMAT,
        "node_type": "array",
        "storage_transformers": [],
    }
    padding = np.nan if fill == "NaN" else fill
    return {f"{name}/{METADATA}": _text(metadata)} | {
        chunk_key(name, position): _compressed(chunk)
        for position, chunk in _chunks(values.astype(object) if text else values, chunks, padding)
    }


def _serializer(values: np.ndarray[Any, Any], *, text: bool) -> dict[str, Any]:
    if text:
        return {"name": "vlen-utf8", "configuration": {}}
    if values.dtype.itemsize == 1:
        return {"name": "bytes"}
    return {"name": "bytes", "configuration": {"endian": "little"}}


def _chunks(
    values: np.ndarray[Any, Any], lengths: tuple[int, ...], fill: Any
) -> Iterator[tuple[tuple[int, ...], np.ndarray[Any, Any]]]:
    """Yield the positions and values of all chunks; those at an edge are padded to full length."""
    for position in _positions(values.shape, lengths):
        part = values[_place(position, lengths)]
        if part.shape != lengths:
            whole = np.full(lengths, fill, dtype=values.dtype)
            whole[tuple(map(slice, part.shape))] = part
            part = whole
        yield position, part


def _place(position: tuple[int, ...], lengths: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(k * n, (k + 1) * n) for k, n in zip(position, lengths, strict=True))


def _compressed(chunk: np.ndarray[Any, Any]) -> bytes:
    plain = (
        VLenUTF8().encode(chunk.ravel())
        if chunk.dtype.kind == "O"
        else np.ascontiguousarray(chunk).tobytes()
    )
    return bytes(Zstd(level=LEVEL, checksum=True).encode(plain))


def chunk_keys(metadata: Mapping[str, bytes], most_bytes: int) -> list[str] | None:
    """Return the keys of all chunks of a group; None if it is large, or written in another way than by `encode_dataset`.

    metadata: Metadata files of the group and its arrays, by key.
    most_bytes: Of all values.
    """
    keys: list[str] = []
    for key, content in metadata.items():
        if key == METADATA:
            continue
        array = json.loads(content)
        if not _is_ours(array):
            return None
        text = array["data_type"] == "string"
        width = 8 if text else np.dtype(array["data_type"]).itemsize
        most_bytes -= math.prod(array["shape"]) * width
        if most_bytes < 0:
            return None
        name = key.removesuffix(f"/{METADATA}")
        keys += [chunk_key(name, position) for position in _positions(*_lengths(array))]
    return keys


def chunk_key(name: str, position: tuple[int, ...]) -> str:
    """Return the key of a chunk of an array.

    Examples
    --------
    >>> chunk_key("score", (0, 3))
    'score/c/0/3'
    """
    return "/".join([name, "c", *map(str, position)])


def _lengths(array: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of an array and of its chunks."""
    return tuple(array["shape"]), tuple(array["chunk_grid"]["configuration"]["chunk_shape"])


def _positions(shape: tuple[int, ...], lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    counts = [-(-size // length) for size, length in zip(shape, lengths, strict=True)]
    return product(*map(range, counts))


def _is_ours(array: Mapping[str, Any]) -> bool:
    names = [codec["name"] for codec in array["codecs"]]
    return (
        array["node_type"] == "array"
        and names in (["bytes", "zstd"], ["vlen-utf8", "zstd"])
        and (array["data_type"] == "string") == (names[0] == "vlen-utf8")
        and (array["data_type"] == "string" or np.dtype(array["data_type"]).kind in "iufb")
        and array["codecs"][0].get("configuration", {}).get("endian", "little") == "little"
        and array["chunk_grid"]["name"] == "regular"
        and array["chunk_key_encoding"]["name"] == "default"
        and array["chunk_key_encoding"].get("configuration", {}).get("separator", "/") == "/"
    )


def _check_texts(key: str, plain: bytes, lengths: Sequence[int]) -> None:
    """Raise ValueError for a chunk of other than its number of texts: the decoder takes room for as many as the first bytes of anything say."""
    if int.from_bytes(plain[:4], "little") != math.prod(lengths):
        raise ValueError(f"{key} holds no {math.prod(lengths)} texts")


def check_texts(metadata: Mapping[str, bytes], read: Callable[[str], bytes | None]) -> None:
    """Raise ValueError for a chunk of texts that holds another number of texts, before zarr decodes it.

    metadata: Metadata files of the group and its arrays, by key.
    read: Returns the object at a key of the group.
    """
    for key, content in metadata.items():
        array = json.loads(content)
        if key == METADATA or not _is_ours(array) or array["data_type"] != "string":
            continue
        shape, lengths = _lengths(array)
        for position in _positions(shape, lengths):
            chunk = read(place := chunk_key(key.removesuffix(f"/{METADATA}"), position))
            with suppress(RuntimeError, TypeError):  # damaged or missing, which the caller finds
                _check_texts(place, Zstd().decode(chunk), lengths)


def decode_group(metadata: Mapping[str, bytes], chunks: Mapping[str, bytes | None]) -> xr.Dataset:
    """Return the dataset of a group in memory, whether it is packed or not; see `decode_dataset`."""
    attributes = json.loads(metadata[METADATA]).get("attributes", {})
    if PACKED not in attributes:
        return decode_dataset(metadata, chunks)
    if is_inline(attributes):
        return unpack(attributes)
    array = json.loads(metadata[f"{PACKED}/{METADATA}"])
    return unpack(attributes, _decode_array(PACKED, array, chunks))


def decode_dataset(metadata: Mapping[str, bytes], chunks: Mapping[str, bytes | None]) -> xr.Dataset:
    """Return the dataset of a group in memory.

    metadata: Metadata files of the group and its arrays, by key.
    chunks: Objects at the keys of `chunk_keys`.
    Raises ValueError, RuntimeError: A chunk that is missing, or does not match its checksum.
    """
    variables: dict[str, xr.Variable] = {}
    coordinates: set[str] = set()
    group = json.loads(metadata[METADATA])
    attributes = group.get("attributes", {})
    coordinates.update(attributes.pop("coordinates", "").split())
    for key, content in metadata.items():
        if key == METADATA:
            continue
        name, array = key.removesuffix(f"/{METADATA}"), json.loads(content)
        own = array["attributes"]
        coordinates.update(own.pop("coordinates", "").split())
        own.pop("_FillValue", None)
        values = _decode_array(name, array, chunks)
        variables[name] = xr.Variable(array.get("dimension_names") or (), values, own)
    dims = {dim for variable in variables.values() for dim in variable.dims}
    named = {name for name in variables if name in dims or name in coordinates}
    return xr.Dataset(
        {name: each for name, each in variables.items() if name not in named},
        {name: each for name, each in variables.items() if name in named},
        attributes,
    )


def _decode_array(
    name: str, array: Mapping[str, Any], chunks: Mapping[str, bytes | None]
) -> np.ndarray[Any, Any]:
    (shape, lengths), text = _lengths(array), array["data_type"] == "string"
    values = np.empty(shape, dtype=object if text else array["data_type"])
    for position in _positions(shape, lengths):
        key = chunk_key(name, position)
        content = chunks[key]
        if content is None:
            raise ValueError(f"{key} is missing")
        plain = Zstd().decode(content)
        if text:
            _check_texts(key, plain, lengths)
        part = VLenUTF8().decode(plain) if text else np.frombuffer(plain, dtype=values.dtype)
        where = _place(position, lengths)
        inside = tuple(map(slice, values[where].shape))
        values[where] = part.reshape(lengths)[inside]
    return values


def pack(objects: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the objects of a group that holds all objects of a small group in its metadata, or if they are many bytes in an array.

    On an object store each object is a request. The attributes of the group are those of the dataset, and ``packed``, which says where each
    object lies in the content: key, first byte, length. The content is either the text ``zstd`` beside these places (Zstandard in Base64),
    or the array ``packed``.
    """
    metadata, content, places = json.loads(objects[METADATA]), bytearray(), []
    for key, each in objects.items():
        if key != METADATA:
            places.append([key, len(content), len(each)])
            content += each
    compressed = Zstd(level=LEVEL, checksum=True).encode(bytes(content))
    if len(compressed) <= MOST_INLINE:
        text = base64.b64encode(compressed).decode()
        metadata["attributes"][PACKED] = {"read": READ, "places": places, "zstd": text}
        return {METADATA: _text(metadata)}
    metadata["attributes"][PACKED] = places
    values = xr.Variable(("byte",), np.frombuffer(bytes(content), dtype=np.uint8))
    return {METADATA: _text(metadata)} | _encode_array(PACKED, values)


def is_packed(files: Mapping[str, str] | None) -> bool:
    """Whether the metadata files of a group, by key, are those of a packed one."""
    return files is not None and {*files} <= {METADATA, f"{PACKED}/{METADATA}"}


def is_inline(attributes: Mapping[str, Any]) -> bool:
    """Whether a packed group has its content in its attributes."""
    return isinstance(attributes[PACKED], dict)


def unpack(attributes: dict[str, Any], values: np.ndarray[Any, Any] | None = None) -> xr.Dataset:
    """Return the dataset that is packed into an array, or into the attributes; ``packed`` is removed from them."""
    packed = attributes.pop(PACKED)
    if values is None:
        content = bytes(Zstd().decode(base64.b64decode(packed["zstd"])))
        places = packed["places"]
    else:
        content, places = values.tobytes(), packed
    objects = {key: content[start : start + length] for key, start, length in places}
    group = {METADATA: _text({"attributes": attributes})}
    metadata = {key: each for key, each in objects.items() if key.endswith(f"/{METADATA}")}
    return decode_dataset(group | metadata, objects)


def consolidate(objects: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the objects of a group with the metadata of its arrays in its own metadata too, see `CONSOLIDATED`."""
    group = json.loads(objects[METADATA])
    arrays = {
        key.removesuffix(f"/{METADATA}"): json.loads(content)
        for key, content in objects.items()
        if key.endswith(f"/{METADATA}")
    }
    group[CONSOLIDATED] = {"kind": "inline", "must_understand": False, "metadata": arrays}
    return {**objects, METADATA: _text(group)}


def consolidated(content: bytes) -> dict[str, bytes] | None:
    """Return the metadata files of a group by key, from the one of the group; None if it has only its own."""
    group = json.loads(content)
    if PACKED in group["attributes"] and is_inline(group["attributes"]):
        return {METADATA: content}
    if CONSOLIDATED not in group:
        return None
    arrays = group[CONSOLIDATED]["metadata"]
    return {METADATA: content} | {
        f"{name}/{METADATA}": _text(each) for name, each in arrays.items()
    }


def _plain(value: Any) -> Any:
    """Return an attribute as a JSON value."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value


def _text(metadata: Mapping[str, Any]) -> bytes:
    return json.dumps(metadata).encode()  # with an indent, Python's encoder is ten times slower
