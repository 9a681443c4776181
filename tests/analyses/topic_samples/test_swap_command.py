"""The options of the swap and the stability method on the command line are those from Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.analyses import Analysis, Stability, Swap
from tests.conftest import Cli


@pytest.mark.parametrize(
    ("words", "analysis"),
    [
        ("swap --size 1,3", Swap(size=(1, 3))),
        ("swap --size 1..4", Swap(size=(1, 2, 3, 4))),
        ("swap --size 1..4:2 --sampling replacement", Swap(size=(1, 3), sampling="replacement")),
        ("swap --size 2 --bins 11 --bin-width 0.05", Swap(size=2, bins=11, bin_width=0.05)),
        ("swap --rule s1 --confidence 0.5", Swap(rule="s1", confidence=(0.5,))),
        ("swap --share none --size 3", Swap(share="none", size=3)),
        ("stability --size 2,4 --fuzziness 0.05,0.2", Stability(size=(2, 4), fuzziness=(0.05, 0.2))),
    ],
)  # fmt: skip
def test_commands_make_the_analysis(
    scorecube: Cli, study: Path, words: str, analysis: Analysis
) -> None:
    scorecube(
        *words.split()[:1], study, *words.split()[1:], "--trials", 20, "--seed", 4
    ).succeeded()
    stored = sc.open_study(study)["small"].result(analysis.name)
    assert json.loads(stored.attrs["plan"])["options"] == analysis.options()
    expected = sc.table(sc.analyse(sc.open_study(study)["small"].cube, analysis, trials=20, seed=4))
    found = pd.DataFrame(
        json.loads(scorecube("show", study, analysis.name, "--format", "json").succeeded().stdout)
    )
    pd.testing.assert_frame_equal(
        found.drop(columns="collection")
        .astype(object)
        .where(lambda frame: frame.notna(), np.nan)
        .infer_objects()
        .convert_dtypes(),
        expected.drop(columns="collection")
        .astype(object)
        .where(lambda frame: frame.notna(), np.nan)
        .infer_objects()
        .convert_dtypes(),
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("swap --size 1..", "--size '1..'"),
        ("swap --size 5", "disjoint samples of 5"),
        ("swap --bins 1", "auto or a whole number from 2 to 1,000"),
        ("swap --bin-width 0", "--bin-width 0.0:"),
        ("stability --fuzziness x", "--fuzziness 'x'"),
        ("stability --fuzziness 1", "--fuzziness 1.0"),
    ],
)
def test_impossible_words_are_refused(scorecube: Cli, study: Path, words: str, text: str) -> None:
    refused = scorecube(*words.split()[:1], study, *words.split()[1:], "--trials", 20)
    assert refused.status in (1, 2)
    assert text in refused.stderr


def test_blocks_serve_another_reading(scorecube: Cli, study: Path) -> None:
    how = ["--size", "1..3", "--trials", 20, "--seed", 4]
    scorecube("swap", study, *how, block_units=10).succeeded()
    again = scorecube("swap", study, *how, "--rule", "s1").succeeded()
    assert "20 trials are recorded already" in again.stderr
