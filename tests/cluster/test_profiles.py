"""Profiles are data: every shipped one is read, mistakes are reported with file and line, jobs request what their profile says."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from scorecube.errors import BadPlan
from scorecube.execute.certificates import FILES, check_files, needs_certificates, write_authority
from scorecube.execute.clients import open_client
from scorecube.execute.clusters import choose_profile, configuration
from scorecube.execute.job_queues import make_job_cluster
from scorecube.execute.profiles import Profile, make_profile, read_profile
from scorecube.workflow.sweep_file import read_sweep

if TYPE_CHECKING:
    from tests.conftest import Cli

PROFILES = Path(__file__).parents[2] / "cluster"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: slrum", "{path}:1: a cluster profile needs a kind, one of threads, "),
        ("workers: 3", "{path}: a cluster profile needs a kind, one of threads, "),
        ("# one\nkind: threads\nworkes: 3", "{path}:3: unknown setting 'workes'; nearest: workers"),
        ("kind: processes\nqueue: long", "{path}:2: profiles of kind processes have no setting 'queue'; they have workers, memory"),
        ("kind: processes\nworkers: 0", "{path}:2: workers is 0, but must be an integer of 1 or more"),
        ("kind: processes\nworkers: true", "{path}:2: workers is True, but must be an integer of 1 or more"),
        ("kind: processes\nmemory: much", "{path}:2: memory is 'much', but must be a size such as 4GB"),
        ("kind: processes\nadapt: {minimum: 3, maximum: 2}", "{path}:2: adapt is {'minimum': 3, 'maximum': 2}, but must be 0 <= "),
        ("kind: processes\nadapt: 3", "{path}:2: adapt is 3, but must be minimum and maximum"),
        ("kind: processes\ntls: 3.5", "{path}:2: tls is 3.5, but must be a string"),
        ("kind: processes\ntimeouts: {tpc: 20s}", "{path}:2: timeouts is {'tpc': '20s'}, but must be some of tcp, connect"),
        ("kind: processes\ntimeouts: {tcp: 20}", "{path}:2: timeouts is {'tcp': 20}, but must be durations such as 20s, 10min or 2h"),
        ("kind: processes\ntimeouts: {tcp: 10s}", "{path}:2: timeouts is {'tcp': '10s'}, but must be a tcp timeout above 10s"),
        ("kind: slurm\njobs: 3", "{path}: a profile of kind slurm needs memory"),
        ("kind: slurm\nmemory: 1GB\nwalltime: 4:00:00", "{path}:3: walltime is 14400, but must be a time in quotes"),
        ("kind: slurm\nmemory: 1GB\ndirectives: -x", "{path}:3: directives is '-x', but must be a list of strings"),
        ("kind: slurm\nmemory: 1GB\nrun_directory: $NO_SUCH_PLACE/x", "{path}:3: run_directory is '$NO_SUCH_PLACE/x', but must be a path whose"),
        ("kind: scheduler", "{path}: a profile of kind scheduler needs either an address or a scheduler_file"),
        ("kind: slurm\nmemory: 1GB\nqueue: \"a\\nb\"", "{path}:3: queue is 'a\\nb', but must be one line"),
        ("kind: slurm\nmemory: 1GB\nrun_directory: /tmp/a b", "{path}:3: run_directory is '/tmp/a b', but must be a path without blanks"),
        ("kind: scheduler\naddress: host", "{path}:2: address is 'host', but must be an address such as tls://host:8786"),
        ("- kind", "{path}: a cluster profile is lines 'setting: value', the first of them kind: ..."),
        ("kind: {", "{path}: the cluster profile is not YAML: "),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_their_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(BadPlan) as raised:
        read_profile(path)
    assert str(raised.value).startswith(message.replace("{path}", str(path)))


def test_workers_and_memory_of_a_profile() -> None:
    jobs = Profile(kind="slurm", jobs=3, cores=4, memory="2GB")
    assert (jobs.threads, jobs.n_jobs, jobs.total_memory()) == (12, (3, 3), 6 * 10**9)
    fewer = choose_profile(jobs, None, 5)
    assert (fewer.threads, fewer.n_jobs) == (8, (2, 2)), "5 cores need two jobs of 4"
    growing = make_profile(
        {"kind": "slurm", "memory": "2GB", "adapt": {"minimum": 0, "maximum": 7}}
    )
    assert (growing.threads, growing.n_jobs) == (7, (0, 7))
    assert make_profile({"kind": "processes", "adapt": {"minimum": 1, "maximum": 3}}).threads == 3
    with pytest.raises(BadPlan, match="profile and address both name a cluster"):
        choose_profile(jobs, "tcp://127.0.0.1:1", None)


@pytest.mark.process
def test_timeouts_hold_for_the_run_only() -> None:
    import dask
    import distributed  # noqa: F401 - brings its settings

    before = (
        dask.config.get("distributed.comm.timeouts.tcp"),
        dask.config.get("distributed.scheduler.worker-ttl"),
    )
    settings = {"kind": "processes", "workers": 1, "timeouts": {"tcp": "13s"}}
    with open_client(settings) as client:
        assert client is not None
        for config in (
            dask.config.config,
            client.run(lambda: __import__("dask").config.config).popitem()[1],
        ):
            assert dask.config.get("distributed.comm.timeouts.tcp", config=config) == "13s"
            assert dask.config.get("distributed.scheduler.worker-ttl", config=config) == "60s"
        cluster: Any = client.cluster
        scheduler = cluster.scheduler
        assert (scheduler.allowed_failures, scheduler.no_workers_timeout, scheduler.worker_ttl) == (
            5,
            600,
            60,
        )
    after = (
        dask.config.get("distributed.comm.timeouts.tcp"),
        dask.config.get("distributed.scheduler.worker-ttl"),
    )
    assert after == before != ("13s", "60s")


def test_jobs_may_wait_long_and_an_idle_scheduler_ends() -> None:
    settings = configuration(Profile(kind="slurm"))
    assert settings["distributed.scheduler.no-workers-timeout"] == "604800s"
    assert settings["distributed.scheduler.idle-timeout"] == "1800s"
    assert configuration(Profile(kind="processes"))["distributed.scheduler.idle-timeout"] is None


@pytest.fixture
def submitting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with the command that submits jobs, which is not called, and a folder of its own."""
    program = tmp_path / "bin" / "sbatch"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job_script(profile: Profile) -> str:
    """Return the text of a job, of a cluster that runs but has no job."""
    with ExitStack() as stack, make_job_cluster(profile, stack) as cluster:
        return str(cluster.job_script())


