"""Merging studies: what is copied, refused, and continued after a kill."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import scorecube as sc
from scorecube.errors import BadStudy, CorruptStudy
from scorecube.storage import Study, open_study
from scorecube.storage.merge import merge
from tests.conftest import Cli
from tests.storage.states import FAULTS, Killed, is_whole, state
from tests.storage.test_contract import cube, new_result


def study_of(path: Path | str, names: str, shift: int = 0) -> Study:
    """Make a study of collections whose scores depend on their names, with a result and a block each."""
    study = open_study(path, mode="a")
    for name in names:
        study.add(name, cube=cube(ord(name) + shift))
        study[name].write_result(new_result(study[name]))
        study[name].blocks("swap", "0" * 16).record(0, 5, {"x": cube().score.values})
    return study


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, Path]:
    study_of(tmp_path / "p1", "ab")
    study_of(tmp_path / "p2", "cd")
    return tmp_path / "p1", tmp_path / "p2"


def test_everything_is_copied_once(parts: tuple[Path, Path], tmp_path: Path) -> None:
    out, calls = tmp_path / "out", list[tuple[int, int]]()
    merged = merge(out, parts, progress=lambda *numbers: calls.append(numbers))
    assert (merged.new, merged.extended, merged.unchanged, merged.results) == (4, 0, 0, 4)
    assert calls == [(k, 4) for k in range(1, 5)]
    assert state(out) == state(parts[0]) | state(parts[1])
    assert len(open_study(out)["d"].blocks("swap", "0" * 16).intervals()) == 1
    again = merge(out, parts)
    assert (again.new, again.extended, again.unchanged, again.results) == (0, 0, 4, 0)
    for part in parts:
        shutil.rmtree(part)
    assert is_whole(out)


def test_results_and_metrics_that_were_added_are_copied(
    parts: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    merge(out, parts)
    study = open_study(parts[0], mode="a")
    study["a"].write_result(new_result(study["a"], 20))
    study.add("b", cube=cube(1, "n"), facts={"source": "x"})
    merged = merge(out, parts)
    assert (merged.new, merged.extended, merged.unchanged, merged.results) == (0, 2, 2, 1)
    assert state(out) == state(parts[0]) | state(parts[1])
    assert open_study(out)["b"].head.notes == {"source": "x"}
    merge(parts[0], [out])
    assert state(out) == state(parts[0])


@pytest.mark.s3
def test_stores_of_two_kinds_are_merged(parts: tuple[Path, Path], s3: str, tmp_path: Path) -> None:
    merge(s3, parts)
    merge(tmp_path / "back", [s3])
    assert state(tmp_path / "back") == state(parts[0]) | state(parts[1])
    assert is_whole(s3)


def test_other_scores_of_a_name_are_refused(parts: tuple[Path, Path], tmp_path: Path) -> None:
    study_of(tmp_path / "other", "a", shift=1)
    with pytest.raises(BadStudy, match=r"a: scores in .* differ"):
        merge(tmp_path / "out", [*parts, tmp_path / "other"])
    assert not (tmp_path / "out").exists()
    with pytest.raises(BadStudy, match="one of the parts"):
        merge(parts[0], parts)


def test_damage_in_a_part_is_refused(
    parts: tuple[Path, Path], tmp_path: Path, scorecube: Cli
) -> None:
    (chunk,) = (parts[1] / "c").glob("cube-*.zarr/score/c.0.0.0.0")
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with pytest.raises(CorruptStudy, match="does not match"):
        merge(tmp_path / "out", parts)
    assert not (tmp_path / "out").exists()
    assert scorecube("merge", tmp_path / "out", *parts).status == 1


def test_a_killed_merge_is_continued(parts: tuple[Path, Path], tmp_path: Path) -> None:
    sc.merge(tmp_path / "whole", parts)
    with FAULTS.below(tmp_path / "count"):
        merge(tmp_path / "count", parts)
        calls = FAULTS.calls
    for moment in range(1, calls, max(1, calls // 25)):
        out = tmp_path / f"out{moment}"
        with FAULTS.below(out, moment, kill=True), pytest.raises(Killed):
            merge(out, parts)
        merge(out, parts)
        assert state(out) == state(tmp_path / "whole")
        assert is_whole(out)
