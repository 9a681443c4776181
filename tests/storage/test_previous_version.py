"""Studies that versions 0.1.0 and 0.2.0 wrote open, verify, are shown and reported; one is extended to what 0.1.0 would have made of it.

``study-0.1.0.tar.xz`` holds 6 runs of 3 teams on 8 simulated topics under two judgement sets, with a result of every analysis, written by that version;
``study-0.2.0.tar.xz`` holds the same scores with the results of that version.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
import xarray as xr

from scorecube.analyses import Stability
from scorecube.storage import open_study
from scorecube.storage.datasets import content_digest
from scorecube.workflow.api import analyse
from tests.conftest import Cli

ARCHIVE = Path(__file__).with_name("study-0.1.0.tar.xz")
SWAP = (
    "swap",
    "--collection",
    "small",
    "--sampling",
    "disjoint",
    "--size",
    3,
    "--seed",
    1,
    "--block-size",
    500,
    "--bins",
    21,
    "--required",
    "suffix",
)
NO_PLUS_ONE = ("--no-plus-one",)
COMMANDS = {
    "swap": (*SWAP, "--trials", 1000),
    "swap population": (
        "swap", "--collection", "small", "--sampling", "replacement", "--interval", "population", "--groups", 3, "--trials", 20, "--seed", 1,
        "--bins", 21, "--required", "suffix", "--run-groups", "runs",
    ),
    **{
        name: (name, "--collection", "small", "--trials", 20, "--seed", 1, *former)
        for name, former in {
            "stability": (), "bootstrap": NO_PLUS_ONE, "randomisation": NO_PLUS_ONE, "tukey": NO_PLUS_ONE, "unpaired": NO_PLUS_ONE,
            "paired": ("--bounds", "none"), "correlate": ("--one-kind",), "splits": (),
        }.items()
    },
    "teams": ("teams", "--collection", "small", "--trials", 20, "--seed", 1, "--pool-depth", 10),
    "agreement": ("agreement", "--collections", "small,stricter", "--trials", 20, "--seed", 1, "--one-kind"),
}  # fmt: skip
"""What was run, with options of what is the default since, and so gives the plans whose results are stored."""
NEWER = ("leaderboard", "ranks", "maxt", "reliability", "judges")
"""Analyses that 0.2.0 added, whose results the second study holds, too."""
EXTENDED_PLAN = "3bc47cdcd21df0a2"
EXTENDED_CONTENT = "fd9265750f9b36ea6cf838aeb441720b9a05eb08d20986922be1ff7d47ad62b6"
"""Of the swap result with 2,000 trials, as version 0.1.0 made it of the same study: of the variables it had, but limits."""
LIMITS = ["swap_rate_low", "swap_rate_high"]
"""Their last bits depend on SciPy's version."""


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder / "study.zarr"


@pytest.fixture
def old_study(tmp_path: Path) -> Path:
    return unpacked(ARCHIVE, tmp_path)


@pytest.fixture(params=["0.1.0", "0.2.0"])
def any_study(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpacked(ARCHIVE.with_name(f"study-{request.param}.tar.xz"), tmp_path)


def with_study(words: tuple[object, ...], study: Path) -> tuple[object, ...]:
    return (words[0], study, *words[1:])


def test_it_verifies_and_lists_its_results(any_study: Path, scorecube: Cli) -> None:
    assert "all match their checksums" in scorecube("verify", any_study).succeeded().stderr
    listed = scorecube("info", any_study).succeeded().stdout
    assert "swap (2)" in listed
    assert "stricter" in listed


@pytest.mark.parametrize("analysis", sorted({str(words[0]) for words in COMMANDS.values()}))
def test_every_result_is_shown(any_study: Path, scorecube: Cli, analysis: str) -> None:
    shown = (
        scorecube("show", any_study, analysis, "--collection", "small", "--format", "csv")
        .succeeded()
        .stdout
    )
    assert len(shown.splitlines()) > 2


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_repeated_commands_find_their_results(
    any_study: Path, scorecube: Cli, command: str
) -> None:
    done = scorecube(*with_study(COMMANDS[command], any_study)).succeeded()
    assert "already there" in done.stderr


@pytest.mark.slow
def test_the_report_is_written(any_study: Path, tmp_path: Path, scorecube: Cli) -> None:
    scorecube("report", any_study, "--out", tmp_path / "report.html").succeeded()
    assert "Swap method" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("analysis", NEWER)
def test_results_that_0_2_0_added_are_shown(tmp_path: Path, scorecube: Cli, analysis: str) -> None:
    study = unpacked(ARCHIVE.with_name("study-0.2.0.tar.xz"), tmp_path)
    shown = scorecube("show", study, analysis, "--format", "csv").succeeded().stdout
    assert len(shown.splitlines()) > 2


def test_more_trials_extend_the_blocks_of_the_previous_version(
    old_study: Path, scorecube: Cli
) -> None:
    extended = scorecube(*with_study((*SWAP, "--trials", 2000), old_study)).succeeded()
    assert "1,000 trials are recorded already" in extended.stderr
    result = open_study(old_study)["small"].find_result("swap", EXTENDED_PLAN)
    assert result is not None
    before = open_study(old_study)["small"].results("swap")
    known = next(each for each in before if each.attrs["trials"] == 1000)
    exact = known.drop_vars(LIMITS).data_vars
    assert content_digest(result[list(exact)]) == EXTENDED_CONTENT
    scorecube("verify", old_study).succeeded()


def test_pairs_of_old_and_new_results_have_one_order(old_study: Path) -> None:
    collection = open_study(old_study)["small"]
    stability, bootstrap = collection.result("stability"), collection.result("bootstrap")
    for name in ("run_a", "run_b"):
        assert stability[name].values.tolist() == bootstrap[name].values.tolist()
    assert list(zip(bootstrap["run_a"].values[:6], bootstrap["run_b"].values[:6], strict=True)) == [
        ("run0", "run1"), ("run0", "run2"), ("run0", "run3"), ("run0", "run4"), ("run0", "run5"), ("run1", "run2"),
    ]  # fmt: skip
    anew = analyse(collection.cube, Stability(), trials=20, seed=1)
    xr.testing.assert_equal(stability, anew.drop_vars("team"))
