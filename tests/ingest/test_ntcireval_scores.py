"""Output of NTCIREVAL: names of measures and runs, comments, what is refused with file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorecube.workflow.api import import_scores
from tests.ingest.reading import Matrices, read_scores

NAMES = {
    "RR": "RR", "O-measure": "O", "P-measure": "P-measure", "P-plus": "P+", "AP": "AP", "Q-measure": "Q",
    "NCUgu,P": "NCUgu,P", "NCUrb,BR": "NCUrb,BR", "GAP": "GAP", "RBP": "RBP", "ERR": "ERR", "EBR": "EBR",
    "AP@0010": "AP@10", "Q@0010": "Q@10", "nDCG@0010": "nDCG(b=2)@10", "nDCG@1000": "nDCG(b=2)@1000",
    "MSnDCG@0010": "nDCG@10", "P@0010": "P@10", "RBP@0010": "RBP@10", "ERR@0010": "ERR@10", "nERR@0010": "nERR@10",
    "Hit@0010": "Hit@10", "EBR@0010": "EBR@0010", "bpref": "bpref", "rpref_relative2": "rpref_relative2",
}  # fmt: skip


def output(scores: dict[str, dict[str, float]]) -> str:
    """Return what NTCIREVAL prints for one topic after the other."""
    return "".join(
        f"{topic} # syslen=1000 jrel=13 jnonrel=500\n{topic} # r1=2 rp=3\n"
        + "".join(f"{topic} {measure + '=':<20} {value:.4f}\n" for measure, value in row.items())
        for topic, row in scores.items()
    )


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def read_nev(paths: list[Path], metric: str | None = None) -> Matrices:
    return read_scores(paths, layout="nev", metric=metric)[""]


def made(start: float = 0.0) -> dict[str, dict[str, float]]:
    return {
        topic: {name: start + k / 100 for k, name in enumerate(NAMES)} for topic in ("001", "002")
    }


def test_measures_get_our_names(tmp_path: Path) -> None:
    matrices = read_nev([write(tmp_path / "me.nev", "# syslen=1000 jrel=13\n" + output(made()))])
    assert list(matrices) == list(NAMES.values())
    for theirs, ours in NAMES.items():
        assert matrices[ours].to_numpy().tolist() == [
            [made()["001"][theirs], made()["002"][theirs]]
        ]
        assert (matrices[ours].index.tolist(), matrices[ours].columns.tolist()) == (
            ["me"],
            ["001", "002"],
        )


def test_names_of_pyntcireval_get_our_names(tmp_path: Path) -> None:
    theirs = (
        "OMeasure",
        "PMeasure",
        "PPlusMeasure",
        "QMeasure",
        "QMeasure@0010",
        "Precision@0010",
        "NCUguP",
    )
    path = write(tmp_path / "me.nev", output({"001": dict.fromkeys(theirs, 0.5)}))
    assert list(read_nev([path])) == ["O", "P-measure", "P+", "Q", "Q@10", "P@10", "NCUguP"]


def test_files_are_runs(tmp_path: Path) -> None:
    files = [
        write(tmp_path / name, output(made(k)))
        for k, name in enumerate(("a.test.nev", "b", "c.nev"))
    ]
    cube = import_scores(files, metric="Q", gain="3:2:1")
    assert cube["run"].values.tolist() == ["a.test", "b", "c"]
    assert (cube["metric"].values.tolist(), cube["gain"].values.tolist()) == (["Q"], ["3:2:1"])
    assert cube["score"].values[0, 0, :, 0].tolist() == [0.05, 1.05, 2.05]


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z0-9]{1,5}", fullmatch=True),
        st.floats(1e-9, 1) | st.just(0.0),
        min_size=1,
    )
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, float]
) -> None:
    path = tmp_path_factory.mktemp("nev") / "me.nev"
    path.write_text(output({topic: {"AP": value} for topic, value in scores.items()}))
    cube = import_scores([path])
    assert cube["topic"].values.tolist() == sorted(scores)
    np.testing.assert_allclose(
        cube["score"].values.ravel(), [scores[topic] for topic in sorted(scores)], atol=5e-5
    )
