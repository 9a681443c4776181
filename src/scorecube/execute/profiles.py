"""Cluster profiles: reading and validating settings such as `cluster/*.yaml`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from scorecube.errors import BadPlan, nearest
from scorecube.execute.executor import default_workers
from scorecube.execute.memory import WORKER_BYTES, parse_memory

BATCH = ("slurm",)
"""Queueing systems: the scheduler runs in the process of the driver, the workers in jobs."""
LOCAL = ("processes", "local")
KINDS = ("threads", *LOCAL, *BATCH, "scheduler")
DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(ms|s|min|h|d)")
SECONDS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}

TIMEOUTS = {
    "tcp": "20s",
    "connect": "20s",
    "worker_ttl": "60s",
    "lost_worker": "60s",
    "no_workers": "10min",
    "idle": "",
}
"""tcp: silence after which a connection is closed; connect: limit for a first connection; worker_ttl: silence after which a worker is lost;
lost_worker: delay before a lost job is replaced; no_workers: limit without any worker; idle: time without work after which a scheduler
ends."""
BATCH_TIMEOUTS = {"no_workers": "7d", "idle": "30min"}
"""The first job may wait in a queue for days."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Where blocks are computed.

    kind: One of `KINDS`: threads of this process; worker processes with one thread each; one worker process with many
        threads; jobs of a queueing system; a running scheduler.
    workers: Number of blocks at a time, on all workers together.
    memory: Of each worker process, or job, e.g. 4GB.
    adapt: ``minimum`` and ``maximum`` number of worker processes, or jobs; their number follows the work.
    timeouts: Changes to `TIMEOUTS`.
    tls: Whether connections are encrypted and both sides need a certificate of this run; or the directory with
        ``ca.crt``, ``tls.crt`` and ``tls.key``. By default for ports that other machines can reach.
    insecure: Allow a port that other machines can reach without certificates: whoever reaches it can run code as you.
    dashboard: Whether the scheduler serves its dashboard, on loopback.
    address, scheduler_file: Of a running scheduler.
    jobs, cores: Number of jobs, and threads in each.
    queue, account, walltime, directives: Requests to the queueing system; directives are options in its own syntax.
    interface: Network interface that scheduler and workers listen on, e.g. ib0.
    prologue: Shell commands of a job before its worker starts.
    python: Interpreter of the jobs, by default that of this process.
    run_directory: On a file system that all machines share: certificates and logs of the jobs.
    local_directory: On a disk of the worker's machine, for data that does not fit into memory.
    cache_directory: Of compiled kernels, shared by all workers; by default beside the installed package.
    places: File and line of each setting, for messages.
    """

    kind: str
    workers: int | None = None
    memory: str | None = None
    adapt: Mapping[str, int] | None = None
    timeouts: Mapping[str, str] = field(default_factory=dict)
    tls: bool | str | None = None
    insecure: bool = False
    dashboard: bool = False
    address: str | None = None
    scheduler_file: str | None = None
    jobs: int = 1
    cores: int = 1
    queue: str | None = None
    account: str | None = None
    walltime: str | None = None
    directives: tuple[str, ...] = ()
    interface: str | None = None
    prologue: tuple[str, ...] = ()
    python: str | None = None
    run_directory: str = "scorecube-runs"
    local_directory: str | None = None
    cache_directory: str | None = None
    places: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def threads(self) -> int:
        """Blocks that are computed at a time, before a running scheduler was asked."""
        if self.kind in BATCH:
            return self.n_jobs[1] * self.cores
        most = (self.adapt or {}).get("maximum")
        return self.workers or most or default_workers()

    @property
    def n_jobs(self) -> tuple[int, int]:
        """Fewest and most jobs."""
        if self.adapt is not None:
            return self.adapt["minimum"], self.adapt["maximum"]
        jobs = self.jobs if self.workers is None else ceil(self.workers / self.cores)
        return jobs, jobs

    @property
    def n_processes(self) -> int:
        """Number of worker processes; those of a running scheduler are not known."""
        return self.n_jobs[1] if self.kind in BATCH else 1 if self.kind == "local" else self.threads

    def total_memory(self) -> int | None:
        """Return the memory of all workers in bytes; None if it is not set."""
        if self.memory is None or self.kind == "threads":
            return None
        return self.n_processes * parse_memory(self.memory)

    def program_bytes(self) -> float | None:
        """Return the memory of all workers without work; None if they are threads of this process."""
        return None if self.kind == "threads" else float(self.n_processes * WORKER_BYTES)

    def timeout(self, name: str) -> str | None:
        """Return a timeout in seconds as dask reads it, e.g. ``20s``; None for none."""
        shipped = TIMEOUTS | (BATCH_TIMEOUTS if self.kind in BATCH else {})
        duration = self.timeouts.get(name, shipped[name])
        return f"{_seconds(duration):g}s" if duration else None


class _InvalidValue(Exception):
    """An invalid value of a setting; the message says what is expected."""


def _positive_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _InvalidValue("an integer of 1 or more")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _InvalidValue("true or false")
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or str(value) == "":
        raise _InvalidValue("a string")
    if any(ord(letter) < ord(" ") for letter in str(value)):
        raise _InvalidValue("one line")  # a job script is made of lines
    return str(value)


def _path(value: Any) -> str:
    text = str(Path(os.path.expandvars(_text(value))).expanduser())
    if "$" in text:
        raise _InvalidValue(
            f"a path whose variables are set in the environment; {text!r} has an unset one"
        )
    return text


def _shared_path(value: Any) -> str:
    path = _path(value)
    if any(letter.isspace() for letter in str(Path(path).absolute())):
        raise _InvalidValue("a path without blanks, as queueing systems read it from job scripts")
    return path


def _size(value: Any) -> str:
    try:
        parse_memory(_text(value))
    except BadPlan:
        raise _InvalidValue("a size such as 4GB, 512MiB or 1.5G") from None
    return str(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _InvalidValue("a list of strings")
    return tuple(_text(each) for each in value)


def _commands(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _InvalidValue("a list of strings")
    return tuple(value)


def _walltime(value: Any) -> str:
    # YAML reads 01:30:00 without quotes as a number to the base of 60.
    if not isinstance(value, str):
        raise _InvalidValue('a time in quotes, such as "04:00:00"')
    return _text(value)


def _tls(value: Any) -> bool | str:
    return value if isinstance(value, bool) else _path(value)


def _adapt(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping) or set(value) != {"minimum", "maximum"}:
        raise _InvalidValue("minimum and maximum, e.g. {minimum: 1, maximum: 20}")
    low, high = value["minimum"], value["maximum"]
    if not all(isinstance(each, int) for each in (low, high)) or not 0 <= low <= high or high < 1:
        raise _InvalidValue("0 <= minimum <= maximum, and a maximum of 1 or more")
    return {"minimum": low, "maximum": high}


def _timeouts(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or set(value) - set(TIMEOUTS):
        raise _InvalidValue(f"some of {', '.join(TIMEOUTS)}, e.g. {{tcp: 20s}}")
    for name, duration in value.items():
        if not isinstance(duration, str) or not DURATION.fullmatch(duration):
            raise _InvalidValue(f"durations such as 20s, 10min or 2h; {name} is {duration!r}")
    if "tcp" in value and _seconds(value["tcp"]) <= 10:
        raise _InvalidValue("a tcp timeout above 10s, below which dask cannot connect")
    return dict(value)


def _seconds(duration: str) -> float:
    found = DURATION.fullmatch(duration)
    assert found is not None, duration
    return float(found[1]) * SECONDS[found[2]]


def _address(value: Any) -> str:
    if not re.fullmatch(r"(tcp|tls)://[^/\s]+:[0-9]+", _text(value)):
        raise _InvalidValue("an address such as tls://host:8786")
    return str(value)


STARTED = (*LOCAL, *BATCH)
SETTINGS: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "workers": (KINDS, _positive_integer),
    "memory": (STARTED, _size),
    "adapt": (("processes", *BATCH), _adapt),
    "timeouts": ((*STARTED, "scheduler"), _timeouts),
    "tls": ((*STARTED, "scheduler"), _tls),
    "insecure": ((*BATCH, "scheduler"), _boolean),
    "dashboard": (STARTED, _boolean),
    "address": (("scheduler",), _address),
    "scheduler_file": (("scheduler",), _path),
    "jobs": (BATCH, _positive_integer),
    "cores": (BATCH, _positive_integer),
    "queue": (BATCH, _text),
    "account": (BATCH, _text),
    "walltime": (BATCH, _walltime),
    "directives": (BATCH, _texts),
    "interface": (BATCH, _text),
    "prologue": (BATCH, _commands),
    "python": (BATCH, _path),
    "run_directory": (BATCH, _shared_path),
    "local_directory": (STARTED, _path),
    "cache_directory": (STARTED, _path),
}
"""Setting -> kinds that have it, and the function that validates its value."""
REQUIRED = dict.fromkeys(BATCH, ("memory",))


def make_profile(
    settings: Mapping[str, Any],
    where: str = "the cluster profile",
    lines: Mapping[str, int] | None = None,
) -> Profile:
    """Return a validated profile.

    settings: As in a file.
    where, lines: The file, and the line of each setting, for messages.
    Raises BadPlan: An unknown kind or setting, an invalid value, or a missing setting.
    """
    found = lines or {}

    def at(key: str) -> str:
        return f"{where}:{found[key]}" if key in found else where

    kind = settings.get("kind")
    if kind not in KINDS:
        problem = "has no kind" if kind is None else f"kind {kind!r} does not exist"
        raise BadPlan(
            f"{at('kind')}: a cluster profile needs a kind, one of {', '.join(KINDS)}; this one {problem}"
        )
    values: dict[str, Any] = {"kind": kind}
    for key, value in settings.items():
        if key == "kind":
            continue
        allowed = [name for name, (kinds, _) in SETTINGS.items() if kind in kinds]
        if key not in SETTINGS:
            raise BadPlan(
                f"{at(key)}: unknown setting {key!r}; nearest: {nearest(str(key), allowed, 3)}"
            )
        if key not in allowed:
            raise BadPlan(
                f"{at(key)}: profiles of kind {kind} have no setting {key!r}; they have {', '.join(allowed)}"
            )
        try:
            values[key] = SETTINGS[key][1](value)
        except _InvalidValue as expected:
            raise BadPlan(f"{at(key)}: {key} is {value!r}, but must be {expected}") from None
    for key in REQUIRED.get(kind, ()):
        if key not in values:
            raise BadPlan(f"{where}: a profile of kind {kind} needs {key}")
    if kind == "scheduler" and ("address" in values) == ("scheduler_file" in values):
        raise BadPlan(
            f"{where}: a profile of kind scheduler needs either an address or a scheduler_file"
        )
    return Profile(**values, places=tuple((key, at(key)) for key in settings))


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a cluster profile from a file.

    Raises BadPlan: No such file, not YAML, or not a profile (see `make_profile`), with file and line.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadPlan(f"{path}: cannot read the cluster profile: {error.strerror}") from None
    import yaml

    try:
        node = yaml.compose(text, yaml.SafeLoader)
        settings = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadPlan(f"{path}: the cluster profile is not YAML: {error}") from None
    if not isinstance(node, yaml.MappingNode) or not isinstance(settings, dict):
        raise BadPlan(
            f"{path}: a cluster profile is lines 'setting: value', the first of them kind: ..."
        )
    lines = {str(key.value): key.start_mark.line + 1 for key, _ in node.value}
    return make_profile(settings, os.fspath(path), lines)
