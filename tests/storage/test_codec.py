"""Files of datasets: what zarr reads of them, what is refused, and archives that carry their digest."""

from __future__ import annotations

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

from scorecube.storage.codec import decode, encode, open_lazily
from scorecube.storage.sealed import decode_record, encode_record, pack, unpack
from scorecube.testing import simulate_cube

DTYPES = st.sampled_from(["f8", "f4", "i8", "i4", "u1", "?"]).map(np.dtype)
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
    data = {"x": (dims, values), "t": ("run", np.array(labels, dtype=object))}
    dataset = xr.Dataset(data, {"run": np.array(labels, dtype=object)}, attrs)
    files = dict(encode(dataset))
    found = decode(files)
    xr.testing.assert_identical(found, dataset)
    assert found["x"].values.tobytes() == values.tobytes()
    assert found["x"].dtype == values.dtype


def test_zarr_and_xarray_read_the_same(tmp_path: Path) -> None:
    cube = simulate_cube(n_runs=5)
    files = dict(encode(cube))
    for key, content in files.items():
        (tmp_path / key).parent.mkdir(exist_ok=True)
        (tmp_path / key).write_bytes(content)
    xr.testing.assert_identical(open_lazily(str(tmp_path)).load(), cube)
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


@pytest.mark.parametrize(
    "change",
    [
        {"data_type": "object"},
        {"data_type": "<U9999999999"},
        {"codecs": [{"name": "pickle"}, {"name": "zstd"}]},
        {"shape": [10**12]},
        {"shape": [-1]},
        {"chunk_grid": {"configuration": {"chunk_shape": [10**12]}}},
        {"attributes": None},
    ],
)
def test_hostile_metadata_is_refused_without_memory(change: dict[str, Any]) -> None:
    files = dict(encode(xr.Dataset({"x": ("a", np.arange(3))})))
    files["x/zarr.json"] = json.dumps({**json.loads(files["x/zarr.json"]), **change}).encode()
    files["x/c.0"] = bytes(Zstd().encode(pickle.dumps(Harmful())))
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError, MemoryError, IndexError)):
        decode(files)
    assert "scorecube_unpickled" not in sys.__dict__


@pytest.mark.parametrize("number", [65_792, 10**6])
def test_a_bomb_is_not_expanded(number: int) -> None:
    files = dict(encode(xr.Dataset({"x": ("a", np.arange(3))})))
    files["x/c.0"] = bytes(Zstd(level=1, checksum=True).encode(bytes(number)))
    with pytest.raises(ValueError, match="too small"):
        decode(files)


def test_a_chunk_of_another_number_of_texts_is_refused() -> None:
    files = dict(encode(xr.Dataset({"x": ("a", np.array(["p", "q"], object))})))
    files["x/c.0"] = b"\xff\xff\xff\x0f" + files["x/c.0"][4:]
    with pytest.raises(ValueError, match="holds no 2 texts"):
        decode(files)


@given(st.dictionaries(TEXTS.filter(bool), st.binary(max_size=9), max_size=3), st.data())
def test_every_bit_of_an_archive_counts(members: dict[str, bytes], data: st.DataObject) -> None:
    members = {name: content for name, content in members.items() if "\0" not in name}
    content = bytearray(pack(members.items()))
    assert unpack(bytes(content)) == members
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ValueError, match="digest"):
        unpack(bytes(content))


def test_every_bit_of_a_record_counts() -> None:
    content = encode_record({"a": [1, "\u00e9\ud800"], "b": float("inf")})
    assert decode_record(content) == {"a": [1, "\u00e9\ud800"], "b": float("inf")}
    assert json.loads(content.replace(b"\xed\xa0\x80", b""))["record"]["b"] == float("inf")
    for place in range(8 * len(content)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match="digest"):
            decode_record(bytes(changed))


def test_a_bomb_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", bytes(10**6))
        archive.comment = bytes(64)
    body = file.getvalue()[:-64]
    import hashlib

    with pytest.raises(ValueError, match="larger inside"):
        unpack(body + hashlib.sha256(body).hexdigest().encode())


def test_deep_records_are_refused() -> None:
    import hashlib

    body = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    seal = hashlib.sha256(body).hexdigest().encode()
    with pytest.raises(ValueError, match="digest"):
        decode_record(b'{"sha256":"' + seal + b'","record":' + body + b"}\n")
