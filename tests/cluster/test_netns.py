"""Three hosts, as network namespaces joined by a switch: a worker is killed, a link is cut, the scheduler is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
import xarray as xr

from tests.cluster.lab import (
    AUTHORITY,
    CERTIFICATE,
    ENVIRONMENT,
    KEY,
    QUIET,
    Study,
    end_of,
    run_quietly,
    security_of,
    wait_until,
    with_words,
    write_certificates,
)

pytestmark = pytest.mark.netns
HOSTS = ("head", "one", "two")
SETTINGS = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "15s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "5",
}
"""As short as dask allows, so that the test is."""
DASK = [sys.executable, "-m", "dask"]
SUPERVISE = 'while true; do "$@" || true; sleep 1; done'
"""As Kubernetes' Deployment or systemd's Restart=always: started again whatever the status."""


class Network:
    """A scheduler on one host, a supervised worker on each of the others; TLS between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = {host: f"sc{os.getpid()}{host}" for host in (*HOSTS, "switch")}
        self.tls = write_certificates(folder / "tls")
        self.address = {host: f"10.99.0.{number}" for number, host in enumerate(HOSTS, 1)}
        self.scheduler = f"tls://{self.address['head']}:8786"
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def ip(self, words: str) -> None:
        done = run_quietly("ip", *words.split())
        assert done.returncode == 0, done.stderr

    def on(self, host: str) -> list[str]:
        """Return the words that run a command on a host."""
        return ["ip", "netns", "exec", self.names[host]]

    def build(self) -> None:
        switch = self.names["switch"]
        self.ip(f"netns add {switch}")
        self.ip(f"-n {switch} link add br0 type bridge")
        self.ip(f"-n {switch} link set br0 up")
        for host in HOSTS:
            name, port = self.names[host], f"v-{host}"
            self.ip(f"netns add {name}")
            self.ip(f"link add veth0 netns {name} type veth peer name {port} netns {switch}")
            self.ip(f"-n {switch} link set {port} master br0 up")
            self.ip(f"-n {name} addr add {self.address[host]}/24 dev veth0")
            self.ip(f"-n {name} link set veth0 up")
            self.ip(f"-n {name} link set lo up")

    def link(self, host: str, state: str) -> None:
        self.ip(f"-n {self.names['switch']} link set v-{host} {state}")

    def start(self, what: str, host: str, *command: str) -> None:
        role = "scheduler" if what == "scheduler" else "worker"
        files = {"--tls-ca-file": AUTHORITY, "--tls-cert": CERTIFICATE, "--tls-key": KEY}
        tls = [word for flag, name in files.items() for word in (flag, str(self.tls / name))]
        # A scheduler takes no --interface together with certificates.
        where = f"--host {self.scheduler}"
        if role == "worker":
            where = f"{self.scheduler} --interface veth0 --nthreads 1 --death-timeout 30"
        words = [*self.on(host), *command, *DASK, role, *tls, *QUIET, *where.split()]
        with (self.folder / f"{what}.log").open("ab") as log:
            self.running[what] = subprocess.Popen(
                words, stdout=log, stderr=log, env=ENVIRONMENT | SETTINGS | {"OMP_NUM_THREADS": "1"}, cwd=self.folder, start_new_session=True
            )  # fmt: skip

    def start_all(self) -> None:
        self.start("scheduler", "head")
        for host in HOSTS[1:]:
            self.start(host, host, "bash", "-c", SUPERVISE, "worker")

    def keep_scheduler(self) -> None:
        """Start a scheduler unless one runs: a test that failed may have left none."""
        if "scheduler" not in self.running:
            self.start("scheduler", "head")

    def workers(self, host: str) -> list[psutil.Process]:
        """Return the processes that compute on a host: children of the nanny."""
        return with_words(
            "spawn_main", psutil.Process(self.running[host].pid).children(recursive=True)
        )

    def stop(self, what: str) -> None:
        process = self.running.pop(what)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)

    def destroy(self) -> None:
        for what in list(self.running):
            self.stop(what)
        for name in self.names.values():
            run_quietly("ip", "netns", "delete", name)

    def log(self) -> str:
        return "".join(path.read_text()[-3000:] for path in sorted(self.folder.glob("*.log")))