ASKED = [
    *("#SBATCH -n 1", "#SBATCH --cpus-per-task=4", "#SBATCH --mem=8G"),
    *("#SBATCH -t 04:00:00", "#SBATCH -p long", "#SBATCH -A us"),
]


def test_jobs_ask_for_what_their_profile_says(submitting: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="the extra 'cluster' is not installed")
    text = (PROFILES / "slurm.yaml").read_text()
    text += "account: us\nprologue: [module load python]\ninterface: lo\ntls: true\nqueue: long\n"
    path = submitting / "profile.yaml"
    path.write_text(text)
    script = job_script(read_profile(path))
    for line in ASKED:
        assert line in script
    for words in (
        "-m distributed.cli.dask_worker", "--nthreads 4", "--nanny", "--death-timeout", "--protocol tls://", "module load python",
        "--no-dashboard --dashboard-address 127.0.0.1:0", "export OMP_NUM_THREADS=1", "TIMEOUTS__TCP=20s",
    ):  # fmt: skip
        assert words in script
    (folder,) = (submitting / "scorecube-runs").iterdir()
    assert (
        f"--tls-ca-file {folder}/tls/ca.crt --tls-cert {folder}/tls/tls.crt --tls-key {folder}/tls/tls.key"
        in script
    )
    assert not (folder / "tls").exists(), "certificates outlive their run"


