"""Where blocks are computed: threads, a cluster of dask's, or a running scheduler.

A cluster file is code. It names a class of dask clusters, its options, and arguments of methods:

    class: dask_jobqueue.SLURMCluster
    options: {cores: 4, memory: 8GB, walltime: "04:00:00"}
    scale: {jobs: 8}                      # or adapt: {minimum_jobs: 1, maximum_jobs: 100}

Whoever reaches a port of dask can run any code: it is on loopback or asks for certificates, unless
dask's setting ``distributed.comm.require-encryption`` is false.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from ipaddress import ip_address
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scorecube.errors import BadPlan, ScorecubeError, option
from scorecube.execute.executor import Executor, default_workers, threads_of

if TYPE_CHECKING:
    from distributed import Client

PAGES = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask's pages, which know no certificates."""
DASK_LOGGERS = ("asyncio", "tornado", "tornado.application", "distributed", "distributed.client")
MALLOC = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
KEPT_BYTES = 2**26
LOGGER = logging.getLogger("scorecube")
MOST_SETTINGS = 2**20
"""Characters of a cluster file."""


@contextmanager
def open_executor(
    cluster: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
) -> Iterator[Executor]:
    """Start a cluster, connect to a scheduler, or use threads; what was started is stopped.

    cluster: Path of a cluster file, or its content.
    workers: Threads, or worker processes instead of what the file says.
    """
    if cluster is not None and scheduler is not None:
        raise BadPlan(f"{option('scheduler')} or {option('cluster')}: leave one of them out")
    if cluster is None and scheduler is None:
        yield Executor(workers=workers or default_workers())
        return
    with ExitStack() as stack:
        _settle(stack)
        if scheduler is not None:
            client = _connected(scheduler, stack)
        else:
            settings = cluster if isinstance(cluster, Mapping) else read_cluster(str(cluster))
            client = _started(settings, workers, stack)
        yield Executor(client, threads_of(client) or workers or default_workers())


def read_cluster(path: str) -> dict[str, Any]:
    """Return the content of a cluster file (BadPlan for another one)."""
    import yaml

    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(MOST_SETTINGS)
        if len(text) == MOST_SETTINGS:
            raise ValueError(f"it has {MOST_SETTINGS:,} characters or more")
        settings = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise BadPlan(f"{path}: cannot read the cluster file: {error}") from None
    known = {"class", "options", "scale", "adapt"}
    if not isinstance(settings, dict) or not {"class"} <= settings.keys() <= known:
        raise BadPlan(f"{path}: a cluster file has a class, and perhaps options, scale and adapt")
    return settings


def _settle(stack: ExitStack) -> None:
    """Give dask a folder of its own, and keep its tracebacks out of the log."""
    import dask
    import distributed  # noqa: F401  # first, as its defaults would be removed with the settings

    # dask imports from its scratch folder, so nobody else may write there (mode 0700).
    parent = dask.config.get("temporary-directory", None)
    folder = tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True)
    settings = {
        "temporary-directory": stack.enter_context(folder),
        # Errors of workers are raised here, too.
        "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical",
        # Dask's own thresholds return memory that the next block takes again.
        **{f"distributed.nanny.pre-spawn-environ.{name}": KEPT_BYTES for name in MALLOC},
    }
    stack.enter_context(dask.config.set(settings))
    for logger in map(logging.getLogger, DASK_LOGGERS):
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)


