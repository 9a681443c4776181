"""Starting or connecting to the cluster of a profile.

Processes listen on loopback unless a profile says otherwise, and then only with certificates (see `certificates.py`): whoever reaches
a scheduler's port can run any code. dask's web pages do not support certificates and always stay on loopback.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scorecube.errors import BadPlan, option
from scorecube.execute.certificates import AUTHORITY, CERTIFICATE, KEY, check_files, write_authority
from scorecube.execute.executor import Executor
from scorecube.execute.profiles import BATCH, Profile, make_profile, read_profile
from scorecube.storage.network import is_loopback

if TYPE_CHECKING:
    from distributed import Client

LOOPBACK = "127.0.0.1"
NO_WEB_PAGES = ["--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0"]
"""Both are needed: without a dashboard, dask still serves status pages, on all interfaces."""
ALLOWED_FAILURES = 5
"""Workers that may be lost while they compute the same block before the run fails."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
LOGGER = logging.getLogger("scorecube")
TASK_LOGGERS = (
    "asyncio",
    "tornado.application",
    "distributed.client",
    "distributed.core",
    "distributed.utils",
)
"""Loggers of errors in dask's own tasks."""


@contextmanager
def open_executor(profile: Profile) -> Iterator[Executor]:
    """Start, or connect to, the cluster of a profile; what was started is stopped."""
    if profile.kind == "threads":
        yield Executor(workers=profile.threads)
        return
    import dask
    import distributed  # noqa: F401  # before the settings: its own defaults would be removed with them at the end

    # During the run only: other users of dask in this process keep their settings.
    with dask.config.set(configuration(profile)), quiet_connection_losses(), ExitStack() as stack:
        open_client = (
            _connect
            if profile.kind == "scheduler"
            else _start_jobs
            if profile.kind in BATCH
            else _start_local
        )
        client = open_client(profile, stack)
        yield _executor_of(client, profile)


@contextmanager
def quiet_connection_losses() -> Iterator[None]:
    """Keep the tracebacks of lost connections out of the log.

    When a scheduler is lost, dask's own tasks fail, too, and its event loop logs each of them; the error that ends the run reports the
    loss once.
    """
    from asyncio import CancelledError

    from distributed.comm.core import CommClosedError

    def is_other(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, (CommClosedError, CancelledError))

    loggers = [logging.getLogger(name) for name in TASK_LOGGERS]
    for logger in loggers:
        logger.addFilter(is_other)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_other)


def configuration(profile: Profile) -> dict[str, Any]:
    """Return dask's settings for a profile.

    No warning about large graphs: they contain the cube on purpose.
    """
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
    threads, memory = (
        sum(worker[what] for worker in workers) for what in ("nthreads", "memory_limit")
    )
    return Executor(client, profile.workers or threads or profile.threads, memory or None)


def _start_local(profile: Profile, stack: ExitStack) -> Client:
    from distributed import Client, LocalCluster

    low, high = (
        (profile.adapt["minimum"], profile.adapt["maximum"]) if profile.adapt else (None, None)
    )
    processes = profile.kind == "processes"
    security = _security(profile, stack, private=True)
    cluster = stack.enter_context(
        # Workers start by importing the main module of the caller.
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
    # Also for a fixed number of jobs: adaptive scaling replaces lost ones.
    cluster.adapt(minimum_jobs=low, maximum_jobs=high, interval="2s")
    if profile.dashboard:
        LOGGER.warning("dashboard: %s", cluster.dashboard_link)
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    return client


def make_job_cluster(profile: Profile, stack: ExitStack) -> Any:
    """Return a cluster without any job yet; `stack` removes its certificates."""
    try:
        import dask_jobqueue
    except ImportError:
        raise BadPlan(
            f"profiles of kind {profile.kind} need dask-jobqueue: pip install 'scorecube[cluster]'; without it, see cluster/slurm/"
        ) from None
    kinds = {
        "slurm": "SLURMCluster",
        "pbs": "PBSCluster",
        "sge": "SGECluster",
        "htcondor": "HTCondorCluster",
    }
    submit = {"slurm": "sbatch", "htcondor": "condor_submit"}.get(profile.kind, "qsub")
    if shutil.which(submit) is None:
        raise BadPlan(
            f"command {submit} not found: start a profile of kind {profile.kind} on a machine that submits jobs"
        )
    folder = _run_directory(profile, stack)
    security = _security(
        profile, stack, private=_is_private(profile.interface), folder=folder / "tls"
    )
    options: dict[str, Any] = {
        "account": profile.account,
        "walltime": profile.walltime,
        "queue": profile.queue,
    }
    if profile.kind == "sge":
        options["project"] = options.pop("account")
    if profile.kind in ("pbs", "sge"):
        options["resource_spec"] = profile.resources
    if profile.kind == "htcondor":
        options = {"disk": profile.disk}
    exports = [f"export {name}=1" for name in ONE_THREAD]
    if profile.cache_directory is not None:
        exports.append(f"export NUMBA_CACHE_DIR={Path(profile.cache_directory).absolute()}")
    return getattr(dask_jobqueue, kinds[profile.kind])(
        cores=profile.cores,
        processes=1,
        memory=profile.memory,
        job_name="scorecube",
        **_without_none(options),
        **_without_none(
            {"interface": profile.interface, "local_directory": profile.local_directory}
        ),
        job_extra_directives=_directives(profile),
        job_script_prologue=[*exports, *_timeout_exports(profile), *profile.prologue],
        python=profile.python or sys.executable,
        log_directory=str(folder),
        death_timeout=600,
        protocol="tcp://" if security is None else "tls://",
        security=security,
        worker_extra_args=NO_WEB_PAGES,
        scheduler_options={
            "dashboard": profile.dashboard,
            "dashboard_address": f"{LOOPBACK}:0",
            **({"interface": profile.interface} if profile.interface else {"host": _own_address()}),
        },
    )


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _directives(profile: Profile) -> list[str] | dict[str, str]:
    if profile.kind != "htcondor":
        return list(profile.directives)
    # HTCondor's directives are "name = value".
    pairs = [line.partition("=") for line in profile.directives]
    return _without_none({"accounting_group": profile.account}) | {
        name.strip(): value.strip() for name, _, value in pairs
    }


def _timeout_exports(profile: Profile) -> list[str]:
    """Return shell commands that set the scheduler's timeouts in jobs."""
    return [
        f"export DASK_DISTRIBUTED__COMM__TIMEOUTS__{name.upper()}={profile.timeout(name)}"
        for name in ("tcp", "connect")
    ]


def _run_directory(profile: Profile, stack: ExitStack) -> Path:
    parent = Path(profile.run_directory).absolute()
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=parent))  # of mode 0700
    stack.callback(shutil.rmtree, folder / "tls", ignore_errors=True)
    return folder


