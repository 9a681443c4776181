"""Where blocks are computed: threads, a cluster of dask's, or a running scheduler.

A cluster file names a class of dask clusters with its options, or an address:

    class: dask_jobqueue.SLURMCluster
    options: {cores: 4, memory: 8GB, walltime: "04:00:00"}
    scale: {jobs: 8}                      # or adapt: {minimum_jobs: 1, maximum_jobs: 100}

    address: tls://host:8786              # or a scheduler file of dask
    security: {tls_ca_file: ca.crt, ...}  # arguments of distributed.Security

Whoever reaches a scheduler's port can run any code: what is started listens on loopback, or asks
for certificates of this run (dask's `security: true`), unless a file says `insecure: true`.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from scorecube.errors import BadPlan, nearest, option
from scorecube.execute.executor import Executor, default_workers
from scorecube.storage.network import is_loopback

if TYPE_CHECKING:
    from distributed import Client

SETTINGS = ("class", "options", "scale", "adapt", "address", "security", "insecure")
"""Of a cluster file."""
TEXTS, FLAGS = ("class", "address"), ("insecure",)
PAGES = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask's pages, which know no certificates."""
CLOSE_SECONDS = 2.0
"""Longest wait for a running scheduler to say goodbye; it may be frozen."""
DASK_SETTINGS = {
    "distributed.comm.timeouts.tcp": "20s",
    "distributed.comm.timeouts.connect": "20s",
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.scheduler.allowed-failures": 5,
    "distributed.deploy.lost-worker-timeout": "60s",
    # Errors of workers are raised here, too.
    "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical",
}
"""During a run, where the files and the environment of dask say nothing."""
DASK_LOGGERS = ("asyncio", "tornado", "tornado.application", "distributed", "distributed.client")
"""Loggers with a level of their own, which holds for those below them."""
LOGGER = logging.getLogger("scorecube")


class ClusterSpec(NamedTuple):
    """Threads of this process, or with settings of a cluster file so many worker processes of it.

    workers: None for one thread a core, or for as many as the file says.
    """

    settings: Mapping[str, Any] = {}
    workers: int | None = None

    @property
    def is_remote(self) -> bool:
        """Whether blocks are computed by other processes than this one."""
        return bool(self.settings)

    @property
    def threads(self) -> int:
        """Blocks that are computed at a time in this process."""
        return self.workers or default_workers()

    def check_protected(self) -> None:
        """Refuse ports that other machines can reach without certificates (BadPlan)."""
        settings, options = self.settings, self.settings.get("options", {})
        kind, address = settings.get("class", ""), settings.get("address", "")
        if settings.get("insecure"):
            return
        server, protocol = urlsplit(address), str(options.get("protocol"))
        if server.scheme == "tcp" and not is_loopback(server.hostname or ""):
            raise BadPlan(
                f"{address} is not on this machine and its connections are not encrypted: "
                "others on the network could run code on both sides. Start the scheduler with "
                "certificates and give its tls:// address, or set 'insecure: true'"
            )
        host = options.get("host") or ("localhost" if kind.endswith("LocalCluster") else "")
        is_local = is_loopback(str(host)) or options.get("interface") == "lo"
        if kind and not (is_local or protocol.startswith("tls")):
            raise BadPlan(
                f"{kind} would let everybody who reaches this machine run code as you; set "
                "'protocol: tls://' and 'security: true' in its options, a host on loopback, or "
                "'insecure: true'"
            )


def choose_cluster(
    cluster: ClusterSpec | Mapping[str, Any] | str | os.PathLike[str] | None,
    scheduler: str | None = None,
    workers: int | None = None,
) -> ClusterSpec:
    """Return what options select; by default threads of this process.

    cluster: A specification, the content of a cluster file, or its path.
    scheduler: Address of a running scheduler, or a scheduler file of dask.
    workers: Threads, or worker processes instead of what the file says.
    """
    if scheduler is not None:
        if cluster is not None or not scheduler.strip():
            raise BadPlan(
                f"{option('scheduler')} is the address of a running scheduler such as "
                f"tcp://host:8786, without {option('cluster')}; leave one of them out",
                option="scheduler",
            )
        cluster = {"address": scheduler}
    if isinstance(cluster, str | os.PathLike):
        cluster = read_spec(cluster)
    elif not isinstance(cluster, ClusterSpec):
        cluster = make_spec(cluster) if cluster else ClusterSpec()
    return cluster if workers is None else cluster._replace(workers=workers)


