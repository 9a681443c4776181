"""Sweeps on the workers of a client: what they make, store, send, and leave to all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from distributed import Client, get_worker

import scorecube as sc
from scorecube.analyses.joined import ATTRIBUTES, part_of
from scorecube.errors import SweepFailed
from scorecube.execute import executor
from scorecube.execute.executor import Executor, run_items
from scorecube.testing import simulate_cube
from scorecube.workflow import sweep_run
from scorecube.workflow.sweep_run import Outcome, SweepTask
from scorecube.workflow.tasks import plan_in_study

ENTRIES = (sc.Entry(sc.Swap(size=10), trials=40), sc.Entry(sc.Tukey(), trials=30))
SEEDS = range(2)
METRICS = ("AP",)
CALLS: list[int] = []
Tree = Any


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    how: dict[str, Any] = {
        "processes": False,
        "dashboard_address": "127.0.0.1:0",
        "set_as_default": False,
    }
    with Client(n_workers=2, threads_per_worker=1, **how) as opened:
        yield opened


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the collections whose tasks this process computes."""
    computed = list[str]()
    compute = sweep_run.compute

    def watched(study: sc.Study, task: SweepTask, executor: Any) -> Outcome:
        if threading.current_thread() is threading.main_thread():
            computed.append(task.collections[0])
        return compute(study, task, executor)

    monkeypatch.setattr(sweep_run, "compute", watched)
    return computed


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_run.There, "study", lambda _: None)


def make(seed: int) -> xr.Dataset:
    get_worker()  # an error anywhere else
    CALLS.append(seed)
    return simulate_cube(n_runs=4 + seed, metrics=METRICS, seed=seed)


@pytest.fixture(scope="module")
def cubes() -> dict[str, xr.Dataset]:
    return {
        f"c{seed}": simulate_cube(n_runs=4 + seed, metrics=METRICS, seed=seed) for seed in SEEDS
    }


@pytest.fixture(scope="module")
def expected(cubes: dict[str, xr.Dataset]) -> Tree:
    return sc.sweep(ENTRIES, cubes, client=False)


def functions() -> dict[str, Callable[[], xr.Dataset]]:
    return {f"c{seed}": partial(make, seed) for seed in SEEDS}


def assert_same(found: Tree, expected: Tree) -> None:
    assert {node.path for node in found.leaves} == {node.path for node in expected.leaves}
    for node in expected.leaves:
        left, right = (tree[node.path].to_dataset() for tree in (found, expected))
        xr.testing.assert_equal(left.drop_vars(ATTRIBUTES), right.drop_vars(ATTRIBUTES))


def test_functions_are_called_by_workers_once_a_version(
    client: Client, expected: Tree, tmp_path: Path, here: list[str]
) -> None:
    for version, calls in (("1", 2), ("1", 0), ("2", 2)):
        CALLS.clear()
        tree = sc.sweep(ENTRIES, functions(), client=client, study=tmp_path / "s", version=version)
        assert_same(tree, expected)
        assert len(CALLS) == calls
    assert here == []
    left = [name for name in (tmp_path / "s").iterdir() if name.name.startswith(".")]
    assert left == []


