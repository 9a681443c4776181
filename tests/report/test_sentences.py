"""Sentences of reports: none claims more than its number."""

from __future__ import annotations

import re

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.designs import design_of
from scorecube.report.phrases import with_limits
from scorecube.report.results import headline
from scorecube.report.tables import COLLECTION
from scorecube.report.views import view_of
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse

METRICS = ("AP", "RR", "P@10")
CUBE = simulate_cube(n_runs=9, seed=4, metrics=METRICS, gains=("3:2:1",))


def answers_of(analysis: str, result: xr.Dataset) -> list[tuple[str, str]]:
    """Return the answers of a view to its question, with their conditions."""
    (question,) = view_of(analysis).answers
    found = sc.findings(result.assign_attrs({COLLECTION: "c"}))
    return [(each.sentence, each.conditions) for each in found if each.question == question.text]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.1, 0.9, 1), (0.156, 0.232, 2), (0.1, 0.18, 2), (0, 1e-9, 6), (1, 1, 3), (20, 90, 0)],
)
def test_estimates_have_the_digits_that_their_limits_allow(
    low: float, high: float, expected: int
) -> None:
    value = (low + high) / 2
    shown = with_limits(value, low, high)
    assert shown == f"{value:.{expected}f} ({low:.{expected}f} to {high:.{expected}f})"
    percent = with_limits(value, low, high, ".1%")
    places = 1 if low == high else max(expected - 2, 0) if expected < 6 else 6
    assert percent == f"{value:.{places}%} ({low:.{places}%} to {high:.{places}%})"


def test_the_mean_of_the_leader_has_limits_of_the_leader_and_borne_decimals() -> None:
    result = analyse(CUBE, sc.Leaderboard(), trials=400, seed=1)
    (line, *_) = headline(result)
    rows = sc.table(result).query("metric == 'AP' and rank == 1").iloc[0]
    limits = [float(result[f"winner_{side}"][0, 0]) for side in ("low", "high")]
    shown = with_limits(rows["mean"], limits[0], limits[1])
    assert f" leads with {shown.removesuffix(')')}, as leader); " in line
    assert limits[0] < rows["mean_low"] < rows["mean_high"] < limits[1]
    assert line.endswith("[95%, all rank sets at once]")
    remarks = " ".join(text for text, _ in view_of("leaderboard").cautions(result, {}))
    assert "named beforehand" in remarks


def test_rank_sets_have_a_caption_and_no_interval_of_a_mean() -> None:
    result = analyse(CUBE, sc.Ranks(), trials=200, seed=1)
    caption = view_of("ranks").caption(result)
    assert caption.startswith("9 runs, 50 topics, 200 trials. Runs by mean score")
    assert caption.endswith("95% rank sets, all together.")
    assert " by itself" not in headline(result)[0]


def test_trials_of_splits_are_about_these_topics_and_no_reached_tau_is_said() -> None:
    result = analyse(CUBE, sc.Splits(thresholds=(0.999, -1.0)), trials=60, seed=1)
    first, *rest = headline(result)
    rows = sc.table(result, "quantiles")
    assert (
        f"on two samples of 25 of these 50 topics: tau {rows['tau_mean'][0]:.2f} on average"
        in first
    )
    assert f"next is {rows['metric'][1]} with {rows['tau_mean'][1]:.2f}" in first
    assert any(line.startswith("no metric reaches a tau of 0.999 in 95% of the trials with up to 25 topics") for line in rest)  # fmt: skip
    none = analyse(CUBE, sc.Splits(thresholds=(0.999,)), trials=60, seed=1)
    view = view_of("splits")
    frames = {name: table.make(none) for name, table in view.tables.items()}
    assert [heading for heading, _ in view.page_tables(frames)] == ["Tau between two samples"]


def test_pairs_on_which_metrics_disagree_are_counted() -> None:
    cube = simulate_cube(n_runs=30, seed=4, metrics=METRICS)
    result = analyse(cube, sc.Correlation(), trials=60, seed=1)
    frame = sc.table(result, "metrics").sort_values("tau", kind="stable")
    ((line, _),) = answers_of("correlate", result)
    for row in (frame.iloc[0], frame.iloc[-1]):
        assert f"({row['tau']:.3f}, {row['discordant'] / 435:.0%} of the pairs in" in line
    assert "on these 50 topics" in line
    assert f"each interval by itself, chosen from {len(frame)}" in line
    other = headline(analyse(cube, sc.Correlation(confidence=0.9), trials=60, seed=1))[0]
    assert "; 90%)" in other
    assert "; 95%)" in headline(result)[0]
    few = headline(analyse(CUBE, sc.Correlation(), trials=60, seed=1))[0]
    assert "interval" not in few


def test_numbers_of_topics_have_their_intervals() -> None:
    result = design_of(CUBE, "c")
    assert result is not None
    lines = [line for line, _ in answers_of("design", result)]
    assert len(lines) == 2
    assert all(len(re.findall(r"about [\d,]+ \([\d,]+ to [\d,]+\) topics", line)) == 2 for line in lines)  # fmt: skip
    assert all("95% intervals over topics and runs, each by itself" in line for line in lines)
    said = " ".join(headline(analyse(CUBE, sc.Reliability(), trials=1)))
    assert "scorecube design has its interval" in said
    assert "takes more" not in said
    assert "takes fewer" not in said


def test_errors_of_the_stability_method_are_about_these_topics() -> None:
    result = analyse(CUBE, sc.Stability(), trials=60, seed=1)
    (line,) = headline(result)
    rows = sc.table(result)
    assert f"{rows['error_rate'][0]:.1%} of the comparisons" in line
    assert f"next is {rows['metric'][1]} with {rows['error_rate'][1]:.1%}" in line
    assert line.endswith("no interval for other topics is known")
