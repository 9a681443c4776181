"""What annoyed people at the front door, and is gone: tables, numbers, messages."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput
from scorecube.ingest.files import refuse_binary
from scorecube.ingest.formats import read_scores
from scorecube.report.correlate import METRICS
from scorecube.report.scores import MEANS
from scorecube.report.table_rows import brief_rows
from scorecube.report.text_formats import cell_text, merge_note, render
from scorecube.workflow.api import analyse
from scorecube.workflow.sweep_file import read_sweep
from tests.conftest import Cli, Files

PYTERRIER = (
    "name,qid,measure,value\nBM25,1,map,0.5\nBM25,2,map,0.25\nBM25,1,nDCG@10,1\nBM25,2,nDCG@10,0\n"
)


def test_runs_are_shown_by_rank(finished_study: Path, scorecube: Cli) -> None:
    text = scorecube("show", finished_study, "scores", "--format", "csv").succeeded().stdout
    frame = pd.read_csv(io.StringIO(text))
    for _, rows in frame.groupby(["metric", "gain"]):
        assert rows["mean"].is_monotonic_decreasing
    assert not frame["run"].is_monotonic_increasing


def test_equal_means_stay_in_the_order_of_the_runs() -> None:
    scores = xr.DataArray(
        [[[[0.25, 0.25], [0.5, 0.5], [0.25, 0.25]]]],
        dims=("metric", "gain", "run", "topic"),
        coords={"metric": ["AP"], "gain": ["auto"], "run": list("abc"), "topic": ["1", "2"]},
    )
    cube = xr.Dataset({"score": scores}, coords={"team": ("run", list("abc"))})
    assert MEANS.make(cube)["run"].tolist() == ["b", "a", "c"]


def test_csv_and_json_have_no_digits_of_the_binary_form() -> None:
    frame = pd.DataFrame({"mean": [0.15367599999999998, 0.1 + 0.2, 5.0]})
    assert render(frame, "csv").splitlines()[1:] == ["0.153676", "0.3", "5.0"]
    assert "0.15367599999999998" not in render(frame, "json")


@pytest.mark.parametrize(
    ("value", "form", "role", "text"),
    [
        (3e-7, ".4f", "p_value", "<0.0001"),
        (0.0, ".4f", "p_value", "0"),
        (0.0123, ".4f", "p_value", "0.0123"),
        (3e-7, ".4f", "share", "<0.0001"),
        (0.0, ".4f", "estimate", "0.0000"),
        (0.0, ".4f", "share", "0"),
        (0.25, ".4f", "share", "0.2500"),
        (0.003, ".2f", "share", "<0.01"),
        (-3e-7, ".4f", "estimate", ">-0.0001"),
    ],
)
def test_numbers_are_never_rounded_to_zero(value: float, form: str, role: str, text: str) -> None:
    assert cell_text(value, form, role) == text


def test_limits_of_tau_beyond_its_range_are_marked_and_those_over_topics_lie_in_it() -> None:
    generator = np.random.default_rng(1)
    first = 0.9 * generator.random((12, 20))
    cube = sc.cube_from_scores({"AP": pd.DataFrame(first), "Q": pd.DataFrame(first + 1e-3)})
    frame = METRICS.make(analyse(cube, sc.Correlation(), trials=10, seed=1))
    assert frame["exceeds_one"].tolist() == [True]
    assert (frame["tau_high"] > 1.0).all()  # the papers' normal approximation
    assert not (frame["topics_high"] > 1.0).any()


def test_a_long_table_of_several_confidences_shows_the_highest() -> None:
    frame = pd.DataFrame({"confidence": [0.95, 0.9, 0.8] * 40, "metric": "AP"})
    short, note = brief_rows(frame)
    assert len(short) == 40
    assert (short["confidence"] == 0.95).all()
    assert "40 of 120 rows" in note
    assert len(brief_rows(frame[:12])[0]) == 12


def test_joined_rows_are_announced(finished_study: Path, scorecube: Cli) -> None:
    shown = scorecube("show", finished_study, "swap").succeeded()
    assert "gain any: the same at every gain setting" in shown.stderr
    assert "gain any" not in scorecube("show", finished_study, "swap", "--format", "csv").stderr
    frame = pd.DataFrame({"collection": "c", "metric": ["AP", "AP"], "gain": ["1", "2"], "mean": 1})
    assert merge_note(frame)


def test_out_is_checked_before_the_table_is_made(finished_study: Path, scorecube: Cli) -> None:
    missing = finished_study.parent / "nowhere" / "table.csv"
    done = scorecube("show", finished_study, "no-such-analysis", "--out", missing)
    assert "there is no folder" in done.stderr


def test_an_archive_says_how_to_unpack_it(tmp_path: Path, files: Files, scorecube: Cli) -> None:
    (tmp_path / "a.run").write_text("1 Q0 d 1 1 a\n")
    with tarfile.open(tmp_path / "runs.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.run", "a.run")
    words = ["evaluate", tmp_path / "s.zarr", "--name", "a", "--runs", tmp_path / "runs.tar.gz"]
    done = scorecube(*words, "--qrels", files.qrels)
    assert done.status == 1
    assert "is packed, and not by gzip alone: unpack it" in done.stderr
    with pytest.raises(BadInput, match="unpack it"):
        refuse_binary(b"PK\3\4" + bytes(30), "runs.zip")


def test_frames_of_pyterrier_are_read(tmp_path: Path) -> None:
    path = tmp_path / "perquery.csv"
    path.write_text(PYTERRIER)
    matrices = read_scores([path], layout="long")[""]
    assert list(matrices) == ["AP", "nDCG@10"]
    assert matrices["AP"].to_numpy().tolist()[0] == [0.5, 0.25]


def test_means_without_topics_say_what_to_export(tmp_path: Path, scorecube: Cli) -> None:
    path = tmp_path / "experiment.csv"
    path.write_text(",name,map,ndcg\n0,BM25,0.3,0.4\n1,PL2,0.2,0.3\n")
    done = scorecube("import", tmp_path / "s.zarr", path, "--name", "a")
    assert done.status == 1
    assert "has means, not scores of single topics" in done.stderr
    assert "perquery=True" in done.stderr


def test_metrics_are_found_by_other_spellings(finished_study: Path, scorecube: Cli) -> None:
    words = ["show", finished_study, "scores", "--format", "csv"]
    ours = scorecube(*words, "--metrics", "nDCG@10,AP").succeeded().stdout
    assert scorecube(*words, "--metrics", "ndcg_cut_10,MAP").succeeded().stdout == ours


def test_help_has_groups_and_no_types(scorecube: Cli) -> None:
    text = scorecube("swap", "--help").succeeded().stdout
    heads = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Arguments:", "What:", "Where:", "How much:", "Advanced:"]
    for command in ("swap", "evaluate", "report", "import", "sweep"):
        shown = scorecube(command, "--help").succeeded().stdout
        assert not set("{}") & set(shown.splitlines()[0])
        assert "<str>" not in shown
        assert "<list" not in shown


def test_an_unknown_table_names_all_tables(finished_study: Path, scorecube: Cli) -> None:
    done = scorecube("show", finished_study, "swap", "--table", "rate")
    assert done.status == 1
    assert "it has: sensitivity, rates, halves, overlap" in done.stderr
    listed = scorecube("show", finished_study, "swap", "--table", "?").succeeded()
    assert listed.stdout.split()[:3] == ["sensitivity", "rates", "halves"]


def test_an_empty_address_of_a_scheduler_is_one_message(
    finished_study: Path, scorecube: Cli
) -> None:
    told = scorecube("swap", finished_study, "--trials", 5, "--seed", 1, "--scheduler", "")
    assert told.status == 1
    assert told.stderr.startswith(
        "error: --scheduler is empty; give the address of a running scheduler"
    )


def test_an_example_of_a_sweep_comes_with_the_package(tmp_path: Path, scorecube: Cli) -> None:
    file = tmp_path / "sweep.toml"
    scorecube("sweep", "--init", file).succeeded()
    assert {source.name for source in read_sweep(file).sources} == {"mytask"}
    assert scorecube("sweep", "--init", file).status == 1


def test_quiet_leaves_errors(finished_study: Path, scorecube: Cli) -> None:
    assert scorecube("show", finished_study, "swap", "--quiet").succeeded().stderr == ""
    assert "gain any" in scorecube("show", finished_study, "swap").stderr
    failed = scorecube("--quiet", "show", finished_study, "nothing")
    assert failed.status == 1
    assert failed.stderr.startswith("error: ")
