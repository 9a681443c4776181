"""Output of trec_eval -q: names of measures and runs, what is skipped, what is refused with file and line."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from scorecube.workflow.api import import_scores
from tests.ingest.reading import Matrices, read_scores

NAMES = {
    "map": "AP", "P_10": "P@10", "recip_rank": "RR", "ndcg": "nDCG", "ndcg_cut_10": "nDCG@10", "Rprec": "Rprec",
    "bpref": "bpref", "recall_1000": "Recall@1000", "success_5": "Hit@5", "map_cut_10": "map_cut_10",
    "iprec_at_recall_0.00": "iprec_at_recall_0.00", "set_F": "set_F", "11pt_avg": "11pt_avg", "ndcg_rel": "ndcg_rel",
}  # fmt: skip
SKIPPED = ("num_ret", "num_rel", "num_rel_ret", "num_q", "gm_map", "gm_bpref", "infAP")
TOPICS = ("401", "402")


def output(values: dict[tuple[str, str], float], run: str | None = "me") -> str:
    """Return what trec_eval prints: topics first, then the run's name and the means."""
    lines = [f"{measure:<22}\t{topic}\t{value:.4f}" for (measure, topic), value in values.items()]
    lines += [f"{'runid':<22}\tall\t{run}"] if run else []
    means = [
        f"{measure:<22}\tall\t0.5000" for measure in dict.fromkeys(measure for measure, _ in values)
    ]
    return "\n".join([*lines, *means]) + "\n"


def made(*measures: str, start: float = 0.0) -> dict[tuple[str, str], float]:
    cells = [(measure, topic) for topic in TOPICS for measure in measures]
    return {cell: start + k / 100 for k, cell in enumerate(cells)}


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_trec_eval(paths: list[Path], metric: str | None = None) -> Matrices:
    return read_scores(paths, layout="trec_eval", metric=metric)[""]


def test_measures_get_our_names_and_counts_are_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "x.txt", output(made(*NAMES, *SKIPPED)))
    matrices = read_trec_eval([path])
    assert list(matrices) == list(NAMES.values())
    values = made(*NAMES, *SKIPPED)
    for theirs, ours in NAMES.items():
        assert matrices[ours].to_numpy().tolist() == [[values[theirs, topic] for topic in TOPICS]]
        assert (matrices[ours].index.tolist(), matrices[ours].columns.tolist()) == (
            ["me"],
            list(TOPICS),
        )


@pytest.mark.parametrize("measure", [*SKIPPED, "map", "AP", "P_10", "P@10"])
def test_one_measure_is_selected_by_either_name(tmp_path: Path, measure: str) -> None:
    path = write(tmp_path / "x.txt", output(made(*NAMES, *SKIPPED)))
    assert list(read_trec_eval([path], measure)) == [NAMES.get(measure, measure)]


@pytest.mark.parametrize(
    ("file", "run", "name"),
    [
        ("x.txt", "me", "me"), ("x.txt", None, "x"), ("bm25.eval", None, "bm25"), ("a.run", None, "a.run"),
        ("y.out.gz", None, "y"), ("x", "two words", "two words"),
    ],
)  # fmt: skip
def test_runs_are_named_by_runid_or_file(
    tmp_path: Path, file: str, run: str | None, name: str
) -> None:
    content = output(made("map"), run).encode()
    path = write(tmp_path / file, gzip.compress(content) if file.endswith(".gz") else content)
    assert read_trec_eval([path])["AP"].index.tolist() == [name]


def test_runs_lacking_a_topic_or_a_measure_have_gaps(tmp_path: Path) -> None:
    first = write(
        tmp_path / "first", output({("map", "1"): 0.5, ("map", "2"): 1, ("bpref", "1"): 0.25}, None)
    )
    second = write(tmp_path / "second", output({("map", "3"): 0.125}, None))
    cube = import_scores([first, second])
    assert cube["run"].values.tolist() == ["first", "second"]
    nan = math.nan
    np.testing.assert_array_equal(
        cube["score"].values[:, 0],
        [[[0.5, 1, nan], [nan, nan, 0.125]], [[0.25, nan, nan], [nan, nan, nan]]],
    )


@given(
    st.dictionaries(
        st.sampled_from([f"q{k}" for k in range(9)]), st.floats(1e-9, 1) | st.just(0.0), min_size=1
    ),
    st.booleans(),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, float], named: bool
) -> None:
    path = tmp_path_factory.mktemp("eval") / "me"
    path.write_text(
        output({("map", topic): value for topic, value in scores.items()}, "me" if named else None)
    )
    cube = import_scores([path])
    assert cube["topic"].values.tolist() == sorted(scores)
    np.testing.assert_allclose(
        cube["score"].values.ravel(), [scores[topic] for topic in sorted(scores)], atol=5e-5
    )


def test_all_that_trec_eval_computes_is_read(tmp_path: Path) -> None:
    """As pytrec_eval has it from trec_eval itself, written in its format."""
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 2}}
    found = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures).evaluate(
        {topic: {"a": 1.0, "b": 0.5} for topic in qrels}
    )
    values = {
        (measure, topic): value
        for topic in found
        for measure, value in found[topic].items()
        if measure not in ("runid", "relstring")
    }
    matrices = read_trec_eval([write(tmp_path / "x", output(values))])
    assert (
        len(matrices)
        == len([name for name in found["1"] if not name.startswith(("num_", "gm_"))]) - 3
    )
    assert matrices["AP"].to_numpy().tolist() == [[1.0, 0.5]]


def test_z_scores_have_names_of_their_own(tmp_path: Path) -> None:
    """As ``trec_eval -Z -q -a`` prints them, in test/out.test.aqZ of its sources."""
    lines = "Znum_ret 301 -1.8922\nZmap 301 -0.5933\nrelstring 301 '0000011000'\nZset_F 301    nan\nZgm_map all 0.0\nZinfAP 301 1\n"
    path = write(tmp_path / "x", lines + "runid all STANDARD\nZmap all -0.6\nZset_F all    nan\n")
    noted: list[str] = []
    cube = import_scores(path, notify=noted.append)
    assert cube["metric"].values.tolist() == ["Zmap"]
    assert cube["score"].values.ravel().tolist() == [-0.5933]
    assert "no score of Zset_F" in noted


def test_measures_of_version_8_get_our_names(tmp_path: Path) -> None:
    """Its CHANGELOG lists what version 9 renamed."""
    old = {
        "map": "AP",
        "R-prec": "Rprec",
        "P5": "P@5",
        "P1000": "P@1000",
        "recall100": "Recall@100",
        "recip_rank": "RR",
    }
    old |= {"ircl_prn.0.10": "iprec_at_recall_0.10", "exact_prec": "exact_prec"}
    path = write(tmp_path / "x.eval", output(made(*old, "gm_ap", "num_rel_ret"), None))
    assert list(read_trec_eval([path])) == list(old.values())
    assert list(read_trec_eval([path], "P5")) == list(read_trec_eval([path], "P@5")) == ["P@5"]
