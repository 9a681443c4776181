"""Scores without some teams, their unique contributions to the pool, and some topics.

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
from scorecube.analyses.options import ONLY_TOPICS, option_field
from scorecube.analyses.protocol import Analysis, Concat, Part, Totals
from scorecube.analyses.team_pools import pools_of
from scorecube.analyses.team_results import VARIABLES, variance_values
from scorecube.analyses.team_scores import JudgedRuns, judged_runs
from scorecube.analyses.team_trials import (
    absent_values,
    draw_orders,
    draw_teams,
    sample_values,
    trial_values,
)
from scorecube.collection.schema import label_array
from scorecube.errors import BadPlan, option
from scorecube.names import Purpose


@dataclass(frozen=True, kw_only=True)
class Teams(Analysis):
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
    )
    topic_sizes: tuple[int, ...] | None = option_field(
        None,
        "Numbers of topics of a nested chain of random topic sets, e.g. 100,75,50, beside all.",
        detail="Each trial has its own chain, of topics that it did not lose; None for no chain.",
        flag="--topics",
        minimum=2,
        may_be_empty=True,
    )
    pool_depth: int | None = option_field(
        None,
        "Ranks of a run that are in the pool; auto: as deep as half of the teams are judged.",
        detail="Auto, or None, is the estimate of `scorecube.collection.pools`.",
        aliases={"auto": None},
        minimum=1,
    )
    keep_unpooled: bool = option_field(
        True,
        "Judged documents that no team contributed become unjudged; else they stay judged.",
        detail="Whether judged documents that no team contributed stay judged.",
        flag="--drop-unpooled",
    )

    def table(self, cube: xr.Dataset) -> JudgedRuns:
        pools, notes = pools_of(cube, self.pool_depth, self.keep_unpooled)
        return judged_runs(cube, pools, self.keep_unpooled, notes)

    def notes(self, table: Any) -> list[str]:
        teams = table.pools.teams
        if len(teams) < 2:
            raise BadPlan(
                f"there is only one team, {teams[0]}: leaving teams out needs at least 2; "
                f"name teams with {option('teams')}"
            )
        most = {"leave": len(teams) - 1, "topic_sizes": len(table.topics)}
        for name, sizes in (("leave", self.leave), ("topic_sizes", self.topic_sizes)):
            if sizes and max(sizes) > most[name]:
                found = option(name, max(sizes))
                raise BadPlan(f"{found}: at most {most[name]} are possible", option=name)
        return list(table.notes)

    def leaves(self, table: JudgedRuns) -> tuple[int, ...]:
        """Return 0, for the whole collection, and the numbers of teams to leave out, ascending."""
        n_teams = len(table.pools.teams)
        return (0, *(range(1, n_teams) if self.leave is None else sorted(set(self.leave))))

    def steps(self, table: JudgedRuns) -> tuple[int, ...]:
        """Return the numbers of topics of the steps, descending from all topics."""
        fewer = sorted(set(self.topic_sizes or ()), reverse=True)
        return tuple(dict.fromkeys([len(table.topics), *fewer]))

    def draw(self, table: JudgedRuns, start: int, stop: int) -> dict[str, Any]:
        """Return teams left out, bool (leave, team, trial), and orders (leave, topic, trial)."""
        leaves = self.leaves(table)
        key = table.key(Purpose.TEAMS_LEFT_OUT)
        drawn = {"left_out": draw_teams(key, len(table.pools.teams), leaves, start, stop)}
        if self.topic_sizes:
            key = table.key(Purpose.TOPIC_CHAIN)
            drawn["order"] = draw_orders(key, len(table.topics), leaves, start, stop)
        return drawn

    def block(self, table: JudgedRuns, start: int, stop: int) -> dict[str, Part]:
        leaves, steps = self.leaves(table), self.steps(table)
        drawn = self.draw(table, start, stop)
        shape = (len(table.scores), len(leaves), len(steps), stop - start)
        parts = {
            "variance": np.full(shape, np.nan),
            "n_topics": np.zeros(shape, np.int32),
            "n_topics_above_zero": np.zeros((*shape[:2], shape[3]), np.int32),
        }
        for row, trial in np.ndindex(len(leaves), stop - start):
            sample = [array[row, :, trial] for array in drawn.values()]
            for name, values in trial_values(table, steps, *sample).items():
                parts[name][:, row, ..., trial] = values
        return {name: Concat(array) for name, array in (parts | drawn).items()}

    def result(self, table: JudgedRuns, totals: Totals) -> xr.Dataset:
        pools = table.pools
        values = dict(totals) | variance_values(totals, self.leaves(table))
        values |= sample_values(totals, pools) | absent_values(table)
        attrs = {"n_teams": len(pools.teams), "pool_depth": pools.depth}
        return table.dataset(VARIABLES, values, self.coords(table), attrs)

    def coords(self, table: JudgedRuns) -> dict[str, Any]:
        """Return the labels of results beside those of cells and runs."""
        teams = table.pools.teams
        return {
            names.LEAVE: np.array(self.leaves(table)),
            names.TOPIC_STEP: np.array(self.steps(table)),
            names.TOPIC: label_array(table.topics),
            names.TEAM: label_array(teams),
            names.TEAM_OF_RUN: (names.RUN, label_array(teams[k] for k in table.pools.team_of)),
        }

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``team_left_out[leave, trial, team]``, and ``topic_place`` of a chain."""
        table = replace(self.table(cube), trials=trials, seed=seed)
        values = sample_values(self.draw(table, 0, trials), table.pools)
        found = table.dataset(VARIABLES, values, self.coords(table), {"seed": str(seed)})
        return found[[name for name in (names.TEAM_LEFT_OUT, names.TOPIC_PLACE) if name in values]]
