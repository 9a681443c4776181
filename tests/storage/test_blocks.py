"""Recorded blocks: what is recorded stays, the rest is computed, damage is computed again, and the result is the same."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.analyses import Swap
from scorecube.analyses.plan import make_plan
from scorecube.analyses.protocol import Arrays
from scorecube.execute.blocks import Block, Compute
from scorecube.execute.executor import Executor
from scorecube.storage import blocks
from scorecube.storage.blocks import BlockStore, Record, content_hash, gaps, select_disjoint
from scorecube.storage.verify import verify_study
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, open_study, plan_in_study
from scorecube.workflow.tasks import Task

TRIALS, SEED = 60, 1
Intervals = list[tuple[int, int]]
OUTPUTS = list(make_plan(simulate_cube(n_runs=2), Swap()).declared)


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    made = simulate_cube(n_runs=4, seed=5)
    # Ties and swaps in every trial: an output that is zero throughout would be kept as no chunk at all.
    made["score"][:, :, 1] = made["score"][:, :, 0]
    made["score"][:, :, 2] = made["score"][:, :, 0, ::-1].values
    return made


@pytest.fixture
def path(tmp_path: Path, cube: xr.Dataset) -> Path:
    """A study of one collection, without blocks."""
    place = tmp_path / "study.zarr"
    open_study(place, mode="a").add("demo", cube=cube)
    return place


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Intervals]:
    """Blocks computed in this process, by `assert_is_whole` too, as (first trial, trial behind the last)."""
    block, calls = Compute.__call__, []

    def counted(self: Compute, interval: tuple[int, int]) -> Block:
        calls.append(interval)
        return block(self, interval)

    with monkeypatch.context() as patch:
        patch.setattr(Compute, "__call__", counted)
        yield calls


def plan(path: Path, trials: int = TRIALS, swap: Swap | None = None) -> Task:
    (task,) = plan_in_study(open_study(path, mode="a"), swap or Swap(), trials=trials, seed=SEED)
    return task


def store_of(task: Task) -> BlockStore:
    return task.collection.blocks("swap", task.plan.work_digest)


def recorded(task: Task) -> Intervals:
    segments = store_of(task).valid_segments(task.prepared.declared, 10**9)
    return sorted((each.start, each.stop) for each in segments)


def assert_is_whole(result: xr.Dataset, cube: xr.Dataset, trials: int = TRIALS) -> None:
    """Compare with a run in memory that was never interrupted."""
    expected = analyse(cube, Swap(), trials=trials, seed=SEED, workers=1)
    xr.testing.assert_identical(result.drop_attrs(), expected.drop_attrs())


def trials_in(intervals: Intervals) -> list[int]:
    return sorted(trial for start, stop in intervals for trial in range(start, stop))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_run_computes_only_what_is_missing(
    path: Path, cube: xr.Dataset, computed: Intervals, workers: int
) -> None:
    def interrupt(done: int, _: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan(path).run(Executor(workers=workers), block_units=5, progress=interrupt)
    kept = recorded(plan(path))
    assert len(trials_in(kept)) == 20
    assert plan(path).stored() is None
    computed.clear()
    seen: list[int] = []
    result = plan(path).run(
        Executor(workers=workers), block_units=7, progress=lambda done, _: seen.append(done)
    )
    assert trials_in(computed + kept) == list(range(TRIALS))
    assert (seen[0], seen[-1]) == (20, TRIALS)
    assert_is_whole(result, cube)
    stored = plan(path).stored()
    assert stored is not None
    assert_is_whole(stored, cube)


def test_a_finished_run_is_not_computed_again(
    path: Path, cube: xr.Dataset, computed: Intervals
) -> None:
    plan(path).run(block_units=20)
    assert trials_in(computed) == list(range(TRIALS))
    computed.clear()
    result = plan(path).run()
    assert computed == []
    assert_is_whole(result, cube)


def test_other_ways_of_reading_the_counts_share_the_blocks(
    path: Path, cube: xr.Dataset, computed: Intervals
) -> None:
    plan(path).run(block_units=20)
    computed.clear()
    swap = Swap(rule="s1", confidence=(0.75,))
    result = plan(path, swap=swap).run()
    assert computed == []
    plan(path, swap=Swap(size=20)).run()
    assert trials_in(computed) == list(range(TRIALS))
    expected = analyse(cube, swap, trials=TRIALS, seed=SEED, workers=1)
    xr.testing.assert_identical(result.drop_attrs(), expected.drop_attrs())


def test_data_without_a_record_is_computed_again(
    path: Path, cube: xr.Dataset, computed: Intervals, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def killed_at_the_third(arrays: Arrays) -> str:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return content_hash(arrays)

    # The hash is taken when the outputs are written and the record is not.
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "content_hash", killed_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            plan(path).run(block_units=10)
    written = zarr.open_group(
        path / "demo" / "blocks" / "swap" / plan(path).plan.work_digest, mode="r"
    )["counts"]
    assert isinstance(written, zarr.Array)
    assert [bool(np.any(written[place])) for place in range(written.shape[0])] == [True] * 3 + [
        False
    ] * 3
    assert recorded(plan(path)) == [(0, 10), (10, 20)]
    computed.clear()
    result = plan(path).run(block_units=10)
    assert trials_in(computed) == list(range(20, TRIALS))
    assert_is_whole(result, cube)


class Killed(Exception):
    """Stands for the death of the process; an ordinary one, as zarr's own thread may meet it."""


