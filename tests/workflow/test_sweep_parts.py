"""Sweeps in parts: the shares, their studies, the same plans and seeds as in one sweep, and refusals."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorecube as sc
from scorecube.analyses import Judges
from scorecube.errors import BadPlan
from scorecube.storage import Study
from scorecube.storage.nodes import open_group
from scorecube.testing import simulate_cube
from scorecube.workflow.sweep_file import Entry, read_sweep
from scorecube.workflow.sweep_parts import Part, missing_parts, narrowed, parse_part, shares
from tests.conftest import Cli

ANALYSES = '[[analysis]]\nname = "swap"\nsize = 10\n[[analysis]]\nname = "tukey"\n'


def write_matrices(folder: Path, n: int, *, n_topics: int = 24) -> Path:
    """Write score matrices of different sizes and a sweep of them; return the sweep file."""
    (folder / "m").mkdir(parents=True)
    chance = random.Random(3)
    for k in range(n):
        runs = range(3 + chance.randrange(9))
        lines = ["topic," + ",".join(f"r{run}" for run in runs)]
        lines += [
            f"{topic}," + ",".join(f"{chance.random():.4f}" for _ in runs)
            for topic in range(n_topics)
        ]
        (folder / f"m/c{k:02d}.csv").write_text("\n".join(lines) + "\n")
    file = folder / "sweep.toml"
    file.write_text(
        'study = "study.zarr"\nseed = 1\ntrials = 40\n[[collection]]\neach = "m/*.csv"\n'
        f'scores = "{{path}}"\nmetric = "AP"\n{ANALYSES}'
    )
    return file


def contents(study: Study | Path) -> dict[str, str]:
    """Return the digest of the content of every cube and result of a study, by collection and name."""
    opened = sc.open_study(study) if isinstance(study, Path) else study
    found = {}
    for name in opened:
        collection = opened[name]
        for key, entry in collection.manifest.entries.items():
            if not key.startswith("blocks/"):
                group = open_group(collection.location, f"{collection.group_path}/{entry.path}")
                found[f"{name}/{key}"] = str(group.attrs["content_sha256"])
    return found


@dataclass
class Sized:
    size: int | None


@given(
    st.dictionaries(st.text("ab01", min_size=1, max_size=4), st.integers(0, 50), max_size=30),
    st.integers(1, 7),
)
def test_shares_are_a_balanced_partition(sizes: dict[str, int], parts: int) -> None:
    candidates = {name: Sized(size) for name, size in sizes.items()}
    found = shares(candidates, [], parts)
    assert len(found) == parts
    assert sorted(name for share in found for name in share) == sorted(sizes)
    loads = [sum(sizes[name] for name in share) for share in found]
    # The last collection of the fullest part went to it when no other part had less.
    assert max(loads) - min(loads) <= max(sizes.values(), default=0)
    shuffled = dict(sorted(candidates.items(), key=lambda item: item[0][::-1]))
    assert shares(shuffled, [], parts) == found


def test_collections_of_unknown_size_are_dealt_in_turn() -> None:
    candidates = {name: Sized(None) for name in "edcba"} | {"f": Sized(10**9)}
    assert shares(candidates, [], 2) == [["a", "c", "e"], ["b", "d", "f"]]


def test_collections_that_are_compared_stay_together() -> None:
    candidates = {name: Sized(None) for name in "abcdef"}
    entries = [
        Entry(Judges(truth="a"), collections=("a", "e")),
        Entry(Judges(truth="e"), collections=("e", "f")),
    ]
    found = shares(candidates, entries, 3)
    assert found == [["a", "e", "f"], ["b", "d"], ["c"]]


@pytest.mark.parametrize("text", ["0/3", "4/3", "a/b", "3", "3/", "/3", "1/0", "-1/3", "1/3/5", "1.5/3", " 1/3", "²/3", ""])  # fmt: skip
def test_bad_parts_are_refused(scorecube: Cli, tmp_path: Path, text: str) -> None:
    file = write_matrices(tmp_path, 2)
    with pytest.raises(BadPlan, match="expected NUMBER/PARTS such as 3/100"):
        parse_part(text)
    outcome = scorecube("sweep", file, f"--part={text}")
    assert outcome.status == 1
    shown = f"'{text}'" if not text or text in (" 1/3", "²/3") else text
    assert outcome.stderr == (
        f"error: --part {shown}; expected NUMBER/PARTS such as 3/100, with a number from 1 to that of the parts\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "sweep.toml"]


def test_parts_have_studies_of_their_own_and_the_results_of_one_sweep(
    scorecube: Cli, tmp_path: Path
) -> None:
    file = write_matrices(tmp_path, 7)
    scorecube("sweep", file).succeeded()
    single = contents(tmp_path / "study.zarr")
    found: dict[str, str] = {}
    for number in (1, 2, 3):
        said = scorecube("sweep", file, "--part", f"{number}/3").succeeded().stderr
        path = tmp_path / f"study.part-{number}-of-3.zarr"
        assert f"part {number}/3, into {path}" in said
        part = contents(path)
        assert part
        assert not set(part) & set(found)
        found |= part
        again = scorecube("sweep", file, "--part", f"{number}/3").succeeded().stderr
        n_results = sum("/results/" in name for name in part)
        assert f"{n_results} plans, {n_results} done already" in again
    assert found == single


def test_a_part_without_collections_does_nothing(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 2)
    said = scorecube("sweep", file, "--part", "3/3").succeeded().stderr
    assert said == f"{file}: part 3/3 has no collections; nothing to do\n"
    assert not list(tmp_path.glob("*.zarr"))


def test_the_study_and_its_collections_can_be_chosen(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 4)
    other = tmp_path / "other.zarr"
    scorecube("sweep", file, "--study", other, "--collection", "c03,c01").succeeded()
    assert list(sc.open_study(other)) == ["c01", "c03"]
    assert not (tmp_path / "study.zarr").exists()
    outcome = scorecube("sweep", file, "--collection", "c9")
    assert outcome.status == 1
    assert f"--collection c9: {file} has no such collection; nearest: c0" in outcome.stderr
    absent = next(
        name
        for name in ("c00", "c01", "c02", "c03")
        if name not in {each.name for each in narrowed(read_sweep(file), part=Part(1, 2)).sources}
    )
    outcome = scorecube("sweep", file, "--part", "1/2", "--collection", absent)
    assert f"--collection {absent}: {file}, part 1/2, has no such collection" in outcome.stderr


def test_collections_of_studies_are_shared_out_too(scorecube: Cli, tmp_path: Path) -> None:
    names = ["a", "b[1]", "b1", "c*"]  # two hold what is special in patterns
    for study, chosen in (("one", names[:2]), ("two", names[2:])):
        for place, name in enumerate(chosen):
            sc.open_study(tmp_path / f"{study}.zarr", mode="a").add(
                name, cube=simulate_cube(n_runs=4, seed=place)
            )
    file = tmp_path / "sweep.toml"
    sources = '[[collection]]\nstudy = "one.zarr"\n[[collection]]\nstudy = "two.zarr"\n'
    file.write_text(f"seed = 1\ntrials = 20\n{sources}{ANALYSES}")
    for number in (1, 2):
        scorecube("sweep", file, "--part", f"{number}/2").succeeded()
    found = [list(sc.open_study(tmp_path / f"sweep.part-{k}-of-2.zarr")) for k in (1, 2)]
    assert found == [["a", "b[1]"], ["b1", "c*"]]  # dealt in turn by name: a, b1, b[1], c*


def test_a_sweep_of_its_own_study_is_shared_out(scorecube: Cli, tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "study.zarr", mode="a")
    for place, name in enumerate("abc"):
        study.add(name, cube=simulate_cube(n_runs=4, seed=place))
    file = tmp_path / "sweep.toml"
    file.write_text(f'study = "study.zarr"\nseed = 1\ntrials = 20\n{ANALYSES}')
    for number in (1, 2):
        scorecube("sweep", file, "--part", f"{number}/2").succeeded()
    scorecube("sweep", file, "--study", tmp_path / "all.zarr").succeeded()
    parts = [tmp_path / f"study.part-{number}-of-2.zarr" for number in (1, 2)]
    scorecube("merge", study.path, *parts).succeeded()
    assert contents(study) == contents(tmp_path / "all.zarr")
    scorecube("sweep", file, "--collection", "b").succeeded()


def test_an_analysis_of_two_collections_runs_in_the_part_that_has_both(tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "sweep.zarr", mode="a")
    for name in "abcd":
        study.add(name, cube=simulate_cube(n_runs=4, seed=1))
    file = tmp_path / "sweep.toml"
    file.write_text(
        '[[analysis]]\nname = "judges"\ntruth = "b"\ncollections = ["b", "c"]\n[[analysis]]\nname = "tukey"\ncollections = ["a"]\n'
    )
    kept = {
        number: [
            entry.analysis.name
            for entry in narrowed(read_sweep(file), part=Part(number, 2)).entries
        ]
        for number in (1, 2)
    }
    assert kept == {1: ["judges"], 2: ["tukey"]}
    alone = narrowed(read_sweep(file), collections=["b"])
    assert [entry.analysis.name for entry in alone.entries] == []


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["s.part-01-of-10.zarr", "s3://b/s.part-10-of-10.zarr"], (list(range(2, 10)), 10)),
        (["s.part-1-of-2", "s.part-2-of-2"], ([], 2)),
        (["s.part-1-of-2.zarr", "s.part-1-of-3.zarr"], ([], 0)),
        (["s.part-1-of-2.zarr", "s.zarr"], ([], 0)),
        ([], ([], 0)),
    ],
)
def test_missing_parts_are_told_by_name(
    paths: Sequence[str], expected: tuple[list[int], int]
) -> None:
    assert missing_parts(paths) == expected


COMMAND = [sys.executable, "-c", "from scorecube.cli.program import main; main()"]


@pytest.mark.process
@pytest.mark.slow
def test_four_parts_of_which_two_are_killed_equal_one_sweep(scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 48)
    chance = random.Random(os.environ.get("PYTEST_SEED", "8"))

    def start(number: int) -> subprocess.Popen[str]:
        words = [*COMMAND, "sweep", str(file), "--part", f"{number}/4", "--workers", "1"]
        return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)

    scorecube("sweep", file).succeeded()
    single = contents(tmp_path / "study.zarr")
    killed, processes = 0, {number: start(number) for number in (1, 2, 3, 4)}
    for number in (2, 3):
        study = tmp_path / f"study.part-{number}-of-4.zarr"
        waited = time.monotonic()
        while not study.exists():
            assert processes[number].poll() is None
            assert time.monotonic() - waited < 120
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 0.5))
        processes[number].send_signal(signal.SIGKILL)
        processes[number].communicate(timeout=120)
        killed += processes[number].returncode == -signal.SIGKILL
    assert killed == 2, "a part ended before it could be killed"
    again = {number: start(number) for number in (2, 3)}
    for process in [processes[1], processes[4], *again.values()]:
        _, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
    parts = [tmp_path / f"study.part-{number}-of-4.zarr" for number in (1, 2, 3, 4)]
    out = tmp_path / "merged.zarr"
    said = scorecube("merge", out, *parts).succeeded().stderr
    assert "4 parts: 48 collections added, 0 extended, 0 already there; 96 results taken" in said
    assert contents(out) == single
    assert "all match their checksums" in scorecube("verify", out).succeeded().stderr
    repeated = scorecube("sweep", file, "--study", out).succeeded().stderr
    assert "96 plans, 96 done already" in repeated
