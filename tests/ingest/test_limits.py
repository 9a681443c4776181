"""Limits of input: sizes, ratios of compression, ranges of scores and gains; and sources that are read once."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.collection.evaluation import evaluate
from scorecube.collection.rankings import with_rankings
from scorecube.collection.schema import LARGEST_SCORE, SMALLEST_MAXIMUM
from scorecube.errors import BadInput
from scorecube.ingest import input_files
from scorecube.ingest.input_files import UNCHECKED, read_bytes
from scorecube.ingest.objects import cube_from_scores
from scorecube.methods import index
from scorecube.metrics import DEFINITIONS
from scorecube.metrics.gain_settings import LARGEST_GAIN, SMALLEST_GAIN
from scorecube.testing import simulate_rankings
from tests.odd_inputs.reading import QRELS, RUN, bomb
from tests.oracles.diversity import made_up_intents

MEBIBYTE = 1 << 20


def test_a_file_may_be_as_long_as_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    for content in (b"x" * 1000, gzip.compress(b"x" * 1000)):
        path.write_bytes(content)
        monkeypatch.setattr(input_files, "LARGEST", 1000)
        assert read_bytes(path) == b"x" * 1000
        monkeypatch.setattr(input_files, "LARGEST", 999)
        with pytest.raises(BadInput, match=r" (999 bytes|100 times)"):
            read_bytes(path)


PEAK = """
import sys
from scorecube.cli.program import main
sys.argv = ["scorecube", *sys.argv[1:]]
try:
    main()
finally:
    # Of this program alone: ru_maxrss begins with the size of the process that started it.
    (peak,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(int(peak) >> 10)
"""


@pytest.mark.process
@pytest.mark.parametrize("role", ["scores", "teams", "qrels", "runs"])
def test_a_bomb_is_refused_in_little_memory(role: str, tmp_path: Path) -> None:
    paths = {"runs": tmp_path / "run", "qrels": tmp_path / "qrels", role: tmp_path / "bomb"}
    for name, content in {"runs": RUN, "qrels": QRELS, role: bomb(1500 * MEBIBYTE)}.items():
        paths[name].write_bytes(content)
    assert paths[role].stat().st_size < 2 * MEBIBYTE
    words = ["import", tmp_path / "s", "--name", "x", paths[role]]
    if role != "scores":
        words = ["evaluate", tmp_path / "s", "--name", "x"]
        words += [word for name, path in paths.items() for word in (f"--{name}", path)]
    command = [sys.executable, "-c", PEAK, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert f"error: {paths[role]}: " in done.stderr
    # The interpreter and its libraries take about 300 MiB, the first part of the bomb two times UNCHECKED.
    assert int(done.stdout) < 300 + 3 * (UNCHECKED >> 20)


def test_a_table_of_topics_and_ranks_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 d0 1\n" + "".join(f"t{k} 0 d 1\n" for k in range(50_000)))
    run.write_text("".join(f"1 Q0 d{k} 1 {-k} a\n" for k in range(6000)))
    with pytest.raises(BadInput, match="depth=5368") as caught:
        sc.read_rankings(run, qrels)
    assert caught.value.option == "depth"
    cube = evaluate(sc.read_rankings(run, qrels, depth=10), ["AP"])
    assert cube["score"].sel(topic="1").values.tolist() == [[[1.0]]]


ELSEWHERE = ("judges", "teams", "battles")
"""Analyses that need sets of judgements, battles, or scores as evaluated from judgements, which are never out of range."""


def edge_cube(scale: float) -> xr.Dataset:
    """Return scores whose largest absolute value is `scale`, with rankings; other metrics are as usual."""
    rankings = simulate_rankings(n_runs=6, seed=3)
    cube = evaluate(rankings, ["AP", "Q", "RR"])
    frames = {
        str(metric): cube["score"].sel(metric=metric).isel(gain=0).to_pandas()
        for metric in cube["metric"].values
    }
    frames["m"] = frames.pop("AP")  # a name without a range
    frames["m"] *= scale / np.abs(frames["m"].to_numpy()).max()
    return with_rankings(cube_from_scores(frames), rankings)


@pytest.mark.parametrize("scale", [LARGEST_SCORE, -LARGEST_SCORE, SMALLEST_MAXIMUM], ids=str)
@pytest.mark.parametrize("name", [name for name in index.names() if name not in ELSEWHERE])
def test_every_analysis_works_at_the_edges_of_the_range(name: str, scale: float) -> None:
    """Scores of one metric at an edge leave no infinite number."""
    analysis = index.load(name)()
    result = sc.analyse(edge_cube(scale), analysis, trials=20, seed=1, workers=1)
    for variable in result.data_vars:
        if result[variable].dtype.kind == "f":
            assert not np.isinf(result[variable].values).any(), variable


@pytest.mark.parametrize(
    "gains",
    [f"{LARGEST_GAIN!r}:{LARGEST_GAIN!r}:{LARGEST_GAIN!r}", f"{LARGEST_GAIN!r}:{SMALLEST_GAIN!r}:0", f"{SMALLEST_GAIN!r}:0:0"],
)  # fmt: skip
def test_every_metric_is_finite_at_the_edges_of_the_gains(gains: str) -> None:
    rankings = made_up_intents(simulate_rankings(n_runs=3, seed=3))
    names = []
    for name, definition in DEFINITIONS.items():
        cuts = {"none": [""], "optional": ["", "@10"], "required": ["@10"]}[definition.cutoff]
        names += [name + cut for cut in cuts]
    assert len(names) > 30
    assert np.isfinite(sc.evaluate(rankings, names, [gains])["score"].values).all()


@pytest.mark.parametrize("installed", [True, False])
def test_damaged_gzip_files_are_named_by_either_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if not installed:
        monkeypatch.setitem(sys.modules, "isal", None)
    whole = gzip.compress(b"1 Q0 d 1 1 r\n" * 100)
    path = tmp_path / "run.gz"
    path.write_bytes(whole)
    assert read_bytes(path) == b"1 Q0 d 1 1 r\n" * 100
    for damaged in (whole[:-9], whole[:5], whole[:-3] + b"xyz", whole[:20] + b"\xff" * 20):
        path.write_bytes(damaged)
        with pytest.raises(BadInput) as refused:
            read_bytes(path)
        assert "run.gz" in str(refused.value)