def test_a_folder_of_kernels_is_one_word_of_a_job(submitting: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="the extra 'cluster' is not installed")
    path = submitting / "profile.yaml"
    text = (PROFILES / "slurm.yaml").read_text() + "interface: lo\ntls: true\n"
    path.write_text(text + "cache_directory: /tmp/our 'kernels'; touch x\n")
    (line,) = re.findall(
        r"^export NUMBA_CACHE_DIR=.*$", job_script(read_profile(path)), re.MULTILINE
    )
    assert shlex.split(line) == ["export", "NUMBA_CACHE_DIR=/tmp/our 'kernels'; touch x"]


def test_no_jobs_where_they_cannot_be_submitted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(BadPlan, match=r"start a profile of kind .* on a machine that submits jobs"),
        ExitStack() as stack,
    ):
        make_job_cluster(read_profile(PROFILES / "slurm.yaml"), stack)


def test_no_open_port_without_certificates() -> None:
    def certified(private: bool, **settings: Any) -> bool:
        return needs_certificates(
            make_profile({"kind": "slurm", "memory": "1GB", **settings}), private=private
        )

    assert certified(private=False)
    assert certified(private=False, tls=True)
    assert certified(private=True, tls=True)
    assert not certified(private=True)
    assert not certified(private=True, tls=False)
    assert not certified(private=False, insecure=True)
    assert certified(private=False, insecure=True, tls=True)
    with pytest.raises(BadPlan, match="'tls: false' with no interface lets everybody"):
        certified(private=False, tls=False)


def test_a_loopback_interface_needs_no_certificates(submitting: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="the extra 'cluster' is not installed")
    private = job_script(Profile(kind="slurm", memory="1GB", interface="lo"))
    assert "--interface lo" in private
    assert "--tls" not in private
    with (
        pytest.raises(BadPlan, match="interface: 'no0' is not a valid network interface"),
        ExitStack() as stack,
    ):
        make_job_cluster(Profile(kind="slurm", memory="1GB", interface="no0"), stack)


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:8786", "tcp://example.org:8786"])
def test_no_connection_elsewhere_without_certificates(address: str) -> None:
    with (
        pytest.raises(
            BadPlan, match="is not on this machine and its connections are not encrypted"
        ),
        open_client(None, address),
    ):
        pass


def test_certificates_are_for_their_owner_alone_and_for_one_run(tmp_path: Path) -> None:
    folder = write_authority(tmp_path / "tls")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()
    } == dict.fromkeys(FILES, 0o600)
    assert check_files(folder) == folder
    other = write_authority(tmp_path / "other")
    assert not {(folder / name).read_bytes() for name in FILES} & {
        (other / name).read_bytes() for name in FILES
    }
    with pytest.raises(BadPlan, match="each run has certificates of its own"):
        write_authority(folder)
    (folder / "tls.key").chmod(0o644)
    with pytest.raises(BadPlan, match="every user of this machine can read this key"):
        check_files(folder)
    (folder / "ca.crt").unlink()
    with pytest.raises(
        BadPlan,
        match=r"no ca.crt there; create certificates with: python -m scorecube.execute.certificates",
    ):
        check_files(folder)


HOSTILE = "/tmp/it's a; touch owned $(touch owned) #"


def test_paths_of_a_profile_are_quoted_in_jobs(submitting: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="the extra 'cluster' is not installed")
    python = submitting / "py thon"
    profile = Profile(
        kind="slurm", memory="1GB", interface="lo", cache_directory=HOSTILE, local_directory=HOSTILE, python=str(python)
    )  # fmt: skip
    lines = job_script(profile).splitlines()
    (export,) = [line for line in lines if line.startswith("export NUMBA_CACHE_DIR=")]
    shell = ["bash", "-c", f'{export}; printf %s "$NUMBA_CACHE_DIR"']
    done = subprocess.run(shell, capture_output=True, text=True, check=True, cwd=submitting)
    assert done.stdout == HOSTILE
    assert not (submitting / "owned").exists()
    (worker,) = [line for line in lines if "distributed.cli.dask_worker" in line]
    words = shlex.split(worker)
    assert words[:2] == [str(python), "-m"]
    assert words[words.index("--local-directory") + 1] == HOSTILE


