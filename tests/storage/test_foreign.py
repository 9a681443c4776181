"""A study from somebody else touches nothing outside of itself, whatever its heads say and wherever its links lead."""

from __future__ import annotations

import copy
import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorecube.errors import ScorecubeError
from scorecube.report.contents import overview, overview_text, warnings_of
from scorecube.report.page import write_page
from scorecube.report.study_tables import collect_table
from scorecube.storage import find_rest, find_unclaimed, open_study, verify_study
from scorecube.storage.archives import StoredResult, archives_in, decode_record, encode_record, seal
from scorecube.storage.codec import encode
from scorecube.storage.heads import version_of
from scorecube.storage.upkeep import clean, merge
from scorecube.testing import simulate_cube
from tests.conftest import Cli
from tests.storage.states import SOAK

HOSTILE: tuple[Any, ...] = (
    *("..", "../outside", "../../outside", "../../../outside/thesis", "a/../../outside", "/etc"),
    *("a//b", "./a", "", "a\\..\\b", "a\0b", "link", "head.00001.json", "<b>x</b>", "\x1b[2J"),
    *(None, 7, -1, 10**30, [], {}, True, {"cube": "../../outside"}, "x" * 300),
)
"""What a mutation puts in the place of a key or value."""


@pytest.fixture
def place(tmp_path: Path, finished_study: Path) -> Path:
    """A folder with a copy of the study, and folders outside of it."""
    (tmp_path / "outside" / "thesis").mkdir(parents=True)
    (tmp_path / "outside" / "thesis" / "text").write_text("mine")
    shutil.copytree(finished_study, tmp_path / "evil")
    return tmp_path


def outside(folder: Path) -> list[tuple[str, int, bytes]]:
    """Return what lies outside of the studies in a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(("evil", "out/", "outcome")):
            content = path.read_bytes() if path.is_file() else b""
            found.append((name, path.lstat().st_mtime_ns, content))
    return found


def use(folder: Path) -> list[str]:
    """Do what users do with a study; return the refusals."""
    path, refusals = folder / "evil", []

    def replace() -> None:
        study = open_study(path, mode="a")
        for name in list(study):
            study.add(name, cube=simulate_cube(n_runs=3, seed=2), replace=True)
            study[name].forget("swap")
        clean(study)

    def read() -> None:
        study = open_study(path)
        text = overview_text(overview(study))
        assert "\x1b" not in text
        for name in study:
            study[name].cube.load()
            study[name].result("swap")

    def verify() -> None:
        if problems := verify_study(open_study(path))[1]:
            raise ScorecubeError(problems[0])

    for step in (read, verify, lambda: merge(str(folder / "outcome"), [str(path)]), replace):
        try:
            step()
        except (ScorecubeError, MemoryError) as error:
            refusals.append(str(error))
    shutil.rmtree(folder / "outcome", ignore_errors=True)
    return refusals


@pytest.mark.parametrize("link", ["small", "small/results", "small/results/swap", "small/blocks"])
def test_links_lead_nowhere(place: Path, link: str) -> None:
    inner = place / "evil" / link
    inner.mkdir(exist_ok=True)
    shutil.move(inner, place / "moved")
    inner.symlink_to(place / "moved")
    before = outside(place)
    use(place)
    assert outside(place) == before


def test_a_link_to_a_whole_study_is_followed(place: Path) -> None:
    (place / "other").symlink_to("evil")
    open_study(place / "other", mode="a").add("b", cube=simulate_cube(n_runs=3))
    assert sorted(open_study(place / "evil")) == ["b", "small"]


@pytest.mark.parametrize("name", ["..", ".", "", "/", "swap/..", "../blocks", "../../../outside"])
def test_what_is_forgotten_is_the_name_of_an_analysis(place: Path, name: str) -> None:
    before = sorted((place / "evil").rglob("*"))
    assert open_study(place / "evil", mode="a")["small"].forget(name) == 0
    assert sorted((place / "evil").rglob("*")) == before


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a JSON value with each of its keys."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from places(value[key])


def mutated(record: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Replace, rename or remove some parts of a record."""
    record = copy.deepcopy(record)
    for _ in range(chance.choice((1, 1, 2, 4))):
        container, key = chance.choice(list(places(record)) or [(record, "name")])
        hostile = chance.choice(HOSTILE)
        if isinstance(container, dict) and chance.random() < 0.4:
            container[str(hostile)] = container.pop(key)
        elif chance.random() < 0.2:
            del container[key]
        else:
            container[key] = hostile
    return record


def test_forged_heads_touch_nothing_outside(place: Path) -> None:
    chance = random.Random(5)
    file = sorted((place / "evil").glob("small/head.*.json"))[-1]
    record, before = decode_record(file.read_bytes()), outside(place)
    shutil.copytree(place / "evil", place / "evil-kept")
    for _ in range(40):
        file.write_bytes(encode_record(mutated(record, chance)))
        use(place)
        assert outside(place) == before
        shutil.rmtree(place / "evil")
        shutil.copytree(place / "evil-kept", place / "evil")