@pytest.fixture(scope="module")
def network(netns_tools: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    made = Network(tmp_path_factory.mktemp("network"))
    try:
        made.build()
        made.start_all()
        yield made
    finally:
        made.destroy()


@contextmanager
def inside(network: Network, study: Study, **settings: object) -> Iterator[subprocess.Popen[str]]:
    secure = SETTINGS | security_of(network.tls) | settings
    where = ("--scheduler", network.scheduler)
    with study.driver(*network.on("head"), where=where, **secure) as driver:
        try:
            yield driver
        except AssertionError as error:
            driver.kill()
            raise AssertionError(f"{error}\n{driver.communicate()[1]}\n{network.log()}") from error


def test_a_killed_worker_and_a_cut_link_change_nothing(
    network: Network, study: Study, expected: xr.Dataset
) -> None:
    with inside(network, study) as driver:
        study.wait_for_share(0.1)
        (victim,) = network.workers("one")
        victim.kill()
        wait_until(
            "another worker in its place",
            lambda: any(each != victim for each in network.workers("one")),
        )
        study.wait_for_share(0.2)
        network.link("two", "down")
        try:
            status, said = end_of(driver)
        finally:
            network.link("two", "up")
    assert status == 0, f"{said}\n{network.log()}"
    study.assert_result(expected)
    wait_until("the host that was cut off", lambda: len(registered(network)) == 2)


def registered(network: Network) -> list[str]:
    """Return the workers that the scheduler knows."""
    code = (
        "from tests.cluster.lab import open_client\n"
        f"with open_client(None, {network.scheduler!r}) as client:\n"
        "    print(*client.scheduler_info(n_workers=-1)['workers'])"
    )
    words, secure = [*network.on("head"), sys.executable, "-c", code], security_of(network.tls)
    done = run_quietly(*words, timeout=60, environment=secure)
    assert done.returncode == 0, done.stderr + network.log()
    return done.stdout.split()


def test_a_lost_scheduler_stops_the_run_which_then_goes_on(
    network: Network, study: Study, expected: xr.Dataset
) -> None:
    with inside(network, study) as driver:
        study.wait_for_share(0.2)
        network.stop("scheduler")
        killed = time.monotonic()
        status, said = end_of(driver)
        seconds = time.monotonic() - killed
    kept = study.share()
    assert status == 1
    last = said.strip().splitlines()[-1]
    assert last.startswith(f"error: the dask scheduler at {network.scheduler} was lost"), said
    assert last.endswith("Recorded blocks are kept; rerun the same command to resume")
    assert "Traceback" not in said
    assert seconds < 30
    assert 0.2 <= kept < 1
    network.keep_scheduler()
    with inside(network, study) as driver:
        status, said = end_of(driver)
    assert status == 0, f"{said}\n{network.log()}"
    assert "are recorded already" in said
    study.assert_result(expected)


CANNOT = "cannot connect to the dask scheduler at {}://10.99.0.1:8786"
PLAIN = "tcp://10.99.0.1:8786"
OPEN = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "False"}
REFUSED = {
    "another run's certificate": CANNOT.format("tls"),
    "no certificate": "the certificates of dask's setting",
    "not encrypted": "whoever reaches its ports",
    "not encrypted on purpose": CANNOT.format("tcp"),
}


def test_a_client_without_the_certificate_is_refused(
    network: Network, study: Study, tmp_path: Path
) -> None:
    stranger = security_of(write_certificates(tmp_path / "stranger"))
    with ExitStack() as stack:
        drivers = {}
        for what, secure in zip(REFUSED, (stranger, {}, {}, OPEN), strict=True):
            where = ("--scheduler", PLAIN if "not encrypted" in what else network.scheduler)
            started = study.driver(*network.on("head"), where=where, **SETTINGS, **secure)
            drivers[what] = stack.enter_context(started)
        for what, driver in drivers.items():
            status, said = end_of(driver, 90)
            assert status == 1, f"{what}: {said}"
            assert REFUSED[what] in said, what
            assert "Traceback" not in said, what
    assert study.share() == 0
