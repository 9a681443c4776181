"""Files of NTCIREVAL by topic: its sample, names of topics and runs, what counts as a list, what is refused with file and line."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from scorecube.errors import BadInput
from scorecube.workflow.api import evaluate, read_rankings

SAMPLE_REL = "".join(
    f"dummy{k:02d} L{level}\n" for k, level in enumerate((3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 0), 1)
)
SAMPLE_RES = "dummy11\ndummy01\ndummy12\ndummy04\n"
SAMPLE_LAB = "dummy11 L0\ndummy01 L3\ndummy12\ndummy04 L2\n"
SAMPLE = {
    "RR": 0.5, "O": 0.5, "P-measure": 0.5, "P+": 0.5, "AP": 0.1, "Q": 0.0967, "RBP": 0.0761, "ERR": 0.4062,
    "nDCG(b=2)@1000": 0.3380, "nDCG@1000": 0.2760, "P@1000": 0.0020, "nERR@1000": 0.4710, "Hit@1000": 1.0,
    "NCUgu(nu=P)": 0.1316, "NCUgu": 0.1281, "NCUrb(nu=P)": 0.1215, "NCUrb": 0.1175,
    "NCUgu(judged_only=True)": 0.1404, "NCUrb(judged_only=True,nu=P)": 0.1412,
}  # fmt: skip
"""What NTCIREVAL's README prints for its sample files with gains 1:2:3."""


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def working_folder(folder: Path) -> Path:
    """Make the folder that NTCIREVAL's scripts leave behind: files by topic, and those they were made of."""
    files = {
        "tid": "001\n002\n",
        "www.qrels": "001 dummy01 L3\n",
        "me.run": "001 0 dummy11 1 9 me\n",
        "me.run.test.nev": "x\n",
    }
    for topic in ("001", "002"):
        files |= {
            f"{topic}/{topic}.rel": SAMPLE_REL,
            f"{topic}/{topic}.me.run.res": SAMPLE_RES,
            f"{topic}/{topic}.me.run.test.lab": SAMPLE_LAB,
            f"{topic}/{topic}.other.res": "dummy01\ndummy02\n",
        }
    return write(folder, files | {"002/002.other.res": ""})


def cells(
    runs: Path | list[Path], qrels: Path, metrics: list[str], gain: str = "3:2:1"
) -> dict[str, list[list[float]]]:
    """Return run -> metric -> scores of topics."""
    cube = evaluate(read_rankings(runs, qrels), metrics, [gain])
    return {
        str(run): cube["score"].sel(run=run).values[:, 0].tolist() for run in cube["run"].values
    }


def test_the_sample_of_ntcireval(tmp_path: Path) -> None:
    folder = working_folder(tmp_path / "eval")
    found = cells(folder, folder, list(SAMPLE))
    assert list(found) == ["me.run", "other"]
    np.testing.assert_allclose(
        found["me.run"], [[value] * 2 for value in SAMPLE.values()], atol=5.1e-5
    )
    assert found["other"][list(SAMPLE).index("AP")] == [
        pytest.approx(0.2),
        0.0,
    ]  # an empty list scores 0


@pytest.mark.parametrize("order", ["score", "rank"])
def test_lists_have_the_order_of_the_file(tmp_path: Path, order: str) -> None:
    files = {"1/1.rel": "b L1\na L0\nc L2\n", "1/1.me.res": "c\na\nz\nb\n"}
    write(tmp_path, {**files, "runs/x": "1 Q0 a 1 1 you\n"})
    rankings = read_rankings([tmp_path / "1", tmp_path / "runs"], tmp_path, order=order)
    assert rankings["level_at_rank"].values.tolist() == [[[2, 0, -1, 1]], [[0, -1, -1, -1]]]
    cut = read_rankings([tmp_path], tmp_path, order=order, depth=2)
    assert cut["level_at_rank"].values.tolist() == [[[2, 0]]]


@pytest.mark.parametrize(
    ("file", "run"),
    [
        ("1/1.a.b.res", "a.b"), ("flat/1.a.b.res", "a.b"),
        ("1/1.me.run.res", "me.run"), ("other/other.me.res", None),
        ("1/1.2.res", "2"), ("flat/1.me.res.gz", "me"),
    ],
)  # fmt: skip
def test_names_tell_topic_and_run(tmp_path: Path, file: str, run: str | None) -> None:
    content: bytes = b"a\n" if not file.endswith(".gz") else gzip.compress(b"a\n")
    write(tmp_path, {"qrels": "1 0 a 1\n2 0 a 1\n", f"runs/{file}": content})
    if run is None:  # a topic that is not judged
        with pytest.raises(BadInput, match="judges none"):
            read_rankings([tmp_path / "runs"], tmp_path / "qrels")
        return
    for runs in (tmp_path / "runs", tmp_path / "runs" / file, tmp_path / "runs" / "*" / "*"):
        rankings = read_rankings([runs], tmp_path / "qrels")
        assert rankings["run"].values.tolist() == [run]
        assert rankings["level_at_rank"].values.tolist() == [[[1], [-1]]]


@pytest.mark.parametrize(
    "files",
    [
        {"1.rel": SAMPLE_REL, "2.rel": "# none but one\n\nd L1\n"},
        {"1/1.rel": SAMPLE_REL.replace("\n", "\r\n"), "2/2.rel": "d\tL1\n"},
        {"1/1.www.rel": SAMPLE_REL, "2/2.www.rel": "d L1 7\n"},  # a class of answers is passed over
    ],
)
@pytest.mark.parametrize("by", ["folder", "glob"])
def test_judgements_by_topic(tmp_path: Path, files: dict[str, str | bytes], by: str) -> None:
    write(
        tmp_path,
        {f"rel/{name}": content for name, content in files.items()}
        | {"run": "1 Q0 dummy04 1 1 me\n"},
    )
    depth = "*/*" if any("/" in name for name in files) else "*"
    rankings = read_rankings(
        [tmp_path / "run"], tmp_path / "rel" / ("" if by == "folder" else depth + ".rel")
    )
    assert rankings["topic"].values.tolist() == ["1", "2"]
    assert rankings["n_judged"].values.tolist() == [[1, 4, 3, 3], [0, 1, 0, 0]]
    assert rankings["level_at_rank"].values.tolist() == [[[2], [-1]]]