@pytest.mark.parametrize("call", [1, 2, len(OUTPUTS) // 2, len(OUTPUTS), len(OUTPUTS) + 1])
@pytest.mark.parametrize("first", [0, 20])
def test_a_run_killed_while_it_makes_room_can_be_resumed(
    path: Path, cube: xr.Dataset, monkeypatch: pytest.MonkeyPatch, first: int, call: int
) -> None:
    if first:
        plan(path, first).run(block_units=20)
    # Room is made anew file by file, and more room by longer arrays.
    owner, step = (zarr.Array, "resize") if first else (Path, "open")
    real: Any = getattr(owner, step)
    calls = 0

    def killed(self: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += first > 0 or (arguments[:1] == ("wb",) and "blocks" in self.parts)
        if calls == call:
            raise Killed
        return real(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, killed)
        with pytest.raises(Killed):
            plan(path).run(block_units=20)
    assert_is_whole(plan(path).run(block_units=10), cube)


SLOW_RUN = """
import sys
from scorecube.analyses import Swap
from scorecube.workflow.api import open_study, plan_in_study
(task,) = plan_in_study(open_study(sys.argv[1], mode="a"), Swap(), trials=int(sys.argv[2]), seed=int(sys.argv[3]))
task.run(block_units=1)
"""


@pytest.mark.process
def test_a_killed_process_is_resumed(path: Path, cube: xr.Dataset, computed: Intervals) -> None:
    trials = 500
    records = (
        path / "demo" / "blocks" / "swap" / plan(path, trials).plan.work_digest / "record" / "c"
    )
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_RUN, path, str(trials), str(SEED)]
    ) as process:
        deadline = time.monotonic() + 60
        # A file that is still being written has another name.
        while not (
            records.is_dir() and sum(each.name.isdigit() for each in records.iterdir()) >= 3
        ):
            assert process.poll() is None, "the process ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    kept = recorded(plan(path, trials))
    assert 3 <= len(kept) < trials
    result = plan(path, trials).run()
    assert trials_in(computed + kept) == list(range(trials))
    assert_is_whole(result, cube, trials)


def test_more_trials_extend_the_run(path: Path, cube: xr.Dataset, computed: Intervals) -> None:
    plan(path, 1000).run(block_units=300)
    computed.clear()
    result = plan(path, 2000).run(block_units=300)
    assert trials_in(computed) == list(range(1000, 2000))
    assert_is_whole(result, cube, 2000)
    assert [each.attrs["trials"] for each in plan(path).collection.results("swap")] == [1000, 2000]


def test_work_that_is_done_at_once_is_done_again_instead_of_recorded(
    path: Path, cube: xr.Dataset, computed: Intervals
) -> None:
    plan(path).run()
    assert store_of(plan(path)).records() == []
    assert not (path / "demo" / "blocks").exists()
    computed.clear()
    result = plan(path, 2 * TRIALS).run()
    assert trials_in(computed) == list(range(2 * TRIALS))
    assert_is_whole(result, cube, 2 * TRIALS)


@pytest.mark.parametrize("trials", [1, 299, 300, 301, 750, 999])
def test_fewer_trials_than_recorded_are_their_beginning(
    path: Path, cube: xr.Dataset, computed: Intervals, trials: int
) -> None:
    plan(path, 1000).run(block_units=300)
    computed.clear()
    result = plan(path, trials).run()
    assert trials_in(computed) == list(range(trials // 300 * 300, trials))
    assert_is_whole(result, cube, trials)
    # What was added for the shorter run overlaps, and must not be counted twice.
    assert_is_whole(plan(path, 1000).run(), cube, 1000)


@pytest.mark.parametrize("name", ["counts", "order", "record"])
@pytest.mark.parametrize("kind", ["first byte", "middle byte", "last byte", "empty", "cut off"])
def test_a_damaged_block_is_named_and_computed_again(
    path: Path, cube: xr.Dataset, computed: Intervals, name: str, kind: str
) -> None:
    plan(path).run(block_units=20)
    chunk = chunk_of(path, name, 1)
    content = bytearray(chunk.read_bytes())
    place = {"first byte": 0, "middle byte": len(content) // 2, "last byte": -1}.get(kind)
    if place is None:
        content = content[: 0 if kind == "empty" else -3]
    else:
        content[place] ^= 0xFF
    chunk.write_bytes(content)
    (problem,) = store_of(plan(path)).find_damage()
    assert "segment 1: content does not match its record" in problem
    assert verify_study(open_study(path))[1] == [problem]
    assert recorded(plan(path)) == [(0, 20), (40, 60)]
    computed.clear()
    result = plan(path).run()
    assert trials_in(computed) == list(range(20, 40))
    assert_is_whole(result, cube)
    assert verify_study(open_study(path))[1] == []


@pytest.mark.parametrize("name", [*OUTPUTS, "record"])
def test_a_missing_chunk_is_not_read_as_data(
    path: Path, cube: xr.Dataset, computed: Intervals, name: str
) -> None:
    plan(path).run(block_units=20)
    chunk_of(path, name, 1).unlink()
    assert recorded(plan(path)) == [(0, 20), (40, 60)]
    computed.clear()
    result = plan(path).run()
    assert trials_in(computed) == list(range(20, 40))
    assert_is_whole(result, cube)


def chunk_of(path: Path, name: str, place: int) -> Path:
    """Return the file of one block's part of an array."""
    array = path / "demo" / "blocks" / "swap" / plan(path).plan.work_digest / name
    dims = len(zarr.open_array(array, mode="r").shape)
    return array.joinpath("c", str(place), *["0"] * (dims - 1))


def test_undamaged_blocks_are_not_named(path: Path) -> None:
    plan(path).run(block_units=20)
    assert store_of(plan(path)).find_damage() == []
    assert verify_study(open_study(path))[1] == []


segments = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 15)).map(
        lambda pair: (pair[0], pair[0] + pair[1])
    ),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(intervals=segments, trials=st.integers(1, 50))
def test_chosen_blocks_and_gaps_cover_each_trial_once(intervals: Intervals, trials: int) -> None:
    given_records = [Record(place, *interval, "") for place, interval in enumerate(intervals)]
    chosen = select_disjoint(given_records, trials)
    assert all(each in given_records for each in chosen)
    kept = [(each.start, each.stop) for each in chosen]
    for longest in (1, 7, trials):
        assert trials_in(kept + gaps(kept, trials, longest)) == list(range(trials))
        assert all(low < high <= low + longest for low, high in gaps(kept, trials, longest))
    # Nothing usable is left lying: every other block overlaps a chosen one or goes too far.
    covered = set(trials_in(kept))
    for start, stop in intervals:
        assert stop > trials or covered & set(range(start, stop))


@settings(max_examples=100, deadline=None)
@given(cuts=st.lists(st.integers(1, 49), unique=True), chance=st.randoms(use_true_random=False))
def test_a_whole_cut_in_any_order_is_chosen_as_it_is(cuts: list[int], chance: Any) -> None:
    edges = [0, *sorted(cuts), 50]
    parts = [Record(0, low, high, "") for low, high in pairwise(edges)]
    shuffled = parts.copy()
    chance.shuffle(shuffled)
    assert select_disjoint(shuffled, 50) == parts
    assert gaps([(part.start, part.stop) for part in parts], 50, 7) == []


def test_of_blocks_with_one_beginning_the_longest_is_chosen() -> None:
    short, long = Record(0, 0, 5, ""), Record(1, 0, 9, "")
    assert select_disjoint([short, long], 10) == [long]
    assert select_disjoint([short, long], 8) == [short]
