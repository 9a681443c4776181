"""Commands unpack and export: what other programs read of a study."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.report.study_overview import collect_table
from scorecube.storage.verify import verify_study
from scorecube.testing import simulate_cube
from scorecube.workflow.tasks import plan_in_study, store_computed
from tests.conftest import Cli


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a study whose results are packed, as those of a sweep in processes."""
    path = tmp_path / "study.zarr"
    opened = sc.open_study(path, mode="a")
    opened.add("demo", cube=simulate_cube(n_runs=5, seed=2))
    with opened.lock("demo") as writer:
        for trials, analysis in ((20, sc.Bootstrap()), (30, sc.Bootstrap()), (20, sc.Swap())):
            (task,) = plan_in_study(opened, analysis, trials=trials, seed=1)
            store_computed(writer, [task.compute(writer)], packed=True)
    return path


def groups(study: Path) -> list[xr.Dataset]:
    """Return the results as plain xarray opens them."""
    metadata = sorted(study.glob("demo/results/*/*/zarr.json"))
    return [xr.open_zarr(each.parent, consolidated=False) for each in metadata]


def test_packed_results_become_groups_and_stay_the_same(study: Path, scorecube: Cli) -> None:
    opened = sc.open_study(study)
    before = {name: opened["demo"].results(name) for name in ("bootstrap", "swap")}
    assert all(not each.variables for each in groups(study))
    assert all("scorecube unpack" in each.attrs["packed"]["read"] for each in groups(study))
    assert "3 results unpacked" in scorecube("unpack", study).succeeded().stderr
    assert len(groups(study)) == 3
    assert all(each.data_vars for each in groups(study))
    after = {name: sc.open_study(study)["demo"].results(name) for name in before}
    for name, results in before.items():  # in the same order, the latest last
        for one, other in zip(results, after[name], strict=True):
            xr.testing.assert_identical(one, other)
    assert verify_study(sc.open_study(study))[1] == []
    assert "0 results unpacked" in scorecube("unpack", study).succeeded().stderr


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
@pytest.mark.parametrize("what", ["scores", "bootstrap"])
def test_arrays_are_those_of_the_study(
    study: Path, scorecube: Cli, tmp_path: Path, what: str, ending: str
) -> None:
    out = tmp_path / f"out{ending}"
    scorecube("export", study, what, "--out", out).succeeded()
    found = xr.open_dataset(out) if ending == ".nc" else xr.open_zarr(out, consolidated=False)
    collection = sc.open_study(study)["demo"]
    expected = collection.cube if what == "scores" else collection.result(what)
    assert {*found.variables} == {*expected.variables}
    for name, variable in expected.variables.items():
        assert found[name].dims == variable.dims
        own, values = found[name].values, variable.values
        if values.dtype.kind == "O":
            assert own.astype(object).tolist() == values.tolist()
        else:
            np.testing.assert_array_equal(own, values)
    warned, own_warned = (each.attrs.get("warnings") for each in (expected, found))
    assert warned == (json.loads(own_warned) if isinstance(own_warned, str) else own_warned)
    assert "exists" in scorecube("export", study, what, "--out", out).stderr


@pytest.mark.parametrize(
    ("what", "table"),
    [("scores", "cells"), ("scores", "means"), ("swap", "rates"), ("bootstrap", "pairs")],
)
def test_a_table_as_parquet_has_the_bits_and_types_of_the_frame(
    study: Path, scorecube: Cli, tmp_path: Path, what: str, table: str
) -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    out = tmp_path / "table.parquet"
    scorecube("export", study, what, "--table", table, "--out", out).succeeded()
    expected, found = (
        collect_table(sc.open_study(study), what, table, ["demo"]),
        pd.read_parquet(out),
    )
    assert found.dtypes.to_dict() == expected.dtypes.to_dict()
    for name in expected:
        if expected[name].dtype.kind == "f":
            bits, own = (each[name].to_numpy().view(np.int64) for each in (expected, found))
            np.testing.assert_array_equal(own, bits)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    shown = scorecube("show", study, what, "--table", table, "--format", "json")
    assert len(json.loads(shown.succeeded().stdout)) == len(found) > 4


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="the extra parquet is installed")
def test_parquet_without_its_package_says_what_to_install(
    study: Path, scorecube: Cli, tmp_path: Path
) -> None:
    outcome = scorecube("export", study, "scores", "--out", tmp_path / "cells.parquet")
    assert outcome.status == 1
    assert 'pip install "scorecube[parquet]"' in outcome.stderr
    assert not (tmp_path / "cells.parquet").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["scores", "--out", "a.csv"], "expected a name that ends in .nc, .zarr, .parquet"),
        (["scores", "--table", "cells", "--out", "a.nc"], "--table belongs to a .parquet file"),
        (["sweep", "--out", "a.nc"], "no analysis 'sweep'"),
        (["rankings", "--out", "a.nc"], "has no rankings"),
    ],
)
def test_what_cannot_be_exported_is_one_message(
    study: Path, scorecube: Cli, words: list[str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parent)
    outcome = scorecube("export", study, *words)
    assert text in outcome.stderr
    assert not (study.parent / words[-1]).exists()
