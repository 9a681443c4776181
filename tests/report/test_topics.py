"""Tables of scores: order of topics, selection, figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import scorecube as sc

if TYPE_CHECKING:
    from tests.conftest import Cli


def test_topics_stand_in_natural_order() -> None:
    cube = sc.cube_from_scores(
        np.arange(6.0).reshape(2, 3), runs=["a", "b"], topics=["10", "2", "t1"]
    )
    cells = sc.table(cube, "cells")
    assert cells["topic"].tolist() == ["2", "10", "t1"] * 2
    assert cells["score"].tolist() == [1, 0, 2, 4, 3, 5]


def test_commands_show_and_draw(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    done = scorecube("show", study, "scores", "--table", "means", "--metrics", "AP").succeeded()
    assert "AP" in done.stdout
    assert "nDCG" not in done.stdout
    out = tmp_path / "means.svg"
    scorecube("figure", study, "scores", "--metrics", "AP", "--out", out).succeeded()
    assert "runs, the best first" in out.read_text()
    assert scorecube("figure", study, "scores", "--metrics", "XYZ", "--out", out).status == 1
