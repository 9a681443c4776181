"""AP, P, Recall, Hit, Rprec, RR, nDCG and bpref equal those of trec_eval 9, whose C code pytrec_eval runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import pytrec_eval
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube import evaluate, read_rankings
from scorecube.errors import BadInput

Run = Mapping[str, Mapping[str, float]]
Judgements = Mapping[str, Mapping[str, int]]
TREC_NAMES = {
    "AP": "map", "P@1": "P_1", "P@5": "P_5", "P@10": "P_10", "Recall@5": "recall_5", "Recall@1000": "recall_1000",
    "Hit@1": "success_1", "Hit@5": "success_5", "Rprec": "Rprec", "RR": "recip_rank", "nDCG": "ndcg", "nDCG@3": "ndcg_cut_3",
    "nDCG@10": "ndcg_cut_10", "bpref": "bpref",
}  # fmt: skip
# Of unequal lengths, and such that the order by bytes is neither that of numbers nor of any alphabet.
DOCUMENTS = [
    "d1",
    "d10",
    "d2",
    "D3",
    "d",
    "doc-7",
    "doc_7",
    "a.b",
    "\N{LATIN SMALL LETTER E WITH ACUTE}1",
    "z9",
    "Z9",
    "0",
]
NEARLY = [
    0.5,
    0.5 + 1e-9,
    0.5 - 1e-9,
    0.5 + 1e-7,
    16777216.0,
    16777217.0,
    -1.25,
    0.0,
    3.0,
    3.0000001,
]


def ours(runs: Mapping[str, Run], qrels: Judgements) -> xr.DataArray:
    """Write the files in random order and score them."""
    random = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        judged = [f"{t} 0 {d} {n}" for t, levels in qrels.items() for d, n in levels.items()]
        qrels_file = write(Path(folder, "qrels.txt"), judged, random)
        run_files = [
            write(
                Path(folder, f"{name}.txt"),
                [f"{t} Q0 {d} 1 {score!r} {name}" for t, row in run.items() for d, score in row.items()],
                random,
            )
            for name, run in runs.items()
        ]  # fmt: skip
        rankings = read_rankings(run_files, qrels_file, workers=1)
    return evaluate(rankings, list(TREC_NAMES))["score"].isel(gain=0)


def write(path: Path, lines: list[str], random: np.random.Generator) -> Path:
    """Write lines in random order."""
    path.write_text(
        "".join(f"{lines[k]}\n" for k in random.permutation(len(lines))), encoding="utf-8"
    )
    return path


def theirs(run: Run, qrels: Judgements) -> dict[str, dict[str, float]]:
    """Score a run with trec_eval; topics it skips are absent."""
    scores: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(
        qrels, set(TREC_NAMES.values())
    ).evaluate(run)
    return scores


def assert_equal(runs: Mapping[str, Run], qrels: Judgements) -> None:
    """Compare all scores; a topic that a run lacks scores 0, and one without relevant documents is left out."""
    relevant = [topic for topic, levels in qrels.items() if max(levels.values()) > 0]
    if not relevant:
        with pytest.raises(BadInput, match="relevant"):
            ours(runs, qrels)
        return
    found = ours(runs, qrels)
    assert found.topic.values.tolist() == sorted(relevant)
    for name, run in runs.items():
        expected = theirs(run, qrels)
        for topic in relevant:
            assert (topic in expected) == (topic in run)
            for metric, trec_name in TREC_NAMES.items():
                score = float(found.sel(metric=metric, run=name, topic=topic))
                wanted = expected[topic][trec_name] if topic in run else 0.0
                assert score == pytest.approx(wanted, rel=0, abs=1e-9), (name, topic, metric)


documents = st.sampled_from(DOCUMENTS)
# trec_eval reads beyond its arrays where all levels of a topic are negative.
levels = st.dictionaries(documents, st.integers(-2, 3), min_size=1).filter(
    lambda found: max(found.values()) >= 0
)
judgements = st.dictionaries(st.sampled_from(["1", "2", "10"]), levels, min_size=1)
some_runs = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.dictionaries(
        st.sampled_from(["1", "2", "10", "unjudged"]),
        st.dictionaries(
            documents, st.sampled_from(NEARLY) | st.integers(0, 2).map(float), min_size=1
        ),
        min_size=1,
    ),
    min_size=1,
)


@settings(deadline=None, max_examples=100)
@given(runs=some_runs, qrels=judgements)
def test_small_collections(runs: dict[str, Run], qrels: Judgements) -> None:
    runs["z"] = {next(iter(qrels)): {"d1": 1.0}}  # at least one judged topic
    assert_equal(runs, qrels)


@pytest.mark.parametrize("seed", range(3))
def test_long_runs_with_many_ties(seed: int) -> None:
    random = np.random.default_rng(seed)
    pool = [f"doc{k}" for k in range(400)]
    qrels = {
        str(topic): {
            pool[k]: int(random.integers(-1, 4)) for k in random.choice(400, 150, replace=False)
        }
        for topic in range(8)
    }
    runs = {
        name: {
            str(topic): {
                pool[k]: round(float(random.normal()), decimals)
                for k in random.choice(400, 200, replace=False)
            }
            for topic in range(-1, 8)
            if random.random() < 0.8
        }
        for name, decimals in [("coarse", 0), ("medium", 1), ("fine", 9)]
    }
    assert_equal(runs, qrels)


def test_ties_go_to_the_larger_document_id_by_bytes() -> None:
    qrels, run = {"1": {"d2": 1, "d10": 0}}, {"1": {"d10": 1.0, "d2": 1.0}}
    assert theirs(run, qrels)["1"]["recip_rank"] == 1.0
    assert ours({"r": run}, qrels).sel(metric="RR").item() == 1.0


def test_scores_that_32_bits_do_not_tell_apart_are_ties() -> None:
    qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 0.5 + 1e-12, "b": 0.5}}
    assert theirs(run, qrels)["1"]["recip_rank"] == 0.5
    assert ours({"r": run}, qrels).sel(metric="RR").item() == 0.5
    large = {"1": {"a": 2e300, "b": 1e300, "c": -1e300, "d": 0.0}}
    assert_equal({"r": large}, {"1": {"a": 1, "b": 0, "c": 2}})


def test_negative_levels_are_as_good_as_not_judged() -> None:
    run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    pooled, unjudged = {"1": {"a": -1, "b": -2, "c": 2, "e": -1}}, {"1": {"c": 2}}
    assert_equal({"r": run}, pooled)
    xr.testing.assert_equal(ours({"r": run}, pooled), ours({"r": run}, unjudged))
