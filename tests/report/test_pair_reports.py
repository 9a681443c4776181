"""Tables, pictures and chapters of the tests of pairs of runs."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import false_discovery_control

import scorecube as sc
from scorecube.analyses import registry
from scorecube.report.drawing import drawn
from scorecube.report.page_parts import picture
from scorecube.report.pair_tests import p_value_curves, power_bars
from scorecube.testing import simulate_cube
from tests.oracles.paired_tests import run_positions

RESAMPLING = ["bootstrap", "randomisation", "tukey"]
EVERY = [*RESAMPLING, "paired"]
METRICS = ("AP", "RR", "nDCG@10")


def made(name: str, n_metrics: int = 3, n_runs: int = 7) -> xr.Dataset:
    labels = [*METRICS, *(f"P@{k}" for k in range(1, 30))][:n_metrics]
    cube = simulate_cube(n_runs=n_runs, seed=2, metrics=tuple(labels), gains=("3:2:1",))
    tests = {"tests": ("t", "wilcoxon", "sign")} if name == "paired" else {}
    found = sc.analyse(cube, registry.load(name)(**tests), trials=90, seed=1)
    return found.assign_attrs(collection="c")


@pytest.fixture(scope="module")
def results() -> dict[str, xr.Dataset]:
    return {name: made(name) for name in EVERY}


@pytest.mark.parametrize("name", RESAMPLING)
def test_power_is_that_of_the_arrays_best_first(results: dict[str, xr.Dataset], name: str) -> None:
    result, table = results[name], sc.table(results[name], "power")
    assert len(table) == 6
    for row in table.to_dict("records"):
        cell = result.sel(metric=row["metric"], gain=row["gain"], alpha=row["alpha"])
        p = cell["p_value"].values
        assert (row["significant"], row["pairs"], row["share"]) == (
            (p < row["alpha"]).sum(),
            21,
            (p < row["alpha"]).mean(),
        )
        assert (row["trials"], row["collection"]) == (90, "c")
        assert ("estimated_difference" in row) == (name != "tukey")
        if name != "tukey":
            assert row["estimated_difference"] == float(cell["estimated_difference"])
    assert table["alpha"].is_monotonic_decreasing
    assert all(part["share"].is_monotonic_decreasing for _, part in table.groupby("alpha"))


@pytest.mark.parametrize("name", EVERY)
def test_pairs_are_those_of_the_arrays(results: dict[str, xr.Dataset], name: str) -> None:
    result, table = results[name], sc.table(results[name], "pairs")
    runs = result["run"].values
    for (metric, test), part in table.groupby(["metric", "test"]):
        cell = result.sel(metric=metric).isel(gain=0)
        cell = cell.sel(test=test) if name == "paired" else cell
        first, second = run_positions(cell)
        assert part["run_a"].tolist() == runs[first].tolist()
        assert part["run_b"].tolist() == runs[second].tolist()
        mean = cell["mean"].values
        np.testing.assert_allclose(
            part["mean_difference"], mean[first] - mean[second], rtol=0, atol=1e-15
        )
        np.testing.assert_array_equal(part["p_value"], cell["p_value"])
        if name == "paired":
            continue
        safe = (cell["reached"].values + 1) / 91
        if name == "tukey":
            assert not {"p_value_holm", "p_value_bh"} & set(part)
            continue
        np.testing.assert_allclose(part["p_value_holm"], holm(safe))
        np.testing.assert_allclose(part["p_value_bh"], false_discovery_control(safe))


def holm(p: np.ndarray) -> list[float]:
    """Return Holm's p-values by definition: the k-th smallest times (n - k + 1), never less than one before it."""
    found, least = [0.0] * len(p), 0.0
    for k, place in enumerate(np.argsort(p, kind="stable")):
        least = max(least, min(1.0, (len(p) - k) * float(p[place])))
        found[place] = least
    return found


@pytest.mark.parametrize("name", ["bootstrap", "randomisation", "paired"])
def test_adjusted_power_counts_adjusted_p_values(results: dict[str, xr.Dataset], name: str) -> None:
    result = results[name]
    table = sc.table(result, "adjusted")
    if name == "paired":
        table = table[table["test"] == "t"]
        result = result.sel(test="t")
    assert set(table["adjustment"]) == {"none", "holm", "bh"}
    for row in table.to_dict("records"):
        cell = result.sel(metric=row["metric"]).isel(gain=0)
        p = cell["p_value"].values
        safe = p if name == "paired" else (cell["reached"].values + 1) / 91
        wanted = {"none": p, "holm": holm(safe), "bh": false_discovery_control(safe)}[
            row["adjustment"]
        ]
        assert row["significant"] == (np.array(wanted) < row["alpha"]).sum()


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(("n_metrics", "n_runs"), [(1, 3), (6, 7), (18, 5)])
def test_curves_keep_clear_of_their_legend(name: str, n_metrics: int, n_runs: int) -> None:
    result = made(name, n_metrics, n_runs)
    figure = sc.figure(result)
    figure.draw_without_rendering()
    (axes,), (legend,) = figure.axes, figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= axes.get_window_extent().x1
    assert figure.bbox.x1 >= box.x1
    assert figure.bbox.y0 <= box.y0
    lines = {line.get_label(): line for line in axes.get_lines()}
    plain = result.isel(test=0) if name == "paired" else result
    for metric in result["metric"].values:
        np.testing.assert_array_equal(
            lines[metric].get_ydata(), np.sort(plain["p_value"].sel(metric=metric).values[0])
        )
    styles = {
        (lines[metric].get_color(), str(lines[metric].get_linestyle()))
        for metric in result["metric"].values
    }
    assert len(styles) == n_metrics
    assert axes.get_ylim()[0] < 0


@pytest.mark.parametrize("n_metrics", [1, 6, 18])
def test_bars_are_shares_and_their_legend_fits(n_metrics: int) -> None:
    result = made("bootstrap", n_metrics, 5)
    figure = drawn(power_bars, [result, result.assign_attrs(collection="d")])
    figure.draw_without_rendering()
    bars = figure.axes[0].patches
    heights = [bar.get_height() for bar in bars]  # type: ignore[attr-defined]
    share = result["share"].sel(alpha=0.05).isel(gain=0).values
    np.testing.assert_allclose(heights, 100 * np.repeat(share, 2))
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in bars}) == n_metrics
    box = figure.legends[0].get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.axes[0].get_window_extent().y0


def test_very_many_pairs_are_drawn_with_few_points() -> None:
    figure = drawn(p_value_curves, made("tukey", 2, 120))
    ranks = np.asarray(figure.axes[0].get_lines()[0].get_xdata())
    assert len(ranks) == 1000
    assert (ranks[0], ranks[-1]) == (1, 7140)
    assert len(picture(figure, "d")) < 150_000
