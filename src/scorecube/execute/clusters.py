"""From a profile to a client of a cluster: what is started, what it listens on, who may connect.

Nothing listens beyond loopback unless a profile asks for it, and then only with certificates (see `authority.py`): code that reaches
a scheduler's port can run anything. dask's web pages, which need no certificate, stay on loopback always.
"""

from __future__ import annotations

import ipaddress
import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scorecube.errors import BadPlan, option
from scorecube.execute.certificates import AUTHORITY, CERTIFICATE, KEY, check_files, write_authority
from scorecube.execute.profiles import BATCH, Profile

if TYPE_CHECKING:
    from distributed import Client

LOOPBACK = "127.0.0.1"
QUIET = ["--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0"]
"""Both are needed: without a dashboard, dask still serves pages of state, on all interfaces."""
ALLOWED_FAILURES = 5
"""Workers that may be lost under a block before the block is blamed."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
LOGGER = logging.getLogger("scorecube")
LOGGERS_OF_TASKS = ("asyncio", "tornado.application", "distributed.client", "distributed.core", "distributed.utils")
"""Where the failures of dask's own tasks are logged."""


@dataclass(frozen=True)
class Executor:
    """Who computes: a client or this process' threads, how many blocks at a time, and all their memory if it is known."""

    client: Client | None
    workers: int
    memory: int | None = None


@contextmanager
def open_executor(profile: Profile) -> Iterator[Executor]:
    """Start or reach what a profile describes, and end what was started."""
    if profile.kind == "threads":
        yield Executor(None, profile.threads)
        return
    import dask
    import distributed  # noqa: F401  # before the settings: what it brings itself would go with them at the end

    # For the time of the run only: other users of dask in this process keep their settings.
    with dask.config.set(configuration(profile)), losses_told_once(), ExitStack() as stack:
        open_client = _reach if profile.kind == "scheduler" else _start_jobs if profile.kind in BATCH else _start_local
        client = open_client(profile, stack)
        yield _executor_of(client, profile)


@contextmanager
def losses_told_once() -> Iterator[None]:
    """Keep the tracebacks of lost connections out of the log: what was lost is said once, by the error that ends the run.

    dask's own tasks fail beside ours when a scheduler is gone, and its event loop logs each of them.
    """
    from asyncio import CancelledError

    from distributed.comm.core import CommClosedError

    def is_other(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, (CommClosedError, CancelledError))

    loggers = [logging.getLogger(name) for name in LOGGERS_OF_TASKS]
    for logger in loggers:
        logger.addFilter(is_other)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_other)


def configuration(profile: Profile) -> dict[str, Any]:
    """Return dask's settings for a profile: patience, and that nothing is told about large graphs, as the cube is meant to be sent."""
    settings: dict[str, Any] = {
        "distributed.comm.timeouts.tcp": profile.timeout("tcp"),
        "distributed.comm.timeouts.connect": profile.timeout("connect"),
        "distributed.scheduler.worker-ttl": profile.timeout("worker_ttl"),
        "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
        "distributed.scheduler.no-workers-timeout": profile.timeout("no_workers"),
        "distributed.scheduler.idle-timeout": profile.timeout("idle"),
        "distributed.deploy.lost-worker-timeout": profile.timeout("lost_worker"),
        "distributed.admin.large-graph-warning-threshold": "1TB",
    }
    if profile.cache_directory is not None:
        environment = {"NUMBA_CACHE_DIR": str(Path(profile.cache_directory).absolute())}
        settings["distributed.nanny.pre-spawn-environ"] = environment | dict.fromkeys(ONE_THREAD, 1)
    return settings


def _executor_of(client: Client, profile: Profile) -> Executor:
    if profile.kind != "scheduler":
        return Executor(client, profile.threads, profile.total_memory())
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    threads, memory = (sum(worker[what] for worker in workers) for what in ("nthreads", "memory_limit"))
    return Executor(client, profile.workers or threads or profile.threads, memory or None)