@pytest.mark.usefixtures("unseen")
@pytest.mark.parametrize("source", ["functions", "cubes", "study", "more"])
def test_workers_that_do_not_see_the_study_send_results(
    client: Client,
    cubes: dict[str, xr.Dataset],
    expected: Tree,
    tmp_path: Path,
    here: list[str],
    source: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "s.zarr"
    if source == "functions":
        tree = sc.sweep(ENTRIES, functions(), client=client)
    elif source == "cubes":
        tree = sc.sweep(ENTRIES, cubes, client=client, study=path)
    else:
        study = sc.open_study(path, mode="a")
        for name, cube in cubes.items():
            study.add(name, cube=cube)
        if source == "more":  # some results are there
            sc.sweep(ENTRIES[:1], path, client=False)
            here.clear()
        tree = sc.sweep(ENTRIES, path, client=client)
    assert_same(tree, expected)
    assert here == []
    warnings = [line for line in caplog.messages if "do not see" in line]
    assert len(warnings) == 1
    assert "inproc://" in warnings[0]
    if source != "functions":
        again = sc.sweep(ENTRIES, path, client=False)
        assert_same(again, expected)
        assert sc.open_study(path)["c0"].contents()["results"] == {"swap": 1, "tukey": 1}


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_takes_long_is_for_all_workers(
    client: Client,
    expected: Tree,
    monkeypatch: pytest.MonkeyPatch,
    here: list[str],
    request: pytest.FixtureRequest,
    is_seen: bool,
) -> None:
    if not is_seen:
        request.getfixturevalue("unseen")
    monkeypatch.setattr(executor, "LONG", 0.0)
    CALLS.clear()
    assert_same(sc.sweep(ENTRIES, functions(), client=client), expected)
    assert sorted(here) == [f"c{seed}" for seed in SEEDS]
    assert len(CALLS) == 2


def test_what_lacks_memory_is_for_this_process(
    client: Client, expected: Tree, monkeypatch: pytest.MonkeyPatch, here: list[str]
) -> None:
    monkeypatch.setattr(sweep_run, "on_worker", lambda: Executor(memory=1.0))
    assert_same(sc.sweep(ENTRIES, functions(), client=client), expected)
    assert sorted(here) == [f"c{seed}" for seed in SEEDS]


def test_failures_are_listed_and_the_rest_is_there(client: Client, expected: Tree) -> None:
    sources: dict[str, Any] = functions() | {"bad": lambda: 1 / 0, "none": lambda: None}
    with pytest.raises(SweepFailed, match="2 of 4") as raised:
        sc.sweep(ENTRIES, sources, client=client)
    assert "reading of bad: ZeroDivisionError" in str(raised.value)
    assert_same(raised.value.results, expected)


def test_the_largest_begin(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[str]()

    def watched(client: Client, there: Any, parcels: Any, *others: Any, **how: Any) -> None:
        listed = list(parcels)
        parcels = chain.from_iterable(one for one in listed if isinstance(one, list))
        begun.extend(one.task.collections[0] for one in parcels)
        run_items(client, there, listed, *others, **how)

    monkeypatch.setattr(sweep_run, "run_items", watched)
    cubes = {f"c{n}": simulate_cube(n_runs=n, seed=1) for n in (5, 9, 3)}
    sc.sweep([sc.Entry(sc.Tukey(), trials=10)], cubes, client=client, study=tmp_path / "s")
    sc.sweep([sc.Entry(sc.Tukey(), trials=12)], tmp_path / "s", client=client)
    assert begun == ["c9", "c5", "c3"] * 2


def test_tasks_have_names_that_a_person_reads(client: Client, tmp_path: Path) -> None:
    def keys(dask_scheduler: Any = None) -> set[tuple[str, str]]:
        groups = [key for key in dask_scheduler.tasks if isinstance(key, tuple)]
        return {(key[0].rpartition("-")[0], key[1]) for key in groups}

    seen = set[tuple[str, str]]()
    study = sc.open_study(tmp_path / "s", mode="a")
    study.add("covid", cube=simulate_cube(n_runs=4, seed=1))
    (task,) = plan_in_study(study, sc.Tukey(), trials=40)
    chosen = Executor(client, 2)
    task.run(chosen, block_units=20, progress=lambda *_: seen.update(client.run_on_scheduler(keys)))
    assert {("tukey covid", "0-20"), ("tukey covid", "20-40")} <= seen


def test_collections_are_analysed_side_by_side(
    client: Client, cubes: dict[str, xr.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is short is computed by workers as a whole, what is long in blocks of all."""
    swap = sc.Swap(size=10)
    expected = {name: sc.analyse(cube, swap, trials=40) for name, cube in cubes.items()}
    for longest in (60.0, 0.0):
        monkeypatch.setattr(executor, "LONG", longest)
        done: list[tuple[int, int]] = []
        how: dict[str, Any] = {"progress": lambda *at, done=done: done.append(at)}
        tree: Any = sc.analyse(cubes, swap, trials=40, client=client, **how)
        assert tree.collection.values.tolist() == list(cubes)
        for name, result in expected.items():
            found = part_of(tree, name)
            xr.testing.assert_equal(found, result)
            assert found.attrs["digest"] == result.attrs["digest"]
        assert [at for at in done if at[1] == 2] == [(1, 2), (2, 2)]


def test_many_small_collections_are_a_task_and_failures_are_each_their_own(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> xr.Dataset:
        raise RuntimeError("no data")

    sizes = list[int]()
    call = sweep_run.There.__call__

    def counted(there: sweep_run.There, parcels: Any) -> list[Outcome]:
        sizes.append(len(parcels))
        return call(there, parcels)

    monkeypatch.setattr(sweep_run.There, "__call__", counted)
    sources = {f"c{seed:02d}": partial(make, 0) for seed in range(36)} | {"c99": broken}
    with pytest.raises(SweepFailed, match="1 of 37 collections") as caught:
        sc.sweep([sc.Reliability()], sources, client=client, study=tmp_path / "s")
    assert caught.value.results.sizes["collection"] == 36
    assert sorted(sizes) == [1] + [2] * 18  # 37 of 8 tasks for each of two workers
