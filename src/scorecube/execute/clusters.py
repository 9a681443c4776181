"""Starting or connecting to the cluster of a specification.

Whoever reaches a scheduler's port can run any code: what is started listens on loopback, or asks
for a certificate of this run (`distributed.Security.temporary`), unless a file says otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scorecube.errors import BadPlan
from scorecube.execute.cluster_files import ClusterSpec
from scorecube.execute.executor import Executor
from scorecube.execute.memory import WORKER_BYTES
from scorecube.execute.worker_versions import PACKAGES, check_versions, own_versions

if TYPE_CHECKING:
    from distributed import Client

ANY_PORT = "127.0.0.1:0"
"""Address of dask's pages, which know no certificates, unless options name another."""
CLOSE_SECONDS = 2.0
"""Longest wait for a running scheduler to say goodbye."""
RUNS = "scorecube-runs"
"""Folder of certificates and logs of jobs, in the current one, on a file system of all nodes."""
SETTINGS = {
    "distributed.comm.timeouts.tcp": "20s",
    "distributed.comm.timeouts.connect": "20s",
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.scheduler.allowed-failures": 5,
    "distributed.deploy.lost-worker-timeout": "60s",
    "distributed.admin.large-graph-warning-threshold": "1TB",
    # Errors of workers are raised here, too.
    "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical",
}
"""Of dask during a run, where its files and environment say nothing."""
LOGGER = logging.getLogger("scorecube")
TASK_LOGGERS = (
    *("asyncio", "tornado.application"),
    *("distributed.client", "distributed.core", "distributed.scheduler", "distributed.utils"),
)
"""Loggers of errors in dask's own tasks."""
DASK_LOGGERS = ("asyncio", "tornado", "tornado.application", "distributed", "distributed.client")
"""Loggers with a level of their own, which holds for those below them."""


class SubmissionRefused(Exception):
    """A job that the queueing system refused; the text is its message."""


@contextmanager
def open_executor(spec: ClusterSpec) -> Iterator[Executor]:
    """Start, or connect to, a cluster; what was started is stopped."""
    spec.check_protected()
    if spec.local_threads:
        yield Executor(workers=spec.threads)
        return
    import dask
    import distributed  # noqa: F401  # before the settings: its defaults would be removed with them

    said = dask.config.collect()
    settings = {key: value for key, value in SETTINGS.items() if _unset(key, said)}
    parent = dask.config.get("temporary-directory", None)
    with (
        # dask imports from its scratch folder, so that nobody else may write there (mode 0700).
        tempfile.TemporaryDirectory(
            prefix="scorecube-", dir=parent, ignore_cleanup_errors=True
        ) as scratch,
        dask.config.set({**settings, "temporary-directory": scratch}),
        quiet_connection_losses() as silence,
        ExitStack() as stack,
    ):
        try:
            yield _connected(spec, stack) if spec.address else _started(spec, stack)
        except BaseException:
            silence()
            raise


def _unset(key: str, config: Any) -> bool:
    """Whether a configuration of dask says nothing of a setting."""
    import dask

    return dask.config.get(key, None, config=config) is None


def _started(spec: ClusterSpec, stack: ExitStack) -> Executor:
    """Start a cluster, and return its executor."""
    from distributed import Client

    kind = _class_of(spec)
    jobs = hasattr(kind, "job_cls")
    options = dict(spec.options)
    if jobs:
        options = _job_options(spec, kind, stack)
    elif spec.kind.endswith("LocalCluster"):
        pages = {"scheduler_kwargs": {"dashboard": False}, "dashboard_address": ANY_PORT}
        options = {**({} if "dashboard_address" in options else pages), **options}
        options["n_workers"] = spec.adapt.get("minimum", spec.n_workers)
    try:
        with interrupts_blocked():
            cluster = stack.enter_context(kind(**options))
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise BadPlan(f"{spec.kind} does not start with its options: {_first(error)}") from None
    if jobs:
        _submit(spec, cluster)
    elif spec.adapt:
        cluster.adapt(**spec.adapt)
    elif spec.scale or spec.workers:
        cluster.scale(**({"n": spec.n_workers} if spec.workers else spec.scale))
    if "dashboard_address" in spec.options:
        LOGGER.warning("dashboard: %s", cluster.dashboard_link)
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    return Executor(client, spec.threads, spec.total_memory(), program=spec.program_bytes())