def read_spec(path: str | os.PathLike[str]) -> ClusterSpec:
    """Read a cluster file (BadPlan for another one)."""
    import yaml

    try:
        settings = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadPlan(f"{path}: cannot read the cluster file: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise BadPlan(f"{path}: the cluster file is not YAML: {error}") from None
    if not isinstance(settings, dict):
        raise BadPlan(f"{path}: a cluster file is lines 'setting: value', such as class: ...")
    return make_spec(settings, os.fspath(path))


def make_spec(settings: Mapping[str, Any], where: str = "the cluster") -> ClusterSpec:
    """Return the specification of the content of a cluster file (BadPlan for another one)."""
    for key, value in settings.items():
        if key not in SETTINGS:
            near = nearest(str(key), list(SETTINGS), 3)
            raise BadPlan(f"{where}: unknown setting {key!r}; nearest: {near}")
        kind: type = str if key in TEXTS else bool if key in FLAGS else Mapping
        if not isinstance(value, kind):
            word = "settings" if kind is Mapping else kind.__name__
            raise BadPlan(f"{where}: {key} is {value!r:.60}; expected {word}")
    if ("class" in settings) == ("address" in settings):
        raise BadPlan(f"{where}: a cluster file names a class of dask clusters, or an address")
    return ClusterSpec(settings)


@contextmanager
def open_executor(spec: ClusterSpec) -> Iterator[Executor]:
    """Start, or connect to, a cluster; what was started is stopped."""
    spec.check_protected()
    if not spec.is_remote:
        yield Executor(workers=spec.threads)
        return
    with ExitStack() as stack:
        _settle(stack)
        client = _connected(spec, stack) if "address" in spec.settings else _started(spec, stack)
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        count = sum(worker["nthreads"] for worker in workers)  # jobs of a queue come later
        yield Executor(client, count or spec.threads)


def _settle(stack: ExitStack) -> None:
    """Set dask's settings and its folder, and keep its tracebacks out of the log."""
    import dask
    import distributed  # noqa: F401  # before the settings: its defaults would be removed with them

    config, parent = dask.config.collect(), dask.config.get("temporary-directory", None)
    settings = {
        key: value
        for key, value in DASK_SETTINGS.items()
        if dask.config.get(key, None, config) is None
    }
    # dask imports from its scratch folder, so nobody else may write there (mode 0700).
    folder = tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True)
    settings["temporary-directory"] = stack.enter_context(folder)
    stack.enter_context(dask.config.set(settings))
    for logger in map(logging.getLogger, DASK_LOGGERS):
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)


def _started(spec: ClusterSpec, stack: ExitStack) -> Client:
    """Start a cluster, and return its client."""
    from distributed import Client

    path, options = spec.settings["class"], dict(spec.settings.get("options", {}))
    adapt = {} if spec.workers else spec.settings.get("adapt", {})
    scale = {"n": spec.workers} if spec.workers else spec.settings.get("scale", {})
    kind = _class_of(path)
    refusals, is_queue = list[str](), hasattr(kind, "job_cls")
    if is_queue:
        options = {**_job_options(options), "job_cls": _noting_refusals(kind.job_cls, refusals)}
    elif path.endswith("LocalCluster"):
        pages = {"scheduler_kwargs": PAGES, "dashboard_address": PAGES["dashboard_address"]}
        options = {**({} if "dashboard_address" in options else pages), **options}
        if spec.workers or "minimum" in adapt:
            options["n_workers"] = spec.workers or adapt["minimum"]
    try:
        with _interrupts_blocked():
            cluster = stack.enter_context(kind(**options))
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        while error.__cause__ is not None:
            error = error.__cause__  # type: ignore[assignment]
        raise BadPlan(f"{path} does not start with its options: {error}") from None
    if is_queue:
        _submit(cluster, scale, adapt, refusals)
    elif adapt:
        cluster.adapt(**adapt)
    elif scale:
        cluster.scale(**scale)
    if "dashboard_address" in spec.settings.get("options", {}):
        LOGGER.warning("dashboard: %s", cluster.dashboard_link)
    return stack.enter_context(Client(cluster, set_as_default=False))  # type: ignore[no-any-return]