SAID = "sbatch: error: invalid partition specified: nowhere\nsbatch: error: Batch job submission failed: Invalid partition name specified"


def refusing_program(path: Path, message: str) -> None:
    path.write_text(
        f"#!/bin/sh\necho \"$@\" >> {path}.called\nprintf '%s\\n' '{message}' >&2\nexit 1\n"
    )


@pytest.mark.parametrize(
    ("settings", "message", "place"),
    [
        ("queue: nowhere", SAID, ":4: queue: nowhere: the job was refused by sbatch: "),
        ("account: them", "sbatch: error: Invalid account or account/partition combination", ":4: account: them: the job"),
        ("walltime: '99:00:00'", "sbatch: error: Requested time limit is invalid", ":4: walltime: 99:00:00: the job"),
        ("queue: main", "sbatch: error: Unable to contact slurm controller", ":1: kind: slurm: the job was refused by sbatch: "),
    ],
)  # fmt: skip
def test_a_refused_job_ends_the_command_with_the_message_of_the_queueing_system(
    submitting: Path, scorecube: Cli, finished_study: Path, settings: str, message: str, place: str
) -> None:  # fmt: skip
    pytest.importorskip("dask_jobqueue", reason="the extra 'cluster' is not installed")
    refusing_program(submitting / "bin" / "sbatch", message)
    profile = submitting / "profile.yaml"
    profile.write_text(f"kind: slurm\nmemory: 1GB\ninterface: lo\n{settings}\njobs: 3\n")
    outcome = scorecube("swap", finished_study, "--trials", 7, "--seed", 9, "--cluster", profile)
    assert outcome.status == 1
    said = outcome.stderr.splitlines()
    assert said[-1].startswith(f"error: {profile}{place}")
    assert " ".join(message.split()) in said[-1]
    assert said[-1].endswith("; correct the profile and run the same command again")
    assert len(said) == 1
    called = (submitting / "bin" / "sbatch.called").read_text().splitlines()
    assert len(called) == 3, "each job is submitted once, and none again"
    assert not list((submitting / "scorecube-runs").glob("*/tls"))


def run_with_stand_in(folder: Path, command: list[str], **environment: str) -> str:
    """Run a command where `scorecube` prints its arguments; return what it prints."""
    program = folder / "bin" / "scorecube"
    program.parent.mkdir(exist_ok=True)
    program.write_text('#!/bin/sh\necho "scorecube $*"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, env={"PATH": path, **environment}, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_the_array_job_sweeps_the_part_of_its_task(tmp_path: Path) -> None:
    command = ["bash", str(PROFILES / "slurm/parts.sbatch"), "my sweep.toml", "--memory=4GB"]
    task = {"SLURM_ARRAY_TASK_ID": "7", "SLURM_CPUS_PER_TASK": "4"}
    said = run_with_stand_in(tmp_path, command, SLURM_ARRAY_TASK_COUNT="100", **task)
    assert said == "scorecube sweep my sweep.toml --memory=4GB --part 7/100 --workers 4\n"
    again = run_with_stand_in(tmp_path, command, SLURM_ARRAY_TASK_COUNT="2", PARTS="100", **task)
    assert again == said


def test_the_indexed_job_sweeps_every_part_once(tmp_path: Path) -> None:
    text = (PROFILES / "kubernetes/job.yaml").read_text()
    config, job = yaml.safe_load_all(text)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    said = [
        run_with_stand_in(tmp_path, container["args"], JOB_COMPLETION_INDEX=str(index))
        for index in (0, job["spec"]["completions"] - 1)
    ]
    assert said == [
        f"scorecube sweep /etc/sweep/sweep.toml --part {number}/100 --workers 4\n"
        for number in (1, 100)
    ]
    file = tmp_path / "sweep.toml"
    file.write_text(config["data"]["sweep.toml"])
    assert all(entry.seed is not None for entry in read_sweep(file).entries)
