"""Output of gdeval and ndeval: names of measures, several files, the tool itself, what is refused with file and line."""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from scorecube.errors import BadInput
from scorecube.ingest.formats import detect
from scorecube.workflow.api import evaluate, import_scores, read_rankings
from tests.ingest.reading import Matrices, read_scores

GDEVAL = "runid,topic,ndcg@20,err@20\nindri,51,0.37535,0.48743\nindri,52,0.05270,0.03263\nindri,amean,0.21403,0.26003\n"
OTHER = GDEVAL.replace("indri", "okapi").replace("0.37535", "0.5")
MEASURES = [
    f"{name}@{cutoff}"
    for name in ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG")
    for cutoff in (5, 10, 20)
]
MEASURES += [
    "NRBP",
    "nNRBP",
    "MAP-IA",
    *(f"{name}@{cutoff}" for name in ("P-IA", "strec") for cutoff in (5, 10, 20)),
]
NDEVAL = f"runid,topic,{','.join(MEASURES)}\n" + "".join(
    f"indri,{topic},{','.join(f'{start + k / 100:.6f}' for k in range(len(MEASURES)))}\n"
    for topic, start in (("51", 0.0), ("52", 0.5), ("amean", 0.25))
)


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def read_gdeval(paths: list[Path], metric: str | None = None) -> Matrices:
    return read_scores(paths, layout="gdeval", metric=metric)[""]


def test_gdeval_has_names_that_are_none_of_ours(tmp_path: Path) -> None:
    files = [write(tmp_path / "a.csv", GDEVAL), write(tmp_path / "b.csv", OTHER)]
    assert [detect(path) for path in files] == ["gdeval", "gdeval"]
    matrices = read_gdeval(files)
    assert list(matrices) == ["gdeval:nDCG@20", "gdeval:ERR@20"]
    frame = matrices["gdeval:nDCG@20"]
    assert (frame.index.tolist(), frame.columns.tolist()) == (["indri", "okapi"], ["51", "52"])
    assert frame.to_numpy().tolist() == [[0.37535, 0.0527], [0.5, 0.0527]]
    assert matrices["gdeval:ERR@20"].to_numpy().tolist() == [[0.48743, 0.03263]] * 2


def test_measures_of_ndeval_keep_their_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", NDEVAL)
    assert detect(path) == "ndeval"
    cube = import_scores([path])
    assert cube["metric"].values.tolist() == MEASURES
    expected = [[0.0 + k / 100, 0.5 + k / 100] for k in range(len(MEASURES))]
    np.testing.assert_allclose(cube["score"].values[:, 0, 0], expected, atol=1e-9)


def test_files_of_one_run_with_other_cutoffs_go_together(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.csv", GDEVAL),
        write(tmp_path / "b.csv", GDEVAL.replace("@20", "@10")),
    ]
    cube = import_scores(files, layout="gdeval")
    assert cube["metric"].values.tolist() == [
        "gdeval:nDCG@20",
        "gdeval:ERR@20",
        "gdeval:nDCG@10",
        "gdeval:ERR@10",
    ]
    assert cube["run"].values.tolist() == ["indri"]


def test_concatenated_output_and_missing_topics(tmp_path: Path) -> None:
    """With -c, gdeval counts topics that the run lacks in the mean, and prints no line of them."""
    cube = import_scores(
        [write(tmp_path / "all.csv", GDEVAL + OTHER.replace("okapi,52,0.05270,0.03263\n", ""))]
    )
    np.testing.assert_array_equal(cube["score"].values[0, 0], [[0.37535, 0.0527], [0.5, math.nan]])


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
def test_the_tool_itself(tmp_path: Path) -> None:
    """Its ERR is ours with form=exp2 where the highest level is 4, its nDCG ours with gains of 2**level - 1."""
    spec = importlib.util.find_spec("ir_measures")
    if spec is None or spec.origin is None:
        pytest.skip("ir_measures brings gdeval.pl along")
    script = Path(spec.origin).parent / "bin" / "gdeval.pl"
    qrels = write(tmp_path / "qrels", "1 0 a 4\n1 0 b 0\n1 0 c 2\n2 0 a 1\n2 0 b 3\n3 0 d 1\n")
    run = write(
        tmp_path / "run",
        "1 Q0 c 1 3 me\n1 Q0 a 2 2 me\n1 Q0 x 3 1 me\n2 Q0 a 1 2 me\n2 Q0 b 2 1 me\n",
    )
    done = subprocess.run(
        ["perl", script, qrels, run, "20"], capture_output=True, text=True, check=True
    )
    theirs = import_scores([write(tmp_path / "out.csv", done.stdout)])
    ours = evaluate(
        read_rankings([run], qrels), ["nDCG@20", "ERR(form=exp2)@20"], ["15:7:3:1", "auto"]
    )
    for measure, metric, gain in (
        ("nDCG", "nDCG@20", "15:7:3:1"),
        ("ERR", "ERR(form=exp2)@20", "auto"),
    ):
        expected = ours["score"].sel(metric=metric, gain=gain, run="me", topic=["1", "2"]).values
        np.testing.assert_allclose(
            theirs["score"].sel(metric=f"gdeval:{measure}@20").values[0, 0], expected, atol=5e-6
        )


@pytest.mark.parametrize("content", ["run,topic,ndcg@20\nme,1,0\n", "runid,topic,err@5,err@5\nme,1,0,0\n", GDEVAL + "runid,topic\n"])  # fmt: skip
def test_bad_headers_are_refused(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(BadInput) as caught:
        read_gdeval([path])
    assert (caught.value.path, caught.value.line) == (path, 5 if "indri" in content else 1)
