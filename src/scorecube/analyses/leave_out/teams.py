"""Scores without some teams, their unique contributions to the pool, and some topics.

Without a team, the documents that only its runs contributed to the pool would not have been judged. Leaving teams out shows how far the
variance of scores (the starting point of topic set size design), the order of the other runs and their means depend on the participants.

References: Sakai and Shang 2016, "On estimating variances for topic set size design", sections 5.1 and 5.2; Zobel 1998, "How reliable
are the results of large-scale information retrieval experiments?" (own runs without their unique contributions); Voorhees 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import (
    Analysis,
    Array,
    Arrays,
    Combine,
    Cost,
    Inputs,
    Output,
    Prepared,
    labelled_result,
)
from scorecube.analyses.leave_out.rescored_runs import (
    check_metrics,
    compute_trials,
    first_misses,
    mean_changes,
    own_contributions,
    rescoring_inputs,
    trial_measures,
)
from scorecube.analyses.leave_out.team_quantities import VARIABLES
from scorecube.analyses.leave_out.team_samples import draw_orders, draw_teams
from scorecube.analyses.options import ONLY_TOPICS, level_field, option_field
from scorecube.collection import schema
from scorecube.collection.pool_depth import (
    CUTOFFS,
    PERSISTENCE,
    TOLERATED,
    PoolDepth,
    estimate_pool_depth,
    judged_shares,
    rbp_residuals,
)
from scorecube.collection.pools import Pools, build_pools, team_bits
from scorecube.collection.selection import cells, n_cells
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, option
from scorecube.metrics import Metric
from scorecube.statistics.quantiles import defined_mean


class TeamPools(NamedTuple):
    """Pools and metrics of a cube, the depth of the pools, and its estimate if no depth was stated."""

    pools: Pools
    metrics: list[Metric]
    depth: int
    estimated: PoolDepth | None


@dataclass(frozen=True, kw_only=True)
class Teams(Analysis):
    """Leave teams and topics out: do the variance and the order of other runs hold?

    For each number of teams, a trial draws the teams to leave out. Their runs are removed, and documents that only they contributed
    become unjudged; all other runs are evaluated again. The result also has the whole collection, at leave 0.

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
    examples: ClassVar[tuple[str, ...]] = (
        "--leave all --topics 100,75,50,25,10 --trials 10 --pool-depth 10 --seed 1",
    )
    details: ClassVar[str] = (
        "Documents that only the teams left out contributed to the pool become unjudged, and the other runs are scored again."
    )
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "topics": ONLY_TOPICS,
        "trials": {"help": "Trials for each number of teams; more trials later extend a result."},
    }
    default_trials: ClassVar[int] = 10
    uses_rankings: ClassVar[bool] = True

    leave: tuple[int, ...] | None = option_field(
        None,
        "Numbers of teams to leave out, e.g. 1,2,5; or all.",
        detail="All are from 1 to the number of teams - 1.",
        aliases={"all": None},
        minimum=1,
        unit="teams",
    )
    topic_sizes: tuple[int, ...] | None = option_field(
        None,
        "Numbers of topics of a nested chain of random topic sets, e.g. 100,75,50,25,10, in addition to all.",
        detail="Each trial has a chain of its own, from the topics that it did not lose (Sakai and Shang 2016, section 5.2); None for no chain.",
        flag="--topics",
        minimum=2,
        may_be_empty=True,
        unit="topics",
    )
    pool_depth: int | None = option_field(
        None,
        "Ranks of every run that contribute to the pool; auto: as deep as runs of half of the teams are judged.",
        detail="The pool holds the judged documents among these ranks; auto, or None, is the estimate of `scorecube.collection.pool_depth`.",
        aliases={"auto": None},
        minimum=1,
        unit="ranks",
    )
    keep_unpooled: bool = option_field(
        True,
        "Judged documents that no team contributed become unjudged when a team is left out; else they stay judged.",
        detail="Whether judged documents that no run contributed stay judged; else they become unjudged whenever a team is left out.",
        flag="--drop-unpooled",
    )
    confidence: float = level_field(
        names.CONFIDENCE, 0.95, "Confidence level of the interval.", finalize=True
    )

    def prepare(self, cube: xr.Dataset) -> Prepared:
        metrics = check_metrics(cube)
        refuse_other_summaries(cube, "leaving teams out")
        depth = estimate_pool_depth(cube) if self.pool_depth is None else None
        n_ranks = int(self.pool_depth or (depth.depth if depth else 0))
        return Prepared(cube, TeamPools(build_pools(cube, n_ranks), metrics, n_ranks, depth))

    def check(self, prepared: Prepared) -> list[str]:
        pools: Pools = prepared.shared.pools
        n_teams, n_topics = len(pools.teams), prepared.cube.sizes[names.TOPIC]
        if n_teams < 2:
            raise BadPlan(
                f"there is only one team, {pools.teams[0]}: leaving teams out needs at least 2; name teams with {option('teams')}"
            )
        wrong = [k for k in self.leave or () if k >= n_teams]
        if wrong:
            raise BadPlan(
                f"{option('leave', wrong[0])}: of {n_teams} teams 1 to {n_teams - 1} can be left out",
                option="leave",
            )
        wrong = [size for size in self.topic_sizes or () if size > n_topics]
        if wrong:
            raise BadPlan(
                f"{option('topic_sizes')}: {wrong[0]} of the {n_topics} topics cannot be kept; use 2 to {n_topics}",
                option="topic_sizes",
            )
        return self._warnings(prepared.cube, prepared.shared)

    def _warnings(self, cube: xr.Dataset, shared: TeamPools) -> list[str]:
        """Return warnings about runs without a team, about unpooled documents, and about the estimated depth of the pool."""
        pools = shared.pools
        runs = schema.labels_of(cube, names.RUN)
        n_alone = sum(
            run == team for run, team in zip(runs, schema.labels_of(cube, names.TEAM), strict=True)
        )
        warnings = []
        if n_alone:
            warnings.append(
                f"{n_alone} of {len(runs)} runs have no team, or a team of their name: each is its own team"
            )
        judged, unpooled = pools.levels >= 0, pools.unpooled
        if unpooled.any():
            warnings.append(
                f"{int(unpooled.sum()):,} of {int(judged.sum()):,} judged documents ({int((pools.levels[unpooled] > 0).sum()):,} of "
                f"{int((pools.levels > 0).sum()):,} relevant ones) are in no team's pool of depth {shared.depth}: they "
                + (
                    "stay judged"
                    if self.keep_unpooled
                    else "become unjudged whenever a team is left out"
                )
            )
        if shared.estimated is not None:
            warnings.append(_depth_text(shared.estimated, len(pools.teams)))
        return warnings

    def leaves(self, n_teams: int) -> tuple[int, ...]:
        """Return the numbers of teams to leave out, ascending."""
        return tuple(range(1, n_teams)) if self.leave is None else tuple(sorted(set(self.leave)))

    def steps(self, cube: xr.Dataset) -> tuple[int, ...]:
        """Return the numbers of topics of the steps, descending from all topics."""
        return tuple(
            dict.fromkeys(
                [cube.sizes[names.TOPIC], *sorted(set(self.topic_sizes or ()), reverse=True)]
            )
        )

    def _rescoring_inputs(self, prepared: Prepared) -> Arrays:
        """Return the arrays for rescoring, and the rules for lost topics."""
        shared: TeamPools = prepared.shared
        return rescoring_inputs(prepared.cube, shared.pools, shared.metrics, self.keep_unpooled) | {
            "sizes": np.array(self.steps(prepared.cube))
        }

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        n_teams = len(prepared.shared.pools.teams)
        samples = {
            "left_out": draw_teams(seed, n_teams, self.leaves(n_teams), trials),
            "order": self._draw_orders(prepared.cube, seed, n_teams, trials),
        }
        return self._rescoring_inputs(prepared) | samples | {"bits": team_bits(samples["left_out"])}

    def _draw_orders(self, cube: xr.Dataset, seed: int, n_teams: int, trials: int) -> Array:
        """Return orders of topics, int32 (leave, trial, position), the whole first; none without a chain."""
        leaves = (0, *self.leaves(n_teams)) if self.topic_sizes else ()
        return draw_orders(seed, cube.sizes[names.TOPIC], leaves, trials)

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        cube = prepared.cube
        n_teams, n_topics = len(prepared.shared.pools.teams), cube.sizes[names.TOPIC]
        count, n_leaves, n_steps = n_cells(cube), len(self.leaves(n_teams)), len(self.steps(cube))
        runs = (count, n_leaves, cube.sizes[names.RUN])
        return (
            Output("variance", (count, n_leaves, n_steps), Combine.CONCAT, "float64", 0),
            Output("n_topics", (count, n_leaves, n_steps), Combine.CONCAT, "int32", 0),
            *(
                Output(name, (count, n_leaves), Combine.CONCAT, "int32")
                for name in ("agreeing", "pairs", "rank_drop")
            ),
            Output("left_out", (n_leaves, n_teams), Combine.CONCAT, "bool"),
            *(
                [
                    Output(
                        "order", (n_leaves + 1, n_topics), Combine.CONCAT, "int32", 0, n_topics - 1
                    )
                ]
                if self.topic_sizes
                else []
            ),
            Output("change", runs, Combine.ADD),
            Output("rise", runs, Combine.MAX),
            Output("fall", runs, Combine.MAX),
            Output("stayed", runs, Combine.ADD, least=0, most=1),
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        left_out = np.ascontiguousarray(np.moveaxis(inputs["left_out"][:, start:stop], 1, -1))
        outputs = compute_trials(inputs, start, stop).by_name()
        if self.topic_sizes:
            order = inputs["order"][:, start:stop]
            outputs["order"] = np.ascontiguousarray(np.moveaxis(order, 1, -1))
        return {"left_out": left_out, **outputs}

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        pools, cell_of, n_runs = prepared.shared.pools, cells(cube)[1], cube.sizes[names.RUN]
        order, chains = np.empty((0, trials, cube.sizes[names.TOPIC]), np.int32), {}
        if self.topic_sizes:
            order = np.moveaxis(totals["order"], -1, 1)
            chains = {names.TOPIC_PLACE: np.argsort(order).astype(np.int32)}
        inputs = self._rescoring_inputs(prepared) | {"order": order}
        by_cell = trial_measures(inputs, totals, trials)
        by_cell |= (
            self._intervals(by_cell["variance"])
            | mean_changes(totals, trials)
            | own_contributions(inputs)
        )
        leaves = np.array((0, *self.leaves(len(pools.teams))))
        misses = first_misses(
            by_cell["variance_mean"][:, 0], by_cell["variance_low"], by_cell["variance_high"]
        )
        by_cell["first_miss"] = np.where(misses >= 0, leaves[misses], np.nan)
        # From (leave, team, trial) to (leave, trial, team).
        left_out = np.moveaxis(totals["left_out"], -1, 1)
        n_remaining = (~left_out[:, :, inputs["team_of"]]).sum(axis=-1)
        values = {name: array[cell_of] for name, array in by_cell.items()} | {
            "n_runs": np.concatenate([np.full((1, trials), n_runs), n_remaining]),
            names.TEAM_LEFT_OUT: np.concatenate(
                [np.zeros((1, *left_out.shape[1:]), bool), left_out]
            ),
            **chains,
            "n_unique": pools.n_unique(0),
            "n_unique_relevant": pools.n_unique(1),
        }
        cutoffs = tuple(sorted({*CUTOFFS, prepared.shared.depth}))
        values["judged_share"] = judged_shares(cube, cutoffs)
        values["rbp_residual"] = np.array([rbp_residuals(cube, p) for p in PERSISTENCE]).T
        coords = {
            names.LEAVE: leaves,
            names.TOPIC_STEP: np.array(self.steps(cube)),
            names.TOPIC: cube[names.TOPIC],
            names.RUN: schema.label_array(schema.labels_of(cube, names.RUN)),
            names.TEAM: schema.label_array(pools.teams),
            names.CUTOFF: np.array(cutoffs),
            names.PERSISTENCE: np.array(PERSISTENCE),
            names.TEAM_OF_RUN: (names.RUN, schema.label_array(schema.labels_of(cube, names.TEAM))),
        }
        attrs = {
            "trials": trials,
            "n_runs": n_runs,
            "n_topics": cube.sizes[names.TOPIC],
            "n_teams": len(pools.teams),
            "pool_depth": prepared.shared.depth,
            "pool_depth_estimated": self.pool_depth is None,
            "confidence": self.confidence,
            "n_judged": int((pools.levels >= 0).sum()),
            "n_unpooled": int(pools.unpooled.sum()),
        }
        held = [variable for variable in VARIABLES if variable.name in values]
        return labelled_result(cube, held, values, coords, attrs)

    def _intervals(self, variance: Array) -> dict[str, Array]:
        """Return means, intervals and numbers of variances over trials, (cell, leave, step)."""
        defined = np.isfinite(variance)
        count, mean = defined.sum(axis=-1), defined_mean(variance)
        squares = np.where(defined, (variance - mean[..., np.newaxis]) ** 2, 0.0).sum(axis=-1)
        freedom = np.maximum(count - 1, 1)
        from scipy.special import stdtrit

        quantile = stdtrit(freedom, (1 + self.confidence) / 2)
        margin = quantile * np.sqrt(squares / freedom / np.maximum(count, 1))
        margin[count < 2] = np.nan
        low, high = mean - margin, mean + margin
        whole = variance[:, 0, :, 0]
        mean[:, 0], low[:, 0], high[:, 0] = whole, np.nan, np.nan
        return {
            "variance_mean": mean,
            "variance_low": low,
            "variance_high": high,
            "n_defined": count,
        }

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        n_cells, n_runs, n_topics = cells(cube)[0].shape
        n_teams, n_ranks = len(prepared.shared.pools.teams), cube.sizes[names.RANK]
        metrics = prepared.shared.metrics
        dense = sum(metric.entry_form is None for metric in metrics) * n_cells / len(metrics)
        relevant = int((cube[schema.LEVEL_AT_RANK].values > 0).sum())
        # Entries are read once for all metrics, and again by few of them; other terms are for every score.
        evaluation = relevant * (1.7e-10 + 1e-10 * (n_cells - dense)) + 1e-9 * n_runs * n_topics * (
            0.6 * (n_cells - dense) + 5 * dense + n_ranks * (2 * (dense > 0) + dense)
        )
        leaves = self.leaves(n_teams)
        share = sum(n_teams - k for k in leaves) / n_teams
        evaluation += 6e-10 * n_runs * n_topics * n_cells * len(self.steps(cube))
        per_step = 1e-5 + 1.5e-7 * n_topics + 1.5e-4 * (dense > 0)
        seconds = per_step * len(leaves) + share * evaluation
        output_bytes = 8.0 * n_cells * len(leaves) * (2 * len(self.steps(cube)) + 3)
        working_bytes = (
            9.0 * relevant
            + 5.0 * n_runs * n_topics * n_ranks * (dense > 0)
            + 24.0 * n_cells * n_runs * (n_topics + len(leaves))
        )
        seconds += n_teams * evaluation / max(trials, 1)
        return Cost(seconds, output_bytes, working_bytes, result_bytes=2.0 * trials * output_bytes)

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return drawn ``team_left_out[leave, trial, team]`` and, of a chain, ``topic_place[leave, trial, topic]``."""
        teams = sorted(set(schema.labels_of(cube, names.TEAM)))
        leaves = self.leaves(len(teams))
        left_out = draw_teams(seed, len(teams), leaves, trials)
        coords = {
            names.LEAVE: np.array(leaves),
            names.TEAM: schema.label_array(teams),
            names.TOPIC: schema.label_array(schema.labels_of(cube, names.TOPIC)),
        }
        drawn = [left_out]
        if self.topic_sizes:
            coords[names.LEAVE] = np.array((0, *leaves))
            order = self._draw_orders(cube, seed, len(teams), trials)
            drawn = [
                np.concatenate([np.zeros_like(left_out[:1]), left_out]),
                np.argsort(order).astype(np.int32),
            ]
        variables = schema.TEAM_SAMPLES[: len(drawn)]
        arrays = {
            variable.name: (variable.dims, array)
            for variable, array in zip(variables, drawn, strict=True)
        }
        samples = xr.Dataset(arrays, coords)
        return schema.annotate(samples.assign_attrs(seed=str(seed)), variables)


def _depth_text(found: PoolDepth, n_teams: int) -> str:
    """Return what was estimated about the depth of the pool, for users."""
    if not found.found:
        return (
            f"no depth was found at which runs of half of the teams are judged: a pool of depth {found.depth} is assumed; "
            f"state {option('pool_depth')} if it is known"
        )
    return (
        f"the pool has an estimated depth of {found.depth}: up to there a run of {found.n_teams} of {n_teams} teams is judged "
        f"(at most {TOLERATED:.0%} of its documents are not); state {option('pool_depth')} if it is known"
    )
