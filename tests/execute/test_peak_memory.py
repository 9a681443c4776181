"""`--memory` compared with the largest resident size of processes that run five workloads."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.collection.evaluation import cube_dataset
from scorecube.metrics import parse_metric
from tests.conftest import Tree

pytestmark = pytest.mark.alone
TOLERANCE = 0.2
PROGRAM = """
from pathlib import Path
import sys
from scorecube.cli.program import main
try:
    main()
finally:
    peak = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM"))
    print("PEAK", peak.split()[1], file=sys.stderr)
"""


@dataclass(frozen=True)
class Measured:
    """Status, messages and largest resident size in MB of a process."""

    status: int
    stderr: str
    peak: float


def measure(*words: object) -> Measured:
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    command = [sys.executable, "-c", PROGRAM, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    text, _, kilobytes = done.stderr.rpartition("PEAK ")
    return Measured(done.returncode, text, int(kilobytes) * 1024 / 1e6)


def simulated(n_runs: int, n_topics: int, n_metrics: int) -> xr.Dataset:
    chance = np.random.default_rng(7)
    runs = [f"run{k:05d}" for k in range(n_runs)]
    topics = [f"{k:04d}" for k in range(n_topics)]
    common = chance.normal(size=(n_runs, 1)) + chance.normal(size=(1, n_topics))
    scores = {}
    for k in range(n_metrics):
        noise = chance.normal(size=(n_runs, n_topics))
        values = np.round(1 / (1 + np.exp(-common - noise)), 4)
        scores[f"m{k:02d}"] = pd.DataFrame(values, index=runs, columns=topics)
    return sc.cube_from_scores(scores)


def study_of_scores(path: Path, n_runs: int, n_topics: int, n_metrics: int) -> Path:
    sc.open_study(path, mode="a").add("one", cube=simulated(n_runs, n_topics, n_metrics))
    return path


def announced(*words: object) -> float:
    """Return the estimate in MB that a dry run of a command prints."""
    stderr = measure(*words, "--dry-run").stderr
    shown = re.search(r"([\d,]+) MiB in all", stderr)
    assert shown is not None, stderr
    return int(shown[1].replace(",", "")) * 2**20 / 1e6


WORKLOADS: dict[str, tuple[Callable[[Path], Path], list[object]]] = {
    "swap": (lambda path: study_of_scores(path, 400, 1000, 12), ["--trials", 200]),
    "bootstrap": (lambda path: study_of_scores(path, 1500, 50, 2), ["--trials", 300]),
    "tukey": (lambda path: study_of_scores(path, 1500, 50, 12), ["--trials", 300]),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_limit_is_kept(name: str, tmp_path: Path, tree: Callable[[Path], Tree]) -> None:
    make, options = WORKLOADS[name]
    study = make(tmp_path / "study.zarr")
    before = tree(study)
    words = [name, study, "--seed", 1, "--workers", 2, *options]
    refused = measure(*words, "--memory", "100MB")
    assert refused.status == 1
    assert tree(study) == before
    found = re.search(r"this needs about ([\d,]+) MB .*, and 100 MB are allowed", refused.stderr)
    assert found is not None, refused.stderr
    needed = int(found[1].replace(",", ""))
    too_little = int(0.9 * needed)
    less = measure(*words, "--memory", f"{too_little}MB")
    assert less.status == 1
    assert re.search(
        rf"this needs about [\d,]+ MB .* and {too_little:,} MB are allowed", less.stderr
    )
    assert tree(study) == before
    limit = int(1.05 * needed)
    done = measure(*words, "--memory", f"{limit}MB")
    assert done.status == 0, done.stderr
    estimate = announced(*words, "--memory", f"{limit}MB")
    print(
        f"\n{name}: limit {limit:,} MB, estimate {estimate:,.0f} MB, measured {done.peak:,.0f} MB"
    )
    assert estimate <= limit + 1
    # How much threads hold at once depends on their turns, so an estimate may be too high.
    assert 0.5 * estimate <= done.peak <= (1 + TOLERANCE) * estimate


def test_scores_of_many_topics_are_not_held_as_a_whole(tmp_path: Path) -> None:
    """Stored scores of 640 MB: those of a few runs at a time are put into bags."""
    peaks = []
    for n_topics in (50, 400_000):
        study, chance = tmp_path / f"{n_topics}.zarr", np.random.default_rng(1)
        scores = chance.random((2, 1, 100, n_topics))
        scores[0] = scores[0] < 0.5
        topics, runs = ([f"{k:07d}" for k in range(n)] for n in (n_topics, 100))
        metrics = [parse_metric("P@1"), parse_metric("AP")]
        cube = cube_dataset(scores, metrics, ["auto"], runs, topics)
        sc.open_study(study, mode="a").add("one", cube=cube)
        del cube
        words = ["leaderboard", study, "--trials", 200, "--seed", 1]
        done = measure(*words, "--workers", 2)
        assert done.status == 0, done.stderr
        estimate = announced(*words, "--workers", 2)
        assert done.peak < (1 + TOLERANCE) * estimate
        peaks.append(done.peak)
        print(f"\n{n_topics} topics: {estimate:,.0f} MB of {done.peak:,.0f}")
    assert peaks[1] - peaks[0] < 0.5 * scores.nbytes / 1e6


@pytest.mark.parametrize(
    ("sizes", "words", "most"),
    [
        # Samples are counted as they are drawn: 5 million topics take no memory.
        ((20, 50, 1), "swap --sampling replacement --trials 6 --size 5000000", 400),
        ((20, 50, 1), "stability --sampling replacement --trials 6 --size 5000000", 400),
        # Counts of many topics, and samples of each pair, are in the estimate.
        ((4, 50_000, 1), "swap --size 50 --trials 2000", None),
        ((4, 50_000, 1), "stability --size 50 --trials 2000", None),
        ((3, 50, 1), "swap --sampling replacement --share none --trials 8 --size 8000000", None),
    ],
)
def test_samples_are_in_the_estimate(
    sizes: tuple[int, int, int], words: str, most: int | None, tmp_path: Path
) -> None:
    name, *options = words.split()
    command = [name, study_of_scores(tmp_path / "study.zarr", *sizes), *options]
    command += ["--seed", 1, "--workers", 2]
    done = measure(*command)
    assert done.status == 0, done.stderr
    assert done.peak <= (most or (1 + TOLERANCE) * announced(*command))


def test_the_limit_of_a_sweep_is_kept(tmp_path: Path) -> None:
    """Tasks that need 640 MB each are computed within 760 and 900 MB on two workers, and refused within 400."""
    for allowed in (400, 760, 900):
        folder = tmp_path / str(allowed)
        folder.mkdir()
        study_of_scores(folder / "study.zarr", 600, 50, 4)
        file = folder / "sweep.toml"
        tasks = "".join(
            f'[[analysis]]\nname = "{name}"\ntrials = 100\nseed = {seed}\n'
            for seed, name in enumerate(("tukey", "bootstrap", "tukey", "tukey"), 1)
        )
        file.write_text(f'study = "study.zarr"\nworkers = 2\n{tasks}')
        done = measure("sweep", file, "--memory", f"{allowed}MB")
        print(f"\nsweep: measured {done.peak:,.0f} of {allowed:,}")
        if allowed == 400:
            assert done.status == 1
            assert "are allowed" in done.stderr
            continue
        assert done.status == 0, done.stderr
        assert done.peak <= allowed
