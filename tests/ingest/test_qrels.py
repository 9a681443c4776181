"""Dialects of judgements, level maps, and documents that stand twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scorecube as sc
from scorecube.errors import BadInput
from scorecube.ingest.qrels import read_judgements

TREC = "001 0 d1 3\n001 0 d2 0\n002 0 d1 1\n002 0 d3 2\n"
DIALECTS = {
    "trec": TREC,
    "trec with L": TREC.replace(" 3\n", " L3\n")
    .replace(" 0\n", " L0\n")
    .replace(" 1\n", " L1\n")
    .replace(" 2\n", " L2\n"),
    "ntcir": "001 d1 L3\n001 d2 L0\n002 d1 L1\n002 d3 L2\n",
    "ntcir-grades": "001 S d1 1\n001 C d2 0\n002 B d1 0\n002 A d3 1\n",
    "decimals": TREC.replace(" 3\n", " 3.0\n"),
}
RUN = "001 Q0 d1 1 9 r\n001 Q0 d2 2 8 r\n002 Q0 d3 1 7 r\n002 Q0 d1 2 6 r\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects_are_told_apart_and_mean_the_same(tmp_path: Path, name: str) -> None:
    expected = read_judgements(write(tmp_path / "plain", TREC))
    found = read_judgements(write(tmp_path / "qrels", DIALECTS[name]))
    assert found.topics == expected.topics == ["001", "002"]
    np.testing.assert_array_equal(found.levels, expected.levels)
    np.testing.assert_array_equal(found.n_judged(), [[1, 0, 0, 1], [0, 1, 1, 0]])
    rankings = sc.read_rankings(write(tmp_path / "run", RUN), tmp_path / "qrels", workers=1)
    np.testing.assert_array_equal(rankings["level_at_rank"].values, [[[3, 0], [2, 1]]])


@pytest.mark.parametrize("name", ["trec", "ntcir", "ntcir-grades"])
def test_a_dialect_may_be_said(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "qrels", "# a comment\n" + DIALECTS[name])
    np.testing.assert_array_equal(
        read_judgements(path, dialect=name).levels, read_judgements(path).levels
    )


def test_levels_are_mapped(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels", "1 0 a 2\n1 0 b 1\n1 0 c 0\n1 0 d -1\n")
    assert read_judgements(path, level_map={2: 3}).levels.tolist() == [3, 1, 0, -1]
    assert read_judgements(path, level_map={1: 2, 2: 1}).levels.tolist() == [1, 2, 0, -1]
    assert read_judgements(path, level_map={-1: 0}).levels.tolist() == [2, 1, 0, 0]


TWICE = "1 Q0 a 1 9 r\n1 Q0 b 2 8 r\n1 Q0 a 3 7 r\n1 Q0 c 4 6 r\n2 Q0 a 1 5 r\n"
JUDGED = "1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 1\n"


@pytest.mark.parametrize("order", ["score", "file", "rank"])
@pytest.mark.parametrize(
    ("duplicates", "levels"),
    [("first", [[2, 1, 0], [1, -1, -1]]), ("ntcireval", [[2, 1, 2, 0], [1, -1, -1, -1]])],
)
def test_documents_that_stand_twice(
    tmp_path: Path, duplicates: str, levels: list[list[int]], order: str
) -> None:
    run, qrels = write(tmp_path / "run", TWICE), write(tmp_path / "qrels", JUDGED)
    how: dict[str, Any] = {"workers": 1, "order": order}
    rankings = sc.read_rankings(run, qrels, duplicates=duplicates, **how)
    found = rankings["level_at_rank"].values[0]
    np.testing.assert_array_equal(found[:, : len(levels[0])], levels)
    assert (found[:, len(levels[0]) :] == -1).all()
    assert rankings["n_retrieved"].values.tolist() == [[len(levels[0]), 1]]
    with pytest.raises(
        BadInput, match="run:3: document 'a' stands twice in topic 1, first in line 1"
    ):
        sc.read_rankings(run, qrels, **how)


def test_the_first_line_counts_even_with_a_lower_score(tmp_path: Path) -> None:
    run = write(tmp_path / "run", "1 Q0 a 1 1 r\n1 Q0 b 2 5 r\n1 Q0 a 3 9 r\n")
    rankings = sc.read_rankings(
        run, write(tmp_path / "qrels", JUDGED), duplicates="first", workers=1
    )
    assert rankings["level_at_rank"].values[0, 0, :2].tolist() == [1, 2]


def test_ap_can_exceed_one_with_ntcireval(tmp_path: Path) -> None:
    run, qrels = (
        write(tmp_path / "run", "1 Q0 a 1 9 r\n1 Q0 a 2 8 r\n"),
        write(tmp_path / "qrels", "1 0 a 1\n"),
    )
    cube = sc.evaluate(sc.read_rankings(run, qrels, duplicates="ntcireval", workers=1), ["AP"])
    assert cube["score"].item() == 2.0
