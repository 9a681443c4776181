"""What a file of a study, or a source of a sweep, may ask for: nothing larger is allocated than its content says."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube.errors import BadInput, CorruptStudy, ScorecubeError
from scorecube.ingest.input_files import parts_of, read_bytes
from scorecube.storage import Collection, open_study, verify_study
from scorecube.storage.archives import PADDING, archives_in, encode_record, read_result, seal
from scorecube.storage.codec import CODEC, encode
from scorecube.storage.heads import version_of
from tests.conftest import REPO, Cli
from tests.storage.states import cube, new_result

LARGE = 2**28  # values of 8 bytes


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    study = open_study(tmp_path / "study", mode="a")
    study.add("a", cube=cube())
    study["a"].write_result(new_result(study["a"]))
    return study["a"]


def forged(files: dict[str, bytes]) -> bytes:
    """Return an archive of files with one array that is 20,000 times larger than its chunks."""
    array = json.loads(
        next(
            of
            for key, of in files.items()
            if key.endswith("c.0/zarr.json") or ("zarr.json" in key and "/" in key)
        )
    )
    length = 2**20
    grid = {"name": "regular", "configuration": {"chunk_shape": [length]}}
    array |= {
        "shape": [LARGE],
        "data_type": "float64",
        "chunk_grid": grid,
        "dimension_names": ["z"],
    }
    chunk = bytes(CODEC.encode(np.zeros(length)))
    numbers = json.loads(dict(encode(xr.Dataset({"x": ("z", np.zeros(2))})))["x/zarr.json"])
    array["codecs"] = numbers["codecs"]
    made = {**files, "bomb/zarr.json": json.dumps(array).encode()}
    made |= {f"bomb/c.{k}": chunk for k in range(LARGE // length)}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in made.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def plant(collection: Collection) -> Path:
    """Put such an archive in the place of the result."""
    (stored,) = archives_in(collection.place, "a/results/swap")
    content = forged(dict(encode(read_result(collection.place, stored))))
    path = Path(collection.place.name, stored.path)
    path.write_bytes(seal(stored.about, content))
    return path


PEAK = """
import resource, sys
from scorecube.cli.program import run
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    status = run(sys.argv[1:])
except SystemExit as error:
    status = error.code
print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def peak(*words: object) -> tuple[int, float]:
    """Return the status of a command, and by how many MB its memory grew."""
    ended = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, words)],
        cwd=REPO,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    status, kilobytes = map(int, ended.stdout.split()[-2:])
    return status, kilobytes / 1024


@pytest.mark.parametrize("words", [["show", "swap"], ["verify"], ["report", "--out"]])
def test_an_archive_that_is_larger_inside_is_refused(
    collection: Collection, tmp_path: Path, words: list[str]
) -> None:
    assert plant(collection).stat().st_size < 200_000
    command, *rest = words
    last = [tmp_path / "page.html"] if command == "report" else []
    status, megabytes = peak(command, collection.place.name, *rest, *last)
    assert status == 1
    assert megabytes < 400  # of programs; the array takes 2,147


