"""Nothing that is read from a store can run code: no object arrays, no pickles, and none are taken from strangers."""

from __future__ import annotations

import ast
import json
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
import zarr
from zarr.errors import UnknownCodecError
from zarr.registry import get_codec_class

from scorecube.errors import CorruptStudy
from scorecube.storage.verify import verify_study
from scorecube.workflow.api import open_study
from tests.conftest import REPO

TRACE = "scorecube_unpickled"


class Harmful:
    """Leaves a trace when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"import sys; sys.{TRACE} = True",)


def plant(path: Path, dtype: str = "<i8", codec: str = "compressor") -> None:
    """Write a group of zarr's second format with an array whose chunk is unpickled when it is read."""
    score = path / "score"
    score.mkdir(parents=True)
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    facts: dict[str, Any] = {
        "zarr_format": 2,
        "shape": [2],
        "chunks": [2],
        "dtype": dtype,
        "fill_value": 0,
        "order": "C",
    }
    facts |= {"compressor": None, "filters": None}
    pickles = {"id": "pickle", "protocol": 5}
    facts[codec] = pickles if codec == "compressor" else [pickles]
    (score / ".zarray").write_text(json.dumps(facts))
    (score / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["run"]}')
    (path / ".zattrs").write_text('{"complete": true, "digest": "x"}')
    (score / "0").write_bytes(pickle.dumps(Harmful()))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["<i8", "|O"])
@pytest.mark.parametrize("codec", ["compressor", "filters"])
def test_the_library_refuses_pickles_in_any_format(tmp_path: Path, dtype: str, codec: str) -> None:
    plant(tmp_path / "trap", dtype, codec)
    sys.__dict__.pop(TRACE, None)
    with pytest.raises(ValueError, match="No Zarr data type found"):
        zarr.open_array(tmp_path / "trap" / "score", mode="r")
    # The chunk is as harmful as it should be.
    assert TRACE not in sys.__dict__
    pickle.loads((tmp_path / "trap" / "score" / "0").read_bytes())
    assert sys.__dict__.pop(TRACE)


@pytest.mark.filterwarnings("ignore")
def test_a_group_of_another_format_inside_a_study_is_not_read(study: Path) -> None:
    (name,) = open_study(study)
    cube = study / name / "cube"
    shutil.rmtree(cube)
    xr.Dataset({"score": ("run", [1, 2])}).to_zarr(cube, zarr_format=2, consolidated=False)
    assert zarr.open_array(cube / "score", mode="r")[0] == 1
    with pytest.raises(CorruptStudy):
        _ = open_study(study)[name].cube


@pytest.mark.filterwarnings("ignore")
def test_pickles_planted_in_a_study_are_not_read(study: Path) -> None:
    (name,) = open_study(study)
    shutil.rmtree(study / name / "cube")
    plant(study / name / "cube")
    sys.__dict__.pop(TRACE, None)
    found = open_study(study)
    assert verify_study(found)[1]
    with pytest.raises(CorruptStudy):
        _ = found[name].cube
    assert TRACE not in sys.__dict__


def test_the_format_that_is_read_has_no_pickles() -> None:
    for name in ("pickle", "numcodecs.pickle"):
        with pytest.raises((UnknownCodecError, KeyError)):
            get_codec_class(name)


def test_a_study_holds_plain_types_and_known_codecs_only(analysed_study: Path) -> None:
    codecs, types = set(), set()
    for file in analysed_study.rglob("zarr.json"):
        facts = json.loads(file.read_text())
        if facts["node_type"] == "array":
            types.add(
                facts["data_type"]
                if isinstance(facts["data_type"], str)
                else facts["data_type"]["name"]
            )
            codecs |= {codec["name"] for codec in facts["codecs"]}
    assert codecs == {"bytes", "vlen-utf8", "zstd"}
    assert types <= {
        "bool",
        "string",
        *(f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)),
    }


def test_the_store_of_the_source_knows_no_pickle() -> None:
    for file in (REPO / "src" / "scorecube" / "storage").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import | ast.ImportFrom)
                else []
            )
            assert not {"pickle", "cloudpickle", "dill", "marshal", "shelve"} & set(names), file
