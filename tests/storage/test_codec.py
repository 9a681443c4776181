"""Files of datasets: what zarr reads of them, what is refused, and archives that carry their digest."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numcodecs import Zstd

from scorecube.storage.archives import decode_record, encode_record, open_zip, seal, unseal
from scorecube.storage.codec import decode, encode, open_lazily
from scorecube.testing import simulate_cube

DTYPES = st.sampled_from(["f8", ">f4", "i8", "i4", "u1", "?"]).map(np.dtype)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(
    npst.arrays(DTYPES, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
    st.lists(TEXTS, max_size=4),
    st.dictionaries(st.sampled_from("abc"), TEXTS | st.integers(0, 9) | st.lists(st.integers())),
)
def test_values_labels_and_attributes_come_back(
    values: np.ndarray[Any, Any], labels: list[str], attrs: dict[str, Any]
) -> None:
    dims = [f"d{axis}" for axis in range(values.ndim)]
    text = np.array(labels, dtype=object)
    data = {"x": (dims, values), "t": ("run", text), "one": ((), np.array("x", object))}
    dataset = xr.Dataset(data, {"run": text}, attrs)
    found = decode(dict(encode(dataset)))
    xr.testing.assert_identical(found, dataset)
    assert found["x"].values.tobytes() == values.astype(values.dtype.newbyteorder("<")).tobytes()


def test_zarr_and_xarray_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cube = simulate_cube(n_runs=5)
    for number, most in enumerate((2**23, 600)):  # with a part of a chunk at the edge
        monkeypatch.setattr("scorecube.storage.codec.MAX_CHUNK_BYTES", most)
        files = dict(encode(cube))
        for key, content in files.items():
            path = tmp_path / str(number) / key
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_bytes(content)
        xr.testing.assert_identical(open_lazily(str(tmp_path / str(number))).load(), cube)
        xr.testing.assert_identical(decode(files), cube)


@pytest.mark.parametrize(
    "values", [np.array([1j]), np.array(["2020"], "M8[D]"), [object()], [b"x"]]
)
def test_other_types_are_not_written(values: Any) -> None:
    with pytest.raises(TypeError):
        dict(encode(xr.Dataset({"x": ("a", values)})))


class Harmful:
    """Leaves a trace when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import sys; sys.scorecube_unpickled = True",)


PICKLE = bytes(Zstd().encode(pickle.dumps(Harmful())))
BOMB = bytes(Zstd(level=1, checksum=True).encode(bytes(10**6)))


@pytest.mark.parametrize(
    ("change", "content"),
    [
        ({"data_type": "object"}, PICKLE),
        ({"data_type": "<U9999999999"}, PICKLE),
        ({"codecs": [{"name": "pickle"}, {"name": "zstd"}]}, PICKLE),
        ({"shape": [10**12]}, PICKLE),
        ({"shape": [-1]}, PICKLE),
        ({"chunk_grid": {"configuration": {"chunk_shape": [10**12]}}}, PICKLE),
        ({"attributes": None}, PICKLE),
        ({}, BOMB),
        ({"data_type": "string", "codecs": [{"name": "vlen-utf8", "configuration": {}}]}, BOMB),
    ],
)
def test_what_is_hostile_is_refused_without_memory(change: dict[str, Any], content: bytes) -> None:
    files = dict(encode(xr.Dataset({"x": ("a", np.arange(3))})))
    files["x/zarr.json"] = json.dumps({**json.loads(files["x/zarr.json"]), **change}).encode()
    files["x/c.0"] = content
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError, MemoryError)):
        decode(files)
    assert "scorecube_unpickled" not in sys.__dict__


@given(st.dictionaries(st.sampled_from("abc"), st.binary(max_size=9), max_size=3), st.data())
def test_every_bit_of_an_archive_counts(arrays: dict[str, bytes], data: st.DataObject) -> None:
    file = io.BytesIO()
    named: Any = {name: np.frombuffer(content, "u1") for name, content in arrays.items()}
    np.savez(file, **named)
    content = bytearray(seal("x", file.getvalue()))
    found = np.load(io.BytesIO(unseal("x", bytes(content))))
    assert {name: found[name].tobytes() for name in found} == arrays
    with pytest.raises(ValueError, match="digest"):
        unseal("y", bytes(content))
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ValueError, match="digest"):
        unseal("x", bytes(content))


def test_every_bit_of_a_record_counts() -> None:
    content = encode_record({"a": [1, "\u00e9\ud800"], "b": float("inf")})
    assert decode_record(content) == {"a": [1, "\u00e9\ud800"], "b": float("inf")}
    for place in range(8 * len(content)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match="digest"):
            decode_record(bytes(changed))


def test_bombs_are_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", bytes(10**6))
    with pytest.raises(ValueError, match="larger inside"):
        open_zip(unseal("", seal("", file.getvalue())))
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    digest = hashlib.sha256(deep).hexdigest().encode()
    with pytest.raises(ValueError, match="digest"):
        decode_record(b'{"sha256":"' + digest + b'","record":' + deep + b"}\n")
