"""Metrics of ir_measures by name: what it computes of the files is what a cube has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scorecube as sc
from scorecube.errors import BadName
from scorecube.metrics.registry import DEFINITIONS

pytest.importorskip("ir_measures")
NAMES = ("SetP", "SetF", "Judged@10", "infAP", "Compat(p=0.9)", "NumRet", "IPrec@0.1")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write lists of other lengths, also without judged documents, and judgements, also below 0."""
    folder, chance = tmp_path_factory.mktemp("other"), np.random.default_rng(1)
    (folder / "runs").mkdir()
    for run in range(4):
        lines = [
            f"{topic} Q0 d{document} {rank} {100 - rank} r{run}\n"
            for topic in range(12)
            for rank, document in enumerate(chance.permutation(60)[: 10 + 5 * run], 1)
            if (run, topic) != (2, 3)
        ]
        (folder / "runs" / f"r{run}").write_text("".join(lines))
    labels = [
        f"{t} 0 d{d} {chance.integers(0, 3) * (t != 5)}\n" for t in range(12) for d in range(30)
    ]
    labels += [f"{t} 0 d{d} {-1 - d % 2}\n" for t in range(12) for d in range(30, 40)]
    (folder / "qrels").write_text("".join(labels))
    return folder


def test_values_are_those_of_the_files(files: Path) -> None:
    import ir_measures

    read: Any = ir_measures  # without types
    cube = sc.evaluate(sc.read_rankings(files / "runs", files / "qrels"), NAMES)
    assert set(cube["metric"].values.tolist()) == set(NAMES)
    assert not cube["uses_gains"].values.any()
    assert "5" not in cube["topic"].values
    judgements = list(read.read_trec_qrels(str(files / "qrels")))
    for run in cube["run"].values.tolist():
        ranked = list(read.read_trec_run(str(files / "runs" / run)))
        for name in NAMES:
            measure = [ir_measures.parse_measure(name)]
            values = {
                each.query_id: each.value
                for each in ir_measures.iter_calc(measure, judgements, ranked)
            }
            scores = cube["score"].sel(metric=name, run=run, gain="auto")
            for topic in cube["topic"].values.tolist():
                expected = values.get(topic, 0.0)
                assert float(scores.sel(topic=topic)) == pytest.approx(expected, abs=1e-9), name


@pytest.mark.parametrize("name", ["alpha_nDCG@10", "StRecall@10", "ERR_IA@10", "nonesuch"])
def test_what_needs_subtopics_or_is_unknown_is_refused(files: Path, name: str) -> None:
    assert name.partition("@")[0] not in DEFINITIONS
    with pytest.raises(BadName):
        sc.evaluate(sc.read_rankings(files / "runs", files / "qrels"), [name])


def test_leaving_teams_out_is_refused(files: Path) -> None:
    rankings = sc.read_rankings(files / "runs", files / "qrels")
    cube = sc.with_rankings(sc.evaluate(rankings, ["SetP"]), rankings)
    with pytest.raises(BadName, match="SetP"):
        sc.analyse(cube, sc.Teams(), seed=1)
