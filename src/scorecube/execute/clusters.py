"""Starting or connecting to the cluster of a profile.

Processes listen on loopback unless a profile says otherwise, and then only with certificates (see `certificates.py`): whoever reaches
a scheduler's port can run any code. dask's web pages do not support certificates and always stay on loopback.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from multiprocessing import resource_tracker
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scorecube.errors import BadPlan, option
from scorecube.execute.certificates import check_files, security_from, security_of
from scorecube.execute.executor import Executor
from scorecube.execute.job_queues import ONE_THREAD, SubmissionRefused, start_jobs
from scorecube.execute.memory import WORKER_BYTES
from scorecube.execute.profiles import BATCH, Profile, make_profile, read_profile
from scorecube.storage.network import is_loopback

if TYPE_CHECKING:
    from distributed import Client

LOOPBACK = "127.0.0.1"
ALLOWED_FAILURES = 5
"""Workers that may be lost while they compute the same block before the run fails."""
CLOSE_SECONDS = 2.0
"""Longest wait for a running scheduler to say goodbye."""
LOGGER = logging.getLogger("scorecube")
TASK_LOGGERS = (
    *("asyncio", "tornado.application"),
    *("distributed.client", "distributed.core", "distributed.scheduler", "distributed.utils"),
)
"""Loggers of errors in dask's own tasks."""
DASK_LOGGERS = ("asyncio", "tornado", "tornado.application", "distributed", "distributed.client")
"""Loggers with a level of their own, which holds for those below them."""


@contextmanager
def open_executor(profile: Profile) -> Iterator[Executor]:
    """Start, or connect to, the cluster of a profile; what was started is stopped."""
    if profile.kind == "threads":
        yield Executor(workers=profile.threads)
        return
    import dask
    import distributed  # noqa: F401  # before the settings: its own defaults would be removed with them at the end

    own_place = None if profile.kind in BATCH else profile.local_directory
    # During the run only: other users of dask in this process keep their settings.
    with (
        # dask imports from its scratch folder, which in a shared directory may be another user's; this one has mode 0700.
        TemporaryDirectory(
            prefix="scorecube-",
            dir=own_place or dask.config.get("temporary-directory", None),
            ignore_cleanup_errors=True,
        ) as scratch,
        dask.config.set({**configuration(profile), "temporary-directory": scratch}),
        quiet_connection_losses() as silence,
        ExitStack() as stack,
    ):
        try:
            yield _executor_of(_open_client(profile, stack), profile)
        except BaseException:
            silence()
            raise


@contextmanager
def quiet_connection_losses() -> Iterator[Callable[[], None]]:
    """Keep the tracebacks of lost connections out of the log; yield a function that silences the log until the end.

    When a scheduler is lost, dask's own tasks fail, too, and its event loop logs each of them; the error that ends the run reports the
    loss once. While the cluster of a failed or interrupted run is closed, connections end in any order.
    """
    from asyncio import CancelledError

    from distributed.comm.core import CommClosedError

    def is_other(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is None and CommClosedError.__name__ in record.getMessage():
            return False
        return not isinstance(error, (CommClosedError, CancelledError, SubmissionRefused))

    loggers = [logging.getLogger(name) for name in TASK_LOGGERS]
    levels = {name: logging.getLogger(name).level for name in DASK_LOGGERS}

    def silence() -> None:
        for name in DASK_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)

    for logger in loggers:
        logger.addFilter(is_other)
    try:
        yield silence
    finally:
        for logger in loggers:
            logger.removeFilter(is_other)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


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
    # Errors of workers are raised here, too; their own log would show each of them once more, with tracebacks.
    environment: dict[str, Any] = {"DASK_LOGGING__DISTRIBUTED": "critical"}
    if profile.cache_directory is not None:
        environment["NUMBA_CACHE_DIR"] = str(Path(profile.cache_directory).absolute())
        environment |= dict.fromkeys(ONE_THREAD, 1)
    return settings | {
        f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in environment.items()
    }


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Start threads, and processes started by them, that Ctrl-C does not reach.

    Terminals send it to all processes of a command. Worker processes would end with a traceback each, before this process can stop them. The signal is
    delivered here when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _executor_of(client: Client, profile: Profile) -> Executor:
    if profile.kind != "scheduler":
        return Executor(
            client, profile.threads, profile.total_memory(), program=profile.program_bytes()
        )
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    threads, memory = (
        sum(worker[what] for worker in workers) for what in ("nthreads", "memory_limit")
    )
    n_blocks = profile.workers or threads or profile.threads
    return Executor(client, n_blocks, memory or None, program=float(len(workers) * WORKER_BYTES))


def _open_client(profile: Profile, stack: ExitStack) -> Client:
    from distributed import Client

    if profile.kind == "scheduler":
        return _connect(profile, stack)
    cluster = (start_jobs if profile.kind in BATCH else _start_local)(profile, stack)
    if profile.dashboard:
        LOGGER.warning("dashboard: %s", cluster.dashboard_link)
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    return client


def _start_local(profile: Profile, stack: ExitStack) -> Any:
    from distributed import LocalCluster

    low, high = (
        (profile.adapt["minimum"], profile.adapt["maximum"]) if profile.adapt else (None, None)
    )
    processes = profile.kind == "processes"
    security = security_of(profile, stack, private=True)
    with interrupts_blocked():
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
            )
        )
    if profile.adapt:
        cluster.adapt(minimum=low, maximum=high)
    return cluster


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
        security = security_from(check_files(profile.tls))
    else:
        security = Security(require_encryption=True)  # from dask's own configuration
        if not security.get_tls_config_for_role("client")["ca_file"]:
            raise BadPlan(
                f"{address} needs certificates: use a profile of kind scheduler with 'tls: DIRECTORY'"
            )
    try:
        client = Client(
            address, security=security, set_as_default=False, timeout=profile.timeout("connect")
        )
    except (OSError, ValueError, TimeoutError) as error:
        raise BadPlan(
            f"cannot connect to the dask scheduler at {address} ({error}); check its address, and the certificates of a tls:// address"
        ) from None
    stack.callback(_close, client)
    return client


def _close(client: Client) -> None:
    """Close a client, whose scheduler may be frozen."""
    with suppress(TimeoutError):
        client.close(timeout=CLOSE_SECONDS)


def _address_in(profile: Profile) -> str:
    import json

    assert profile.scheduler_file is not None
    try:
        return str(json.loads(Path(profile.scheduler_file).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPlan(f"{profile.scheduler_file}: not a scheduler file of dask: {error}") from None


def choose_profile(
    profile: Profile | Mapping[str, Any] | str | os.PathLike[str] | None,
    address: str | None,
    workers: int | None,
) -> Profile:
    """Return the profile that options select; by default local threads.

    profile: A profile, its settings, or the path of its file.
    address: Of a running scheduler, instead of a profile.
    workers: Number of blocks at a time; overrides that of the profile.
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
        if not address.strip():
            raise BadPlan(
                f"{option('address')} is empty; give that of a running scheduler such as tcp://host:8786, or leave it out",
                option="address",
            )
        chosen = Profile(kind="scheduler", address=address)
    else:
        chosen = profile or Profile(kind="threads")
    return chosen if workers is None else replace(chosen, workers=workers, adapt=None)