def _start_local(profile: Profile, stack: ExitStack) -> Client:
    from distributed import Client, LocalCluster

    low, high = (profile.adapt["minimum"], profile.adapt["maximum"]) if profile.adapt else (None, None)
    processes = profile.kind == "processes"
    security = _security(profile, stack, private=True)
    cluster = stack.enter_context(
        # Workers start by importing the caller's main module.
        LocalCluster(
            n_workers=low if low is not None else profile.threads if processes else 1,
            threads_per_worker=1 if processes else profile.threads,
            host=LOOPBACK,
            protocol="tcp://" if security is None else "tls://",
            security=security,
            dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": profile.dashboard},
            memory_limit=profile.memory or "auto",
            local_directory=profile.local_directory,
        )
    )
    if profile.adapt:
        cluster.adapt(minimum=low, maximum=high)
    if profile.dashboard:
        LOGGER.warning("dashboard: %s", cluster.dashboard_link)
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    return client


def _start_jobs(profile: Profile, stack: ExitStack) -> Client:
    from distributed import Client

    cluster = stack.enter_context(make_job_cluster(profile, stack))
    low, high = profile.n_jobs
    # Adapting also with fixed numbers: it puts a new job in the place of a lost one.
    cluster.adapt(minimum_jobs=low, maximum_jobs=high, interval="2s")
    if profile.dashboard:
        LOGGER.warning("dashboard: %s", cluster.dashboard_link)
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    return client


def make_job_cluster(profile: Profile, stack: ExitStack) -> Any:
    """Return a cluster of jobs, with no job yet; `stack` removes what it needs on disk."""
    try:
        import dask_jobqueue
    except ImportError:
        raise BadPlan(
            f"profiles of kind {profile.kind} need dask-jobqueue: pip install 'scorecube[cluster]'; without it, see cluster/slurm/"
        ) from None
    kinds = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "sge": "SGECluster", "htcondor": "HTCondorCluster"}
    submit = {"slurm": "sbatch", "htcondor": "condor_submit"}.get(profile.kind, "qsub")
    if shutil.which(submit) is None:
        raise BadPlan(
            f"no command {submit} here: start a profile of kind {profile.kind} on a machine that submits jobs"
        )
    folder = _run_directory(profile, stack)
    security = _security(profile, stack, private=_is_private(profile.interface), folder=folder / "tls")
    own: dict[str, Any] = {"account": profile.account, "walltime": profile.walltime, "queue": profile.queue}
    if profile.kind == "sge":
        own["project"] = own.pop("account")
    if profile.kind in ("pbs", "sge"):
        own["resource_spec"] = profile.resources
    if profile.kind == "htcondor":
        own = {"disk": profile.disk}
    exports = [f"export {name}=1" for name in ONE_THREAD]
    if profile.cache_directory is not None:
        exports.append(f"export NUMBA_CACHE_DIR={Path(profile.cache_directory).absolute()}")
    return getattr(dask_jobqueue, kinds[profile.kind])(
        cores=profile.cores, processes=1, memory=profile.memory, job_name="scorecube", **_given(own),
        **_given({"interface": profile.interface, "local_directory": profile.local_directory}),
        job_extra_directives=_directives(profile), job_script_prologue=[*exports, *_timeout_exports(profile), *profile.prologue],
        python=profile.python or sys.executable, log_directory=str(folder), death_timeout=600,
        protocol="tcp://" if security is None else "tls://", security=security, worker_extra_args=QUIET,
        scheduler_options={
            "dashboard": profile.dashboard, "dashboard_address": f"{LOOPBACK}:0",
            **({"interface": profile.interface} if profile.interface else {"host": _own_address()}),
        },
    )  # fmt: skip


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _directives(profile: Profile) -> list[str] | dict[str, str]:
    if profile.kind != "htcondor":
        return list(profile.directives)
    # Its directives are "name = value".
    pairs = [line.partition("=") for line in profile.directives]
    return _given({"accounting_group": profile.account}) | {name.strip(): value.strip() for name, _, value in pairs}


def _timeout_exports(profile: Profile) -> list[str]:
    """Return what tells workers in jobs the same patience as the scheduler has."""
    return [
        f"export DASK_DISTRIBUTED__COMM__TIMEOUTS__{name.upper()}={profile.timeout(name)}"
        for name in ("tcp", "connect")
    ]


