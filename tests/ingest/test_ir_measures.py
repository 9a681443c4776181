"""Output of the command ir_measures: the tool itself, names of runs and measures, what is refused with file and line."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scorecube.ingest.formats import detect
from scorecube.workflow.api import import_scores
from tests.ingest.reading import Matrices, read_scores

MEASURES = ("AP", "nDCG@10", "P(rel=2)@5", "ERR@20", "R@100", "NumRel")
OURS = {"AP", "nDCG@10", "P(rel=2)@5", "ir_measures:ERR@20", "Recall@100"}
OUTPUT = "q1\tAP\t1.0000\nq1\tP@5\t0.4000\nq2\tAP\t0.5000\nq2\tP@5\t0.2000\n"
SUMMARY = "all\tAP\t0.7500\nall\tP@5\t0.3000\n"


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def read_ir_measures(paths: list[Path], metric: str | None = None) -> Matrices:
    return read_scores(paths, layout="ir_measures", metric=metric)[""]


@pytest.mark.parametrize(
    "options", [["-q"], ["-q", "-n"], ["-q", "-o", "jsonl"], ["-q", "-p", "-1"]], ids=" ".join
)
def test_the_tool_itself(tmp_path: Path, options: list[str]) -> None:
    pytest.importorskip("ir_measures")
    qrels = write(tmp_path / "qrels", "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 0\n2 0 b 2\n")
    lines = "1 Q0 b 1 3 me\n1 Q0 a 2 2 me\n1 Q0 c 3 1 me\n2 Q0 b 1 2 me\n2 Q0 a 2 1 me\n"
    files = []
    for name in ("good.tsv", "bad.tsv"):
        run = write(
            tmp_path / "run", lines if name == "bad.tsv" else lines.replace("b 1 3", "b 9 0")
        )
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "ir_measures",
            str(qrels),
            str(run),
            *MEASURES,
            *options,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        files.append(write(tmp_path / name, done.stdout))
    assert [detect(path) for path in files] == ["ir_measures", "ir_measures"]
    cube = import_scores(files)
    assert set(cube["metric"].values.tolist()) == OURS
    assert (cube["run"].values.tolist(), cube["topic"].values.tolist()) == (
        ["bad", "good"],
        ["1", "2"],
    )
    np.testing.assert_allclose(
        cube["score"].sel(metric="AP").values[0], np.array([[7 / 12, 1], [1, 1]]), atol=5e-5
    )
    assert import_scores(files, metric="NumRel")["score"].values.ravel().tolist() == [2, 1, 2, 1]


@pytest.mark.parametrize("content", [OUTPUT, OUTPUT + SUMMARY, OUTPUT.replace("\t", " ")])
@pytest.mark.parametrize("file", ["me.txt", "me", "me.eval", "me.jsonl"])
def test_lines_are_read(tmp_path: Path, content: str, file: str) -> None:
    path = write(tmp_path / file, content)
    assert detect(path) == "ir_measures"
    matrices = read_ir_measures([path])
    assert {name: frame.to_numpy().tolist() for name, frame in matrices.items()} == {
        "AP": [[1, 0.5]],
        "P@5": [[0.4, 0.2]],
    }
    assert (matrices["AP"].index.tolist(), matrices["AP"].columns.tolist()) == (
        ["me"],
        ["q1", "q2"],
    )


def test_a_value_may_be_missing(tmp_path: Path) -> None:
    first = write(
        tmp_path / "a",
        '{"query_id": "1", "measure": "AP", "value": NaN}\n{"query_id": "2", "measure": "AP", "value": 1}\n',
    )
    second = write(tmp_path / "b", "2\tAP\t0.5\n")
    np.testing.assert_array_equal(
        import_scores([first, second])["score"].values[0, 0], [[math.nan, 1], [math.nan, 0.5]]
    )