def _class_of(path: str) -> Any:
    """Return a class of dask clusters by its import path."""
    from distributed.deploy.cluster import Cluster

    module, _, name = path.rpartition(".")
    try:
        kind = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadPlan(f"no class {path} ({error}); is its package installed?") from None
    if not (isinstance(kind, type) and issubclass(kind, Cluster)):
        raise BadPlan(f"{path} is no class of dask clusters")
    return kind


def _job_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of jobs of dask-jobqueue, with certificates and logs in one folder.

    The folder is on a file system of all nodes; ``scorecube-runs`` in the current one by default.
    """
    name = options.get("shared_temp_directory", "scorecube-runs")
    folder = Path(name).expanduser().absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    pages = ["--no-dashboard", "--dashboard-address", PAGES["dashboard_address"]]
    return {
        "log_directory": str(folder),
        "worker_extra_args": pages,
        **options,
        "shared_temp_directory": str(folder),
        "scheduler_options": PAGES | dict(options.get("scheduler_options", {})),
    }


def _noting_refusals(kind: Any, refusals: list[str]) -> Any:
    """Return a class of jobs that notes what the queue says when it refuses one."""
    from distributed.core import Status

    class Job(kind):  # type: ignore[misc]
        async def start(self) -> None:
            try:
                await super().start()
            except (RuntimeError, ValueError, OSError) as error:
                self.status = Status.failed
                refusals.append(str(error).partition("stderr:")[2] or str(error))
                raise

    return Job


def _submit(
    cluster: Any, scale: Mapping[str, Any], adapt: Mapping[str, Any], refusals: list[str]
) -> None:
    """Submit the first jobs; lost ones are replaced (BadPlan with what the queue says)."""

    async def submitted() -> None:
        with suppress(Exception):  # the job notes it
            await cluster

    cluster.scale(**(scale or {"jobs": max(int(adapt.get("minimum_jobs", 1)), 1)}))
    cluster.sync(submitted)
    if refusals:
        raise BadPlan(
            f"a job was refused: {' '.join(refusals[0].split())}; correct the cluster file and run "
            "the same command again"
        )
    n_jobs = len(cluster.worker_spec)
    limits = adapt or {"minimum_jobs": n_jobs, "maximum_jobs": n_jobs}
    cluster.adapt(**{"interval": "2s", **limits})


def _connected(spec: ClusterSpec, stack: ExitStack) -> Client:
    """Connect to a running scheduler; refuse another version of dask there."""
    from distributed import Client, Security, rpc
    from distributed.utils import LoopRunner

    address, chosen = spec.settings["address"], spec.settings.get("security", {})
    here = version("distributed")

    async def version_there() -> str:
        # Before a client, which waits long for the scheduler of another version when it is closed.
        async with rpc(address, connection_args=security.get_connection_args("client")) as there:
            return str((await there.versions())["packages"]["distributed"])

    try:
        if address.endswith(".json"):
            address = json.loads(Path(address).read_text(encoding="utf-8"))["address"]
        security = Security(**{"require_encryption": address.startswith("tls:"), **chosen})
        there = LoopRunner().run_sync(version_there)
        if there != here:
            raise BadPlan(
                f"the dask scheduler at {address} has distributed {there}, this program {here}; "
                "start it in the same environment"
            )
        client = Client(address, security=security, set_as_default=False)
    except (OSError, ValueError, KeyError, TypeError, TimeoutError, RuntimeError) as error:
        raise BadPlan(
            f"cannot connect to the dask scheduler at {address} ({error}); it needs "
            f"distributed {here} as this program, and a tls:// address needs certificates, which a "
            "cluster file names under security"
        ) from None
    stack.callback(_close, client)
    return client


def _close(client: Client) -> None:
    with suppress(TimeoutError):
        client.close(timeout=CLOSE_SECONDS)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C of a terminal does not reach: this one ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
