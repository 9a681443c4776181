"""What others read of scorecube, and it of them: xarray, pandas, LaTeX, JSON readers; ir_measures and ranx."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

import scorecube as sc
from scorecube.report.views import view_names, view_of

if TYPE_CHECKING:
    from tests.conftest import Cli

TABLE_NAMES = [(analysis, table) for analysis in view_names() for table in view_of(analysis).tables]


def test_plain_xarray_opens_a_study(analysed_study: Path) -> None:
    study = sc.open_study(analysed_study)
    for name in study:
        collection, folder = study[name], analysed_study / name
        head = json.loads(max(folder.glob("head.*.json")).read_text())["record"]
        cube = xr.open_zarr(folder / f"cube-{head['cube']}.zarr", consolidated=False)
        xr.testing.assert_equal(
            cube["score"].drop_vars(list(cube.coords)).load(),
            collection.cube["score"].drop_vars(list(cube.coords)),
        )
        n_results = sum(collection.contents()["results"].values())
        archives = list(folder.glob("results/*/*.zip"))
        assert len(archives) >= n_results
        for archive in archives:
            with zarr.storage.ZipStore(archive, mode="r") as store:
                result = xr.open_zarr(store, consolidated=False)
                assert result.attrs["analysis"] == archive.parent.name
                stored = collection.results(archive.parent.name)
                digests = [each.attrs["digest"] for each in stored]
                same = stored[digests.index(result.attrs["digest"])]
                for variable in {*result.data_vars} & {*same.data_vars}:
                    np.testing.assert_array_equal(result[variable].values, same[variable].values)


def records(scorecube: Cli, study: Path, analysis: str, table: str) -> list[dict[str, Any]]:
    """Return a table as strict JSON tells it."""
    shown = (
        scorecube("show", study, analysis, "--table", table, "--format", "json").succeeded().stdout
    )

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    found: list[dict[str, Any]] = json.loads(shown, parse_constant=refuse)
    return found


@pytest.mark.parametrize(("analysis", "table"), TABLE_NAMES)
def test_csv_and_json_tell_pandas_the_same(
    scorecube: Cli, analysed_study: Path, tmp_path: Path, analysis: str, table: str
) -> None:
    rows = records(scorecube, analysed_study, analysis, table)
    shown = (
        scorecube("show", analysed_study, analysis, "--table", table, "--format", "csv")
        .succeeded()
        .stdout
    )
    (tmp_path / "t.csv").write_text(shown)
    frame = pd.read_csv(tmp_path / "t.csv", dtype={"topic": str, "document": str})
    assert len(frame) == len(rows)
    for column in frame.columns:
        values = [row[column] for row in rows]
        assert frame[column].isna().tolist() == [value is None or value == "" for value in values]
        if all(isinstance(value, int | float) for value in values if value is not None):
            assert pd.api.types.is_numeric_dtype(frame[column])
            # pandas before 3 reads the last digits of a number only nearly.
            np.testing.assert_allclose(
                frame[column].astype(float), np.array(values, dtype=float), rtol=1e-14, atol=0
            )