def _run_directory(profile: Profile, stack: ExitStack) -> Path:
    above = Path(profile.run_directory).absolute()
    above.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=above))  # of mode 0700
    stack.callback(shutil.rmtree, folder / "tls", ignore_errors=True)
    return folder


def _reach(profile: Profile, stack: ExitStack) -> Client:
    from distributed import Client, Security

    address = profile.address or _address_in(profile)
    if urlsplit(address).scheme != "tls":
        if not _is_loopback(urlsplit(address).hostname or "") and not profile.insecure:
            raise BadPlan(
                f"{address} is not on this machine and its connections are not encrypted: whoever is on the way can run code here and "
                "there. Start the scheduler with certificates and give its tls:// address (cluster/README.md), or say 'insecure: true' "
                "in a profile of kind scheduler"
            )
        security = None
    elif isinstance(profile.tls, str):
        security = _security_of(check_files(profile.tls))
    else:
        security = Security(require_encryption=True)  # of dask's own configuration
        if not security.get_tls_config_for_role("client")["ca_file"]:
            raise BadPlan(f"{address} wants certificates: give a profile of kind scheduler with 'tls: DIRECTORY'")
    try:
        client: Client = stack.enter_context(
            Client(address, security=security, set_as_default=False, timeout=profile.timeout("connect"))
        )
    except (OSError, ValueError, TimeoutError) as error:
        raise BadPlan(
            f"no dask scheduler lets us in at {address!r} ({error}); give an address such as tcp://127.0.0.1:8786, and the certificates of its run"
        ) from None
    return client


def _address_in(profile: Profile) -> str:
    import json

    assert profile.scheduler_file is not None
    try:
        return str(json.loads(Path(profile.scheduler_file).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPlan(f"{profile.scheduler_file}: not the file that a dask scheduler writes: {error}") from None


def needs_certificates(profile: Profile, *, private: bool) -> bool:
    """Tell whether what is about to listen must ask for certificates.

    Parameters
    ----------
    private
        Whether it listens on loopback only, where certificates are the profile's choice.

    Raises
    ------
    BadPlan
        For a port that other machines reach without certificates, unless the profile calls it insecure.
    """
    if profile.tls is None:
        return not (private or profile.insecure)
    if not profile.tls and not private and not profile.insecure:
        raise BadPlan(
            f"'tls: false' with {profile.interface or 'no interface'} would let everybody who reaches this machine run code as you: leave "
            "it out, name a loopback interface, or say 'insecure: true' as well"
        )
    return bool(profile.tls)


def _security(profile: Profile, stack: ExitStack, *, private: bool, folder: Path | None = None) -> Any:
    if not needs_certificates(profile, private=private):
        return None
    if isinstance(profile.tls, str):
        return _security_of(check_files(profile.tls))
    if folder is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scorecube-"))) / "tls"
    return _security_of(write_authority(folder))


def _security_of(folder: Path) -> Any:
    from distributed import Security

    paths = {
        role: {"key": str(folder / KEY), "cert": str(folder / CERTIFICATE)}
        for role in ("client", "scheduler", "worker")
    }
    return Security(
        require_encryption=True,
        tls_ca_file=str(folder / AUTHORITY),
        **{f"tls_{role}_{what}": path for role, files in paths.items() for what, path in files.items()},
    )


def _is_private(interface: str | None) -> bool:
    from distributed.utils import get_ip_interface

    if interface is None:
        return False
    try:
        return _is_loopback(get_ip_interface(interface))
    except ValueError as error:
        raise BadPlan(f"interface: {error}") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_address() -> str:
    from distributed.utils import get_ip

    return str(get_ip())


def choose_profile(profile: Profile | None, address: str | None, workers: int | None) -> Profile:
    """Return the profile that options ask for: a file's, a scheduler's address, or local threads; `workers` overrides it."""
    if address is not None:
        if profile is not None:
            raise BadPlan(
                f"{option('profile')} and {option('address')} both name a cluster; use one of them", option="address"
            )
        chosen = Profile(kind="scheduler", address=address)
    else:
        chosen = profile or Profile(kind="threads")
    return chosen if workers is None else replace(chosen, workers=workers, adapt=None)
