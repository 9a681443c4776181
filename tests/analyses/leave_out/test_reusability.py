"""Depth of pools, shares of judged documents, and statements about teams left out that more trials do not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.leave_out.team_quantities import LEAST_TAU, MARGIN, topics_needed
from scorecube.analyses.leave_out.teams import Teams
from scorecube.analyses.options import options_of
from scorecube.collection.pool_depth import (
    TOLERATED,
    WITHOUT_POOL,
    estimate_pool_depth,
    judged_shares,
    rbp_residuals,
)
from scorecube.errors import BadPlan
from scorecube.report.results import headline
from scorecube.testing import simulate_rankings


def pooled(depths: dict[str, int], n_topics: int = 10, length: int = 30) -> xr.Dataset:
    """Return rankings of one run a team, each judged to its depth and no further."""
    rankings = simulate_rankings(n_runs=len(depths), n_teams=len(depths), depth=length, seed=1)
    rankings = rankings.isel(topic=slice(n_topics))
    documents = rankings["document_at_rank"].transpose("run", "topic", "rank").copy()
    for run, depth in enumerate(depths.values()):
        documents.values[run, :, :depth] = 0
        documents.values[run, :, depth:] = -1
    retrieved = rankings["n_retrieved"].copy(data=np.full(rankings["n_retrieved"].shape, length))
    return rankings.assign(document_at_rank=documents, n_retrieved=retrieved)


def test_the_depth_is_what_half_of_the_teams_reach() -> None:
    found = estimate_pool_depth(pooled({"a": 7, "b": 7, "c": 0, "d": 20}))
    assert found == (7, True, 3)
    assert estimate_pool_depth(pooled({"a": 7, "b": 20, "c": 0, "d": 20})).depth == 20
    assert estimate_pool_depth(pooled({"a": 0, "b": 20, "c": 0})) == (WITHOUT_POOL, False, 0)


def test_few_documents_may_be_missing_and_lists_must_be_long_enough() -> None:
    rankings = pooled({"a": 20, "b": 20}, n_topics=10)
    rankings["document_at_rank"].values[:, 3, 10] = -1
    assert TOLERATED >= 1 / (20 * 10)
    assert estimate_pool_depth(rankings).depth == 20
    rankings["document_at_rank"].values[:, :, 4] = -1
    assert estimate_pool_depth(rankings).depth == 4
    short = pooled({"a": 30, "b": 30})
    short["n_retrieved"].values[:, :6] = 12
    short["document_at_rank"].values[:, :6, 12:] = -1
    assert estimate_pool_depth(short).depth == 12


def test_shares_and_residuals_are_those_of_plain_sums() -> None:
    rankings = simulate_rankings(n_runs=5, n_teams=3, depth=12, seed=4)
    documents = rankings["document_at_rank"].transpose("run", "topic", "rank").values.tolist()
    retrieved = rankings["n_retrieved"].transpose("run", "topic").values.tolist()
    shares, residuals = judged_shares(rankings, (5, 10)), rbp_residuals(rankings, 0.8)
    for run in range(5):
        for column, cutoff in enumerate((5, 10)):
            listed = sum(min(n, cutoff) for n in retrieved[run])
            judged = sum(d >= 0 for topic in documents[run] for d in topic[:cutoff])
            assert shares[run, column] == pytest.approx(judged / listed)
        known = [sum(0.2 * 0.8**k for k, d in enumerate(topic) if d >= 0) for topic in documents[run]]  # fmt: skip
        assert residuals[run] == pytest.approx(1 - sum(known) / len(known))


def made(trials: int, seed: int, **options: Any) -> xr.Dataset:
    rankings = simulate_rankings(n_runs=16, n_teams=8, depth=30, seed=3)
    cube = sc.with_rankings(sc.evaluate(rankings, ["AP", "nDCG@10"], ["3:2:1"]), rankings)
    return sc.analyse(cube, Teams(**options), trials=trials, seed=seed)


def test_the_statement_of_few_trials_holds_that_of_many() -> None:
    many = sc.table(made(400, 1), "equivalence").set_index(["metric", "quantity"])
    for seed in (2, 3, 4):
        few = sc.table(made(10, seed), "equivalence").set_index(["metric", "quantity"])
        assert (few["within_low"] <= many["within"]).all()
        assert (many["within"] <= few["within_high"]).all()
        width = few["within_high"] - few["within_low"]
        assert (width >= many["within_high"] - many["within_low"]).all()


def test_within_is_the_last_number_whose_predecessors_are_all_within() -> None:
    result = made(30, 1)
    frame = sc.table(result, "equivalence").set_index(["metric", "quantity"])
    for metric in ("AP", "nDCG@10"):
        part = result.sel(metric=metric).isel(gain=0)
        means = part["variance"].isel(topic_step=0).mean("trial").values
        taus = part["tau"].mean("trial").values
        for quantity, inside in (
            ("variance", np.abs(means / means[0] - 1) <= MARGIN),
            ("tau", taus >= LEAST_TAU),
        ):
            expected = next((k for k in range(1, len(inside)) if not inside[k]), len(inside)) - 1
            assert frame.loc[(metric, quantity), "within"] == expected


def test_absent_teams_lose_what_their_runs_lose_on_average() -> None:
    result = made(3, 1)
    row = sc.table(result, "absent").set_index("metric").loc["AP"]
    own = sc.table(result, "own").query("metric == 'AP'")
    change = (own["mean_without"] / own["mean"] - 1).groupby(own["team"].to_numpy()).mean()
    assert row["change_mean"] == pytest.approx(change.mean())
    assert row["change_low"] <= change.mean() <= row["change_high"]
    assert row["rank_change_largest"] == (own["rank_without"] - own["rank"]).max()
    assert "a team that did not take part" in headline(result)[0]


def test_auto_is_a_word_and_a_number_stays_a_number() -> None:
    assert Teams(pool_depth="auto") == Teams()  # type: ignore[arg-type]
    option = options_of(Teams)["pool_depth"]
    assert (option.parse("auto"), option.parse("7")) == (None, 7)
    with pytest.raises(BadPlan, match="'x' is not a whole number or auto"):
        option.parse("x")
    assert made(2, 1, pool_depth=5).attrs["pool_depth"] == 5


def test_variances_ask_for_the_numbers_of_s3_table_3() -> None:
    variances = {
        (0.114, 0.114, 0.118, 0.121, 0.113): (159, 159, 164, 168, 157),
        (0.094, 0.094, 0.095, 0.097, 0.095): (131, 131, 132, 135, 132),
        (0.087, 0.086, 0.089, 0.090, 0.091): (121, 120, 124, 125, 127),
        (0.034, 0.032, 0.034, 0.035, 0.043): (48, 45, 48, 49, 60),
        (0.029, 0.028, 0.030, 0.029, 0.041): (41, 40, 42, 41, 58),
    }
    for found, printed in variances.items():
        assert topics_needed(xr.DataArray(list(found)), "sakai").values.tolist() == list(printed)


@pytest.mark.data
@pytest.mark.parametrize(("name", "qrels", "depth"), [("trec8-adhoc", "qrels.txt.gz", 100), ("trec-covid-r1", "qrels.txt", 7)])  # fmt: skip
def test_depths_of_public_collections_are_found(
    data: Path, name: str, qrels: str, depth: int
) -> None:
    folder = data / name
    rankings = sc.read_rankings(folder / "runs", folder / qrels, folder / "teams.csv")
    assert estimate_pool_depth(rankings).depth == depth
