"""Tables of large results are read and printed without holding what is not shown."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from scorecube.report import text_formats
from scorecube.report.results import Tables, headline
from scorecube.report.study_overview import collect_table
from scorecube.report.text_formats import ROWS_AT_ONCE, render, render_parts
from scorecube.storage import Collection, datasets
from tests.conftest import Cli


def table_of(n_rows: int) -> pd.DataFrame:
    """Return a table whose last row has the widest label, and the only number of a column."""
    names, values = ["a"] * n_rows, np.random.default_rng(1).random(n_rows)
    shares = [None] * n_rows
    return pd.DataFrame(
        {
            "name": [*names, "a long name"],
            "value": [*values, 0.5],
            "share": pd.Series([*shares, 2], dtype=object),
        }
    )


@pytest.mark.parametrize("width", [None, 12])
@pytest.mark.parametrize("n_rows", [0, 7, 8, 9, 21])
def test_the_parts_of_a_text_are_the_text(
    n_rows: int, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table_of(n_rows)
    whole = render(frame, "text", width)
    monkeypatch.setattr(text_formats, "ROWS_AT_ONCE", 4)
    parts = list(render_parts(frame, "text", width))
    assert len(parts) == (-(-len(frame) // 4) if width is None else 1)
    assert "\n".join(parts) == whole


def test_a_text_is_made_without_holding_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    portion = 512
    monkeypatch.setattr(text_formats, "ROWS_AT_ONCE", portion)
    frame = table_of(12 * portion)

    def peak(rows: int) -> int:
        tracemalloc.start()
        try:
            for _ in render_parts(frame.iloc[:rows], "text"):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(portion)  # what pandas keeps
    assert peak(len(frame)) < 2 * peak(2 * portion)


@pytest.mark.parametrize("n_rows", [0, ROWS_AT_ONCE, 2 * ROWS_AT_ONCE + 5])
def test_the_parts_of_a_csv_are_the_csv(n_rows: int) -> None:
    values = np.random.default_rng(1).random(n_rows)
    frame = pd.DataFrame({"name": ['a,"b"\nc'] * n_rows, "value": values})
    parts = list(render_parts(frame, "csv"))
    assert len(parts) == max(1, -(-n_rows // ROWS_AT_ONCE))
    assert "\n".join(parts) == render(frame, "csv")


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["bootstrap", "randomisation", "unpaired", "tukey", "maxt", "paired"]
)
def test_what_is_shown_of_values_that_are_read_on_use(
    analysed_study: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    loaded = sc.open_study(analysed_study)["small"].result(name)
    monkeypatch.setattr(datasets, "MAX_LOADED_BYTES", 0)
    opened = sc.open_study(analysed_study)["small"]
    for table in Tables(loaded).rows:
        frame = sc.table(opened.result(name), table)
        pd.testing.assert_frame_equal(sc.table(loaded, table), frame)
    assert headline(opened.result(name)) == headline(loaded)
    assert sc.complete(opened.result(name)).equals(sc.complete(loaded))
