"""Every kind of damage to any file of a study is found by `verify`, and gives no silently wrong number."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from scorecube.errors import ScorecubeError
from scorecube.methods import index
from scorecube.report.contents import overview
from scorecube.report.study_tables import collect_table
from scorecube.storage import find_rest, open_study, verify_study
from tests.conftest import Cli
from tests.storage.states import SOAK, is_whole

CASES = 500 if SOAK else 30
KINDS = ("flipped", "changed character", "cut off", "emptied", "deleted", "exchanged")
Contents = dict[Path, bytes | None]


def damage(kind: str, folder: Path, chance: random.Random) -> Contents:
    """Damage one file, or exchange two of one name; return what they held."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    while True:
        path = chance.choice(files)
        content = path.read_bytes()
        if kind == "exchanged":
            others = [
                other
                for other in files
                if other.name == path.name and other.read_bytes() != content
            ]
            if others:
                other = chance.choice(others)
                held: Contents = {path: content, other: other.read_bytes()}
                path.write_bytes(held[other] or b"")
                other.write_bytes(content)
                return held
            continue
        if not content:
            continue
        place = chance.randrange(len(content))
        changed = bytearray(content)
        if kind == "flipped":
            changed[place] ^= 1 << chance.randrange(8)
        elif kind == "changed character":
            changed[place] = ord(chance.choice("0123456789abcdef"))
            if changed == content:
                continue
        elif kind == "cut off":
            changed = changed[:place]
        elif kind == "emptied":
            changed = bytearray()
        path.unlink()
        if kind != "deleted":
            path.write_bytes(changed)
        return {path: content}


def restore(held: Contents) -> None:
    for path, content in held.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content or b"")


def shown(path: Path) -> dict[str, Any]:
    """Return everything that can be shown of a study; None for what is refused."""
    found: dict[str, Any] = {}
    for name in ["info", "scores", *index.names()]:
        try:
            study = open_study(path)
            found[name] = (
                overview(study) if name == "info" else collect_table(study, name, every=True)[0]
            )
        except ScorecubeError:
            found[name] = None
    return found


def differences(
    found: dict[str, Any], expected: dict[str, Any], *, lacking: bool = False
) -> Iterator[str]:
    """Yield what is shown and differs; of what is lacking, the other rows may be shown."""
    for name, value in found.items():
        other = expected[name]
        if isinstance(value, pd.DataFrame):
            rows = value.merge(other, how="inner") if lacking else other
            if len(rows) < len(value) or not (lacking or value.equals(other)):
                yield name
        elif value is not None and value != other and not lacking:
            yield name


@pytest.fixture
def path(analysed_study: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(analysed_study, tmp_path / "study"))


@pytest.mark.slow
def test_damage_is_found_and_never_shown(path: Path) -> None:
    expected, chance = shown(path), random.Random(11)
    assert all(value is not None for value in expected.values())
    for case in range(CASES):
        kind = KINDS[case % len(KINDS)]
        held = damage(kind, path, chance)
        files = [file.relative_to(path).as_posix() for file in held]
        where = (case, kind, files)
        try:
            study = open_study(path)
            problems = verify_study(study)[1] or find_rest(study)
            headless = overview(study)["headless"]
        except ScorecubeError as error:
            problems, headless = [str(error)], []
        # A deleted block or result is computed again. A collection without results whose only head
        # was deleted is named by `info`.
        again = kind == "deleted" and ("/blocks/" in files[0] or "/results/" in files[0])
        assert problems or again, where
        lacking = bool(headless) or (kind == "deleted" and "/results/" in files[0])
        assert not list(differences(shown(path), expected, lacking=lacking)), where
        restore(held)
    assert is_whole(path)


@pytest.mark.parametrize(
    "pattern",
    ["small/head.*.json", "small/results/bootstrap/*.zip", "small/cube-*/score/zarr.json"],
)
@pytest.mark.parametrize("kind", ["cut", "emptied"])
def test_damage_is_one_message(path: Path, pattern: str, kind: str, scorecube: Cli) -> None:
    file = sorted(path.glob(pattern))[-1]
    file.write_bytes(b"" if kind == "emptied" else file.read_bytes()[:-9])
    (other,) = path.glob("stricter/cube-*/score/zarr.json")
    other.unlink()
    told = scorecube("verify", path)
    assert told.status == 1
    assert "stricter/cube-" in told.stderr
    assert file.relative_to(path).as_posix().partition(".zarr/")[0] in told.stderr
    what = ["bootstrap", "--table", "pairs"] if "results" in pattern else ["scores"]
    refused = scorecube("show", path, *what)
    assert refused.status == 1
    assert refused.stderr.count("error: ") == 1
    assert refused.stdout == ""
