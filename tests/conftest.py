"""What tests share: the real collections, a small made-up one, and two ways to run the command line."""

from __future__ import annotations

import gc
import hashlib
import io
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
import xarray as xr
from hypothesis import HealthCheck, settings

import scorecube as sc
from tests.terminal import program

# A first example may compile a kernel, and machines differ: time decides nothing here.
settings.register_profile(
    "full", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("full"), max_examples=50, derandomize=True)
settings.register_profile("dev", settings.get_profile("full"), max_examples=20)
settings.load_profile("dev")

REPO = Path(__file__).parents[1]
os.environ.setdefault("SCORECUBE_SYNC", "0")  # no power failure is tested, and disks are slow
Tree = dict[str, tuple[str, int]]


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str

    def succeeded(self) -> Outcome:
        """Return this outcome; fail with what was said on stderr if the command did."""
        assert self.status == 0, self.stderr
        return self


Cli = Callable[..., Outcome]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cap the examples of property tests, as their own settings override the profile's; not in the profile full."""
    if settings.get_current_profile_name() == "full":
        return
    most = settings().max_examples
    for item in items:
        if item.get_closest_marker("hypothesis"):
            test = item.obj  # type: ignore[attr-defined]
            own = getattr(test, "_hypothesis_internal_use_settings", None)
            if own is None:
                continue  # a state machine, which has settings of its own
            test._hypothesis_internal_use_settings = settings(
                own, max_examples=min(most, own.max_examples)
            )


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of all later searches for cycles."""
    gc.freeze()


@dataclass(frozen=True)
class Files:
    """A small collection as files: 6 runs of 3 teams, 8 topics, relevance levels 0 to 3."""

    runs: Path
    qrels: Path
    teams: Path

    def options(self) -> list[str]:
        """Return the options of ``evaluate`` that name the files."""
        return ["--runs", str(self.runs), "--qrels", str(self.qrels), "--teams", str(self.teams)]


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the third-party collections, which are not part of the repository."""
    folder = REPO.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the third-party collections (../shared/data) are not beside this repository")
    return folder


def matrices(data: Path) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield the scores of each third-party collection that has a table of runs by topics."""
    for folder in sorted(data.iterdir()):
        tables = folder.glob("*.csv*")
        files = sorted(file for file in tables if file.stem not in ("teams", "runs", "systems"))
        if files:
            scores = sc.import_scores([files[0]], metric="X")
            yield folder.name, sc.select(scores, missing="drop")


class Terminal(io.StringIO):
    """What a command takes for a terminal."""

    def isatty(self) -> bool:
        return True


def in_process(
    *words: object, columns: int | None = None, block_units: int | None = None
) -> Outcome:
    """Run the command line in this process, with its output in a terminal of some columns or in a pipe."""
    from scorecube.cli.program import main
    from tests.blocks import blocks_of

    out, err = io.StringIO() if columns is None else Terminal(), io.StringIO()
    status: object = 0
    width = {} if columns is None else {"COLUMNS": str(columns)}
    with (
        mock.patch.dict(os.environ, width),  # what a command sets for its processes ends with it
        nullcontext() if block_units is None else blocks_of(block_units),
        mock.patch.object(sys, "argv", ["scorecube", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as left:
            status = left.code or 0
    assert isinstance(status, int), f"left with a text instead of a status: {status}"
    return Outcome(status, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def scorecube() -> Cli:
    """Run the command line in this process: ``scorecube("info", study)``."""
    return in_process


@pytest.fixture(scope="session")
def scorecube_process() -> Cli:
    """Run the command line in a process of its own, as users do."""

    def run(*words: object, block_units: int | None = None) -> Outcome:
        command = program(*words, block_units=block_units)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def tree() -> Callable[[Path], Tree]:
    """Return a function that tells the digest and time of change of every file below a folder; nothing for no folder.

    The index of a study is left out: it is a cache, which readers write, too.
    """

    def read(folder: Path) -> Tree:
        return {
            path.relative_to(folder).as_posix(): (
                hashlib.sha256(path.read_bytes()).hexdigest(),
                path.stat().st_mtime_ns,
            )
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".index" not in path.parts
        }

    return read


def write_files(folder: Path) -> Files:
    """Write a small collection, made up."""
    made = Files(folder / "runs", folder / "qrels.txt", folder / "teams.csv")
    made.runs.mkdir()
    chance = random.Random(20)
    topics, documents = (
        [f"{number:03d}" for number in range(1, 9)],
        [f"d{number:02d}" for number in range(30)],
    )
    level = {
        (topic, document): chance.choice([0, 0, 0, 1, 2, 3])
        for topic in topics
        for document in documents
    }
    made.qrels.write_text(
        "".join(f"{topic} 0 {document} {each}\n" for (topic, document), each in level.items())
    )
    teams = ["run,team"]
    for number in range(6):
        name = f"run{number}"
        teams.append(f"{name},team{number % 3}")
        lines = [
            f"{topic} Q0 {document} 0 {level[topic, document] + chance.gauss(0, 1 + number):.4f} {name}\n"
            for topic in topics
            for document in chance.sample(documents, 20)
        ]
        (made.runs / f"{name}.txt").write_text("".join(lines))
    made.teams.write_text("\n".join(teams) + "\n")
    return made


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A small collection, made up."""
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory: pytest.TempPathFactory, files: Files, scorecube: Cli) -> Path:
    """A study of the small collection with a swap result and its blocks; not to be changed (see `study`)."""
    path = tmp_path_factory.mktemp("study") / "study.zarr"
    how = ["--metrics", "AP,Q,nDCG@10", "--gains", "auto,1:1:1"]
    scorecube("evaluate", path, "--name", "small", *files.options(), *how).succeeded()
    # Work this small is recorded for a given length of blocks only.
    swap = ["--sampling", "disjoint", "--size", 3, "--trials", 5, "--seed", 1]
    scorecube("swap", path, *swap, block_units=5).succeeded()
    return path


def trials_of(name: str, trials: int) -> list[object]:
    """Return the option for a number of trials, of analyses that have trials."""
    from scorecube.methods import index

    return ["--trials", trials] if index.load(name).resamples else []


@pytest.fixture(scope="session")
def analysed_study(
    finished_study: Path, files: Files, tmp_path_factory: pytest.TempPathFactory, scorecube: Cli
) -> Path:
    """The finished study with a result of every analysis; not to be changed."""
    path = Path(shutil.copytree(finished_study, tmp_path_factory.mktemp("analysed") / "study.zarr"))
    from scorecube.methods import index
    from tests.methods import own

    special = {name: make for name in index.names() if (make := own(name, "CUBE"))}
    for name in index.names():
        if name != "judges" and name not in special:
            scorecube(name, path, *trials_of(name, 5)).succeeded()
    stricter = path.with_name("stricter.txt")
    stricter.write_text(files.qrels.read_text().replace(" 1\n", " 0\n"))
    how = ["--qrels", stricter, "--metrics", "AP,Q,nDCG@10", "--gains", "auto,1:1:1"]
    scorecube("evaluate", path, "--name", "stricter", "--runs", files.runs, *how).succeeded()
    scorecube("judges", path, "--truth", "small", "--labels", "4,6").succeeded()
    for name, make in special.items():
        sc.open_study(path, mode="a").add(name, cube=make())
        scorecube(name, path, "--collection", name).succeeded()
    return path


@pytest.fixture
def study(finished_study: Path, tmp_path: Path) -> Path:
    """A copy of the finished study, to be changed at will."""
    return Path(shutil.copytree(finished_study, tmp_path / "study.zarr"))
