"""A study from somebody else touches nothing outside of itself, whatever its manifests say and wherever its links lead."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import scorecube as sc
from scorecube.errors import CorruptStudy, ScorecubeError
from scorecube.storage.fact_types import ATTRIBUTE_TYPES, check_arrays
from scorecube.storage.layout import METADATA, inside
from scorecube.storage.manifest import DIGEST, MANIFEST, OUTDATED, decode, digest_of, sealed
from scorecube.storage.merge import merge
from scorecube.storage.verify import verify_study
from scorecube.testing import simulate_cube
from tests.conftest import Cli, trials_of

HOSTILE: tuple[Any, ...] = (
    "..",
    "../outside",
    "../../outside",
    "../../../outside/thesis",
    "a/../../outside",
    "/etc",
    "{outside}",
    "a//b",
    "./a",
    "",
    "a\\..\\b",
    "a\0b",
    "link",
    "link/thesis",
    "results/../../../outside",
    "zarr.json",
    "a",
    "cube",
    ".index",
    None,
    7,
    [],
    {},
    {"path": "../../outside"},
    True,
)
"""What a mutation puts in the place of a key or value."""


@pytest.fixture
def place(tmp_path: Path, finished_study: Path) -> Path:
    """A folder with a copy of the study, and folders outside of it."""
    (tmp_path / "outside" / "thesis").mkdir(parents=True)
    (tmp_path / "outside" / "thesis" / "text").write_text("mine")
    (tmp_path / "outside" / METADATA).write_text("mine")
    shutil.copytree(finished_study, tmp_path / "evil.zarr")
    return tmp_path


def state(folder: Path) -> list[tuple[str, int, bytes]]:
    """Return what lies outside of the studies in a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(("evil.zarr", "out.zarr")):
            content = path.read_bytes() if path.is_file() else b""
            found.append((name, path.stat().st_mtime_ns, content))
    return found


