"""How arrays are encoded: format, chunks, compressor and checksum.

zarr format 3; every chunk carries a checksum (zarr's default compressor has none, so a flipped bit would be
read as data); labels are variable-length strings; metadata is not consolidated (not in the format's specification).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.run_pairs import FIRST_RUN, SECOND_RUN, pair_labels, positions_of_pairs

if TYPE_CHECKING:
    from zarr.codecs import ZstdCodec

ZARR_FORMAT: Final = 3
CONSOLIDATED: Final = False

CHUNK_LENGTHS: Final[dict[str, dict[str, int]]] = {
    schema.LEVEL_AT_RANK: {names.RUN: 16},
    names.SCORE: {names.METRIC: 1, names.GAIN: 1},
    names.TOPIC_SAMPLE: {names.TRIAL: 1000},
}
"""Chunk length along some dims of some variables; any other dim is cut only if a chunk exceeds `MAX_CHUNK_BYTES`."""
MAX_CHUNK_BYTES: Final = 2**23
"""Before compression; zarr compresses several chunks at a time."""


def compressor() -> ZstdCodec:
    """Return the compressor of all arrays: fast, with a checksum over the content."""
    from zarr.codecs import ZstdCodec  # imported here, as zarr takes long to import

    return ZstdCodec(level=1, checksum=True)


def plain_bytes(array: np.ndarray[Any, Any]) -> Any:
    """Return the bytes of an array, without a copy if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


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


def encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the encoding of every variable and coordinate of a dataset."""
    result: dict[str, dict[str, Any]] = {}
    for name, variable in dataset.variables.items():
        result[str(name)] = {"compressors": compressor()}
        if variable.ndim:
            result[str(name)]["chunks"] = chunk_shape(str(name), variable)
    return result


def pairs_as_positions(dataset: xr.Dataset) -> xr.Dataset:
    """Replace the labels of pairs of runs by positions of runs, for storage."""
    if names.RUN_A not in dataset.coords:
        return dataset
    first, second = positions_of_pairs(dataset)
    positions = {FIRST_RUN: (names.PAIR, first), SECOND_RUN: (names.PAIR, second)}
    return dataset.drop_vars([names.RUN_A, names.RUN_B]).assign_coords(positions)


def pairs_as_labels(dataset: xr.Dataset) -> xr.Dataset:
    """Replace stored positions of pairs of runs by the labels of the runs."""
    if FIRST_RUN in dataset.coords:
        pairs = (dataset[FIRST_RUN].values, dataset[SECOND_RUN].values)
        return dataset.drop_vars([FIRST_RUN, SECOND_RUN]).assign_coords(
            pair_labels(dataset[names.RUN], pairs)
        )
    return dataset
