"""Every kind of damage to any file of a study is found by `verify`, and gives no silently wrong number."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from numcodecs import Zstd

from scorecube.analyses import registry
from scorecube.errors import ScorecubeError
from scorecube.report.contents import overview
from scorecube.report.study import collect_table
from scorecube.storage import open_study
from scorecube.storage.lock import machine_name
from scorecube.storage.verify import verify_study
from scorecube.testing import simulate_cube
from tests.conftest import Cli

CASES = 500 if os.environ.get("SCORECUBE_SOAK") else 30
KINDS = ("flipped", "changed character", "cut off", "emptied", "deleted", "exchanged")
Contents = dict[Path, bytes | None]


def damage(kind: str, folder: Path, chance: random.Random) -> Contents:
    """Damage one file, or exchange two of one name; return what they held."""
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and ".index" not in path.parts
    )
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
        if _decodes_alike(content, bytes(changed)):
            continue
        path.unlink()
        if kind != "deleted":
            path.write_bytes(changed)
        return {path: content}


def _decodes_alike(content: bytes, changed: bytes) -> bool:
    """Whether a changed chunk has the content of before: one bit of Zstandard's header is of no meaning (RFC 8878, 3.1.1.1.1.4)."""
    if not content.startswith(Zstd().encode(b"")[:4]):
        return False
    try:
        return bool(Zstd().decode(changed) == Zstd().decode(content))
    except RuntimeError:
        return False


def restore(held: Contents) -> None:
    for path, content in held.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content or b"")


def shown(path: Path) -> dict[str, Any]:
    """Return everything that can be shown of a study; None for what is refused."""
    found: dict[str, Any] = {}
    for name in ["info", "scores", *registry.names()]:
        try:
            study = open_study(path)
            found[name] = (
                overview(study) if name == "info" else collect_table(study, name, every=True)
            )
        except ScorecubeError:
            found[name] = None
    return found


def differences(found: dict[str, Any], expected: dict[str, Any]) -> Iterator[str]:
    """Yield what is shown and differs."""
    for name, value in found.items():
        if isinstance(value, pd.DataFrame):
            if not value.equals(expected[name]):
                yield name
        elif value is not None and value != expected[name]:
            yield name


@pytest.fixture
def path(analysed_study: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(analysed_study, tmp_path / "study.zarr"))


@pytest.mark.slow
def test_damage_is_found_and_never_shown(path: Path) -> None:
    expected, chance = shown(path), random.Random(11)
    assert all(value is not None for value in expected.values())
    for case in range(CASES):
        kind = KINDS[case % len(KINDS)]
        held = damage(kind, path, chance)
        where = (case, kind, [each.relative_to(path).as_posix() for each in held])
        try:
            problems = verify_study(open_study(path))[1]
        except ScorecubeError as error:
            problems = [str(error)]
        assert problems, where
        assert not list(differences(shown(path), expected)), where
        restore(held)
    assert verify_study(open_study(path))[1] == []


@pytest.mark.parametrize(
    "pattern",
    ["small/zarr.json", "small/results/bootstrap/*/zarr.json", "small/cube/score/zarr.json"],
)
@pytest.mark.parametrize("kind", ["deleted", "emptied"])
def test_missing_metadata_is_one_message(
    path: Path, pattern: str, kind: str, scorecube: Cli
) -> None:
    (file,) = path.glob(pattern)
    file.unlink()
    if kind == "emptied":
        file.touch()
    (path / "stricter/cube/score/zarr.json").unlink()
    told = scorecube("verify", path)
    assert told.status == 1
    assert "stricter/cube/score/zarr.json is missing" in told.stderr
    assert pattern.partition("/*")[0].removesuffix("/zarr.json") in told.stderr
    what = ["bootstrap", "--table", "pairs"] if "results" in pattern else ["scores"]
    refused = scorecube("show", path, *what)
    assert refused.status == 1
    assert "error: " in refused.stderr
    assert refused.stdout == ""


def test_exchanged_results_are_refused(path: Path, scorecube: Cli) -> None:
    scorecube("swap", path, "--trials", 5, "--seed", 2).succeeded()
    first, second, *_ = sorted(each.parent for each in path.glob("small/results/swap/*/zarr.json"))
    first.rename(path / "x")
    second.rename(first)
    (path / "x").rename(second)
    told = scorecube("show", path, "swap", "--all", "--table", "rates")
    assert told.status == 1
    assert "does not match its digest" in told.stderr


def test_numbers_in_the_place_of_texts_take_no_memory(path: Path) -> None:
    """Their first bytes were taken for a number of texts, up to four thousand million."""
    (texts,) = path.glob("small/results/stability/*/run/c/0")
    (numbers,) = path.glob("small/cube/score/c/0/0/0/0")
    texts.write_bytes(Zstd().encode(b"\xff" * 3 + b"\x0f" + Zstd().decode(numbers.read_bytes())))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    problems = verify_study(open_study(path))[1]
    assert [each for each in problems if "stability" in each]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 * 1024


def test_the_bit_without_a_meaning_changes_no_number(path: Path) -> None:
    expected, (chunk,) = shown(path), path.glob("small/cube/score/c/0/0/0/0")
    content = bytearray(chunk.read_bytes())
    content[4] ^= 1 << 4
    assert _decodes_alike(chunk.read_bytes(), bytes(content))
    chunk.write_bytes(content)
    assert verify_study(open_study(path))[1] == []
    assert not list(differences(shown(path), expected))


def test_every_character_of_a_manifest_counts(tmp_path: Path) -> None:
    study = open_study(tmp_path / "study.zarr", mode="a")
    study.add("a", cube=simulate_cube(n_runs=3))
    for file in (
        tmp_path / "study.zarr" / "zarr.json",
        tmp_path / "study.zarr" / "a" / "zarr.json",
    ):
        content = file.read_bytes()
        for place in range(len(content)):
            file.write_bytes(
                content[:place] + bytes([content[place] ^ 1 << place % 7]) + content[place + 1 :]
            )
            try:
                problems = verify_study(open_study(tmp_path / "study.zarr"))[1]
            except ScorecubeError:
                continue
            assert problems, content[max(0, place - 20) : place + 1]
        file.write_bytes(content)
    assert not verify_study(open_study(tmp_path / "study.zarr"))[1]


def test_the_rest_of_a_killed_exchange_at_the_root_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    open_study(path, mode="a").add("a", cube=simulate_cube(n_runs=3))
    rest = path / "zarr.json.0123abcd.partial"
    rest.write_text("{")
    owner = {"machine": machine_name(), "process": 2**22 + 1, "since": ""}
    (path / ".lock").write_text(json.dumps(owner))
    open_study(path, mode="a").add("b", cube=simulate_cube(n_runs=3))
    assert not rest.exists()
    assert list(open_study(path)) == ["a", "b"]


def test_a_missing_chunk_of_fill_values_is_found(path: Path) -> None:
    """It reads as what it held, so the digest of the content stays the same."""
    (file,) = path.glob("small/results/leaderboard/*/mean_low/c/0/0/0")
    file.unlink()
    (problem,) = verify_study(open_study(path))[1]
    assert problem.endswith("/mean_low: 1 of 1 chunks are missing")