def change_manifest(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a manifest as somebody would who can compute its digest."""
    attributes = json.loads(file.read_bytes())["attributes"]
    attributes.pop(DIGEST)
    manifest = attributes.pop(MANIFEST)
    change(manifest)
    file.write_bytes(sealed(manifest, attributes))


def use(folder: Path) -> list[str]:
    """Do what users do with a study; return the refusals."""
    path, refusals = folder / "evil.zarr", []

    def replace() -> None:
        study = sc.open_study(path, mode="a")
        for name in list(study):
            study.add(name, cube=simulate_cube(n_runs=3, seed=2), replace=True)

    def read() -> None:
        study = sc.open_study(path)
        study.rows()
        for name in study:
            study[name].cube.load()
            study[name].result("swap")

    def verify() -> None:
        _, problems = verify_study(sc.open_study(path))
        if problems:
            raise ScorecubeError(problems[0])

    for step in (read, verify, lambda: merge(folder / "out.zarr", [path]), replace):
        try:
            step()
        except (
            Exception
        ) as error:  # forged facts raise errors of many types: here it counts what was touched
            refusals.append(str(error))
    shutil.rmtree(folder / "out.zarr", ignore_errors=True)
    return refusals


@pytest.mark.parametrize(
    "text", ["../x", "/x", "x/../../y", "", ".", "x//y", "a\\b", "a\0b", None, 3]
)
def test_places_that_lead_out_are_refused(text: object) -> None:
    with pytest.raises(CorruptStudy, match=r"evil: it names .* as a place in the study"):
        inside(text, "evil")


def test_a_removed_result_is_removed_from_the_study_only(place: Path) -> None:
    def forge(manifest: dict[str, Any]) -> None:
        entries = manifest["entries"]
        key = next(each for each in entries if each.startswith("results/swap/"))
        entries[key] |= {"path": "../../outside/thesis"}
        entries[key]["facts"][OUTDATED] = True

    before = state(place)
    change_manifest(place / "evil.zarr" / "small" / METADATA, forge)
    refusals = use(place)
    assert any("'../../outside/thesis' as a place" in each for each in refusals)
    assert state(place) == before


def test_a_collection_lies_in_its_study(place: Path) -> None:
    shutil.copytree(place / "evil.zarr", place / "private.zarr")
    before = state(place)
    change_manifest(
        place / "evil.zarr" / METADATA,
        lambda manifest: manifest["collections"].update(small="../private.zarr/small"),
    )
    assert len(use(place)) == 4
    assert state(place) == before


@pytest.mark.parametrize(
    "link", ["small", "small/cube", "small/results", "small/results/swap", ".index"]
)
def test_links_lead_nowhere(place: Path, link: str) -> None:
    inner = place / "evil.zarr" / link
    shutil.move(inner, place / "moved")
    inner.symlink_to(place / "moved")
    before = state(place)
    use(place)
    assert state(place) == before


@pytest.mark.parametrize(
    "forged", [{"commit": "x"}, {"commit": None}, {"attributes": 7}, {"attributes": []}]
)
def test_forged_facts_of_a_result_end_in_a_message(place: Path, forged: dict[str, Any]) -> None:
    def forge(manifest: dict[str, Any]) -> None:
        entries = manifest["entries"]
        next(each for name, each in entries.items() if name.startswith("results/"))["facts"] |= (
            forged
        )

    change_manifest(place / "evil.zarr" / "small" / METADATA, forge)
    collection = sc.open_study(place / "evil.zarr")["small"]
    with pytest.raises(CorruptStudy, match="does not hold a manifest"):
        collection.result("swap")


def test_a_link_to_a_whole_study_is_followed(place: Path) -> None:
    (place / "other.zarr").symlink_to("evil.zarr")
    study = sc.open_study(place / "other.zarr", mode="a")
    study.add("b", cube=simulate_cube(n_runs=3))
    assert sorted(sc.open_study(place / "evil.zarr")) == ["b", "small"]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a JSON value with each of its keys."""
    for key in (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from places(value[key])


def mutate(manifest: dict[str, Any], random: Random, outside: str) -> None:
    """Replace, rename or remove some parts of a manifest."""
    for _ in range(random.choice((1, 1, 2, 4))):
        container, key = random.choice(list(places(manifest)) or [(manifest, "entries")])
        hostile = random.choice(HOSTILE)
        hostile = hostile.format(outside=outside) if isinstance(hostile, str) else hostile
        if isinstance(container, dict) and random.random() < 0.4:
            container[str(hostile)] = container.pop(key, None)
        elif random.random() < 0.1:
            container.pop(key) if isinstance(container, list) else container.pop(key, None)
        else:
            container[key] = hostile


@pytest.mark.slow
def test_mutated_manifests_name_places_in_the_study_or_are_refused(finished_study: Path) -> None:
    count, random, read = int(os.environ.get("SCORECUBE_MUTATIONS", "5000")), Random(2), 0
    text = (finished_study / "small" / METADATA).read_text()
    for _ in range(count):
        attributes = json.loads(text)["attributes"]
        mutate(attributes[MANIFEST], random, "/outside")
        try:
            manifest = decode(sealed(attributes[MANIFEST]), "small", "evil")
        except CorruptStudy:
            continue
        keys = [*manifest.entries, *manifest.paths()]
        keys += [key for each in manifest.entries.values() for key in each.files or ()]
        assert all(os.path.normpath(f"/study/{key}") == f"/study/{key}" for key in keys)
        read += 1
    assert 0 < read < count


@pytest.mark.slow
def test_mutated_manifests_touch_nothing_outside(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCORECUBE_SYNC", "0")
    count = int(os.environ.get("SCORECUBE_MUTATIONS", "100"))
    (place / "evil.zarr" / "link").symlink_to(place / "outside")
    (place / "evil.zarr" / "small" / "link").symlink_to(place / "outside")
    shutil.copytree(place / "evil.zarr", place / "kept", symlinks=True)
    before, random, refused = state(place), Random(1), 0
    for number in range(count):
        shutil.rmtree(place / "evil.zarr")
        shutil.copytree(place / "kept", place / "evil.zarr", symlinks=True)
        for file in random.choice((("small",), ("",), ("", "small"))):
            change_manifest(
                place / "evil.zarr" / file / METADATA,
                lambda manifest: mutate(manifest, random, str(place / "outside")),
            )
        refused += bool(use(place))
        assert state(place) == before, number
    assert refused > count / 2


def forge_result(study: Path, random: Random) -> str:
    """Change the facts of a result, its attributes, or its plan in both; return the name of its analysis.

    Of the attributes those that all results have: nothing says yet what others must be.
    """
    file = study / "small" / METADATA
    manifest = json.loads(file.read_bytes())["attributes"][MANIFEST]
    name = random.choice(sorted(each for each in manifest["entries"] if "results/" in each))
    stored = study / "small" / manifest["entries"][name]["path"] / METADATA
    group = json.loads(stored.read_bytes())
    attributes = group["attributes"]
    which = random.choice(("facts", "attributes", "plan"))
    if which == "plan":
        plan = json.loads(attributes["plan"])
        mutate(plan, random, "/outside")
        attributes["plan"] = json.dumps(plan)
    elif which == "attributes":
        shared = {key: attributes.pop(key) for key in ATTRIBUTE_TYPES if key in attributes}
        mutate(shared, random, "/outside")
        attributes |= shared
    stored.write_bytes(json.dumps(group).encode())

    def change(manifest: dict[str, Any]) -> None:
        entry = manifest["entries"][name]
        if which == "facts":
            others = entry["facts"].pop("attributes")
            mutate(entry["facts"], random, "/outside")
            entry["facts"].setdefault("attributes", others)
        else:
            own = {key: value for key, value in attributes.items() if key != "content_sha256"}
            entry["facts"]["attributes"] = own
        entry["files"][METADATA] = digest_of(stored.read_bytes())

    change_manifest(file, change)
    return str(name.split("/")[1])


@pytest.mark.slow
def test_forged_results_are_shown_or_end_in_a_message(
    analysed_study: Path, tmp_path: Path, scorecube: Cli
) -> None:
    """Also options that no analysis has, and attributes that are missing or of other types."""
    count = int(os.environ.get("SCORECUBE_MUTATIONS", "12"))
    random, study, refused = Random(3), tmp_path / "evil.zarr", 0
    for number in range(count):
        shutil.rmtree(study, ignore_errors=True)
        shutil.copytree(analysed_study, study)
        analysis = forge_result(study, random)
        again = () if analysis == "judges" else ((analysis, study, *trials_of(analysis, 5)),)
        report = () if number % 4 else (("report", study, "--out", tmp_path / "page.html"),)
        for words in (
            ("info", study),
            ("verify", study),
            ("show", study, analysis, "--all", "--format", "json"),
            *again,
            *report,
        ):
            done = scorecube(*words)
            messages = [line for line in done.stderr.splitlines() if line.startswith("error:")]
            assert (done.status, len(messages)) in ((0, 0), (1, 1)), (number, words, done.stderr)
            refused += done.status
    assert refused > count


def test_variables_of_other_dims_or_kinds_are_refused() -> None:
    result = sc.analyse(simulate_cube(n_runs=4), sc.Swap(), trials=5, seed=1)
    check_arrays(result, "swap", "study")
    turned = result.transpose("gain", "metric", ...)
    words = result.assign(tau=result["tau"].astype(str))
    for forged, name in ((turned, "count"), (words, "tau")):
        with pytest.raises(CorruptStudy, match=f"study: the variable {name} cannot be read"):
            check_arrays(forged, "swap", "study")
