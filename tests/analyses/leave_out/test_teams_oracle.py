"""Leaving teams out equals plain Python that rewrites the judgements and scores every remaining run again (tests/oracles/teams.py)."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import stats

import scorecube as sc
from scorecube.collection.rankings import with_rankings
from scorecube.methods.teams.record import Teams
from scorecube.metrics import gain_values
from tests.oracles import teams as plain
from tests.oracles.teams import Collection

METRICS = ("AP", "nDCG@5", "Q", "P@3", "bpref", "nERR@4", "P+", "RR(rel=2)", "nG@1")
GAINS = ("auto", "1:1")
N_LEVELS = 2


def simulated(
    chance: random.Random, n_runs: int, n_teams: int, n_topics: int = 5, n_documents: int = 14
) -> Collection:
    """Make up runs that share documents by chance, miss topics and judgements, and teams of one run or several."""
    topics, documents = (
        [f"t{k:02d}" for k in range(n_topics)],
        [f"d{k:02d}" for k in range(n_documents)],
    )
    qrels: dict[str, dict[str, int]] = {}
    for topic in topics:
        judged = chance.sample(documents, chance.randint(n_documents // 2, n_documents))
        # -1: in the pool, but never judged.
        qrels[topic] = {document: chance.choice([-1, 0, 0, 0, 1, 1, 2]) for document in judged}
    qrels[topics[0]][documents[0]] = N_LEVELS
    runs = [f"run{k:03d}" for k in range(n_runs)]
    teams = [f"team{k:03d}" for k in range(n_teams)]
    owners = teams + chance.choices(teams, k=n_runs - n_teams)
    lists = {
        run: {
            topic: chance.sample(documents, chance.randint(1, n_documents))
            for topic in topics
            if chance.random() < 0.9 or topic == topics[0]
        }
        for run in runs
    }
    return Collection(lists, qrels, dict(zip(runs, chance.sample(owners, n_runs), strict=True)))


def cube_of(
    collection: Collection, metrics: tuple[str, ...] = METRICS, gains: tuple[str, ...] = GAINS
) -> xr.Dataset:
    """Write a collection as files, read and evaluate it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "runs").mkdir()
        for run, by_topic in collection.lists.items():
            lines = [
                f"{topic} Q0 {document} {rank} {100 - rank} {run}\n"
                for topic, documents in by_topic.items()
                for rank, document in enumerate(documents, start=1)
            ]
            (folder / "runs" / run).write_text("".join(lines))
        judged = [
            f"{topic} 0 {d} {level}\n"
            for topic, levels in collection.qrels.items()
            for d, level in levels.items()
        ]
        (folder / "qrels.txt").write_text("".join(judged))
        rankings = sc.read_rankings(folder / "runs", folder / "qrels.txt", dict(collection.team_of))
    return with_rankings(sc.evaluate(rankings, list(metrics), list(gains)), rankings)


def with_draws(cube: xr.Dataset, analysis: Teams, trials: int, seed: int) -> xr.Dataset:
    """Return the result, and what its trials draw."""
    drawn = sc.samples(cube, analysis, trials=trials, seed=seed)
    return sc.analyse(cube, analysis, trials=trials, seed=seed).merge(drawn)


def same(found: Any, expected: float) -> None:
    assert float(found) == pytest.approx(expected, rel=0, abs=1e-12, nan_ok=True)


def left_out(result: xr.Dataset, k: int, trial: int) -> set[str]:
    """Return the teams that a trial leaves out."""
    flags = result["team_left_out"].sel(leave=k).isel(trial=trial)
    return {str(team) for team in result["team"].values[flags.values]}