def _started(settings: Mapping[str, Any], workers: int | None, stack: ExitStack) -> Client:
    """Start a cluster, and return its client."""
    from distributed import Client
    from distributed.utils import import_term

    path = str(settings["class"])
    options = settings.get("options", {})
    scale = settings.get("scale", {})
    adapt = settings.get("adapt", {})
    if workers:
        scale = {"n": workers}
        adapt = {}
    is_local = path.endswith("LocalCluster")
    try:
        host = options.get("host", "localhost" if is_local else "")
        on_loopback = _is_loopback(str(host)) or options.get("interface") == "lo"
        _refuse_open_port(path, on_loopback or str(options.get("protocol")).startswith("tls"))
        kind = import_term(path)
        is_queue = hasattr(kind, "job_cls")
        if is_queue:
            options = _options_of_queue(options)
            scale = scale or {"n": 1}
        elif is_local:
            options = _options_of_local(options, workers)
        with _interrupts_blocked():
            cluster = kind(**options)
            stack.callback(_remove_keys, cluster)
            stack.enter_context(cluster)
        if scale:
            cluster.sync(_scaled, cluster, scale)
        if is_queue and not adapt:  # lost jobs are replaced
            adapt = dict.fromkeys(("minimum_jobs", "maximum_jobs"), len(cluster.worker_spec))
        if adapt:
            cluster.adapt(**adapt)
    except (ImportError, AttributeError, TypeError, ValueError, OSError, RuntimeError) as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise BadPlan(f"{path} does not start: {' '.join(str(cause).split())}") from None
    if "dashboard_address" in settings.get("options", {}):
        LOGGER.warning("dashboard: %s", cluster.dashboard_link)
    return stack.enter_context(Client(cluster, set_as_default=False))  # type: ignore[no-any-return]


def _options_of_queue(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a cluster of a batch system; dask's pages are on loopback."""
    pages = ["--no-dashboard", "--dashboard-address", PAGES["dashboard_address"]]
    return {
        **options,
        "worker_extra_args": [*pages, *options.get("worker_extra_args", ())],
        "scheduler_options": PAGES | options.get("scheduler_options", {}),
    }


def _options_of_local(options: Mapping[str, Any], workers: int | None) -> dict[str, Any]:
    """Return the options of a cluster of this machine, without pages unless they are asked for."""
    chosen = {"dashboard_address": PAGES["dashboard_address"], **options}
    if "dashboard_address" not in options:
        chosen.setdefault("scheduler_kwargs", PAGES)
    if workers:
        chosen["n_workers"] = workers
    return chosen


def _remove_keys(cluster: Any) -> None:
    """Remove the certificates that workers of a batch system read, which may outlive a process."""
    for name in ("ca_file", "cert", "key"):
        file = getattr(cluster, f"_job_{name}", None)  # has no public name
        if file is not None:
            file.close()


async def _scaled(cluster: Any, scale: Mapping[str, Any]) -> None:
    """Scale a cluster, and wait until workers are started or jobs submitted: errors are raised."""
    from distributed.core import Status

    cluster.scale(**scale)
    try:
        await cluster
    except (OSError, RuntimeError, ValueError):
        for job in cluster.workers.values():  # or the cluster cannot be closed
            job.status = Status.failed
        raise


def _connected(address: str, stack: ExitStack) -> Client:
    """Connect to a running scheduler; refuse another version of dask there."""
    from distributed import Client, Security

    here = version("distributed")
    try:
        server = urlsplit(address)
        _refuse_open_port(address, server.scheme == "tls" or _is_loopback(server.hostname or ""))
        security = Security(require_encryption=server.scheme == "tls")
        client = Client(address, security=security, set_as_default=False)

        @stack.callback
        def close() -> None:
            with suppress(TimeoutError):  # a frozen scheduler does not say goodbye
                client.close(timeout=2.0)

        scheduler: Any = client.scheduler
        there = client.sync(scheduler.versions)["packages"]["distributed"]
        if there != here:
            raise BadPlan(
                f"the dask scheduler at {address} has distributed {there}, this program {here}; "
                "start it in the same environment"
            )
    except ScorecubeError:
        raise
    except (OSError, ValueError, KeyError, TypeError, TimeoutError, RuntimeError) as error:
        raise BadPlan(
            f"cannot connect to the dask scheduler at {address} ({error}); it needs distributed "
            f"{here}, and a tls:// address the certificates of dask's setting distributed.comm.tls"
        ) from None
    return client


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse_open_port(what: str, is_protected: bool) -> None:
    """Refuse ports that others can reach without certificates (BadPlan)."""
    import dask

    required = dask.config.get("distributed.comm.require-encryption", None)
    if not is_protected and required is not False:
        raise BadPlan(
            f"{what}: whoever reaches its ports could run code as you; use loopback, or "
            "certificates (protocol: tls:// and security: true, or a tls:// address), or set "
            "dask's distributed.comm.require-encryption to False"
        )


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C of a terminal does not reach: this one ends them."""
    resource_tracker.ensure_running()  # its start unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
