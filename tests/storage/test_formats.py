"""Formats: what names none is of the first, and every reader refuses what is newer."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import scorecube as sc
from scorecube.collection import schema
from scorecube.errors import BadStudy, StoreFailed
from scorecube.storage import place as module
from scorecube.storage.archives import archives_in, decode_record, encode_record
from scorecube.storage.codec import METADATA, encode
from scorecube.storage.forms import OWN
from scorecube.storage.heads import version_of
from scorecube.storage.place import MOST_SYNCED, Place
from scorecube.testing import simulate_cube
from tests.storage.test_foreign import forge

if TYPE_CHECKING:
    from tests.conftest import Cli, Tree

FORMATS = {"none": {}, "first": {"format": 1}, "newer": {"format": 2}}
Format = Mapping[str, int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    study = sc.open_study(tmp_path / "study", mode="a")
    study.add("a", cube=simulate_cube(n_runs=3, seed=1))
    sc.sweep([sc.Reliability()], study)
    sc.results(study, "reliability")
    return tmp_path / "study"


def of_head(path: Path, of: Format, cube: str = "") -> None:
    (file,) = path.glob("a/head.*.json")
    record = decode_record(file.read_bytes())
    assert record.pop("format") == 1
    if cube:
        record |= {"cube": cube, "contains": [*record["contains"], cube]}
    file.write_bytes(encode_record({**record, **of}))


def of_cube(path: Path, of: Format) -> None:
    files = dict(encode(sc.open_study(path)["a"].cube))
    files[METADATA] = described(files[METADATA], of)
    version = version_of(files.items())
    for key, content in files.items():
        file = path / f"a/cube-{version}.zarr" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    of_head(path, {}, version)


def of_result(path: Path, of: Format) -> None:
    (stored,) = archives_in(Place(str(path)), "a/results/reliability")
    described_now = sc.open_study(path)["a"].result("reliability").attrs | {OWN: dict(of)}
    forge(stored, path, METADATA, {"attributes": described_now})


def of_pack(path: Path, of: Format) -> None:
    (file,) = path.glob(f"packed-*.zarr/reliability/{METADATA}")
    file.write_bytes(described(file.read_bytes(), of))


def of_root(path: Path, of: Format) -> None:
    (file,) = path.glob(f"packed-*.zarr/{METADATA}")
    file.write_bytes(described(file.read_bytes(), of))


def described(content: bytes, of: Format) -> bytes:
    """Return the metadata of a group with another format."""
    record = json.loads(content)
    assert record["attributes"].pop(OWN) == {"format": 1}
    record["attributes"] |= {OWN: dict(of)} if of else {}
    return json.dumps(record).encode()


def lazily(study: sc.Study) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MAX_LOADED_BYTES", 1)
        return study["a"].cube


READERS: dict[str, tuple[Callable[[Path, Format], None], list[Callable[[sc.Study], object]]]] = {
    "head": (of_head, [list, lambda study: study["a"], lambda study: "a" in study]),
    "cube": (of_cube, [lambda study: study["a"].cube, lazily]),
    "result": (
        of_result,
        [
            lambda study: study["a"].result("reliability"),
            lambda study: study["a"].result_attributes("reliability"),
        ],
    ),
    "pack": (of_pack, [lambda study: sc.results(study, "reliability")]),
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", FORMATS)
def test_newer_formats_are_refused_by_every_reader(path: Path, kind: str, name: str) -> None:
    change, readers = READERS[kind]
    change(path, FORMATS[name])
    for read in readers:
        if name == "newer":
            with pytest.raises(BadStudy, match=re.escape(str(path)) + ".* format 2.* up to 1"):
                read(sc.open_study(path))
        else:
            read(sc.open_study(path))


@pytest.mark.parametrize("change", [of_head, of_cube, of_result, of_root])
def test_what_is_newer_is_neither_changed_nor_cleaned(
    path: Path, scorecube: Cli, tree: Callable[[Path], Tree], change: Callable[[Path, Format], None]
) -> None:
    change(path, FORMATS["newer"])
    before = tree(path)
    said = scorecube("verify", path, "--clean")
    assert said.status == 1
    assert "format 2" in said.stderr + said.stdout
    assert tree(path) == before
    if change is of_head:
        with pytest.raises(BadStudy, match="format 2"):
            sc.open_study(path, mode="a").add("a", cube=simulate_cube(n_runs=3, seed=1))


def test_a_format_is_a_number(path: Path) -> None:
    form: Any = {"format": "two"}
    of_head(path, form)
    with pytest.raises(sc.ScorecubeError, match="no scorecube writes"):
        list(sc.open_study(path))


@pytest.mark.parametrize("n_files", [3, MOST_SYNCED + 1])
def test_files_are_synced_one_by_one_or_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_files: int
) -> None:
    synced: list[str] = []
    monkeypatch.delenv(module.SYNC, raising=False)
    monkeypatch.setattr(module, "_sync", lambda path: synced.append(str(path)))
    monkeypatch.setattr(module, "_sync_file_system", lambda _: synced.append("all"))
    monkeypatch.setattr(os, "sync", lambda: synced.append("everywhere"))
    place = Place(str(tmp_path))
    keys = [f"a/b/{k}" for k in range(n_files)]
    for key in keys:
        place.write(key, b"", synced=False)
    place.sync(keys)
    if n_files > MOST_SYNCED:
        assert synced == ["all", "everywhere"]
    else:
        folders = [tmp_path, tmp_path / "a", tmp_path / "a/b"]
        assert sorted(synced) == sorted(map(str, [*folders, *(tmp_path / key for key in keys)]))


def test_a_disk_that_fails_while_files_are_synced_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(5, "Input/output error")

    place = Place(str(tmp_path))
    place.write("a", b"", synced=False)
    monkeypatch.delenv(module.SYNC, raising=False)
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreFailed):
        place.sync(["a"])
