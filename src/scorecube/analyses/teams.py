"""Scores without some teams, their unique contributions to the pool, and some topics.

Without a team, the documents that only its runs contributed to the pool would not have been judged.

References: Sakai and Shang 2016, "On estimating variances for topic set size design", section 5;
Zobel 1998, "How reliable are the results of large-scale information retrieval experiments?"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import team_summaries
from scorecube.analyses.options import ONLY_TOPICS, option_field
from scorecube.analyses.protocol import Concat, Part, TableAnalysis, Totals
from scorecube.analyses.team_quantities import VARIABLES
from scorecube.analyses.team_samples import draw_orders, draw_teams, places
from scorecube.analyses.team_scores import JudgedRuns, about_pools, judged_runs
from scorecube.collection.pools import build_pools, estimate_pool_depth
from scorecube.collection.schema import label_array
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, option
from scorecube.names import Purpose


@dataclass(frozen=True, kw_only=True)
class Teams(TableAnalysis):
    """Leave teams and topics out: what would a team lose that did not take part?

    For each number of teams, a trial draws the teams to leave out. Their runs are removed,
    documents that only they contributed become unjudged, and all other runs are scored again.
    Leave 0 is the whole collection.

    Examples
    --------
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_rankings
    >>> rankings = simulate_rankings(n_runs=4, n_teams=4, depth=10, seed=1)
    >>> cube = sc.with_rankings(sc.evaluate(rankings, ["nDCG@10"], ["3:2:1"]), rankings)
    >>> result = sc.analyse(cube, Teams(leave=(1,), keep_unpooled=False), trials=3, seed=1)
    >>> sc.table(result, "variance")[["left_out", "runs_max", "trials"]].to_numpy().tolist()
    [[0, 4, 1], [1, 3, 3]]
    """

    name: ClassVar[str] = "teams"
    examples: ClassVar[tuple[str, ...]] = ("--leave all --topics 100,75,50,25,10 --pool-depth 10",)
    details: ClassVar[str] = "Documents that only they contributed to the pool become unjudged."
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "topics": ONLY_TOPICS,
        "trials": {"help": "Trials for each number of teams; more trials later extend a result."},
    }
    uses_rankings: ClassVar[bool] = True
    default_trials: ClassVar[int] = 10

    leave: tuple[int, ...] | None = option_field(
        None,
        "Numbers of teams to leave out, e.g. 1,2,5; or all, from 1 to the number of teams - 1.",
        aliases={"all": None},
        minimum=1,
        unit="teams",
    )
    topic_sizes: tuple[int, ...] | None = option_field(
        None,
        "Numbers of topics of a nested chain of random topic sets, e.g. 100,75,50, beside all.",
        detail="Each trial has its own chain, of topics that it did not lose; None for no chain.",
        flag="--topics",
        minimum=2,
        may_be_empty=True,
        unit="topics",
    )
    pool_depth: int | None = option_field(
        None,
        "Ranks of a run that are in the pool; auto: as deep as half of the teams are judged.",
        detail="Auto, or None, is the estimate of `scorecube.collection.pools`.",
        aliases={"auto": None},
        minimum=1,
        unit="ranks",
    )
    keep_unpooled: bool = option_field(
        True,
        "Judged documents that no team contributed become unjudged; else they stay judged.",
        detail="Whether judged documents that no team contributed stay judged.",
        flag="--drop-unpooled",
    )

    def table(self, cube: xr.Dataset) -> JudgedRuns:
        refuse_other_summaries(cube, "leaving teams out")
        estimate = estimate_pool_depth(cube) if self.pool_depth is None else None
        pools = build_pools(cube, estimate.depth if estimate else int(self.pool_depth or 0))
        notes = about_pools(cube, pools, self.keep_unpooled, estimate)
        return judged_runs(cube, pools, self.keep_unpooled, notes)

    def notes(self, table: Any) -> list[str]:
        n_teams, n_topics = len(table.pools.teams), len(table.topics)
        if n_teams < 2:
            raise BadPlan(
                f"there is only one team, {table.pools.teams[0]}: leaving teams out needs at least "
                f"2; name teams with {option('teams')}"
            )
        for wrong in (k for k in self.leave or () if k >= n_teams):
            raise BadPlan(
                f"{option('leave', wrong)}: of {n_teams} teams 1 to {n_teams - 1} can be left out",
                option="leave",
            )
        for wrong in (size for size in self.topic_sizes or () if size > n_topics):
            raise BadPlan(
                f"{option('topic_sizes')}: {wrong} of the {n_topics} topics cannot be kept; "
                f"use 2 to {n_topics}",
                option="topic_sizes",
            )
        return list(table.notes)

    def leaves(self, n_teams: int) -> tuple[int, ...]:
        """Return 0, for the whole collection, and the numbers of teams to leave out, ascending."""
        return (0, *(range(1, n_teams) if self.leave is None else sorted(set(self.leave))))

    def steps(self, n_topics: int) -> tuple[int, ...]:
        """Return the numbers of topics of the steps, descending from all topics."""
        fewer = sorted(set(self.topic_sizes or ()), reverse=True)
        return tuple(dict.fromkeys([n_topics, *fewer]))

    def draw(self, table: JudgedRuns, start: int, stop: int) -> dict[str, Any]:
        """Return teams left out, bool (leave, team, trial), and orders (leave, topic, trial)."""
        n_teams, leaves = len(table.pools.teams), self.leaves(len(table.pools.teams))
        key = table.key(Purpose.TEAMS_LEFT_OUT)
        found: dict[str, Any] = {"left_out": draw_teams(key, n_teams, leaves, start, stop)}
        if self.topic_sizes:
            key, n_topics = table.key(Purpose.TOPIC_CHAIN), len(table.topics)
            found["order"] = draw_orders(key, n_topics, leaves, start, stop)
        return found

    def block(self, table: JudgedRuns, start: int, stop: int) -> dict[str, Part]:
        leaves, steps = self.leaves(len(table.pools.teams)), self.steps(len(table.topics))
        drawn = self.draw(table, start, stop)
        parts = team_summaries.empty_parts(len(table.scores), len(leaves), len(steps), stop - start)
        for row, trial in np.ndindex(len(leaves), stop - start):
            sample = [array[row, :, trial] for array in drawn.values()]
            for name, values in team_summaries.trial_values(table, steps, *sample).items():
                parts[name][:, row, ..., trial] = values
        return {name: Concat(array) for name, array in (parts | drawn).items()}

    def result(self, table: JudgedRuns, totals: Totals) -> xr.Dataset:
        pools, leaves = table.pools, self.leaves(len(table.pools.teams))
        left_out = totals["left_out"].swapaxes(1, 2)
        values = dict(totals) | places(totals)
        values |= team_summaries.of_variances(totals, leaves) | team_summaries.of_order(totals)
        values |= team_summaries.of_samples(left_out, pools) | team_summaries.of_absent(table)
        attrs = {
            "n_teams": len(pools.teams),
            "pool_depth": pools.depth,
            "pool_depth_estimated": self.pool_depth is None,
            "n_judged": int((pools.levels >= 0).sum()),
            "n_unpooled": int(pools.unpooled.sum()),
        }
        return table.dataset(VARIABLES, values, self.coords(table), attrs)

    def coords(self, table: JudgedRuns) -> dict[str, Any]:
        """Return the labels of results beside those of cells and runs."""
        teams = table.pools.teams
        team_of_run = label_array(teams[team] for team in table.pools.team_of)
        return {
            names.LEAVE: np.array(self.leaves(len(teams))),
            names.TOPIC_STEP: np.array(self.steps(len(table.topics))),
            names.TOPIC: label_array(table.topics),
            names.TEAM: label_array(teams),
            names.TEAM_OF_RUN: (names.RUN, team_of_run),
        }

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``team_left_out[leave, trial, team]``, and ``topic_place`` of a chain."""
        table = replace(self.table(cube), trials=trials, seed=seed)
        found = table.dataset(VARIABLES, places(self.draw(table, 0, trials)), self.coords(table))
        others = (names.METRIC, names.GAIN, names.RUN, names.TOPIC_STEP)
        return found.drop_dims(others).assign_attrs(seed=str(seed))
