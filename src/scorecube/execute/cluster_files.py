"""Cluster files: a class of dask clusters with its options, or the address of a running scheduler.

    class: dask_jobqueue.SLURMCluster
    options: {cores: 4, memory: 8GB, walltime: "04:00:00"}
    scale: {jobs: 8}

Names and meanings of options are those of the class, of `scale` and `adapt` those of its methods.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scorecube.errors import BadPlan, nearest, option
from scorecube.execute.executor import default_workers
from scorecube.execute.memory import WORKER_BYTES, parse_memory
from scorecube.storage.network import is_loopback

KIND = "class"
"""Key of the class in a file; a word of Python, so no name of a field."""


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """Where blocks are computed: threads of this process if neither `kind` nor `address` is given.

    kind: Import path of a class of dask clusters, such as ``distributed.LocalCluster``.
    options: Arguments of the class.
    scale, adapt: Arguments of its method of that name: a fixed number of workers, or one that
        follows the work.
    address: Of a running scheduler, such as ``tls://host:8786``, or a scheduler file of dask.
    security: Arguments of `distributed.Security`, for a running scheduler; by default dask's own
        configuration.
    insecure: Allow ports that other machines can reach without certificates: whoever reaches one
        can run code as you.
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
    def local_threads(self) -> bool:
        """Whether blocks are computed by threads of this process."""
        return not (self.kind or self.address)

    @property
    def threads_per_worker(self) -> int:
        """Blocks that a worker computes at a time."""
        cores = int(self.options.get("cores", 1)) // int(self.options.get("processes", 1))
        return int(self.options.get("threads_per_worker") or max(cores, 1))

    @property
    def n_workers(self) -> int:
        """Largest number of workers, as far as the file says it."""
        if self.workers is not None:
            return ceil(self.workers / self.threads_per_worker)
        for said in (self.adapt, self.scale):
            if jobs := said.get("maximum_jobs", said.get("jobs")):
                return int(jobs) * int(self.options.get("processes", 1))
            if workers := said.get("maximum", said.get("n")):
                return int(workers)
        return int(self.options.get("n_workers") or default_workers())

    @property
    def threads(self) -> int:
        """Blocks that are computed at a time, before a running scheduler was asked."""
        return self.workers or self.n_workers * self.threads_per_worker

    def total_memory(self) -> int | None:
        """Return the memory of all workers in bytes; None if it is not set."""
        text = self.options.get("memory", self.options.get("memory_limit"))
        if text is None:
            return None
        return self.n_workers * parse_memory(str(text)) // int(self.options.get("processes", 1))

    def program_bytes(self) -> float | None:
        """Return the memory of all workers without work; None of threads of this process."""
        return None if self.local_threads else float(self.n_workers * WORKER_BYTES)

    def check_protected(self) -> None:
        """Refuse ports that other machines can reach without certificates.

        Raises
        ------
        BadPlan
            Naming what makes them safe.
        """
        if self.insecure or self.local_threads:
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
        host = self.options.get("host") or (
            "127.0.0.1" if self.kind.endswith("LocalCluster") else ""
        )
        encrypted = str(self.options.get("protocol", "")).startswith("tls")
        if not (encrypted or is_loopback(str(host)) or self.options.get("interface") == "lo"):
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
    """Return what options select; by default local threads.

    cluster: A specification, the content of a file, or its path.
    scheduler: Address of a running scheduler, or a scheduler file of dask, in place of `cluster`.
    workers: Blocks at a time, instead of what the file says.
    """
    if isinstance(cluster, Mapping):
        cluster = make_spec(cluster)
    elif isinstance(cluster, str | os.PathLike):
        cluster = read_spec(cluster)
    if scheduler is not None:
        if cluster is not None:
            raise BadPlan(
                f"{option('cluster')} and {option('scheduler')} both name a cluster; use one of them",
                option="scheduler",
            )
        if not scheduler.strip():
            raise BadPlan(
                f"{option('scheduler')} is empty; give the address of a running scheduler such as "
                "tcp://host:8786, or leave it out",
                option="scheduler",
            )
        cluster = ClusterSpec(address=scheduler)
    chosen = cluster or ClusterSpec()
    return chosen if workers is None else replace(chosen, workers=workers, adapt={})


def read_spec(path: str | os.PathLike[str]) -> ClusterSpec:
    """Read a cluster file.

    Raises
    ------
    BadPlan
        No such file, not YAML, or not a cluster file, with file and line.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadPlan(f"{path}: cannot read the cluster file: {error.strerror}") from None
    import yaml

    try:
        node, settings = yaml.compose(text, yaml.SafeLoader), yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadPlan(f"{path}: the cluster file is not YAML: {error}") from None
    if not isinstance(node, yaml.MappingNode):
        raise BadPlan(f"{path}: a cluster file is lines 'setting: value', such as class: ...")
    lines = {str(key.value): key.start_mark.line + 1 for key, _ in node.value}
    return make_spec(settings, os.fspath(path), lines)


def make_spec(
    settings: Mapping[str, Any], where: str = "the cluster", lines: Mapping[str, int] | None = None
) -> ClusterSpec:
    """Return the specification of the content of a cluster file.

    settings: As in a file.
    where, lines: The file, and the line of each setting, for messages.

    Raises
    ------
    BadPlan
        An unknown setting, a value of another type, or neither a class nor an address.
    """
    known = [KIND, *(each.name for each in fields(ClusterSpec) if each.name != "kind")]
    types = {KIND: str, "address": str, "insecure": bool, "workers": int}
    for key, value in settings.items():
        place = f"{where}:{lines[key]}" if lines and key in lines else where
        if key not in known:
            raise BadPlan(
                f"{place}: unknown setting {key!r}; nearest: {nearest(str(key), known, 3)}"
            )
        expected = types.get(key, Mapping)
        if not isinstance(value, expected):
            word = "settings" if expected is Mapping else expected.__name__
            raise BadPlan(f"{place}: {key} is {value!r:.60}; expected {word}")
    if (KIND in settings) == ("address" in settings):
        raise BadPlan(f"{where}: a cluster file names a class of dask clusters, or an address")
    return ClusterSpec(
        kind=settings.get(KIND, ""),
        **{key: value for key, value in settings.items() if key != KIND},
    )
