"""Every collection of score matrices imports through the command line, with the sizes its description states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorecube.errors import counted
from scorecube.workflow.api import open_study
from tests.conftest import Cli

pytestmark = pytest.mark.data

# Folder, files, options, metrics, runs, topics, missing cells, one cell as it stands in a file.
Case = tuple[str, list[str], list[str], list[str], int, int, int, tuple[str, str, str, float]]
WEB = ["AP", "ERR@20", "nDCG@20", "P@10", "P@20", "RR"]
TAR = [
    "NCG_10", "NCG_100", "NCG_20", "NCG_50", "AP", "last_rel", "norm_area", "num_docs", "num_rels", "num_shown", "r",
]  # fmt: skip
TREC8 = [
    "P@10", "P@100", "P@20", "P@5", "Rprec", "bpref", "AP", "map_cut_10", "map_cut_100", "nDCG", "nDCG@10", "nDCG@100",
    "nDCG@20", "nDCG@5", "num_rel", "num_rel_ret", "RR",
]  # fmt: skip
EHEALTH = [
    "P@10", "P@100", "P@20", "P@5", "RBP_0.8", "Rprec", "bpref", "AP", "nDCG@10", "nDCG@100", "nDCG@1000", "nDCG@20",
    "nDCG@5", "num_rel", "num_rel_ret", "RR", "uRBP_0.8", "uRBPgr_0.8",
]  # fmt: skip
COLLECTIONS: dict[str, Case] = {
    "clef-tar-2017": ("clef-tar-2017", ["[!t]*.csv"], ["--teams", "teams.csv"], [*TAR, "wss_100", "wss_95"], 52, 30, 156,
                      ("wss_95", "amc.run", "CD007431", -0.009)),
    "gop-trec5": ("gop-trec5", ["*.gz"], [], ["AP", "ERR", "nDCG", "P@10", "rbp"], 560, 50, 0,
                  ("ERR", "indri_4grams_BM25_noqe_td", "251", 0.0)),
    "mq2007": ("mq2007", ["ap.csv"], ["--range", "AP=0,1.7"], ["AP"], 26, 1153, 0, ("AP", "JuruSynE", "10", 0.40902)),
    "robust2004 ap": ("robust2004", ["ap_249topics.csv"], ["--metric", "AP"], ["AP"], 110, 249, 0, ("AP", "sys2", "301", 0.3471)),
    "web2004": ("web2004", ["scores.csv"], ["--metric", "RR"], ["RR"], 73, 150, 0, ("RR", "sys4", "001", 0.0046)),
    "web2011": ("web2011", ["*.csv"], [], WEB, 62, 50, 0, ("nDCG@20", "sys4", "01", 0.01322)),
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
    assert (
        f"x: {n_runs} runs x {n_topics:,} topics, {counted(len(metrics), 'metric')}"
        in outcome.stderr
    )
    n_scores = len(metrics) * n_runs * n_topics
    assert (f"{missing} of {n_scores} scores are missing" in outcome.stderr) == bool(missing)
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
