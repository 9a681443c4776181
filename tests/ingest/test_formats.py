"""Telling layouts apart, matrices in other forms, and imports from the command line to the cube."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorecube.errors import BadInput
from scorecube.ingest.formats import detect
from scorecube.workflow.api import import_scores, open_study
from tests.conftest import Cli
from tests.ingest.reading import read_matrix

MATRIX = "topic,r1,r2\n401,0.5,0.25\n402,0.125,1\n"
TRANSPOSED = "run,401,402\nr1,0.5,0.125\nr2,0.25,1\n"
LONG = "run,topic,score\nr1,401,0.5\nr1,402,0.125\nr2,401,0.25\nr2,402,1\n"
TREC_EVAL = {
    run: f"num_ret\t401\t100\nmap   \t401\t{first}\nnum_ret\t402\t90\nmap\t402\t{second}\nrunid\tall\t{run}\nmap\tall\t0.5\n"
    for run, first, second in (("r1", 0.5, 0.125), ("r2", 0.25, 1))
}
NEV = {
    run: f"401 # syslen=100 jrel=3 jnonrel=9\n401 AP=     {first}\n402 # syslen=100\n402 AP=     {second}\n"
    for run, first, second in (("r1", 0.5, 0.125), ("r2", 0.25, 1))
}
IR_MEASURES = {
    run: f"401\tAP\t{first}\n401\tNumRel\t3\n402\tAP\t{second}\nall\tAP\t0.5\n"
    for run, first, second in (("r1", 0.5, 0.125), ("r2", 0.25, 1))
}
WAYS: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "matrix": ("matrix", {"ap.csv": MATRIX}, []),
    "tabs": ("matrix", {"map.tsv": MATRIX.replace(",", "\t")}, []),
    "semicolons": ("matrix", {"ap.csv": MATRIX.replace(",", ";")}, []),
    "transposed": ("matrix", {"ap.csv": TRANSPOSED}, ["--transpose"]),
    "long": ("long", {"ap.csv": LONG}, []),
    "trec_eval": ("trec_eval", {f"{run}.txt": text for run, text in TREC_EVAL.items()}, []),
    "nev": ("nev", {f"{run}.nev": text for run, text in NEV.items()}, []),
    "ir_measures": ("ir_measures", {f"{run}.tsv": text for run, text in IR_MEASURES.items()}, []),
}


def write(folder: Path, files: dict[str, str]) -> list[Path]:
    for name, content in files.items():
        (folder / name).write_text(content)
    return [folder / name for name in files]


@pytest.mark.parametrize("said", [False, True], ids=["auto", "said"])
@pytest.mark.parametrize(("layout", "files", "options"), WAYS.values(), ids=WAYS.keys())
def test_every_layout_gives_the_same_cube(
    scorecube: Cli,
    tmp_path: Path,
    layout: str,
    files: dict[str, str],
    options: list[str],
    said: bool,
) -> None:
    paths = write(tmp_path, files)
    (tmp_path / "teams.csv").write_text("run,team\nr1,A\nr2,B\n")
    more = [
        "--teams",
        tmp_path / "teams.csv",
        "--gain",
        "1:1",
        *options,
        *(["--layout", layout] if said else []),
    ]
    outcome = scorecube("import", tmp_path / "s", "--name", "x", *paths, *more).succeeded()
    taken = ["columns: run = run, topic = topic, metric = AP (score)"] if layout == "long" else []
    assert outcome.stderr.splitlines() == [
        *taken,
        f"{tmp_path}/s: x: 2 runs x 2 topics, 1 metric x 1 gain setting",
    ]
    cube = open_study(str(tmp_path / "s"))["x"].cube
    assert {dim: cube[dim].values.tolist() for dim in cube.sizes} == {
        "metric": ["AP"], "gain": ["1:1"], "run": ["r1", "r2"], "topic": ["401", "402"],
    }  # fmt: skip
    assert cube["team"].values.tolist() == ["A", "B"]
    assert cube["score"].values.tolist() == [[[[0.5, 0.125], [0.25, 1]]]]


def test_a_folder_of_files_is_imported(scorecube: Cli, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", {f"{run}.nev": text for run, text in NEV.items()})
    outcome = scorecube("import", tmp_path / "s", "--name", "x", tmp_path / "out").succeeded()
    assert "2 runs x 2 topics" in outcome.stderr


@pytest.mark.parametrize(
    ("content", "layout"),
    [
        ("topic\ta\t1\n401\t0.5\t0.25\n", "matrix"),  # a run called 1, as in TREC-8
        ("topic\ta\t1\nCD007431\t0.5\t0.25\n", "matrix"),
        ("1,2\n0.5,0.25\n", "matrix"),
        ("sys1\n0.5\n", "matrix"),
        ("topic,a\n1,\n", "matrix"),
        ("a,b\n0.5,x\n0.5,y\n", "matrix"),  # read as one, and refused with its line
        (",topic,run,score\n0,1,a,0.5\n", "long"),
        ("Topic\tSystem\tnDCG\tValue\n1\ta\t0.5\t1\n", "long"),
        ("runid all me\nmap all 0.5\n", "trec_eval"),
        ("map 1 0.5\nrunid all me\n", "trec_eval"),
        ("11pt_avg CD1 0.5\n", "trec_eval"),
        ("# syslen=5\n1 RR= 1\n", "nev"),
        ("1\tAP\t0.5\n", "ir_measures"),
        ("q1 nDCG(dcg='exp-log2')@10 0.5\nq1 R@100 1\n", "ir_measures"),
        ("AP\t0.5\nP@5\t0.5\n", "ir_measures"),  # means, and refused with what to do
        ('{"query_id": "1", "measure": "AP", "value": 1.0}\n', "ir_measures"),
        ("map P 0.5\n", "trec_eval"),
        ("Zmap 301 -0.5\n", "trec_eval"),
        ("runid,topic,ndcg@20,err@20\nme,1,0.5,0.25\n", "gdeval"),
        ("runid,topic,alpha-nDCG@20,strec@20\nme,1,0.5,0.25\n", "ndeval"),
    ],
)
def test_layouts_are_told_by_content(tmp_path: Path, content: str, layout: str) -> None:
    (path,) = write(tmp_path, {"scores": content})
    assert detect(path) == layout


def test_files_of_two_layouts_are_refused(tmp_path: Path) -> None:
    one, other = write(tmp_path, {"ap.csv": MATRIX, "rr.csv": LONG})
    text = f"{other}: looks like layout long, and {one} like matrix; import them one after the other, or choose the layout"
    with pytest.raises(BadInput, match="^" + re.escape(text) + "$"):
        import_scores([one, other])


@pytest.mark.parametrize("corner", ["run", "", "System", "run/topic", "run_id"])
def test_transposed_matrices_are_read(tmp_path: Path, corner: str) -> None:
    (path,) = write(tmp_path, {"ap.csv": TRANSPOSED.replace("run", corner, 1)})
    (tmp_path / "straight.csv").write_text(MATRIX)
    assert read_matrix(path, transpose=True).equals(read_matrix(tmp_path / "straight.csv"))


LABELS = st.lists(
    st.text("abc019._- é", min_size=1, max_size=5).map(str.strip).filter(bool),
    min_size=1,
    unique=True,
)


@given(st.data(), LABELS, LABELS, st.sampled_from(",;\t"), st.booleans())
def test_matrices_come_back_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject, runs: list[str], topics: list[str], delimiter: str, transpose: bool,
) -> None:  # fmt: skip
    values = data.draw(
        st.lists(
            st.floats(1e-6, 1e9) | st.floats(-1e9, -1e-6) | st.sampled_from([0.0, math.nan]),
            min_size=len(runs) * len(topics),
            max_size=len(runs) * len(topics),
        )
    )
    array = np.array(values).reshape(len(runs), len(topics))
    down, across, cells = (runs, topics, array) if transpose else (topics, runs, array.T)
    corner = "run" if transpose else "topic"
    rows = [
        [corner, *across],
        *([label, *map(repr, row.tolist())] for label, row in zip(down, cells, strict=True)),
    ]
    path = tmp_path_factory.mktemp("matrix") / "ap.csv"
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
    frame = read_matrix(path, transpose=transpose)
    assert (frame.index.tolist(), frame.columns.tolist()) == (runs, topics)
    np.testing.assert_array_equal(frame.to_numpy(), array)
