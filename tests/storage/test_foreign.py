"""A study from somebody else touches nothing outside of itself, whatever its heads say and wherever its links lead."""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scorecube.errors import ScorecubeError
from scorecube.report.contents import overview, overview_text
from scorecube.storage import open_study, verify_study
from scorecube.storage.archives import decode_record, encode_record
from scorecube.storage.upkeep import clean, merge
from scorecube.testing import simulate_cube
from tests.conftest import Cli

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
        except Exception as error:  # of many types: here it counts what was touched
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


def test_control_characters_of_names_are_escaped(place: Path, scorecube: Cli) -> None:
    study = open_study(place / "evil", mode="a")
    study.add("<b>\u202ex", cube=simulate_cube(n_runs=3))
    said = scorecube("info", place / "evil").succeeded().stdout
    assert "\u202e" not in said