TYPES: tuple[Any, ...] = (None, 7, -1, 1.5, 10**30, "x", [], [7], {}, {"x": []}, True)


def typed_garbage(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record with each of its values in turn replaced by values of other types, or removed."""
    for number in range(len(list(places(record)))):
        for hostile in TYPES:
            changed = copy.deepcopy(record)
            container, key = list(places(changed))[number]
            container[key] = hostile
            yield changed
        changed = copy.deepcopy(record)
        container, key = list(places(changed))[number]
        del container[key]
        yield changed


def shown(path: Path, out: Path) -> None:
    """Call whatever shows a study, as commands do."""
    for show in (
        lambda study: overview_text(overview(study)),
        lambda study: warnings_of(overview(study)["collections"][0]),
        lambda study: [collect_table(study, name) for name in ("scores", "swap")],
        lambda study: write_page(study, out),
        lambda study: verify_study(study),
        lambda study: (find_rest(study), find_unclaimed(study)),
    ):
        with suppress(ScorecubeError, MemoryError):
            show(open_study(path))


def test_each_field_of_a_head_may_be_anything(place: Path) -> None:
    path = place / "evil"
    shutil.rmtree(path / "small/results")  # which are shown as before
    file = max(path.glob("small/head.*.json"))
    record = decode_record(file.read_bytes())
    garbage = list(typed_garbage(record))
    for forged in garbage if SOAK else random.Random(2).sample(garbage, 40):
        file.write_bytes(encode_record(forged))
        shown(path, place / "outcome.html")
    for value in TYPES:
        file.write_bytes(encode_record({"record": value}))
        shown(path, place / "outcome.html")


def forge(stored: StoredResult, folder: Path, key: str, record: dict[str, Any]) -> None:
    """Replace the metadata in an archive, and seal it."""
    path = folder / stored.path
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files[key] = json.dumps(record).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    path.write_bytes(seal(stored.about, file.getvalue()))


def archive_names(path: Path) -> list[str]:
    return zipfile.ZipFile(path).namelist()


@pytest.mark.slow
def test_each_field_of_a_result_may_be_anything(place: Path) -> None:
    path = place / "evil"
    (stored,) = archives_in(open_study(path).place, "small/results/swap")
    kept = (path / stored.path).read_bytes()
    chance = random.Random(3)
    for key in archive_names(path / stored.path):
        if not key.endswith("zarr.json"):
            continue
        record = json.loads(zipfile.ZipFile(io.BytesIO(kept)).read(key))
        forged = [*typed_garbage(record)]
        for values in chance.sample(forged, min(len(forged), 400 if SOAK else 2)):
            (path / stored.path).write_bytes(kept)
            forge(stored, path, key, values)
            shown(path, place / "outcome.html")


@pytest.mark.parametrize(
    "change",
    [
        lambda cube: cube.drop_vars("run"),
        lambda cube: cube.drop_vars("score").assign(other=("run", [1.0] * cube.sizes["run"])),
        lambda cube: cube.assign_coords(team=("run", list(range(cube.sizes["run"])))),
        lambda cube: cube.assign_coords(topic=list(range(cube.sizes["topic"]))),
        lambda cube: cube.assign_coords(system=("topic", ["x"] * cube.sizes["topic"])),
        lambda cube: cube.assign(score=cube["score"].astype(bool)),
        lambda cube: cube.assign(score=cube["score"].transpose()),
        lambda cube: cube.assign_attrs(words=["x"]),
        lambda cube: cube.assign_attrs(words={"run": 1}),
        lambda cube: cube.isel(run=[]),
        lambda cube: cube.assign(score=cube["score"] * np.inf),
    ],
)
def test_a_cube_may_be_anything(place: Path, change: Callable[[Any], Any]) -> None:
    path = place / "evil"
    head = open_study(path)["small"].head
    files = dict(encode(change(open_study(path)["small"].cube)))
    version = version_of(files.items())
    for key, content in files.items():
        file = path / f"small/cube-{version}.zarr" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    facts = copy.deepcopy(dict(head.facts))
    facts["cube"] |= {"files": len(files)}
    forged = {**vars(head), "cube": version, "contains": [version], "facts": facts}
    (path / f"small/head.{head.number:05d}.json").write_bytes(encode_record(forged))
    shown(path, place / "outcome.html")


def test_control_characters_of_names_are_escaped(place: Path, scorecube: Cli) -> None:
    study = open_study(place / "evil", mode="a")
    study.add("<b>\u202ex", cube=simulate_cube(n_runs=3))
    said = scorecube("info", place / "evil").succeeded().stdout
    assert "\u202e" not in said
