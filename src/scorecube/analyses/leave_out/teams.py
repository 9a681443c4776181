"""What scores would have been without some teams: their unique contributions to the pool gone, and perhaps some topics.

Runs bring documents into the pool that is judged. A team that had not taken part would have brought none: the documents that only it
contributed would not be judged. Leaving teams out shows whether the variance of scores (what topic set size design starts from), the order of
the other runs and their means depend on who happened to take part.

References: Sakai and Shang 2016 (S3), "On estimating variances for topic set size design", sections 5.1 and 5.2; Zobel 1998, "How reliable
are the results of large-scale information retrieval experiments?" (own runs without their unique contributions); Voorhees 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr
from scipy.stats import t as t_distribution

from scorecube import names
from scorecube.analyses.base import Analysis, Arrays, Combine, Cost, Output, Prepared
from scorecube.analyses.leave_out.rescored_runs import check_metrics, reduced_inputs
from scorecube.analyses.leave_out.team_samples import draw_teams, draw_topics, given_teams, given_topics
from scorecube.analyses.leave_out.trial_statistics import changes, first_misses, leave_out_all, own_runs, whole_first
from scorecube.analyses.options import option_field
from scorecube.collection import schema
from scorecube.collection.pools import Pools, build_pools, team_bits
from scorecube.collection.selection import cells, n_cells, uses_gains
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, option
from scorecube.metrics import Metric
from scorecube.statistics.quantiles import defined_mean, tails


class TeamPools(NamedTuple):
    """What the analysis computes of a cube once: its pools and its metrics."""

    pools: Pools
    metrics: list[Metric]


@dataclass(frozen=True, kw_only=True)
class Teams(Analysis):
    """Leave teams and topics out: do the variance and the order of other runs hold?

    A trial draws k teams for every k. Their runs are gone, and documents that only they contributed become unjudged; all other runs are
    evaluated anew. Step 0, the whole collection, is always there.

    Parameters
    ----------
    leave
        Numbers of teams to leave out; all from 1 to the number of teams - 1 if None.
    topic_sizes
        Numbers of topics of a nested chain of random topic sets, drawn once, beside all topics. None for no chain.
    pool_depth
        A run contributes the judged documents among its first so many ranks.
    keep_unpooled
        Whether judged documents that no run contributed stay judged; else they are gone whenever a team is left out.
    lost_topics
        ``no_relevant_left``: a topic is lost where a metric has no relevant document any more. ``all_runs_zero``: where all remaining
        runs score 0, metric by metric.
    distinct
        Whether the subsets of teams of a size differ in all trials; where there are fewer subsets than trials, all are taken once,
        and the other trials stay empty.
    interval
        Of the variance over trials: ``t``, mean +- t s / sqrt(trials), or ``percentile``.
    confidence
        Of the interval.
    fewer_topics
        Where fewer of a step's topics survive than the step wants: ``missing`` (no variance) or ``survivors`` (variance of these).

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
    examples: ClassVar[tuple[str, ...]] = ("--leave all --topics 100,75,50,25,10 --trials 10 --pool-depth 10 --seed 1",)
    details: ClassVar[str] = (
        "Documents that only the teams left out contributed to the pool become unjudged, and the runs of the others are scored anew."
    )
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "topics": {"flags": ("--only-topics",), "help": "Topics, by their ids; all by default."},
        "trials": {"default": 10, "help": "Trials for each number of teams; more later extend a result."},
    }
    uses_rankings: ClassVar[bool] = True

    leave: tuple[int, ...] | None = option_field(
        None, "Numbers of teams to leave out, e.g. 1,2,5; or all.", aliases={"all": None}, unit="teams"
    )
    topic_sizes: tuple[int, ...] | None = option_field(
        None,
        "Numbers of topics of a nested chain of random topic sets, e.g. 100,75,50,25,10, beside all.",
        flag="--topics",
        unit="topics",
    )
    pool_depth: int = option_field(10, "Ranks of every run that contribute to the pool.", minimum=1, unit="ranks")
    keep_unpooled: bool = option_field(
        True,
        "Judged documents in no team's pool go when a team is left out; else they stay.",
        flag="--drop-unpooled",
    )
    lost_topics: str = option_field(
        "no_relevant_left",
        "Topics are lost where no_relevant_left, or, metric by metric, where all_runs_zero.",
        choices=("no_relevant_left", "all_runs_zero"),
    )
    distinct: bool = option_field(False, "No subset of teams twice; all of them, where there are fewer than trials.")
    interval: str = option_field("t", "t, or percentile; over trials.", choices=("t", "percentile"), finalize=True)
    confidence: float = option_field(0.95, "Of the interval.", finalize=True)
    fewer_topics: str = option_field(
        "missing",
        "Where fewer topics survive than wanted: missing, or use the survivors.",
        choices=("missing", "survivors"),
    )

    def prepare(self, cube: xr.Dataset) -> Prepared:
        """See `Analysis.prepare`: with `TeamPools`."""
        metrics = check_metrics(cube)
        refuse_other_summaries(cube, "leaving teams out")
        return Prepared(cube, TeamPools(build_pools(cube, self.pool_depth), metrics))

    def check(self, prepared: Prepared) -> list[str]:
        """See `Analysis.check`."""
        if not 0 < self.confidence < 1:
            raise BadPlan(f"{option('confidence', self.confidence)} must be between 0 and 1", option="confidence")
        pools: Pools = prepared.shared.pools
        n_teams, n_topics = len(pools.teams), prepared.cube.sizes[names.TOPIC]
        if n_teams < 2:
            raise BadPlan(
                f"there is only one team, {pools.teams[0]}: some team must be left to be evaluated; name teams with {option('teams')}"
            )
        wrong = [k for k in self.leave or () if not 1 <= k < n_teams] + ([0] if self.leave == () else [])
        if wrong:
            raise BadPlan(
                f"{option('leave', wrong[0])}: of {n_teams} teams 1 to {n_teams - 1} can be left out", option="leave"
            )
        wrong = [size for size in self.topic_sizes or () if not 2 <= size <= n_topics]
        if wrong:
            raise BadPlan(
                f"{option('topic_sizes')}: {wrong[0]} of the {n_topics} topics cannot be kept; a variance takes 2 to {n_topics}",
                option="topic_sizes",
            )
        return self._warnings(prepared.cube, pools)

    def _warnings(self, cube: xr.Dataset, pools: Pools) -> list[str]:
        runs = schema.labels_of(cube, names.RUN)
        alone = sum(run == team for run, team in zip(runs, schema.labels_of(cube, names.TEAM), strict=True))
        notes = (
            [f"{alone} of {len(runs)} runs have no team, or one of their own name: each counts as a team"]
            if alone
            else []
        )
        judged, unpooled = pools.levels >= 0, pools.unpooled
        if unpooled.any():
            notes.append(
                f"{int(unpooled.sum()):,} of {int(judged.sum()):,} judged documents ({int((pools.levels[unpooled] > 0).sum()):,} of "
                f"{int((pools.levels > 0).sum()):,} relevant ones) stand in no team's pool of depth {self.pool_depth}: they "
                + ("stay judged whoever is left out" if self.keep_unpooled else "are gone whenever a team is left out")
            )
        return notes

    def leaves(self, n_teams: int) -> tuple[int, ...]:
        """Return the numbers of teams to leave out, rising."""
        return tuple(range(1, n_teams)) if self.leave is None else tuple(sorted(set(self.leave)))

    def steps(self, cube: xr.Dataset) -> tuple[int, ...]:
        """Return the numbers of topics wanted: all, then fewer and fewer."""
        return tuple(dict.fromkeys([cube.sizes[names.TOPIC], *sorted(set(self.topic_sizes or ()), reverse=True)]))

    def replay(self, prepared: Prepared, samples: xr.Dataset, trials: int) -> Arrays:
        """See `Analysis.replay`."""
        teams = prepared.shared.pools.teams
        return {
            "left_out": given_teams(samples, teams, self.leaves(len(teams)), trials),
            "kept": given_topics(samples, prepared.cube, self.steps(prepared.cube)),
        }

    def _reduced(self, prepared: Prepared) -> Arrays:
        known: TeamPools = prepared.shared
        return reduced_inputs(prepared.cube, known.pools, known.metrics, self.keep_unpooled)

    def inputs(self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None) -> Arrays:
        """See `Analysis.inputs`: what is known of the documents, and who is left out in every trial."""
        n_teams, steps = len(prepared.shared.pools.teams), self.steps(prepared.cube)
        drawn = samples or {
            "left_out": draw_teams(seed, n_teams, self.leaves(n_teams), trials, self.distinct),
            "kept": draw_topics(seed, steps),
        }
        return self._reduced(prepared) | drawn | {
            "bits": team_bits(drawn["left_out"]), "wanted": np.array((0, *steps[1:])),
            "all_zero": np.array(self.lost_topics == "all_runs_zero"), "survivors": np.array(self.fewer_topics == "survivors"),
        }  # fmt: skip

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        """See `Analysis.outputs`."""
        cube = prepared.cube
        n_teams = len(prepared.shared.pools.teams)
        count, n_leaves, n_steps = n_cells(cube), len(self.leaves(n_teams)), len(self.steps(cube))
        runs = (count, n_leaves, cube.sizes[names.RUN])
        return (
            Output("variance", (count, n_leaves, n_steps), Combine.CONCAT, "float64"),
            Output("n_topics", (count, n_leaves, n_steps), Combine.CONCAT, "int32"),
            *(Output(name, (count, n_leaves), Combine.CONCAT, "int32") for name in ("agreeing", "pairs", "rank_drop")),
            Output("left_out", (n_leaves, n_teams), Combine.CONCAT, "bool"),
            Output("kept", (n_steps, cube.sizes[names.TOPIC]), Combine.MAX, "int8"),
            Output("change", runs, Combine.ADD), Output("rise", runs, Combine.MAX), Output("fall", runs, Combine.MAX),
            Output("stayed", runs, Combine.ADD),
        )  # fmt: skip

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`."""
        left_out = np.ascontiguousarray(np.moveaxis(inputs["left_out"][:, start:stop], 1, -1))
        return {
            "left_out": left_out, "kept": inputs["kept"].astype(np.int8), **leave_out_all(inputs, start, stop)._asdict()
        }  # fmt: skip

    def finalize(self, prepared: Prepared, totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> xr.Dataset:
        """See `Analysis.finalize`; the variables are described in `VARIABLES`."""
        cube = prepared.cube
        cell_of, inputs = cells(cube)[1], self._reduced(prepared)
        pools, steps = prepared.shared.pools, self.steps(cube)
        inputs |= {
            "kept": totals["kept"].astype(bool),
            "wanted": np.array((0, *steps[1:])),
            "survivors": np.array(self.fewer_topics == "survivors"),
        }
        by_cell = whole_first(inputs, totals, trials)
        by_cell |= self._intervals(by_cell["variance"]) | changes(totals, trials) | own_runs(inputs)
        leaves = np.array((0, *self.leaves(len(pools.teams))))
        miss = first_misses(by_cell["variance_mean"][:, 0], by_cell["variance_low"], by_cell["variance_high"])
        by_cell["first_miss"] = np.where(miss >= 0, leaves[miss], np.nan)
        values = {name: array[cell_of] for name, array in by_cell.items()}
        n_runs = (~np.moveaxis(totals["left_out"], -1, 1)[:, :, inputs["team_of"]]).sum(axis=-1)
        drawn = totals["left_out"].any(axis=1)
        left_out = np.moveaxis(totals["left_out"], -1, 1)
        counted = [pools.n_unique(level) for level in (0, 1)]
        values |= {
            "n_runs": np.concatenate([np.full((1, trials), cube.sizes[names.RUN]), np.where(drawn, n_runs, 0)]),
            names.TEAM_LEFT_OUT: np.concatenate([np.zeros((1, *left_out.shape[1:]), bool), left_out]), names.TOPIC_KEPT: totals["kept"].astype(bool),
            "n_unique": counted[0], "n_unique_relevant": counted[1],
        }  # fmt: skip
        coords = {
            names.METRIC: cube[names.METRIC], names.GAIN: cube[names.GAIN], names.USES_GAINS: (names.METRIC, uses_gains(cube)),
            names.LEAVE: leaves, names.TOPIC_STEP: np.array(steps), names.TOPIC: cube[names.TOPIC],
            names.RUN: schema.label_array(schema.labels_of(cube, names.RUN)), names.TEAM: schema.label_array(pools.teams),
            names.TEAM_OF_RUN: (names.RUN, schema.label_array(schema.labels_of(cube, names.TEAM))),
        }  # fmt: skip
        result = xr.Dataset({each.name: (each.dims, values[each.name]) for each in VARIABLES}, coords=coords)
        attrs = {
            "trials": trials, "n_runs": cube.sizes[names.RUN], "n_topics": cube.sizes[names.TOPIC], "n_teams": len(pools.teams),
            "pool_depth": self.pool_depth, "lost_topics": self.lost_topics, "interval": self.interval, "confidence": self.confidence,
            "n_judged": int((pools.levels >= 0).sum()), "n_unpooled": int(pools.unpooled.sum()),
        }  # fmt: skip
        return schema.annotate(result.assign_attrs(attrs), VARIABLES)

    def _intervals(self, variance: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """Return means and intervals over trials, (cell, leave, step), and where they first miss the whole."""
        known = np.isfinite(variance)
        count, mean = known.sum(axis=-1), defined_mean(variance)
        if self.interval == "percentile":
            low, high = tails(variance, (1 - Fraction(str(self.confidence))) / 2)
        else:
            squares = np.where(known, (variance - mean[..., np.newaxis]) ** 2, 0.0).sum(axis=-1)
            free = np.maximum(count - 1, 1)
            half = t_distribution.ppf((1 + self.confidence) / 2, free) * np.sqrt(squares / free / np.maximum(count, 1))
            half[count < 2] = np.nan
            low, high = mean - half, mean + half
        whole = variance[:, 0, :, 0]
        mean[:, 0], low[:, 0], high[:, 0] = whole, np.nan, np.nan
        return {"variance_mean": mean, "variance_low": low, "variance_high": high, "n_defined": count}

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """See `Analysis.cost`: scores of the runs that are left, half of all on average, their variance and ranks; own runs come at the end."""
        cube = prepared.cube
        n_cells, n_runs, n_topics = cells(cube)[0].shape
        n_teams, n_ranks = len(prepared.shared.pools.teams), cube.sizes[names.RANK]
        known = prepared.shared.metrics
        dense = sum(metric.entry_form is None for metric in known) * n_cells / len(known)
        relevant = int((cube[schema.LEVEL_AT_RANK].values > 0).sum())
        # Entries are looked at once, and walked again by few metrics; the rest is for every score.
        evaluation = relevant * (1.6e-9 + 3e-10 * (n_cells - dense)) + 1e-9 * n_runs * n_topics * (
            1.5 * (n_cells - dense) + 5 * dense + n_ranks * (2 * (dense > 0) + dense)
        )
        leaves = self.leaves(n_teams)
        share = sum(n_teams - k for k in leaves) / n_teams
        evaluation += 1.5e-9 * n_runs * n_topics * n_cells * len(self.steps(cube))
        seconds = (1e-5 + 1.5e-4 * (dense > 0)) * len(leaves) + share * evaluation
        kept = 8.0 * n_cells * len(leaves) * (2 * len(self.steps(cube)) + 3)
        held = (
            9.0 * relevant
            + 5.0 * n_runs * n_topics * n_ranks * (dense > 0)
            + 24.0 * n_cells * n_runs * (n_topics + len(leaves))
        )
        return Cost(seconds + n_teams * evaluation / max(trials, 1), kept, held, result_bytes=trials * kept)

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``team_left_out[leave, trial, team]`` and ``topic_kept[topic_step, topic]``, as a run draws them."""
        teams, steps = sorted(set(schema.labels_of(cube, names.TEAM))), self.steps(cube)
        leaves = self.leaves(len(teams))
        drawn = (draw_teams(seed, len(teams), leaves, trials, self.distinct), draw_topics(seed, steps))
        coords = {
            names.LEAVE: np.array(leaves), names.TEAM: schema.label_array(teams), names.TOPIC_STEP: np.array(steps),
            names.TOPIC: schema.label_array(schema.labels_of(cube, names.TOPIC)),
        }  # fmt: skip
        found = xr.Dataset(
            {each.name: (each.dims, array) for each, array in zip(schema.TEAM_SAMPLES, drawn, strict=True)},
            coords=coords,
        )
        return schema.annotate(found.assign_attrs(seed=str(seed)), schema.TEAM_SAMPLES)


_CELL = (names.METRIC, names.GAIN)
_STEP = (*_CELL, names.LEAVE, names.TOPIC_STEP)
_LEAVE = (*_CELL, names.LEAVE)
_CHANGE = (*_LEAVE, names.RUN)
_RUNS = (*_CELL, names.RUN)
VARIABLES = tuple(
    schema.Variable(*facts)
    for facts in (
        ("variance", (*_STEP, names.TRIAL), "f", "1", "within-system variance of the remaining runs over the remaining topics"),
        ("n_topics", (*_STEP, names.TRIAL), "i", "topics", "topics of the step that were not lost"),
        ("n_runs", (names.LEAVE, names.TRIAL), "i", "runs", "remaining runs; 0 in a trial that stays empty"),
        (names.TEAM_LEFT_OUT, (names.LEAVE, names.TRIAL, names.TEAM), "b", "1", "whether a team is left out"),
        (names.TOPIC_KEPT, (names.TOPIC_STEP, names.TOPIC), "b", "1", "whether a topic is in a step of the chain"),
        ("variance_mean", _STEP, "f", "1", "mean variance over trials"),
        ("variance_low", _STEP, "f", "1", "lower end of the interval over trials; missing where no team is left out"),
        ("variance_high", _STEP, "f", "1", "upper end of the interval over trials; missing where no team is left out"),
        ("n_defined", _STEP, "i", "trials", "trials with a variance"),
        ("first_miss", (*_CELL, names.TOPIC_STEP), "f", "teams", "fewest teams left out at which the interval misses the variance of the whole"),
        ("tau", (*_LEAVE, names.TRIAL), "f", "1", "Kendall's tau-a of the remaining runs' means with those of the full evaluation"),
        ("rank_drop", (*_LEAVE, names.TRIAL), "i", "ranks", "most ranks that a remaining run loses against the full evaluation of the same runs"),
        ("tau_mean", _LEAVE, "f", "1", "mean of tau over trials"),
        ("tau_lowest", _LEAVE, "f", "1", "smallest tau of all trials"),
        ("rank_drop_largest", _LEAVE, "i", "ranks", "most ranks that a run loses in any trial"),
        ("mean_change", _CHANGE, "f", "score", "change of a run's mean score against the full evaluation, mean over the trials it stayed in"),
        ("mean_change_largest", _CHANGE, "f", "score", "change of a run's mean score of the largest size, over the trials it stayed in"),
        ("stayed", _CHANGE, "i", "trials", "trials in which a run stayed and has a mean score"),
        ("own_mean", _RUNS, "f", "score", "mean score of a run in the full evaluation"),
        ("own_mean_without", _RUNS, "f", "score", "mean score of a run without its team's unique contributions, all runs kept"),
        ("own_rank", _RUNS, "i", "rank", "rank of a run in the full evaluation; tied runs share the best of their ranks"),
        ("own_rank_without", _RUNS, "i", "rank", "rank of a run among all runs without its team's unique contributions"),
        ("n_unique", (names.TEAM,), "i", "documents", "judged documents that only a team contributed"),
        ("n_unique_relevant", (names.TEAM,), "i", "documents", "relevant ones of these"),
    )
)  # fmt: skip
"""Steps: leave is 0 (the whole) and the numbers of teams; topic_step is the number of topics wanted, the first is all topics."""
