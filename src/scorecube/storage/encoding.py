"""All choices of how arrays become bytes, in one table.

zarr format 3; every chunk carries a checksum (the library's default compressor has none, and a flipped bit would be
read as data); labels are variable-length strings; metadata is not consolidated (not in the format's specification).
"""

from __future__ import annotations

from typing import Any, Final

import xarray as xr
from zarr.codecs import ZstdCodec
from zarr.core.array_spec import ArrayConfigParams

from scorecube import names, schema

ZARR_FORMAT: Final = 3
CONSOLIDATED: Final = False
FORMAT_VERSION: Final = 1
"""Version of the layout of a study, in the attributes of its root."""

CHUNK_LENGTHS: Final[dict[str, dict[str, int]]] = {
    schema.LEVEL_AT_RANK: {names.RUN: 16},
    names.SCORE: {names.METRIC: 1, names.GAIN: 1},
    names.TOPIC_SAMPLE: {names.TRIAL: 1000},
}
"""Chunk length along some dims of some variables; everything else is one chunk."""


EVERY_CHUNK: Final[ArrayConfigParams] = {"write_empty_chunks": True}
"""Chunks that hold only the fill value are written too, so that a missing chunk is always damage."""


def compressor() -> ZstdCodec:
    """Return the one compressor: fast, with a checksum over the content."""
    return ZstdCodec(level=1, checksum=True)


def encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the encoding of every variable and coordinate of a dataset."""
    result: dict[str, dict[str, Any]] = {}
    for name, variable in dataset.variables.items():
        lengths = CHUNK_LENGTHS.get(str(name), {})
        chunks = tuple(max(1, min(size, lengths.get(str(dim), size))) for dim, size in variable.sizes.items())
        result[str(name)] = {"compressors": compressor()}
        if chunks:
            result[str(name)]["chunks"] = chunks
    return result
