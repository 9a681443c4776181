"""Tables of large results are read and printed without holding what is not shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.report.study_overview import collect_table
from scorecube.report.text_formats import ROWS_AT_ONCE, render, render_parts
from scorecube.storage import Collection
from tests.conftest import Cli


@pytest.mark.parametrize("n_rows", [0, 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 2 * ROWS_AT_ONCE + 5])
def test_the_parts_of_a_csv_are_the_csv(n_rows: int) -> None:
    values = np.random.default_rng(1).random(n_rows)
    frame = pd.DataFrame({"name": ['a,"b"\nc'] * n_rows, "value": values})
    parts = list(render_parts(frame, "csv"))
    assert len(parts) == max(1, -(-n_rows // ROWS_AT_ONCE))
    assert "\n".join(parts) == render(frame, "csv")


@pytest.mark.parametrize("form", ["text", "json", "markdown", "latex"])
def test_other_formats_are_one_part(form: str) -> None:
    frame = pd.DataFrame({"collection": ["c", "d"], "value": [0.5, 0.25]})
    assert list(render_parts(frame, form)) == [render(frame, form)]


def test_only_the_latest_result_is_read(
    study: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in (1, 2, 3):
        scorecube("tukey", study, "--trials", 20, "--seed", seed).succeeded()
    read: list[str] = []
    original = Collection._read_result

    def recorded(self: Collection, analysis: str, digest: str) -> object:
        read.append(digest)
        return original(self, analysis, digest)

    monkeypatch.setattr(Collection, "_read_result", recorded)
    opened = sc.open_study(study)
    assert len(collect_table(opened, "tukey")) > 0  # the default table is in the index
    assert not read
    latest = collect_table(opened, "tukey", "pairs")
    assert len(read) == 1
    assert len(collect_table(opened, "tukey", "pairs", every=True)) == 3 * len(latest)
    assert len(read) == 4
    shown = (
        scorecube("show", study, "tukey", "--table", "pairs", "--format", "csv").succeeded().stdout
    )
    assert len(shown.splitlines()) == 1 + len(latest)