def test_what_scorecube_writes_is_read_however_well_it_compresses(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scorecube.storage.archives.UNCHECKED", 2**16)
    result = new_result(collection).assign(equal=("z", np.zeros(2**21)))
    collection.write_result(result)
    (stored,) = archives_in(collection.place, "a/results/swap")
    path = Path(collection.place.name, stored.path)
    assert PADDING in zipfile.ZipFile(path).namelist()
    xr.testing.assert_identical(collection.result("swap"), result)


@pytest.mark.parametrize("kind", ["cube", "lazy", "texts", "facts"])
def test_a_cube_that_is_larger_than_its_head_says_is_refused(
    collection: Collection, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, folder = collection.head, Path(collection.place.name)
    files = dict(encode(collection.cube))
    name = "run" if kind == "texts" else "score"
    array = json.loads(files[f"{name}/zarr.json"])
    shape = [2**33] if kind == "texts" else [1, 1, 3, 2**33]
    lengths = [2**20] if kind == "texts" else [1, 1, 1, 2**20]
    array |= {
        "shape": shape,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": lengths}},
    }
    files[f"{name}/zarr.json"] = json.dumps(array).encode()
    version = version_of(files.items())
    for key, content in files.items():
        path = folder / "a" / f"cube-{version}.zarr" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    record: dict[str, Any] = {**vars(head), "cube": version, "contains": [version]}
    claimed = 2**50 if kind == "facts" else head.facts["cube"]["bytes"]
    record["facts"] = {"cube": {**head.facts["cube"], "bytes": claimed}}
    (folder / "a/head.00001.json").write_bytes(encode_record(record))
    if kind == "lazy":
        monkeypatch.setattr("scorecube.collection.schema.MAX_LOADED_BYTES", 10)
    with pytest.raises((CorruptStudy, MemoryError)):
        collection.cube_among(1 if kind == "lazy" else 0)
    assert kind == "facts" or len(verify_study(open_study(folder))[1]) == 1


@pytest.mark.parametrize("key", ["a/head.00001.json", "a/results/swap", "a/cube"])
@pytest.mark.parametrize("to", ["/dev/zero", "pipe", "sparse"])
def test_what_is_no_file_or_has_no_end_is_refused(
    collection: Collection, key: str, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(collection.place.name)
    (file,) = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.relative_to(folder).as_posix().startswith(key)
        and (key != "a/cube" or path.name == "c.0.0.0.0")
    ]
    file.unlink()
    if to == "pipe":
        os.mkfifo(file)
    elif to == "sparse":
        monkeypatch.setattr("scorecube.storage.bounds.memory_there", lambda: 2**30)
        with file.open("wb") as opened:
            opened.truncate(5 * 2**30)
    else:
        file.symlink_to(to)
    study = open_study(folder)
    with pytest.raises((ScorecubeError, MemoryError)):
        (study["a"].cube_among(0), study["a"].result("swap"))
    assert len(verify_study(study)[1]) == 1


def test_a_block_whose_header_claims_more_is_refused(collection: Collection) -> None:
    blocks = collection.blocks("swap", "0" * 16)
    blocks.record(0, 10, {"x": np.arange(4)})
    (path,) = Path(collection.place.name).rglob("*.npz")
    inner = zipfile.ZipFile(path).read("x.npy").replace(b"(4,), }  ", b"(2**9,),}"[:9])
    for shape in (b"(9999999999,), }", b"(-1,), }", b"(5,), }"):
        changed = inner.replace(b"(4,), }" + b" " * (len(shape) - 7), shape)
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x.npy", changed)
        path.write_bytes(seal(f"{'0' * 16}/0-10", file.getvalue()))
        with pytest.raises(CorruptStudy):
            blocks.read(0, 10)


SWEEP = '[[collection]]\nname = "x"\nscores = "{}"\nmetric = "AP"\n[[analysis]]\nname = "swap"\n'


@pytest.mark.parametrize("source", ["/dev/zero", "sparse", "pipe"])
def test_sources_of_sweeps_are_bounded(tmp_path: Path, source: str) -> None:
    made = tmp_path / source.strip("/")
    if source == "sparse":
        with made.open("wb") as file:
            file.truncate(5 * 2**30)
    elif source == "pipe":
        os.mkfifo(made)
    path = source if source == "/dev/zero" else made
    (tmp_path / "sweep.toml").write_text(SWEEP.format(path))
    status, megabytes = peak("sweep", tmp_path / "sweep.toml")
    assert status == 1
    assert megabytes < 400


@pytest.mark.parametrize("read", [read_bytes, lambda path: list(parts_of(path))])
def test_files_are_bounded_before_they_are_read(tmp_path: Path, read: Callable[[Any], Any]) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(2**31 + 1)
    for path in (tmp_path / "x", "/dev/zero"):
        with pytest.raises(BadInput):
            read(path)


def test_the_parts_of_a_file_are_its_content(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    (tmp_path / "x").write_bytes(content)
    parts = list(parts_of(tmp_path / "x"))
    assert len(parts) > 1
    assert b"".join(parts) == content


@pytest.mark.parametrize("words", [["import", "--metric", "AP"], ["sweep"], ["swap", "--cluster"]])
def test_no_file_of_a_command_is_read_without_a_bound(
    tmp_path: Path, words: list[str], scorecube: Cli
) -> None:
    study = tmp_path / "study"
    open_study(study, mode="a").add("a", cube=cube())
    command, *rest = words
    first = [] if command == "sweep" else [study]
    last = ["--name", "b"] if command == "import" else []
    ended = scorecube(command, *first, *rest, "/dev/zero", *last)
    assert ended.status == 1
    assert "Traceback" not in ended.stderr
