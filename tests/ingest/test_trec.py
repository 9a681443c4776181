"""Run files, qrels and lists of teams: what is read in which order, and what is refused with file and line."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube.errors import BadInput

# The three documents of topic 401 are in another order by score (d2, d3, d1); their levels tell them apart.
RUN = b"401 Q0 d1 1 0.5 tag\n401 Q0 d2 2 3.5 tag\n401 Q0 d3 3 2.5 tag\n402 Q0 d1 1 1.5 tag\n"
QRELS = b"401 0 d1 1\n401 0 d2 2\n401 0 d3 3\n402 0 d1 1\n"
LEVELS = [[[2, 3, 1], [1, -1, -1]]]


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def read(folder: Path, run: bytes = RUN, qrels: bytes = QRELS, **how: Any) -> xr.Dataset:
    return sc.read_rankings(
        write(folder / "bad.run", run), write(folder / "bad.qrels", qrels), **how
    )


def levels_of(rankings: xr.Dataset) -> Any:
    return rankings["level_at_rank"].values.tolist()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(RUN.replace(b" ", b"\t"), id="tabs"),
        pytest.param(RUN.replace(b" ", b"  \t "), id="mixed blanks"),
        pytest.param(b" " + RUN.replace(b"\n", b" \n\t"), id="blanks around lines"),
        pytest.param(b"# a comment of more than six columns\n#\n" + RUN, id="comments"),
        pytest.param(b"<SYSDESC>BM25 with a title of many words</SYSDESC>\n" + RUN, id="description of many words"),
        pytest.param(b"<SYSDESC></SYSDESC>\n" + RUN, id="empty description"),
        pytest.param(RUN.replace(b"Q0", b"0"), id="0 as second column"),
        pytest.param(RUN.replace(b" 0.5", b" 50e-2").replace(b"3.5", b"+3.5").replace(b"2.5", b"0.25E1"), id="exponents"),
        pytest.param(RUN.replace(b"3.5", b"inf").replace(b" 0.5", b" -Infinity"), id="infinite scores"),
        pytest.param(RUN.replace(b" 1 ", b" - "), id="ranks that are no numbers"),
    ],
)  # fmt: skip
def test_run_files_are_read(tmp_path: Path, content: bytes) -> None:
    rankings = read(tmp_path, content)
    assert rankings["run"].values.tolist() == ["tag"]
    assert rankings["topic"].values.tolist() == ["401", "402"]
    assert levels_of(rankings) == LEVELS
    assert rankings["n_retrieved"].values.tolist() == [[3, 1]]


def run_folder(folder: Path, names: Iterable[str]) -> Path:
    folder.mkdir()
    for name in names:
        write(folder / name, RUN.replace(b"tag", name.split(".")[0].encode()))
    return folder


def test_directories_globs_and_files_are_run_files(tmp_path: Path) -> None:
    folder, qrels = (
        run_folder(tmp_path / "runs", ["b.txt", "a.gz", ".hidden", "c.txt"]),
        write(tmp_path / "q", QRELS),
    )
    (folder / "deeper").mkdir()
    found = [
        sc.read_rankings(paths, qrels)["run"].values.tolist()
        for paths in (folder, f"{folder}/*.txt", [folder / "c.txt", folder / "a.gz"])
    ]
    assert found == [["a", "b", "c"], ["b", "c"], ["a", "c"]]


@pytest.mark.parametrize(("run_name", "expected"), [("tag", "tag"), ("file", "input.bm25")])
def test_runs_are_named_by_tag_or_by_file(tmp_path: Path, run_name: str, expected: str) -> None:
    path = write(tmp_path / "input.bm25.gz", gzip.compress(RUN))
    rankings = sc.read_rankings(path, write(tmp_path / "q", QRELS), run_name=run_name)
    assert rankings["run"].values.tolist() == [expected]


def test_naming_by_file_allows_changing_tags(tmp_path: Path) -> None:
    assert (
        levels_of(read(tmp_path, RUN.replace(b"1.5 tag", b"1.5 other"), run_name="file")) == LEVELS
    )


def test_ids_are_text_as_written(tmp_path: Path) -> None:
    rankings = read(tmp_path, b"0007 0 d1 1 1 01e2\n7 0 d1 1 1 01e2\n", b"0007 0 d1 1\n7 0 d1 0\n")
    assert rankings["topic"].values.tolist() == ["0007", "7"]
    assert rankings["run"].values.tolist() == ["01e2"]
    assert rankings["topic"].dtype == np.dtype(object)


LEVEL = {b"dA": 1, b"dB": 2, b"dC": 3, b"dD": 4, b"dE": 5}
# Columns: document, rank, score. dA, dC and dD tie; dB is above them in double precision only.
TIED = (
    (b"dC", 3, "1.0"),
    (b"dE", 1, "0.5"),
    (b"dA", 3, "1.0"),
    (b"dB", 4, "1.00000000001"),
    (b"dD", 2, "1.0"),
)


@pytest.mark.parametrize(
    ("order", "precision", "expected"),
    [
        ("score", "single", "DCBAE"),
        ("score", "double", "BDCAE"),
        ("score-docno-asc", "single", "ABCDE"),
        ("score-docno-asc", "double", "BACDE"),
        ("score-stable", "single", "CABDE"),
        ("score-stable", "double", "BCADE"),
        ("file", "single", "CEABD"),
        ("rank", "single", "EDCAB"),
    ],
)
@pytest.mark.parametrize("depth", [None, 2])
def test_orders_break_ties(
    tmp_path: Path, order: str, precision: str, expected: str, depth: int | None
) -> None:
    run = b"".join(
        b"401 Q0 %s %d %s t\n" % (document, rank, score.encode()) for document, rank, score in TIED
    )
    qrels = b"".join(b"401 0 %s %d\n" % item for item in LEVEL.items())
    rankings = read(tmp_path, run, qrels, order=order, precision=precision, depth=depth)
    assert "".join("-ABCDE"[level] for level in levels_of(rankings)[0][0]) == expected[:depth]
    assert rankings["n_retrieved"].item() == len(expected[:depth])


Line = tuple[str, bytes, int, str]
DOCUMENTS = st.binary(min_size=1, max_size=3).map(
    lambda end: b"document-0123456" + bytes(33 + each % 94 if each < 200 else each for each in end)
) | st.text("ab0", min_size=1, max_size=17).map(str.encode)
SCORES = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.decimals(-9, 9, places=3).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["1", "1.0", "1.00000000001", "1.0000000000000002", "10e-1", "-0", "0", "1e-400", "1e400", "9007199254740993", ".5", "5."]),
)  # fmt: skip
LINES: st.SearchStrategy[list[Line]] = st.lists(
    st.tuples(st.sampled_from(["1", "01", "10"]), DOCUMENTS, st.integers(-3, 30), SCORES),
    min_size=1, max_size=25, unique_by=lambda line: line[:2],
)  # fmt: skip


def expected_order(lines: list[Line], order: str, precision: str) -> list[Line]:
    """Order the lines of one topic, plainly."""

    def score(line: Line) -> float:
        with np.errstate(over="ignore"):
            return float(np.float32(line[3])) if precision == "single" else float(line[3])

    if order == "rank":
        return sorted(lines, key=lambda line: line[2])
    if order == "score":
        lines = sorted(lines, key=lambda line: line[1], reverse=True)
    elif order == "score-docno-asc":
        lines = sorted(lines, key=lambda line: line[1])
    return lines if order == "file" else sorted(lines, key=score, reverse=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("property")


@given(
    lines=LINES,
    order=st.sampled_from(["score", "score-docno-asc", "score-stable", "rank", "file"]),
    precision=st.sampled_from(["single", "double"]),
    depth=st.none() | st.integers(1, 5),
    judge_every=st.integers(1, 3),
)
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_rankings_are_those_of_a_plain_reading(
    folder: Path, lines: list[Line], order: str, precision: str, depth: int | None, judge_every: int
) -> None:
    run = b"".join(b"%s Q0 %s %d %s t\n" % (t.encode(), d, r, s.encode()) for t, d, r, s in lines)
    level = {line[:2]: k + 1 for k, line in enumerate(lines) if k % judge_every == 0}
    qrels = b"".join(b"%s 0 %s %d\n" % (t.encode(), d, each) for (t, d), each in level.items())
    try:
        rankings = read(folder, run, qrels, order=order, precision=precision, depth=depth)
    except BadInput as error:
        assert "judges none of the documents of the 1 run" in str(error)  # noqa: PT017
        reject()
    for topic in rankings["topic"].values:
        ranked = expected_order([line for line in lines if line[0] == topic], order, precision)[
            :depth
        ]
        found = rankings.sel(run="t", topic=topic)
        assert int(found["n_retrieved"]) == len(ranked)
        expected = [level.get(line[:2], -1) for line in ranked]
        assert found["level_at_rank"].values.tolist()[: len(ranked)] == expected
        assert set(found["level_at_rank"].values[len(ranked) :]) <= {-1}


def test_negative_levels_are_pooled_but_not_judged(tmp_path: Path) -> None:
    rankings = read(tmp_path, qrels=b"401 0 d1 -1\n401 0 d2 1\n401 0 d9 -2\n")
    assert levels_of(rankings) == [[[1, -1, -1]]]
    assert rankings["n_judged"].values.tolist() == [[0, 1]]


def test_topics_of_qrels_are_the_collections_topics(tmp_path: Path) -> None:
    rankings = read(tmp_path, qrels=b"403 0 d1 1\n0401 0 d1 1\n401 0 d2 1\n")
    assert rankings["topic"].values.tolist() == ["0401", "401", "403"]
    assert rankings["n_retrieved"].values.tolist() == [[0, 3, 0]]


@pytest.mark.parametrize("rank", ["first", "inf", "nan", "1_0"])
def test_ranks_must_be_numbers_where_they_count(tmp_path: Path, rank: str) -> None:
    run = RUN + f"402 Q0 d2 {rank} 0 tag\n".encode()
    with pytest.raises(BadInput, match=rf"/bad\.run:5: rank '{rank}' is not a"):
        read(tmp_path, run, order="rank")
    assert read(tmp_path, run)["n_retrieved"].values.tolist() == [[3, 2]]


def test_two_runs_of_one_name_are_refused(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a", RUN), write(tmp_path / "b", RUN)
    with pytest.raises(BadInput) as caught:
        sc.read_rankings([first, second], write(tmp_path / "q", QRELS))
    assert str(caught.value).startswith(f"{second}: run name 'tag' is already taken by {first}; ")


def test_a_run_without_team_is_its_own_team(tmp_path: Path) -> None:
    paths = run_folder(tmp_path / "runs", ["r1", "r2", "r3"]), write(tmp_path / "q", QRELS)
    teams = write(tmp_path / "teams.csv", b"run,team\nr1,A\nr3,A\nnot-here,B\n")
    assert sc.read_rankings(*paths, teams)["team"].values.tolist() == ["A", "r2", "A"]
    assert sc.read_rankings(*paths, {"r2": "B"})["team"].values.tolist() == ["r1", "B", "r3"]
