"""Every collection of score matrices imports through the command line, with the sizes its description states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorecube.errors import counted
from scorecube.workflow.api import open_study
from tests.conftest import Cli
from tests.test_doubts import LISTED

pytestmark = pytest.mark.data

# Folder, files, options, metrics, runs, topics, missing cells, one cell as it stands in a file.
Case = tuple[str, list[str], list[str], list[str], int, int, int, tuple[str, str, str, float]]
WEB = ["AP", "ERR@20", "nDCG@20", "P@10", "P@20", "RR"]
TAR = [
    "NCG_10",
    "NCG_100",
    "NCG_20",
    "NCG_50",
    "AP",
    "last_rel",
    "norm_area",
    "num_docs",
    "num_rels",
    "num_shown",
    "r",
]
TREC8 = [
    "P@10", "P@100", "P@20", "P@5", "Rprec", "bpref", "AP", "map_cut_10", "map_cut_100", "nDCG", "nDCG@10", "nDCG@100",
    "nDCG@20", "nDCG@5", "num_rel", "num_rel_ret", "RR",
]  # fmt: skip
EHEALTH = [
    "P@10", "P@100", "P@20", "P@5", "RBP_0.8", "Rprec", "bpref", "AP", "nDCG@10", "nDCG@100", "nDCG@1000", "nDCG@20",
    "nDCG@5", "num_rel", "num_rel_ret", "RR", "uRBP_0.8", "uRBPgr_0.8",
]  # fmt: skip
COLLECTIONS: dict[str, Case] = {
    "adhoc5": ("adhoc5", ["*.csv"], [], ["AP", "P@10", "RR"], 61, 50, 0, ("AP", "run3", "01", 0.047)),
    "clef-tar-2017": ("clef-tar-2017", ["[!t]*.csv"], ["--teams", "teams.csv"], [*TAR, "wss_100", "wss_95"], 52, 30, 156,
                      ("wss_95", "amc.run", "CD007431", -0.009)),
    "genomics2004": ("genomics2004", ["scores.csv"], ["--metric", "AP"], ["AP"], 47, 50, 0, ("AP", "sys5", "01", 8e-4)),
    "gop-trec5": ("gop-trec5", ["*.gz"], [], ["AP", "ERR", "nDCG", "P@10", "rbp"], 560, 50, 0,
                  ("ERR", "indri_4grams_BM25_noqe_td", "251", 0.0)),
    "mq2007": ("mq2007", ["ap.csv"], [], ["AP"], 26, 1153, 0, ("AP", "JuruSynE", "10", 0.40902)),
    "robust2004 ap": ("robust2004", ["ap_249topics.csv"], ["--metric", "AP"], ["AP"], 110, 249, 0, ("AP", "sys2", "301", 0.3471)),
    "robust2004 p10": ("robust2004", ["p10_249topics.csv"], ["--metric", "P@10"], ["P@10"], 110, 249, 0,
                       ("P@10", "sys1", "301", 0.6)),
    "robust2004 second set": ("robust2004", ["*_99topics.csv"], [], ["ap_99topics", "ndcg_99topics"], 110, 99, 0,
                              ("ndcg_99topics", "run2", "01", 0.5922)),
    "web2004": ("web2004", ["scores.csv"], ["--metric", "RR"], ["RR"], 73, 150, 0, ("RR", "sys4", "001", 0.0046)),
    "web2010": ("web2010", ["*.csv"], [], WEB, 88, 48, 0, ("ERR@20", "sys1", "01", 0.13009)),
    "web2011": ("web2011", ["*.csv"], [], WEB, 62, 50, 0, ("nDCG@20", "sys4", "01", 0.01322)),
    "web2014": ("web2014", ["*.csv"], [], WEB, 30, 50, 0, ("AP", "sys2", "01", 0.4232)),
    "trec8-adhoc": ("trec8-adhoc/official-per-topic", ["*.csv"], ["--teams", "../teams.csv"], TREC8, 129, 50, 0,
                    ("AP", "CL99SD", "401", 0.0666)),
    "clef-ehealth-2015": ("clef-ehealth-2015/official-per-topic", ["*.csv"], ["--teams", "../teams.csv"], EHEALTH, 110, 66, 0,
                          ("nDCG@10", "CUNI_EN_Run.2", "qtest.2", 0.4345)),
}  # fmt: skip


def imported(scorecube: Cli, data: Path, study: Path, case: Case) -> Any:
    """Import a collection and check its size, its metrics and one cell; return its cube."""
    folder, patterns, options, metrics, n_runs, n_topics, missing, (metric, run, topic, value) = (
        case
    )
    files = sorted(
        path
        for pattern in patterns
        for path in (data / folder).glob(pattern)
        if path.name != "systems.csv"
    )
    words = [str(data / folder / word) if word.endswith(".csv") else word for word in options]
    outcome = scorecube("import", study, "--name", "x", *files, *words).succeeded()
    told = outcome.stderr.splitlines()
    sizes = (
        f"x: {n_runs} runs x {n_topics} topics, {counted(len(metrics), 'metric')} x 1 gain setting"
    )
    told.remove(f"{study}: {sizes}")
    n_scores = len(metrics) * n_runs * n_topics
    expected = [f"{missing} of {n_scores} scores are missing"] if missing else []
    kinds = {doubt.partition(":")[0] for doubt in LISTED.get(folder.partition("/")[0], [])}
    others = [line for line in told if line.removeprefix("note: ").partition(":")[0] not in kinds]
    assert [line[: len(text)] for line, text in zip(others, expected, strict=True)] == expected
    cube = open_study(str(study))["x"].cube
    assert cube["metric"].values.tolist() == metrics
    found = float(cube["score"].sel(metric=metric, run=run, topic=topic).item())
    assert found == value
    return cube


@pytest.mark.parametrize("case", COLLECTIONS.values(), ids=COLLECTIONS.keys())
def test_collections_import(scorecube: Cli, data: Path, tmp_path: Path, case: Case) -> None:
    imported(scorecube, data, tmp_path / "s", case)


def test_teams_and_gaps_of_participants(scorecube: Cli, data: Path, tmp_path: Path) -> None:
    cube = imported(scorecube, data, tmp_path / "s", COLLECTIONS["clef-tar-2017"])
    assert len(set(cube["team"].values.tolist())) == 15
    assert str(cube["team"].sel(run="iiit.run1").item()) == "iiit"
    gaps = cube["score"].sel(metric="AP").isnull().sum(["gain", "topic"])
    assert [str(run) for run in cube["run"].values[gaps.values > 0]] == [
        f"iiit.run{k}" for k in range(1, 5)
    ]


def test_topics_of_the_second_set_do_not_join_the_first(
    scorecube: Cli, data: Path, tmp_path: Path
) -> None:
    imported(scorecube, data, tmp_path / "s", COLLECTIONS["robust2004 ap"])
    file = data / "robust2004" / "ap_99topics.csv"
    outcome = scorecube("import", tmp_path / "s", "--name", "x", file, "--metric", "AP")
    assert outcome.status == 1
    assert "exists with 110 runs" in outcome.stderr
    p10 = data / "robust2004" / "p10_249topics.csv"
    scorecube("import", tmp_path / "s", "--name", "x", p10, "--metric", "P@10").succeeded()
    assert open_study(str(tmp_path / "s"))["x"].cube["metric"].values.tolist() == ["AP", "P@10"]
