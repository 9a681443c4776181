"""Scripts of at most 10 lines: from other tools' scores to leaderboard and figure, or a study; and what notebooks show."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc

SCRIPTS = Path(__file__).parents[1] / "notebooks" / "short"
MOST_LINES = 10
PNG = b"\x89PNG"


def write_inputs(folder: Path) -> None:
    generator = np.random.default_rng(1)
    rows = [
        (name, str(topic), measure, generator.random())
        for name in ("BM25", "PL2", "DPH")
        for topic in range(8)
        for measure in ("map", "ndcg_cut_10")
    ]
    frame = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    frame.to_csv(folder / "perquery.csv", index=False)
    items = [
        (model, item, seed, generator.random())
        for model in "abc"
        for item in range(8)
        for seed in range(2)
    ]
    scores = pd.DataFrame(items, columns=["model", "item", "seed", "score"])
    scores.to_csv(folder / "scores.csv", index=False)
    judged = [f"{topic} 0 d{k} {int(k < 3)}\n" for topic in range(8) for k in range(6)]
    (folder / "qrels.txt").write_text("".join(judged))
    for name in "abc":
        lines = [
            f"{topic} Q0 d{k} {rank} {10 - rank} {name}\n"
            for topic in range(8)
            for rank, k in enumerate(generator.permutation(6), 1)
        ]
        (folder / f"{name}.run").write_text("".join(lines))

    for k, model in enumerate("abc"):
        judged_by = folder / "results" / model / "weighted_alpaca_eval_gpt4_turbo"
        judged_by.mkdir(parents=True)
        won = [
            {
                "dataset": name,
                "instruction": f"{name}\n{item}",
                "preference": 1 + (item + k) % 3 / 2,
            }
            for name in ("koala", "vicuna")
            for item in range(6)
        ]
        (judged_by / "annotations.json").write_text(json.dumps(won))


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_a_short_script_ends_in_a_figure_or_a_study(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script.stem == "from_ir_measures":
        pytest.importorskip("ir_measures")
    lines = [line for line in script.read_text().splitlines() if line.strip() and line[0] != "#"]
    assert len(lines) <= MOST_LINES
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))
    if script.stem == "from_alpaca_eval":
        study = sc.open_study("alpaca.zarr")
        means = [study[name].cube["score"].mean().item() for name in ("koala", "vicuna")]
        assert means == [0.5, 0.5]
        return
    assert (tmp_path / "leaderboard.png").read_bytes().startswith(PNG)