def _connect(profile: Profile, stack: ExitStack) -> Client:
    from distributed import Client, Security

    address = profile.address or _address_in(profile)
    if urlsplit(address).scheme != "tls":
        if not is_loopback(urlsplit(address).hostname or "") and not profile.insecure:
            raise BadPlan(
                f"{address} is not on this machine and its connections are not encrypted: others on the network could run code on both "
                "sides. Start the scheduler with certificates and give its tls:// address (cluster/README.md), or set 'insecure: true' "
                "in a profile of kind scheduler"
            )
        security = None
    elif isinstance(profile.tls, str):
        security = _security_from(check_files(profile.tls))
    else:
        security = Security(require_encryption=True)  # from dask's own configuration
        if not security.get_tls_config_for_role("client")["ca_file"]:
            raise BadPlan(
                f"{address} needs certificates: use a profile of kind scheduler with 'tls: DIRECTORY'"
            )
    try:
        client: Client = stack.enter_context(
            Client(
                address, security=security, set_as_default=False, timeout=profile.timeout("connect")
            )
        )
    except (OSError, ValueError, TimeoutError) as error:
        raise BadPlan(
            f"cannot connect to the dask scheduler at {address} ({error}); check its address, and the certificates of a tls:// address"
        ) from None
    return client


def _address_in(profile: Profile) -> str:
    import json

    assert profile.scheduler_file is not None
    try:
        return str(json.loads(Path(profile.scheduler_file).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPlan(f"{profile.scheduler_file}: not a scheduler file of dask: {error}") from None


def needs_certificates(profile: Profile, *, private: bool) -> bool:
    """Whether listening processes must require certificates.

    Parameters
    ----------
    private
        Whether they listen on loopback only, where certificates are optional.

    Raises
    ------
    BadPlan
        Other machines could connect without certificates, and the profile is not `insecure`.
    """
    if profile.tls is None:
        return not (private or profile.insecure)
    if not profile.tls and not private and not profile.insecure:
        raise BadPlan(
            f"'tls: false' with {profile.interface or 'no interface'} lets everybody who reaches this machine run code as you: remove "
            "it, choose a loopback interface, or set 'insecure: true' as well"
        )
    return bool(profile.tls)


def _security(
    profile: Profile, stack: ExitStack, *, private: bool, folder: Path | None = None
) -> Any:
    if not needs_certificates(profile, private=private):
        return None
    if isinstance(profile.tls, str):
        return _security_from(check_files(profile.tls))
    if folder is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scorecube-"))) / "tls"
    return _security_from(write_authority(folder))


def _security_from(folder: Path) -> Any:
    from distributed import Security

    paths = {
        role: {"key": str(folder / KEY), "cert": str(folder / CERTIFICATE)}
        for role in ("client", "scheduler", "worker")
    }
    return Security(
        require_encryption=True,
        tls_ca_file=str(folder / AUTHORITY),
        **{
            f"tls_{role}_{what}": path
            for role, files in paths.items()
            for what, path in files.items()
        },
    )


def _is_private(interface: str | None) -> bool:
    from distributed.utils import get_ip_interface

    if interface is None:
        return False
    try:
        return is_loopback(get_ip_interface(interface))
    except ValueError as error:
        raise BadPlan(f"interface: {error}") from None


def _own_address() -> str:
    from distributed.utils import get_ip

    return str(get_ip())


def choose_profile(
    profile: Profile | Mapping[str, Any] | str | os.PathLike[str] | None,
    address: str | None,
    workers: int | None,
) -> Profile:
    """Return the profile that options select; by default local threads.

    Parameters
    ----------
    profile
        A profile, its settings, or the path of its file.
    address
        Of a running scheduler, instead of a profile.
    workers
        Number of blocks at a time; overrides that of the profile.
    """
    if isinstance(profile, Mapping):
        profile = make_profile(profile)
    elif isinstance(profile, str | os.PathLike):
        profile = read_profile(profile)
    if address is not None:
        if profile is not None:
            raise BadPlan(
                f"{option('profile')} and {option('address')} both name a cluster; use one of them",
                option="address",
            )
        chosen = Profile(kind="scheduler", address=address)
    else:
        chosen = profile or Profile(kind="threads")
    return chosen if workers is None else replace(chosen, workers=workers, adapt=None)