class Expected:
    """What plain Python finds, for one metric and gain setting."""

    def __init__(
        self, collection: Collection, analysis: Teams, topics: list[str], metric: str, gain: str
    ) -> None:
        gains = gain_values(gain, N_LEVELS).tolist()
        self.how: dict[str, Any] = {
            "depth": analysis.pool_depth,
            "keep_unpooled": not analysis.drop_unpooled,
        }
        kept = Collection(
            collection.lists,
            {topic: collection.qrels[topic] for topic in topics},
            collection.team_of,
        )
        assert kept.n_levels == N_LEVELS
        self.collection, self.metric, self.gains = kept, metric, gains
        whole = kept.evaluate(sorted(kept.lists), kept.qrels, metric, gains)
        self.lost = analysis.lost
        self.whole = plain.Trial(whole, plain.kept_topics(whole, self.lost))
        self.means = self.whole.means

    def trial(self, removed: set[str]) -> plain.Trial:
        if not removed:
            return self.whole
        how = self.how | {"lost": self.lost}
        return plain.leave_out(self.collection, removed, self.metric, self.gains, **how)


def check(collection: Collection, analysis: Teams, cube: xr.Dataset, result: xr.Dataset) -> None:
    """Compare every trial of every metric and gain setting, and what is derived from trials."""
    topics = [str(topic) for topic in cube["topic"].values]
    for metric, gain in itertools.product(
        map(str, cube["metric"].values), map(str, cube["gain"].values)
    ):
        expected = Expected(collection, analysis, topics, metric, gain)
        at = result.sel(metric=metric, gain=gain)
        for k in result["leave"].values.tolist():
            found = []
            for trial in range(result.sizes["trial"]):
                removed = left_out(result, k, trial)
                assert len(removed) == k
                found.append(expected.trial(removed))
                check_trial(at.sel(leave=k).isel(trial=trial), found[-1], expected, topics)
            check_summary(at.sel(leave=k), found)
        check_own(at, expected)


def check_trial(at: xr.Dataset, trial: plain.Trial, expected: Expected, topics: list[str]) -> None:
    """Compare one trial: variance and topics of every step, runs."""
    assert int(at["n_runs"]) == trial.n_runs
    for rule, name in (("no_relevant_left", "no_relevant"), ("all_runs_zero", "all_zero")):
        is_lost = len(topics) - len(plain.kept_topics(trial.scores, rule))
        assert int(at[f"topics_lost_{name}"]) == is_lost
    for step, wanted in enumerate(at["topic_step"].values.tolist()):
        if step == 0:
            left = list(trial.topics)
        else:
            # From what survived in this trial's own matrix, topics are removed at random (S3 section 5.2).
            order = [topics[place] for place in np.argsort(at["topic_place"].values)]
            left = [topic for topic in order if topic in trial.topics][:wanted]
        assert int(at["n_topics"].isel(topic_step=step)) == len(left)
        enough = step == 0 or len(left) == wanted
        same(at["variance"].isel(topic_step=step), trial.variance(left) if enough else np.nan)


def check_summary(at: xr.Dataset, trials: list[plain.Trial]) -> None:
    """Compare intervals over trials."""
    k, count = int(at["leave"]), len(trials)
    for step in range(at.sizes["topic_step"]):
        values = at["variance"].isel(topic_step=step).values[:count]
        defined = [float(value) for value in values[~np.isnan(values)]]
        if k == 0:
            same(at["variance_mean"].isel(topic_step=step), float(values[0]))
            continue
        assert int(at["n_trials"].isel(topic_step=step)) == len(defined)
        if not defined:
            assert np.isnan(at["variance_mean"].isel(topic_step=step))
            continue
        quantile = float(stats.t.ppf(0.975, len(defined) - 1)) if len(defined) > 1 else np.nan
        limits = plain.interval(defined, quantile)
        for name, limit in zip(("mean", "low", "high"), limits, strict=True):
            same(at[f"variance_{name}"].isel(topic_step=step), limit)


