"""Run files, judgements and objects of other tools: what is read in which order, and what is refused with file and line."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube.errors import BadInput
from scorecube.ingest.qrels import read_judgements

# The three documents of topic 401 are in another order by score (d2, d3, d1); their levels tell them apart.
RUN = b"401 Q0 d1 1 0.5 tag\n401 Q0 d2 2 3.5 tag\n401 Q0 d3 3 2.5 tag\n402 Q0 d1 1 1.5 tag\n"
QRELS = b"401 0 d1 1\n401 0 d2 2\n401 0 d3 3\n402 0 d1 1\n"
LEVELS = [[[2, 3, 1], [1, -1, -1]]]


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
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
        pytest.param(RUN.replace(b" ", b"  \t "), id="mixed blanks"),
        pytest.param(b" " + RUN.replace(b"\n", b" \n\t"), id="blanks around lines"),
        pytest.param(b"# a comment of more than six columns\n#\n" + RUN, id="comments"),
        pytest.param(b"<SYSDESC>BM25 with a title of many words</SYSDESC>\n" + RUN, id="description of many words"),
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


def test_directories_globs_and_files_are_run_files(tmp_path: Path) -> None:
    qrels, folder = write(tmp_path / "q", QRELS), tmp_path / "runs"
    for name in ("b.txt", "a.gz", ".hidden", "c.txt", "below/d"):
        write(folder / name, RUN.replace(b"tag", Path(name).stem.encode()))
    found = [
        sc.read_rankings(paths, qrels)["run"].values.tolist()
        for paths in (folder, f"{folder}/*.txt", [folder / "c.txt", folder / "a.gz"])
    ]
    assert found == [["a", "b", "c", "d"], ["b", "c"], ["a", "c"]]
    with pytest.raises(BadInput, match="run name 'b'"):
        sc.read_rankings([folder, write(tmp_path / "again", RUN.replace(b"tag", b"b"))], qrels)


def test_ids_are_text_as_written(tmp_path: Path) -> None:
    rankings = read(tmp_path, b"0007 0 d1 1 1 01e2\n7 0 d1 1 1 01e2\n", b"0007 0 d1 1\n7 0 d1 0\n")
    assert rankings["topic"].values.tolist() == ["0007", "7"]
    assert rankings["run"].values.tolist() == ["01e2"]
    assert rankings["topic"].dtype == np.dtype(object)


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


def expected_order(lines: list[Line], order: str) -> list[Line]:
    """Order the lines of one topic, plainly."""

    def score(line: Line) -> float:
        with np.errstate(over="ignore"):
            return float(np.float32(line[3]))

    if order == "rank":
        return sorted(lines, key=lambda line: line[2])
    if order.startswith("score") and order != "score-stable":
        lines = sorted(lines, key=lambda line: line[1], reverse=order == "score")
    return lines if order == "file" else sorted(lines, key=score, reverse=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("property")


@given(
    lines=LINES,
    order=st.sampled_from(["score", "score-docno-asc", "score-stable", "rank", "file"]),
    depth=st.none() | st.integers(1, 5),
    judge_every=st.integers(1, 3),
)
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_rankings_are_those_of_a_plain_reading(
    folder: Path, lines: list[Line], order: str, depth: int | None, judge_every: int
) -> None:
    run = b"".join(b"%s Q0 %s %d %s t\n" % (t.encode(), d, r, s.encode()) for t, d, r, s in lines)
    level = {line[:2]: k + 1 for k, line in enumerate(lines) if k % judge_every == 0}
    qrels = b"".join(b"%s 0 %s %d\n" % (t.encode(), d, each) for (t, d), each in level.items())
    try:
        rankings = read(folder, run, qrels, order=order, depth=depth)
    except BadInput as error:
        assert "judges none" in str(error)  # noqa: PT017
        reject()
    for topic in rankings["topic"].values:
        ranked = expected_order([line for line in lines if line[0] == topic], order)[:depth]
        found = rankings.sel(run="t", topic=topic)
        assert int(found["n_retrieved"]) == len(ranked)
        expected = [level.get(line[:2], -1) for line in ranked]
        assert found["level_at_rank"].values.tolist()[: len(ranked)] == expected
        assert set(found["level_at_rank"].values[len(ranked) :]) <= {-1}


def test_negative_levels_are_pooled_but_not_judged(tmp_path: Path) -> None:
    rankings = read(tmp_path, qrels=b"401 0 d1 -1\n401 0 d2 1\n401 0 d9 -2\n0401 0 d1 1\n")
    assert levels_of(rankings) == [[[-1, -1, -1], [1, -1, -1]]]
    assert rankings["n_judged"].values.tolist() == [[0, 1], [0, 1]]
    assert rankings["topic"].values.tolist() == ["0401", "401"]  # those of the judgements


TREC = "001 0 d1 3\n001 0 d2 0\n002 0 d1 1\n002 0 d3 2\n"
DIALECTS = {
    "trec with L": "001 0 d1 L3\n001 0 d2 L0\n002 0 d1 L1\n002 0 d3 L2\n",
    "ntcir": "001 d1 L3\n001 d2 L0\n002 d1 L1\n002 d3 L2\n",
    "ntcir-grades": "001 S d1 1\n001 C d2 0\n002 B d1 0\n002 A d3 1\n",
    "decimals": TREC.replace(" 3\n", " 3.0\n"),
    "comments": "# a comment\n" + TREC,
}
RANKED = b"001 Q0 d1 1 9 r\n001 Q0 d2 2 8 r\n002 Q0 d3 1 7 r\n002 Q0 d1 2 6 r\n"


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects_are_told_apart_and_mean_the_same(tmp_path: Path, name: str) -> None:
    expected = read_judgements(write(tmp_path / "plain", TREC.encode()))
    path = write(tmp_path / "qrels", DIALECTS[name].encode())
    found = read_judgements(path)
    assert found.topics == expected.topics == ["001", "002"]
    np.testing.assert_array_equal(found.levels, expected.levels)
    np.testing.assert_array_equal(found.n_judged(), [[1, 0, 0, 1], [0, 1, 1, 0]])
    assert levels_of(sc.read_rankings(write(tmp_path / "run", RANKED), path)) == [[[3, 0], [2, 1]]]


JUDGED = {"1": {"a": 1, "b": 0, "c": 2, "d": -1}, "2": {"a": 0, "b": 2}}
RUNS = {
    "good": {"1": {"c": 3.0, "a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}},
    "bad": {"1": {"b": 3.0, "d": 2.5, "a": 2.0, "c": 1.0}, "2": {"a": 2.0, "b": 1.0}},
}
METRICS = ["AP", "nDCG@10", "bpref"]


def records() -> tuple[dict[str, Any], list[Any]]:
    """Return runs and judgements as of ir_measures."""
    runs = {
        name: [
            SimpleNamespace(query_id=topic, doc_id=document, score=score)
            for topic, row in run.items()
            for document, score in row.items()
        ]
        for name, run in RUNS.items()
    }
    judged = [
        SimpleNamespace(query_id=topic, doc_id=document, relevance=level, iteration="0")
        for topic, row in JUDGED.items()
        for document, level in row.items()
    ]
    return runs, judged


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return runs and judgements as of PyTerrier."""
    of_runs, of_qrels = records()
    parts = [pd.DataFrame(map(vars, run)).assign(name=name) for name, run in of_runs.items()]
    runs = pd.concat(parts).rename(columns={"query_id": "qid", "doc_id": "docno"})
    runs["query"] = "words of the query"
    qrels = pd.DataFrame(map(vars, of_qrels))[["query_id", "doc_id", "relevance"]]
    return runs, qrels.set_axis(["qid", "docno", "label"], axis=1)


