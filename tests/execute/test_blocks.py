"""Blocks: lengths that other times of the same plan keep, and the fold of recorded ones when a result is stored."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import protocol
from scorecube.execute import run
from scorecube.execute.run import length_of_blocks
from scorecube.storage import BlockStore
from scorecube.testing import simulate_cube
from scorecube.workflow.tasks import Task, plan_in_study
from tests.attributes import without_attrs

ANALYSES = {
    "swap": sc.Swap(size=20),  # sums and largest values
    "tukey": sc.Tukey(),  # values of each unit
    "maxt": sc.MaxT(),  # both
    "leaderboard": sc.Leaderboard(),
}
UNITS = 7


def test_lengths_are_powers_that_other_times_keep() -> None:
    chance = random.Random(5)
    for _ in range(3000):
        unit = 10 ** chance.uniform(-7, 1)
        fixed = chance.choice([0.0, 10 ** chance.uniform(-5, 0.5)])
        n_units = chance.randrange(1, 10**7)
        workers = chance.choice([1, 2, 64, 4000])
        length = length_of_blocks(fixed, unit, n_units, workers)
        assert length.bit_count() == 1
        assert n_units / length <= max(1000, 4 * workers)
        share = n_units / (4 * workers)
        assert length <= max(1, 2 * share, 2 * n_units / 1000, max(fixed, 0.05) / unit)
        load = chance.uniform(0.75, 1.33)
        other = length_of_blocks(fixed * load, unit * load, n_units, workers)
        assert 0.5 <= other / length <= 2


def test_more_trials_for_a_larger_cluster_are_cut_anew(tmp_path: Path) -> None:
    """A million trials of a millisecond: blocks that a thousand trials had would be 62,500."""
    assert length_of_blocks(0.0, 0.001, 1000, 64) <= 64
    assert 10**6 / length_of_blocks(0.0, 0.001, 999_000, 64) <= 1000


def study_of(path: Path) -> sc.Study:
    study = sc.open_study(path, mode="a")
    study.add("a", cube=simulate_cube(metrics=("AP", "RR"), n_runs=6, seed=3))
    return study


def task(study: sc.Study, name: str, trials: int) -> Task:
    (planned,) = plan_in_study(study, ANALYSES[name], trials=trials)
    return planned


def blocks_of(work: Task) -> BlockStore:
    return work.collection.blocks(work.plan.analysis.name, work.plan.work_digest)


def expected(name: str, trials: int) -> xr.Dataset:
    cube = simulate_cube(metrics=("AP", "RR"), n_runs=6, seed=3)
    return without_attrs(sc.analyse(cube, ANALYSES[name], trials=trials, workers=1))


@pytest.mark.parametrize("name", ANALYSES)
def test_blocks_are_folded_and_extended(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(tmp_path / "s.zarr")
    computed: list[int] = []
    block = protocol.block_parts

    def counting(analysis: Any, table: Any, start: int, stop: int) -> Any:
        computed.append(stop - start)
        return block(analysis, table, start, stop)

    monkeypatch.setattr(run, "block_parts", counting)
    for trials, new in ((60, 60), (90, 30), (40, 40), (40, 0)):
        computed.clear()
        work = task(study, name, trials)
        result = without_attrs(work.run(block_units=UNITS))
        assert sum(computed) == new
        xr.testing.assert_identical(result, expected(name, trials))
    assert sorted(blocks_of(work).intervals()) == [(0, 40), (0, 90)]


def test_long_arrays_make_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MOST_FOLDED", 700)
    study = study_of(tmp_path / "s.zarr")
    whole = task(study, "tukey", 60)
    whole.run(block_units=UNITS)
    pieces = blocks_of(whole).intervals()
    assert 1 < len(pieces) < 60 / UNITS
    assert all(
        array.nbytes <= 700 for at in pieces for array in blocks_of(whole).read(*at).values()
    )
    longer = without_attrs(task(study, "tukey", 80).run(block_units=UNITS))
    xr.testing.assert_identical(longer, expected("tukey", 80))
    mixed = task(study, "maxt", 60)  # sums of all units cannot be cut
    mixed.run(block_units=UNITS)
    assert len(blocks_of(mixed).intervals()) == 9


def test_a_fold_that_is_cut_off_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(tmp_path / "s.zarr")
    work = task(study, "swap", 60)
    with monkeypatch.context() as patch:
        patch.setattr(BlockStore, "forget_inside", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            work.run(block_units=UNITS)
    assert len(blocks_of(work).intervals()) == 10
    result = without_attrs(work.run(block_units=UNITS))
    xr.testing.assert_identical(result, expected("swap", 60))
    assert blocks_of(work).intervals() == [(0, 60)]