def check_own(at: xr.Dataset, expected: Expected) -> None:
    """Compare the change of an absent team's score and ranks; all other runs stay."""
    collection, changes, lost = expected.collection, [], []
    ranks = plain.ranks(expected.means)
    for team in collection.teams:
        _, reduced = plain.leave_out_own(
            collection, team, expected.metric, expected.gains, **expected.how
        )
        without = plain.Trial(reduced, plain.kept_topics(reduced, expected.lost))
        if not without.topics:
            return
        ranks_without = plain.ranks(without.means)
        runs = [run for run in collection.lists if collection.team_of[run] == team]
        known = [run for run in runs if expected.means[run] > 0]
        if known:
            by_run = [without.means[run] / expected.means[run] - 1 for run in known]
            changes.append(sum(by_run) / len(known))
        lost.append(sum(ranks_without[run] - ranks[run] for run in runs) / len(runs))
    for name, values in (("change", changes), ("rank_change", lost)):
        quantile = float(stats.t.ppf(0.975, len(values) - 1)) if len(values) > 1 else np.nan
        for end, limit in zip(
            ("mean", "low", "high"), plain.interval(values, quantile), strict=True
        ):
            same(at[f"{name}_{end}"], limit)


# A failing example is as large as any other: nothing is gained by shrinking it.
@pytest.mark.slow
@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 10**6),
    n_runs=st.integers(3, 9),
    keep_unpooled=st.booleans(),
    pool_depth=st.integers(1, 14),
    lost=st.sampled_from(["no_relevant_left", "all_runs_zero"]),
)
def test_every_trial_equals_plain_python(
    seed: int, n_runs: int, keep_unpooled: bool, pool_depth: int, lost: Any
) -> None:
    chance = random.Random(seed)
    collection = simulated(chance, n_runs, chance.randint(2, n_runs))
    cube = cube_of(collection)
    sizes = tuple(size for size in (4, 2) if size < cube.sizes["topic"]) or None
    analysis = Teams(
        topic_sizes=sizes, pool_depth=pool_depth, drop_unpooled=not keep_unpooled, lost=lost
    )
    result = with_draws(cube, analysis, 3, seed)
    assert result["leave"].values.tolist() == list(range(len(collection.teams)))
    check(collection, analysis, cube, result)


@pytest.mark.parametrize("n_teams", [65, 129])
def test_more_teams_than_bits_of_a_word(n_teams: int) -> None:
    collection = simulated(random.Random(n_teams), n_teams + 3, n_teams, n_topics=2, n_documents=40)
    collection = Collection(
        {run: {topic: documents[:4] for topic, documents in lists.items()} for run, lists in collection.lists.items()},
        collection.qrels, collection.team_of,
    )  # fmt: skip
    cube = cube_of(collection, ("AP", "nDCG@5"), ("auto",))
    analysis = Teams(leave=(1, n_teams // 2, n_teams - 2, n_teams - 1), pool_depth=3)
    result = with_draws(cube, analysis, 2, 5)
    assert result["leave"].values.tolist() == [0, 1, n_teams // 2, n_teams - 2, n_teams - 1]
    check(collection, analysis, cube, result)


@pytest.mark.parametrize("lost", ["no_relevant_left", "all_runs_zero"])
def test_topics_are_lost_by_metric(lost: Any) -> None:
    """Sakai and Shang 2016, section 5.1: without most teams nG@1 loses topics that AP and Q keep."""
    collection = simulated(random.Random(12), 6, 5, n_topics=12, n_documents=14)
    cube = cube_of(collection, ("nG@1", "AP", "Q"), ("auto",))
    analysis = Teams(pool_depth=3, topic_sizes=(4,), lost=lost)
    result = with_draws(cube, analysis, 4, 2)
    check(collection, analysis, cube, result)
    left = result["n_topics"].isel(gain=0, topic_step=0).sel(leave=[0, 4])
    n_topics = {str(m): left.sel(metric=m).values.ravel().tolist() for m in left["metric"].values}
    if lost == "no_relevant_left":
        assert n_topics["nG@1"] == n_topics["AP"] == n_topics["Q"]
    else:
        assert (np.array(n_topics["nG@1"]) <= n_topics["AP"]).all()
        assert n_topics["nG@1"] != n_topics["AP"]
        assert n_topics["AP"] == n_topics["Q"]
