"""What is imported from where, what a cluster file runs, and a test for each sentence of SECURITY.md."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from itertools import chain
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from scorecube.errors import BadPlan
from scorecube.execute.clusters import open_executor, read_cluster
from scorecube.testing import simulate_cube
from scorecube.workflow.api import open_study

REPO = Path(__file__).parents[1]
FILES = REPO / "cluster"


SENTENCES = {
    "Nothing in an input or a study is run": "storage/test_codec.py::test_what_is_hostile_is_refused_without_memory",
    "Files have at most 2 GiB": "storage/test_bounds.py::test_files_are_bounded_before_they_are_read",
    "A cluster file is code": "test_security.py::test_a_cluster_file_is_code",
    "Tags of YAML": "test_security.py::test_tags_of_yaml_are_refused",
    "Control characters": "report/test_hostile_names.py::test_text_has_one_line_a_row_and_gives_no_orders",
    "Names are escaped": "report/test_hostile_names.py::test_latex_has_no_command_of_a_name",
    "The policy of a report": "report/test_hostile_names.py::test_a_page_shows_names_and_nothing_in_them_acts",
    "A label that begins": "report/test_hostile_names.py::test_no_cell_of_csv_is_a_formula_and_every_label_comes_back",
    "In JSON": "report/test_hostile_names.py::test_json_is_exact_and_gives_no_orders_to_a_terminal",
    "Paths are computed": "storage/test_foreign.py::test_forged_heads_touch_nothing_outside",
    "Nothing is written or deleted": "storage/test_foreign.py::test_links_lead_nowhere",
    "Heads, metadata and attributes": "storage/test_foreign.py::test_each_field_of_a_head_may_be_anything",
    "Sizes are checked": "storage/test_bounds.py::test_an_archive_that_is_larger_inside_is_refused",
    "Checksums detect": "storage/test_codec.py::test_every_bit_of_a_record_counts",
    "Reports and figures": "test_files.py::test_a_failure_leaves_the_old_files_and_nothing_else",
    "A link at the target": "test_files.py::test_a_link_at_the_target_is_replaced_and_not_followed",
    "The command `scorecube`": "test_security.py::test_programs_import_nothing_from_the_current_directory",
    "Dask's scratch folder": "test_security.py::test_dask_imports_from_a_scratch_folder_of_its_own",
    "On one machine": "cluster/test_faults.py::test_an_encrypted_cluster_listens_on_loopback_and_gives_the_same",
    "Ports on a network": "cluster/test_cluster_files.py::test_no_open_port_without_certificates",
    "Dashboards are off": "test_security.py::test_dashboards_are_off_by_default",
    "Workers of other versions": "execute/test_worker_versions.py::test_a_worker_of_another_version_is_refused_at_once",
    "The lock has a hash": "test_security.py::test_the_lock_has_a_hash_of_every_package",
}
"""Beginnings of the sentences of SECURITY.md, each with a test that fails if it is not true."""


def test_each_sentence_has_its_test() -> None:
    listed = (REPO / "SECURITY.md").read_text(encoding="utf-8")
    points = re.findall(r"^- \*\*[^*]+\*\* (.*)$", listed, re.MULTILINE)
    sentences = [sentence for point in points for sentence in re.split(r"(?<=\.) ", point)]
    begun = [[start for start in SENTENCES if each.startswith(start)] for each in sentences]
    assert list(chain(*begun)) == list(SENTENCES), begun
    for test in SENTENCES.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (REPO / "tests" / file).read_text(encoding="utf-8"), test


@pytest.mark.process
def test_a_cluster_file_is_code(tmp_path: Path) -> None:
    """So whoever uses one must trust it."""
    ran = tmp_path / "ran"
    options = {"n_workers": 1, "processes": False, "preload": f"open({str(ran)!r}, 'w').close()"}
    with open_executor({"class": "distributed.LocalCluster", "options": options}):
        pass
    assert ran.exists()


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system ['x']", "!!python/name:os.system"]
)
def test_tags_of_yaml_are_refused(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(f"class: distributed.LocalCluster\noptions: {tag}\n")
    with pytest.raises(BadPlan, match=re.escape(str(path))):
        read_cluster(str(path))


@pytest.mark.process
def test_dashboards_are_off_by_default() -> None:
    with open_executor(FILES / "processes.yaml") as executor:
        assert executor.client is not None
        assert executor.client.cluster is not None
        server = executor.client.cluster.scheduler.services["dashboard"]
        ((host, port),) = {socket.getsockname() for socket in server._sockets.values()}
        assert host == "127.0.0.1"
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://{host}:{port}/status", timeout=20)


def test_the_lock_has_a_hash_of_every_package() -> None:
    lock = (REPO / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", "")
    packages = [line for line in lock.splitlines() if "==" in line]
    assert len(packages) > 50
    assert [line for line in packages if "--hash=sha256:" not in line] == []


@pytest.mark.process
def test_dask_imports_from_a_scratch_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = tmp_path / "dask-scratch-space"  # as another user may have made it
    shared.mkdir()
    shared.chmod(0o777)
    with open_executor(FILES / "processes.yaml") as executor:
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
        ("swap", str(study), "--cluster", str(FILES / "processes.yaml"), "--trials", "100"),
        ("report", str(study), "--out", str(tmp_path / "page.html")),
    ):
        ended = subprocess.run(
            [program, *words], cwd=place, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
    assert not (tmp_path / "trace").exists()