def _first(error: BaseException) -> BaseException:
    """Return the error that others are about."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _class_of(spec: ClusterSpec) -> Any:
    """Return the class of a specification."""
    from distributed.deploy.cluster import Cluster

    module, _, name = spec.kind.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        package = module.partition(".")[0].replace("_", "-")
        raise BadPlan(
            f"no class {spec.kind} ({error}); is {package or 'its package'} installed?"
        ) from None
    if not (isinstance(found, type) and issubclass(found, Cluster)):
        raise BadPlan(f"{spec.kind} is no class of dask clusters")
    return found


def _job_options(spec: ClusterSpec, kind: Any, stack: ExitStack) -> dict[str, Any]:
    """Return the options of jobs of dask-jobqueue, with certificates and logs in a folder of this run."""
    parent = Path(spec.options.get("shared_temp_directory", RUNS)).expanduser().absolute()
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=parent))  # of mode 0700
    pages = {"dashboard": False, "dashboard_address": ANY_PORT}
    options = {
        "log_directory": str(folder),
        "worker_extra_args": ["--no-dashboard", "--dashboard-address", ANY_PORT],
        **spec.options,
        "scheduler_options": pages | dict(spec.options.get("scheduler_options", {})),
        "job_cls": refusing(kind.job_cls),
    }
    if options.get("security") is True:
        stack.callback(shutil.rmtree, folder / "tls", ignore_errors=True)
        options["security"] = write_certificates(folder / "tls")
    return options


def write_certificates(folder: Path) -> Any:
    """Write certificates of dask for one run, and return its settings with their paths, which jobs read."""
    from distributed import Security

    made: Any = Security.temporary()
    folder.mkdir(mode=0o700)
    paths = {}
    for name in ("tls_ca_file", "tls_client_cert", "tls_client_key"):
        paths[name] = folder / f"{name.removeprefix('tls_')}.pem"
        handle = os.open(paths[name], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(getattr(made, name))
    authority, certificate, key = map(str, paths.values())
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=authority,
        **{f"tls_{role}_cert": certificate for role in roles},
        **{f"tls_{role}_key": key for role in roles},
    )


def _submit(spec: ClusterSpec, cluster: Any) -> None:
    """Submit the first jobs; lost ones are replaced.

    Raises
    ------
    BadPlan
        The queueing system refuses a job; with its own message.
    """
    n_jobs = -(-spec.n_workers // int(spec.options.get("processes", 1)))
    limits: dict[str, Any] = {
        "minimum_jobs": n_jobs,
        "maximum_jobs": n_jobs,
        "interval": "2s",
    } | dict(spec.adapt)
    cluster.scale(jobs=max(int(limits["minimum_jobs"]), 1))
    with suppress(SubmissionRefused):  # raised here, or in the callback that submits the jobs
        cluster.sync(cluster._correct_state)
    if refusals := cluster.job_cls.refusals:
        raise BadPlan(
            f"{spec.kind}: a job was refused: {refusals[0]}; correct the cluster file and run the "
            "same command again"
        )
    cluster.job_cls.running = True
    cluster.adapt(**limits)


def refusing(job: Any) -> Any:
    """Return a class of jobs of dask-jobqueue that raises `SubmissionRefused` in place of errors that hold a whole job script.

    Later refusals, of jobs that replace lost ones, are logged once.
    """
    from distributed.core import Status

    class Job(job):  # type: ignore[misc]
        running: ClassVar[bool] = False
        refusals: ClassVar[list[str]] = []

        async def start(self) -> None:
            try:
                await super().start()
            except (RuntimeError, ValueError, OSError) as error:
                text = str(error).partition("stderr:")[2].strip() or str(error).strip()
                message = " ".join(text.split())
                if self.running and message not in self.refusals:
                    LOGGER.warning("another job was refused, the others go on: %s", message)
                self.refusals.append(message)
                self.status = Status.failed
                raise SubmissionRefused(message) from None

    return Job


def _connected(spec: ClusterSpec, stack: ExitStack) -> Executor:
    """Connect to a running scheduler, and return its executor."""
    from distributed import Client, Security

    place = {"scheduler_file" if spec.address.endswith(".json") else "address": spec.address}
    security = None
    if spec.security or spec.address.startswith("tls:"):
        security = Security(**{"require_encryption": True, **spec.security})
        if not security.get_tls_config_for_role("client")["ca_file"]:
            raise BadPlan(
                f"{spec.address} needs certificates: name them under security in a cluster file, "
                "or in dask's configuration"
            )
    try:
        if "address" in place:
            _check_version(spec.address, security)
        client = Client(**place, security=security, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise BadPlan(
            f"cannot connect to the dask scheduler at {spec.address} ({error}); check its address, "
            "and the certificates of a tls:// address"
        ) from None
    stack.callback(_close, client)
    asked: Any = client.get_versions(packages=list(PACKAGES))
    for worker, answer in sorted(asked["workers"].items()):
        found = {name: answer["packages"].get(name) or "none" for name in PACKAGES}
        check_versions(worker, own_versions() | found)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    threads, memory = (sum(each[of] for each in workers) for of in ("nthreads", "memory_limit"))
    n_blocks = spec.workers or threads or spec.threads
    return Executor(client, n_blocks, memory or None, program=float(len(workers) * WORKER_BYTES))


def _check_version(address: str, security: Any) -> None:
    """Refuse a scheduler with another version of dask, whose requests and answers may be others.

    Raises
    ------
    BadPlan
        Naming both versions.
    """
    from distributed.core import rpc

    async def asked() -> str:
        arguments = {} if security is None else security.get_connection_args("client")
        async with rpc(address, connection_args=arguments) as scheduler:
            packages = (await scheduler.versions())["packages"]
        return str(dict(packages)["distributed"])

    with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop of its own in this one
        found = thread.submit(asyncio.run, asked()).result()
    if found != (own := version("distributed")):
        raise BadPlan(
            f"the dask scheduler at {address} has distributed {found}, this program {own}; start "
            "it in the same environment"
        )


def _close(client: Client) -> None:
    """Close a client, whose scheduler may be frozen."""
    with suppress(TimeoutError):
        client.close(timeout=CLOSE_SECONDS)


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
