"""What is sent to workers, and what happens when they, the data or the scheduler are lost; on this machine, without root."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import xarray as xr

from scorecube import Bootstrap, Correlation, Leaderboard, Swap, Teams, evaluate, with_rankings
from scorecube.analyses.plan import make_plan
from scorecube.errors import BadPlan, ClusterFailed
from scorecube.execute.clusters import open_executor
from scorecube.testing import simulate_cube, simulate_rankings
from scorecube.workflow.api import analyse
from tests.cluster.lab import LOCAL, bare_scheduler, is_loopback, open_client, wait_until

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.process
HOW: dict[str, Any] = {"trials": 4000, "seed": 3, "block_units": 100}
TASK_BYTES = 2000


@pytest.fixture(scope="module")
def small() -> xr.Dataset:
    return simulate_cube(metrics=("AP", "RR"), n_runs=40, seed=5)


@pytest.fixture(scope="module")
def on_one_core(small: xr.Dataset) -> xr.Dataset:
    return analyse(small, Swap(), workers=1, **HOW).drop_attrs()


def sizes_of_tasks(dask_scheduler: Any = None) -> list[int]:
    specs = [
        task.run_spec
        for key, task in dask_scheduler.tasks.items()
        if str(key[0]).startswith("swap-")
    ]
    return [len(pickle.dumps(spec)) for spec in specs]


def test_tasks_are_small() -> None:
    cube = simulate_cube(metrics=("AP", "RR", "nDCG@10"), n_runs=120, seed=5)
    inputs = make_plan(cube, Swap()).table.scores.nbytes
    sizes: list[int] = []
    with open_client(LOCAL, None, 2) as client:
        assert client is not None

        def look(done: int, total: int) -> None:
            if done and len(sizes) < 100:
                sizes.extend(client.run_on_scheduler(sizes_of_tasks))

        result = analyse(cube, Swap(), client=client, progress=look, **HOW)
    assert result["count"].sum() > 0
    assert len(sizes) >= 100
    assert inputs > 50 * max(sizes)
    assert max(sizes) < TASK_BYTES


ANALYSES: dict[str, tuple[Any, int]] = {
    "swap": (Swap(), 1000),
    "bootstrap": (Bootstrap(), 200),
    "leaderboard": (Leaderboard(), 2000),
    "correlate": (Correlation(), 1),
    "teams": (Teams(pool_depth=10), 4),
}
"""With trials."""


@pytest.mark.parametrize(("name", "workers"), [("swap", 1), *((name, 2) for name in ANALYSES)])
def test_a_worker_that_is_killed_changes_no_bit(name: str, workers: int) -> None:
    """Of one worker, the last holder of the data is lost; of two, half of the blocks."""
    analysis, trials = ANALYSES[name]
    rankings = simulate_rankings(n_runs=24, n_teams=8, seed=5)
    cube = with_rankings(evaluate(rankings, ["AP", "RR"]), rankings)
    how: dict[str, Any] = {"trials": trials} if analysis.resamples else {}
    alone = analyse(cube, analysis, seed=3, workers=1, **how)
    killed: list[int] = []
    with open_client(LOCAL, None, workers) as client:
        assert client is not None

        def kill(done: int, total: int) -> None:
            if done >= total // 4 and not killed:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
                killed.append(done)

        units = max(1, make_plan(cube, analysis, **how).n_units // 20)
        how |= {"block_units": units, "progress": kill, "client": client}
        result = analyse(cube, analysis, seed=3, **how)
    assert killed
    xr.testing.assert_identical(result.drop_attrs(), alone.drop_attrs())


def test_workers_come_and_go_with_the_work(small: xr.Dataset, on_one_core: xr.Dataset) -> None:
    settings = {**LOCAL, "options": {"n_workers": 0}, "adapt": {"minimum": 0, "maximum": 2}}
    with open_client(settings) as client:
        assert client is not None
        assert not client.scheduler_info(n_workers=-1)["workers"]
        result = analyse(small, Swap(), client=client, **HOW)
        events = [event for _, event in client.get_events("all")]
        came = [event for event in events if event["action"] == "add-worker"]
        assert came  # all may have gone already
        assert len(client.scheduler_info(n_workers=-1)["workers"]) <= 2
        wait_until(
            "no worker without work", lambda: not client.scheduler_info(n_workers=-1)["workers"]
        )
    xr.testing.assert_identical(result.drop_attrs(), on_one_core)


def test_an_encrypted_cluster_listens_on_loopback_and_gives_the_same(
    small: xr.Dataset, on_one_core: xr.Dataset
) -> None:
    encrypted = {"threads_per_worker": 2, "protocol": "tls://", "security": True}
    file = {"class": "distributed.LocalCluster", "options": encrypted}
    with open_executor(file, None, 1) as executor:
        assert executor.client is not None
        assert executor.workers == 2
        (worker,) = executor.client.scheduler_info(n_workers=-1)["workers"].values()
        assert worker["nthreads"] == 2
        assert str(executor.client.scheduler_info()["address"]).startswith("tls://127.0.0.1:")
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        sockets = [each for process in processes for each in process.net_connections("inet")]
        listening = {each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN}
        assert listening
        assert all(map(is_loopback, listening)), listening
        result = analyse(small, Swap(), client=executor.client, **HOW)
    xr.testing.assert_identical(result.drop_attrs(), on_one_core)


def test_a_lost_scheduler_is_reported_in_one_message(small: xr.Dataset) -> None:
    with bare_scheduler() as (process, address), open_client(None, address) as client:
        assert client is not None
        killed: list[int] = []

        def kill(done: int, total: int) -> None:
            if not killed:
                killed.append(done)
                process.kill()

        # No worker is there: the run waits, and would wait for minutes.
        with pytest.raises(ClusterFailed) as raised:
            analyse(small, Swap(), client=client, progress=kill, **HOW)
    assert str(raised.value).startswith(f"the dask scheduler at {address} was lost (")
    assert str(raised.value).endswith("rerun the same command to resume")


def test_a_scheduler_with_another_dask_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorecube.execute.clusters.version", lambda _: "0.0.7")
    with (
        bare_scheduler() as (_, address),
        pytest.raises(BadPlan, match=r"this program 0\.0\.7"),
        open_client(None, address),
    ):
        pass


def test_a_scheduler_asks_for_the_certificates_of_the_settings(tmp_path: Path) -> None:
    import dask
    from distributed import Security

    made: Any = Security.temporary()
    texts = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    files = {name: tmp_path / name for name in texts}
    for name, file in files.items():
        file.write_text(texts[name])
    ca, cert, key = map(str, files.values())
    words = ("--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key)
    with bare_scheduler(*words, protocol="tls") as (_, address):
        with pytest.raises(BadPlan, match="certificates of dask's"), open_client(None, address):
            pass
        of_client = {"client.cert": cert, "client.key": key, "ca-file": ca}
        prefix = "distributed.comm.tls."
        with (
            dask.config.set({prefix + name: file for name, file in of_client.items()}),
            open_client(None, address) as client,
        ):
            assert client.scheduler_info()["address"] == address
