"""Scores without some teams, their unique contributions to the pool, and some topics.

Lists are filtered, and scored by the same metrics. Along leave: 0 for the whole collection; along
topic_step: all topics, then the first of a random order of each trial. Means over absent teams give
each team equal weight.

References: Sakai and Shang 2016, "On estimating variances for topic set size design", section 5;
Zobel 1998, "How reliable are the results of large-scale information retrieval experiments?"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.protocol import Analysis, Concat, Part, Totals
from scorecube.analyses.table import bytes_of
from scorecube.collection.schema import label_array
from scorecube.declare import Preset, Variable, View, option_field
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import random_subset
from scorecube.methods.teams.judged_runs import (
    ALL_RUNS_ZERO,
    NO_RELEVANT_LEFT,
    JudgedRuns,
    judged_runs,
    topics_lost,
    without_lost,
)
from scorecube.methods.teams.values import VARIABLES, absent_values, run_values, variance_values
from scorecube.methods.teams.view import VIEW
from scorecube.names import Purpose
from scorecube.statistics.variance import within_system_variance


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
    >>> result = sc.analyse(cube, Teams(leave=(1,), drop_unpooled=True), trials=3, seed=1)
    >>> sc.table(result, "variance")[["left_out", "runs_max", "trials"]].to_numpy().tolist()
    [[0, 4, 1], [1, 3, 3]]
    """

    name: ClassVar[str] = "teams"
    in_demo: ClassVar[Mapping[str, Any] | None] = {"pool_depth": 20}
    view: ClassVar[View] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("sakaishang2016",)
    presets: ClassVar[Mapping[str, Preset]] = {
        "sakai-shang-2016": Preset(
            {"topic_sizes": (75, 50, 25, 10), "lost": "all_runs_zero", "trials": 10}, ("3:1",)
        )
    }
    examples: ClassVar[tuple[str, ...]] = (
        "--leave all --topic-sizes 100,75,50,25,10 --pool-depth 10",
    )
    uses_rankings: ClassVar[bool] = True
    unused: ClassVar[tuple[str, ...]] = ("bags",)
    default_trials: ClassVar[int] = 10

    leave: tuple[int, ...] | None = option_field(
        None,
        "Numbers of teams to leave out, e.g. 1,2,5; or all, from 1 to the number of teams - 1.",
        none="all",
        minimum=1,
    )
    topic_sizes: tuple[int, ...] | None = option_field(
        None,
        "Numbers of random topics, each drawn from those before, e.g. 100,75,50; and all.",
        flag="--topic-sizes --topics",
        minimum=2,
    )
    pool_depth: int | None = option_field(
        None,
        "Ranks of a run that are in the pool; auto: as deep as half of the teams are judged.",
        none="auto",
        minimum=1,
    )
    drop_unpooled: bool = option_field(
        False,
        "Judged documents that no team contributed are unjudged, too, when teams are left out.",
    )
    lost: Literal["no_relevant_left", "all_runs_zero"] = option_field(
        NO_RELEVANT_LEFT,
        "When a topic is lost: no relevant document is left; or, of each metric, all runs that "
        "remain score 0, also with no team left out (Sakai and Shang 2016).",
    )

    def table(self, cube: xr.Dataset) -> JudgedRuns:
        return judged_runs(cube, self.pool_depth, not self.drop_unpooled)

    def bytes_needed(self, table: JudgedRuns, threads: int) -> int:
        # Each thread filters the lists, and scores them.
        of_thread = bytes_of(table.lists) + table.documents.nbytes + 3 * table.scores.nbytes
        return bytes_of(table) + threads * of_thread

    def notes(self, table: JudgedRuns) -> list[str]:
        teams = table.pools.teams
        if len(teams) < 2:
            raise BadPlan(f"only one team; name teams with {option('teams')}")
        for name, most in (("leave", len(teams) - 1), ("topic_sizes", table.sizes.size)):
            if (largest := max(getattr(self, name) or [0])) > most:
                text = f"{option(name, largest)}: at most {most} are possible"
                raise BadPlan(text, option=name)
        return list(table.notes)

    def leaves(self, table: JudgedRuns) -> list[int]:
        """Return 0, for the whole collection, and the numbers of teams to leave out, ascending."""
        return sorted({0, *(range(len(table.pools.teams)) if self.leave is None else self.leave)})

    def steps(self, table: JudgedRuns) -> list[int]:
        """Return the numbers of topics of the steps, descending from all topics."""
        return sorted({table.sizes.size, *(self.topic_sizes or ())}, reverse=True)

    def draw(self, table: JudgedRuns, start: int, stop: int) -> tuple[Any, Any]:
        """Return the teams that trials leave out, and orders of topics, (leave, ..., trial)."""
        leaves = self.leaves(table)
        n_teams = len(table.pools.teams)
        n_topics = table.sizes.size
        of_teams = table.key(Purpose.TEAMS_LEFT_OUT)
        of_topics = table.key(Purpose.TOPIC_CHAIN)
        left_out = np.zeros((len(leaves), n_teams, stop - start), bool)
        orders = np.empty((len(leaves), n_topics, stop - start), np.int64)
        for row, k in np.ndindex(len(leaves), stop - start):
            leave = leaves[row]
            trial = start + k
            left_out[row, random_subset(of_teams, trial, leave, n_teams, leave), k] = True
            chain = trial if leave else 0
            orders[row, :, k] = random_subset(of_topics, chain, leave, n_topics, n_topics)
        return left_out, orders

    def fitted(self, preset: Preset, n_topics: int) -> tuple[Teams, list[str]]:
        """Return the record with the paper's numbers of topics that are below those at hand."""
        of_paper = preset.values["topic_sizes"]
        if self.topic_sizes != of_paper or n_topics > of_paper[0]:
            return self, []
        below = tuple(size for size in of_paper if size < n_topics)
        text = ", ".join(map(str, below)) or "none"
        said = (
            f"numbers of topics beside all {n_topics}: {text}; the paper, of 100 topics, has "
            f"{', '.join(map(str, of_paper))}"
        )
        return replace(self, topic_sizes=below or None), [said]

    def block(self, table: JudgedRuns, start: int, stop: int) -> dict[str, Part]:
        (left_out, orders), steps = self.draw(table, start, stop), self.steps(table)
        shape = (len(table.scores), len(left_out), len(steps), stop - start)
        variance = np.full(shape, np.nan)
        n_topics = np.zeros(shape, np.int32)
        of_rule = dict[str, Any]()
        for rule in (NO_RELEVANT_LEFT, ALL_RUNS_ZERO):
            of_rule[rule] = np.zeros((len(table.scores), len(left_out), stop - start), np.int32)
        for row, trial in np.ndindex(len(left_out), stop - start):
            teams = left_out[row, :, trial]
            order = orders[row, :, trial]
            scores = table.scores_without(teams, ~teams[table.pools.team_of])
            for rule, count in of_rule.items():
                count[:, row, trial] = topics_lost(scores, rule).sum(axis=-1)
            is_left: Any = ~topics_lost(scores, self.lost)
            scores = without_lost(scores, self.lost)
            variance[:, row, 0, trial] = within_system_variance(scores)
            n_topics[:, row, 0, trial] = is_left.sum(axis=-1)
            for cell, step in np.ndindex(len(scores), len(steps) - 1):
                topics = np.sort(order[is_left[cell, order]][: steps[step + 1]])
                n_topics[cell, row, step + 1, trial] = len(topics)
                if len(topics) == steps[step + 1]:
                    chosen = within_system_variance(scores[cell][:, topics])
                    variance[cell, row, step + 1, trial] = chosen
        return {
            "variance": Concat(variance),
            "n_topics": Concat(n_topics),
            "topics_lost_no_relevant": Concat(of_rule[NO_RELEVANT_LEFT]),
            "topics_lost_all_zero": Concat(of_rule[ALL_RUNS_ZERO]),
        }

    def result(self, table: JudgedRuns, totals: Totals) -> xr.Dataset:
        left_out, _ = self.draw(table, 0, table.trials)
        values = dict(totals) | run_values(left_out, table.pools)
        values |= variance_values(totals["variance"], totals["n_topics"], self.leaves(table))
        coords = {names.LEAVE: self.leaves(table), names.TOPIC_STEP: self.steps(table)}
        attrs: dict[str, Any] = {"n_teams": len(table.pools.teams), "lost": self.lost}
        attrs["pool_depth"] = table.pools.depth
        return table.dataset(VARIABLES, values | absent_values(table, self.lost), coords, attrs)

    def drawn(self, table: JudgedRuns) -> xr.Dataset:
        left_out, orders = self.draw(table, 0, table.trials)
        places = np.argsort(orders, axis=1).astype(np.int32)
        arrays = {
            names.TEAM_LEFT_OUT: ((names.LEAVE, names.TEAM, names.TRIAL), left_out),
            names.TOPIC_PLACE: ((names.LEAVE, names.TOPIC, names.TRIAL), places),
        }
        teams = names.TEAM, label_array(table.pools.teams)
        return xr.Dataset(arrays, {names.LEAVE: self.leaves(table), names.TEAM: teams})
