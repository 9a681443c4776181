"""SECURITY.md: its table of ports is that of the profiles, and what it says of ports and files of local clusters is so."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from scorecube.execute.certificates import needs_certificates
from scorecube.execute.clusters import open_executor
from scorecube.execute.profiles import BATCH, read_profile
from scorecube.testing import simulate_cube
from scorecube.workflow.api import open_study

REPO = Path(__file__).parents[1]
PAGE = (REPO / "SECURITY.md").read_text(encoding="utf-8")
PROFILES = REPO / "cluster"
OTHERS = {"none", "slurm/scorecube.sbatch", "kubernetes/", "docker/compose.yaml"}
"""Rows that are no profiles in one file."""


def ports() -> dict[str, tuple[str, str, str]]:
    """Return the table of ports: who listens, who reaches it, and whether a certificate is needed."""
    section = PAGE.split("\n## Ports\n")[1].split("\n## ")[0]
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    assert rows[0] == ["profile", "listens", "reachable by", "certificate", "test"]
    return {
        name: (listens, reached, certificate) for name, listens, reached, certificate, _ in rows[2:]
    }


def test_every_profile_has_a_row() -> None:
    assert set(ports()) == OTHERS | {path.name for path in PROFILES.glob("*.yaml")}
    for name in OTHERS - {"none", "docker/compose.yaml"}:
        assert (PROFILES / name).exists()


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_rows_say_what_profiles_do(path: Path) -> None:
    profile = read_profile(path)
    listens, reached, certificate = ports()[path.name]
    assert not profile.insecure
    assert not profile.dashboard
    if profile.kind in BATCH:
        assert reached == "the network"
        assert needs_certificates(profile, private=False) == (certificate == "yes")
    elif profile.kind == "scheduler":
        assert listens.startswith("nothing")
        assert (str(profile.address).startswith("tls://"), bool(profile.tls)) == (True, True)
        assert certificate == "yes"
    else:
        assert reached in ("nobody", "users of this machine")
        assert needs_certificates(profile, private=True) == (certificate == "yes")


def test_the_page_is_linked_and_has_no_address() -> None:
    for page in ("README.md", "CONTRIBUTING.md"):
        assert "(SECURITY.md)" in (REPO / page).read_text(encoding="utf-8")
    assert (REPO / "docker/Dockerfile").exists()
    assert "@" not in PAGE.replace("`@`", "")  # no address that nobody reads


NAMED = r"`(tests/[\w/]+\.py)::(test_\w+)`"


def test_every_row_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    rules = [row for row in rows if set(row) <= set("|-")]
    heads = [row for row in rows if row.endswith("| test |")]
    assert len(heads) == len(rules) == 6
    promises = [row for row in rows if row not in (*heads, *rules)]
    assert len(promises) >= 32
    for row in promises:
        assert re.search(rf"\| {NAMED} \|$", row), row


def test_every_named_test_is_there() -> None:
    named = set(re.findall(NAMED, PAGE))
    assert len(named) >= 35
    for path, test in named:
        assert f"def {test}(" in (REPO / path).read_text(encoding="utf-8"), (path, test)
    # A whole file holds no sentence: each "Tests:" names single ones.
    assert not re.findall(r"`tests/[\w/]+\.py`", PAGE)


def test_certificates_in_kubernetes_are_mounted_for_the_group_of_the_pods() -> None:
    assert "mounted 0440" in PAGE
    mounts = [
        line.split(":")[1].strip()
        for path in sorted((PROFILES / "kubernetes").rglob("*.yaml"))
        for line in path.read_text().splitlines()
        if "defaultMode:" in line
    ]
    assert len(mounts) >= 4
    assert set(mounts) == {"0440"}


def addresses() -> set[str]:
    """Return where this process and those below it listen."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return {
        each.laddr.ip
        for process in processes
        for each in process.net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    }


@pytest.mark.process
def test_dask_imports_from_a_scratch_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = tmp_path / "dask-scratch-space"  # as another user may have made it
    shared.mkdir()
    shared.chmod(0o777)
    with open_executor(read_profile(PROFILES / "processes.yaml")) as executor:
        assert executor.client is not None
        paths = {*sys.path, *executor.client.run(eval, "__import__('sys').path").popitem()[1]}
        scratch = {Path(each) for each in paths if shared.name in each}
        assert scratch
        assert not any(each.is_relative_to(shared) for each in scratch)
        (own,) = {tmp_path / each.relative_to(tmp_path).parts[0] for each in scratch}
        assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert not own.exists()
    assert not list(shared.iterdir())


@pytest.mark.process
def test_programs_import_nothing_from_the_current_directory(tmp_path: Path) -> None:
    study = tmp_path / "study.zarr"
    open_study(study, mode="a").add("demo", cube=simulate_cube(n_runs=5))
    place = tmp_path / "place"
    for name in ("multiprocessing", "numba", "numpy", "distributed", "socket", "scorecube"):
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')")
    program = Path(sys.executable).with_name("scorecube")
    for words in (
        ("swap", str(study), "--cluster", str(PROFILES / "processes.yaml"), "--trials", "100"),
        ("report", str(study), "--pages", "--out", str(tmp_path / "pages")),
    ):
        ended = subprocess.run(
            [program, *words], cwd=place, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
    assert not (tmp_path / "trace").exists()


@pytest.mark.process
@pytest.mark.parametrize("name", ["threads.yaml", "processes.yaml", "local.yaml"])
def test_local_profiles_listen_where_the_page_says(name: str) -> None:
    listens, _, certificate = ports()[name]
    before = addresses()
    assert before <= {"127.0.0.1"}
    with open_executor(read_profile(PROFILES / name)) as executor:
        found = addresses()
        if listens == "nothing":
            assert (executor.client, found) == (None, before)
            return
        assert listens.endswith("on 127.0.0.1")
        assert found == {"127.0.0.1"}
        assert executor.client is not None
        secure = executor.client.scheduler_info()["address"].startswith("tls://")
        assert secure == (certificate == "yes")
        if not secure:
            return
        key = Path(executor.client.security.tls_client_key)
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (key, key.parent, key.parent.parent)]
        assert modes == [0o600, 0o700, 0o700]
    assert not key.parent.parent.exists()
