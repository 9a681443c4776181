"""Clusters of workers in jobs of SLURM; the scheduler runs in the process of the driver."""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, ClassVar

from scorecube.errors import BadPlan
from scorecube.execute.certificates import security_of
from scorecube.execute.profiles import Profile
from scorecube.storage.network import is_loopback

LOOPBACK = "127.0.0.1"
NO_WEB_PAGES = ["--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0"]
"""Both are needed: without a dashboard, dask still serves status pages, on all interfaces."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
LOGGER = logging.getLogger("scorecube")
SUBMIT = "sbatch"
"""Command that submits jobs."""
SETTING_OF = (
    (r"partition|queue", "queue"),
    (r"account|project", "account"),
    (r"time|walltime", "walltime"),
    (r"memory|node configuration", "memory"),
    (r"cpu|processor|slots", "cores"),
    (r"option|argument|constraint|feature|qos|reservation", "directives"),
)
"""Words in the message of a refusal, and the setting of the profile that they are about."""


class SubmissionRefused(Exception):
    """A job that the queueing system refused; the text is its message."""


def start_jobs(profile: Profile, stack: ExitStack) -> Any:
    """Return a cluster of workers in jobs of a queueing system; the first jobs are submitted here.

    Raises BadPlan: The queueing system refuses a job; with its own message.
    """
    cluster = stack.enter_context(make_job_cluster(profile, stack))
    low, high = profile.n_jobs
    cluster.scale(jobs=max(low, 1))
    with suppress(SubmissionRefused):  # raised here, or in the callback that submits the jobs
        cluster.sync(cluster._correct_state)
    if cluster.job_cls.refusals:
        raise BadPlan(refusal_text(profile, cluster.job_cls.refusals[0]))
    cluster.job_cls.running = True
    # Also for a fixed number of jobs: adaptive scaling replaces lost ones.
    cluster.adapt(minimum_jobs=low, maximum_jobs=high, interval="2s")
    return cluster


def make_job_cluster(profile: Profile, stack: ExitStack) -> Any:
    """Return a cluster without any job yet; `stack` removes its certificates."""
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise BadPlan(
            f"profiles of kind {profile.kind} need dask-jobqueue: pip install dask-jobqueue; without it, see cluster/slurm/"
        ) from None
    if shutil.which(SUBMIT) is None:
        raise BadPlan(
            f"command {SUBMIT} not found: start a profile of kind {profile.kind} on a machine that submits jobs"
        )
    folder = _run_directory(profile, stack)
    security = security_of(
        profile, stack, private=_is_private(profile.interface), folder=folder / "tls"
    )
    options: dict[str, Any] = {
        "account": profile.account,
        "walltime": profile.walltime,
        "queue": profile.queue,
    }
    return SLURMCluster(
        job_cls=refusing(SLURMCluster.job_cls),
        cores=profile.cores,
        processes=1,
        memory=profile.memory,
        job_name="scorecube",
        **_without_none(options),
        **_without_none(
            {"interface": profile.interface, "local_directory": _quoted(profile.local_directory)}
        ),
        job_extra_directives=list(profile.directives),
        job_script_prologue=[*_exports(profile), *profile.prologue],
        python=_quoted(profile.python or sys.executable),
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


def refusing(job: Any) -> Any:
    """Return a class of jobs of dask-jobqueue that raises `SubmissionRefused` instead of errors that hold a whole job script.

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


def refusal_text(profile: Profile, message: str) -> str:
    """Return the error text for a refused job: the setting of the profile that is probably wrong, and the message.

    profile: With the places of its settings.
    message: Of the command that submits jobs.
    """
    places = dict(profile.places)
    found = (
        setting
        for words, setting in SETTING_OF
        if setting in places and re.search(words, message, re.IGNORECASE)
    )
    setting = next(found, "kind")
    shown = getattr(profile, setting)
    place = places.get(setting, "the cluster profile")
    return (
        f"{place}: {setting}: {shown}: the job was refused by {SUBMIT}: {message}; "
        "correct the profile and run the same command again"
    )


def _quoted(path: str | None) -> str | None:
    return None if path is None else shlex.quote(path)


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _exports(profile: Profile) -> list[str]:
    """Return shell commands that set the environment of workers: threads, cache and the scheduler's timeouts."""
    exports = [f"export {name}=1" for name in ONE_THREAD]
    if profile.cache_directory is not None:
        cache = str(Path(profile.cache_directory).absolute())
        exports.append(f"export NUMBA_CACHE_DIR={shlex.quote(cache)}")
    if profile.local_directory is None:
        # Of mode 0700: dask imports from it.
        exports.append("export DASK_TEMPORARY_DIRECTORY=$(mktemp -d)")
    return exports + [
        f"export DASK_DISTRIBUTED__COMM__TIMEOUTS__{name.upper()}={profile.timeout(name)}"
        for name in ("tcp", "connect")
    ]


def _run_directory(profile: Profile, stack: ExitStack) -> Path:
    parent = Path(profile.run_directory).absolute()
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=parent))  # of mode 0700
    stack.callback(shutil.rmtree, folder / "tls", ignore_errors=True)
    return folder


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
