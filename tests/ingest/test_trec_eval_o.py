"""Output of trec_eval -o -q: blocks of topics, the block of all of them, what is refused with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scorecube.errors import BadInput
from scorecube.ingest.formats import detect, read_scores
from scorecube.ingest.in_memory import Matrices
from scorecube.workflow.api import import_scores

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


def block(topic: str, ap: float, retrieved: int, relevant: int, found: int) -> str:
    """Return a block in the words and blanks of print_meas.c of trec_eval 7."""
    recalls = "".join(f"\n    at {k / 10:4.2f}       {ap + k / 100:6.4f} " for k in range(11))
    precisions = "".join(f"\n  At {cutoff:4d} docs:   {ap / cutoff:6.4f}" for cutoff in CUTOFFS)
    return (
        f"\nQueryid (Num):\t{topic}\nTotal number of documents over all queries\n    Retrieved:    {retrieved:5d}"
        f"\n    Relevant:     {relevant:5d}\n    Rel_ret:      {found:5d}\nInterpolated Recall - Precision Averages:{recalls}"
        f"\nAverage precision (non-interpolated) for all rel docs(averaged over queries)\n                  {ap:6.4f} "
        f"\nPrecision:{precisions}\nR-Precision (precision after R (= num_rel for a query) docs retrieved):\n    Exact:        {ap / 2:6.4f}\n"
    )


TOPICS = block("401", 0.5, 100, 20, 10) + block("402", 0.25, 90, 10, 5)
ALL = block("All", 0.375, 190, 30, 15)
NUMBER = block("2", 0.375, 190, 30, 15)
"""As trec_eval before version 7 calls the block of all topics: by their number."""


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def read_trec_eval(paths: list[Path], metric: str | None = None) -> Matrices:
    return read_scores(paths, layout="trec_eval", metric=metric)[""]


@pytest.mark.parametrize("summary", [ALL, NUMBER, NUMBER.replace("Num):\t", "Num):        "), ""])
def test_blocks_are_topics(tmp_path: Path, summary: str) -> None:
    path = write(tmp_path / "me.eval", TOPICS + summary)
    assert detect(path) == "trec_eval"
    matrices = read_trec_eval([path])
    recalls = [f"iprec_at_recall_{k / 10:.2f}" for k in range(11)]
    assert list(matrices) == [*recalls, "AP", *(f"P@{cutoff}" for cutoff in CUTOFFS), "Rprec"]
    for name, frame in matrices.items():
        assert (frame.index.tolist(), frame.columns.tolist()) == (["me"], ["401", "402"]), name
    values = {
        name: matrices[name].to_numpy().tolist()
        for name in ("AP", "P@5", "Rprec", "iprec_at_recall_0.10")
    }
    assert values == {
        "AP": [[0.5, 0.25]], "P@5": [[0.1, 0.05]], "Rprec": [[0.25, 0.125]], "iprec_at_recall_0.10": [[0.51, 0.26]],
    }  # fmt: skip


def test_the_last_topic_may_be_called_by_a_number(tmp_path: Path) -> None:
    path = write(
        tmp_path / "me",
        block("1", 0.5, 100, 20, 10) + block("2", 0.5, 100, 20, 10) + block("3", 1, 9, 9, 9),
    )
    assert read_trec_eval([path])["AP"].columns.tolist() == ["1", "2", "3"]


def test_one_measure_counts_and_more_runs(tmp_path: Path) -> None:
    files = [write(tmp_path / name, TOPICS + ALL) for name in ("a.txt", "b.txt")]
    cube = import_scores(files, metric="num_rel_ret")
    assert cube["run"].values.tolist() == ["a", "b"]
    assert cube["score"].values[0, 0].tolist() == [[10, 5], [10, 5]]
    assert list(read_trec_eval(files, "map")) == ["AP"]


ERRORS = {
    "words": (TOPICS + "Done.\n", ":65: 'Done.' is not a line of trec_eval -o"),
    "no number": (
        TOPICS.replace("    Exact:        0.2500", "    Exact:   good"),
        ":32: score 'good' is not a finite number",
    ),
    "cut off": (
        TOPICS.rsplit("Average", 1)[0],
        ":34: the block of topic '402' has no average precision; it is cut off",
    ),
    "topic twice": (
        TOPICS + block("401", 1, 1, 1, 1) + ALL,
        ":72: a second score of iprec_at_recall_0.00 for run 'me' on topic '401'",
    ),
    "line twice": (
        TOPICS.replace("At   10 docs", "At    5 docs"),
        ":23: a second value of P_5 on topic '401'",
    ),
    "no topic": ("Queryid (Num):\n" + TOPICS, ":1: the topic is missing"),
    "one block": (
        NUMBER,
        ":2: only one block, called '2': scores of this topic, or means over this number of topics; run trec_eval with -q",
    ),
    "means only": (
        ALL,
        ": only means over all topics; run trec_eval with -q to get scores of topics",
    ),
    "before the blocks": ("Hello\n" + TOPICS, ":1: 'Hello' is not a line of trec_eval -o"),
}


@pytest.mark.parametrize(("content", "text"), ERRORS.values(), ids=ERRORS.keys())
def test_bad_files_are_refused_by_file_and_line(tmp_path: Path, content: str, text: str) -> None:
    path = write(tmp_path / "me", content)
    with pytest.raises(BadInput, match="^" + re.escape(f"{path}{text}")):
        import_scores([path])