def of_ranx() -> tuple[dict[str, Any], Any]:
    """Return stand-ins of runs and judgements of ranx."""
    runs = {name: SimpleNamespace(to_dict=lambda run=run: run) for name, run in RUNS.items()}
    return runs, SimpleNamespace(to_dict=lambda: JUDGED)


@pytest.mark.parametrize("form", [records, frames, of_ranx])
def test_all_forms_give_the_scores_of_dictionaries(form: Any) -> None:
    expected = sc.evaluate(sc.read_rankings(RUNS, JUDGED), METRICS)
    assert expected["score"].sel(metric="AP", run="good").values.tolist() == [[1.0, 1.0]]
    runs, qrels = form()
    assert sc.evaluate(sc.read_rankings(runs, qrels), METRICS).identical(expected)


@pytest.mark.parametrize("order", ["score", "score-docno-asc", "score-stable", "file", "rank"])
def test_dictionaries_are_ranked_as_the_same_files(tmp_path: Path, order: str) -> None:
    generator = np.random.default_rng(4)
    documents = [f"d{k}" for k in range(30)]
    topics = ("7", "topic-é", "10")
    qrels = {t: {d: int(generator.integers(-1, 4)) for d in documents} for t in topics}
    run = {
        t: {d: float(generator.integers(5)) / 3 for d in generator.permutation(documents)[:20]}
        for t in topics
    }
    lines = "".join(
        f"{topic} Q0 {document} {rank} {score!r} a\n"
        for topic, row in run.items()
        for rank, (document, score) in enumerate(row.items(), 1)
    )
    judged = "".join(f"{t} 0 {d} {level}\n" for t in topics for d, level in qrels[t].items())
    expected = read(tmp_path, lines.encode(), judged.encode(), order=order)
    found = sc.read_rankings({"a": run}, qrels, order=order)
    assert found.drop_attrs().identical(expected.drop_attrs())
