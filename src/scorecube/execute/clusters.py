"""Where blocks are computed: threads, a cluster of dask's, or a running scheduler.

A cluster file names a class of dask clusters with its options, or an address:

    class: dask_jobqueue.SLURMCluster
    options: {cores: 4, memory: 8GB, walltime: "04:00:00"}
    scale: {jobs: 8}

Whoever reaches a scheduler's port can run any code: what is started listens on loopback, or asks
for certificates of this run (dask's `security: true`), unless a file says `insecure: true`.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import version
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scorecube.errors import BadPlan, nearest, option
from scorecube.execute.executor import Executor, default_workers
from scorecube.execute.versions import PACKAGES, check_versions, own_versions
from scorecube.storage.network import is_loopback

if TYPE_CHECKING:
    from distributed import Client

SETTING_TYPES = {
    **dict.fromkeys(("options", "scale", "adapt", "security"), Mapping),
    "class": str,
    "address": str,
    "insecure": bool,
    "workers": int,
}
"""Of a cluster file."""
ANY_PORT = "127.0.0.1:0"
"""Address of dask's pages, which know no certificates, unless options name another."""
CLOSE_SECONDS = 2.0
"""Longest wait for a running scheduler to say goodbye."""
RUNS = "scorecube-runs"
"""Folder of certificates and logs of jobs, in the current one, on a file system of all nodes."""
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


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """Threads of this process if neither `kind` nor `address` is given, else a cluster.

    kind: Import path of a class of dask clusters, such as ``distributed.LocalCluster``.
    options: Arguments of the class.
    scale, adapt: Arguments of its method of that name: a fixed number of workers, or one that
        follows the work.
    address: Of a running scheduler, such as ``tls://host:8786``, or a scheduler file of dask.
    security: Arguments of `distributed.Security`, for a running scheduler.
    insecure: Allow ports that other machines can reach without certificates.
    workers: Blocks at a time, instead of what the file says.
    """

    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    scale: Mapping[str, Any] = field(default_factory=dict)
    adapt: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""
    security: Mapping[str, Any] = field(default_factory=dict)
    insecure: bool = False
    workers: int | None = None

    @property
    def is_remote(self) -> bool:
        """Whether blocks are computed by other processes than this one."""
        return bool(self.kind or self.address)

    @property
    def n_processes(self) -> int:
        """Largest number of worker processes, as far as the file says it."""
        if self.workers is not None:
            return -(-self.workers // self.threads_each)
        said = {**self.options, **self.scale, **self.adapt}
        jobs = said.get("maximum_jobs", said.get("jobs"))
        if jobs:
            return int(jobs) * int(said.get("processes", 1))
        return int(said.get("maximum", said.get("n", said.get("n_workers"))) or default_workers())

    @property
    def threads_each(self) -> int:
        """Blocks that a worker process computes at a time."""
        cores = int(self.options.get("cores", 1)) // int(self.options.get("processes", 1))
        return int(self.options.get("threads_per_worker") or cores or 1)

    @property
    def threads(self) -> int:
        """Blocks that are computed at a time, as far as the file says it."""
        return self.workers or self.n_processes * self.threads_each

    def check_protected(self) -> None:
        """Refuse ports that other machines can reach without certificates (BadPlan)."""
        if self.insecure or not self.is_remote:
            return
        if self.address:
            address = urlsplit(self.address)
            if address.scheme == "tcp" and not is_loopback(address.hostname or ""):
                raise BadPlan(
                    f"{self.address} is not on this machine and its connections are not encrypted: "
                    "others on the network could run code on both sides. Start the scheduler with "
                    "certificates and give its tls:// address, or set 'insecure: true'"
                )
            return
        default = "127.0.0.1" if self.kind.endswith("LocalCluster") else ""
        host = str(self.options.get("host") or default)
        encrypted = str(self.options.get("protocol", "")).startswith("tls")
        if not (encrypted or is_loopback(host) or self.options.get("interface") == "lo"):
            raise BadPlan(
                f"{self.kind} would let everybody who reaches this machine run code as you; set "
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
    workers: Blocks at a time, instead of what the file says.
    """
    if isinstance(cluster, Mapping):
        cluster = make_spec(cluster)
    elif isinstance(cluster, str | os.PathLike):
        cluster = read_spec(cluster)
    if scheduler is not None:
        if cluster is not None or not scheduler.strip():
            raise BadPlan(
                f"{option('scheduler')} is the address of a running scheduler such as "
                f"tcp://host:8786, without {option('cluster')}; leave one of them out",
                option="scheduler",
            )
        cluster = ClusterSpec(address=scheduler)
    spec = cluster or ClusterSpec()
    return spec if workers is None else replace(spec, workers=workers, adapt={})


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
        expected = SETTING_TYPES.get(key)
        if expected is None:
            near = nearest(str(key), list(SETTING_TYPES), 3)
            raise BadPlan(f"{where}: unknown setting {key!r}; nearest: {near}")
        if not isinstance(value, expected):
            word = "settings" if expected is Mapping else expected.__name__
            raise BadPlan(f"{where}: {key} is {value!r:.60}; expected {word}")
    if ("class" in settings) == ("address" in settings):
        raise BadPlan(f"{where}: a cluster file names a class of dask clusters, or an address")
    others = {key: value for key, value in settings.items() if key != "class"}
    return ClusterSpec(kind=settings.get("class", ""), **others)


@contextmanager
def open_executor(spec: ClusterSpec) -> Iterator[Executor]:
    """Start, or connect to, a cluster; what was started is stopped."""
    spec.check_protected()
    if not spec.is_remote:
        yield Executor(workers=spec.threads)
        return
    import dask
    import distributed  # noqa: F401  # before the settings: its defaults would be removed with them

    said, parent = dask.config.collect(), dask.config.get("temporary-directory", None)
    settings = {
        key: value
        for key, value in DASK_SETTINGS.items()
        if dask.config.get(key, None, config=said) is None
    }
    with (
        # dask imports from its scratch folder, so nobody else may write there (mode 0700).
        tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True) as scratch,
        dask.config.set({**settings, "temporary-directory": scratch}),
        _quiet(),
        ExitStack() as stack,
    ):
        client = _connected(spec, stack) if spec.address else _started(spec, stack)
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        count = sum(worker["nthreads"] for worker in workers) if spec.address else 0
        yield Executor(client, spec.workers or count or spec.threads)


def _started(spec: ClusterSpec, stack: ExitStack) -> Client:
    """Start a cluster, and return its client."""
    from distributed import Client

    kind, options = _class_of(spec.kind), dict(spec.options)
    jobs = hasattr(kind, "job_cls")
    if jobs:
        options = _job_options(options)
    elif spec.kind.endswith("LocalCluster"):
        pages = {"scheduler_kwargs": {"dashboard": False}, "dashboard_address": ANY_PORT}
        options = {**({} if "dashboard_address" in options else pages), **options}
        options["n_workers"] = spec.adapt.get("minimum", spec.n_processes)
    try:
        with _interrupts_blocked():
            cluster = stack.enter_context(kind(**options))
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        while error.__cause__ is not None:
            error = error.__cause__  # type: ignore[assignment]
        raise BadPlan(f"{spec.kind} does not start with its options: {error}") from None
    if jobs:
        _submit(spec, cluster)
    elif spec.adapt:
        cluster.adapt(**spec.adapt)
    elif spec.scale or spec.workers:
        cluster.scale(**({"n": spec.n_processes} if spec.workers else spec.scale))
    if "dashboard_address" in spec.options:
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
    """Return the options of jobs of dask-jobqueue, with certificates and logs in one folder."""
    folder = Path(options.get("shared_temp_directory", RUNS)).expanduser().absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    pages = {"dashboard": False, "dashboard_address": ANY_PORT}
    return {
        "log_directory": str(folder),
        "worker_extra_args": ["--no-dashboard", "--dashboard-address", ANY_PORT],
        **options,
        "shared_temp_directory": str(folder),
        "scheduler_options": pages | dict(options.get("scheduler_options", {})),
    }


def _submit(spec: ClusterSpec, cluster: Any) -> None:
    """Submit the first jobs; lost ones are replaced (BadPlan with what the queue says)."""
    from distributed.core import Status

    n_jobs = -(-spec.n_processes // int(spec.options.get("processes", 1)))
    limits = {"minimum_jobs": n_jobs, "maximum_jobs": n_jobs, "interval": "2s", **spec.adapt}
    # As `scale` does, whose own submission would only log what is refused.
    for _ in range(max(int(limits["minimum_jobs"]), 1)):
        cluster.worker_spec.update(cluster.new_worker_spec())
    try:
        cluster.sync(cluster._correct_state)
    except (RuntimeError, ValueError, OSError) as error:
        for job in cluster._created:
            if job.status is Status.created:
                job.status = Status.failed  # as the cluster wants it when it closes
        text = str(error).partition("stderr:")[2] or str(error)
        raise BadPlan(
            f"{spec.kind}: a job was refused: {' '.join(text.split())}; correct the cluster file "
            "and run the same command again"
        ) from None
    cluster.adapt(**limits)


def _connected(spec: ClusterSpec, stack: ExitStack) -> Client:
    """Connect to a running scheduler; refuse other versions there."""
    from distributed import Client, Security

    place = {"scheduler_file" if spec.address.endswith(".json") else "address": spec.address}
    security, here = None, version("distributed")
    if spec.security or spec.address.startswith("tls:"):
        security = Security(**{"require_encryption": True, **spec.security})
    try:
        if security and security.get_connection_args("client").get("ssl_context") is None:
            raise ValueError("no certificate of this program")
        client: Client = Client(**place, security=security, set_as_default=False)
        stack.callback(_close, client)
        asked: Any = client.get_versions(packages=list(PACKAGES))
    except (OSError, ValueError, TypeError, TimeoutError, RuntimeError) as error:
        raise BadPlan(
            f"cannot connect to the dask scheduler at {spec.address} ({error}); it needs "
            f"distributed {here} as this program, and a tls:// address needs certificates, which a "
            "cluster file names under security"
        ) from None
    there = asked["scheduler"]["packages"]["distributed"]
    if there != here:
        raise BadPlan(
            f"the dask scheduler at {spec.address} has distributed {there}, this program {here}; "
            "start it in the same environment"
        )
    for worker, answer in sorted(asked["workers"].items()):
        packages = {name: answer["packages"].get(name) or "none" for name in PACKAGES}
        check_versions(worker, own_versions() | packages)
    return client


def _close(client: Client) -> None:
    """Close a client, whose scheduler may be frozen."""
    with suppress(TimeoutError):
        client.close(timeout=CLOSE_SECONDS)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep dask's tracebacks out of the log: the error that ends a run reports a loss once."""
    levels = {name: logging.getLogger(name).level for name in DASK_LOGGERS}
    try:
        for name in DASK_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


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
