"""Boards: one ranking from many collections, by the weighted mean over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import ALL_COLLECTIONS, Arrays, Cost, Inputs, Prepared
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.base import expand_cells
from scorecube.analyses.pair_tests.gaussian import GAUSSIAN, Seen, products_of_scores, row_units
from scorecube.analyses.pair_tests.moderated import Moderated
from scorecube.analyses.pair_tests.pair_scores import comparable
from scorecube.analyses.pair_tests.repetitions import systems_of, variance_of
from scorecube.analyses.pair_tests.resampled_parts import Part, largest_of_parts
from scorecube.analyses.pair_tests.step_down import AT_ONCE, MODERATION, Replicates, runs_of
from scorecube.analyses.rank_sets.board_quantities import VARIABLES
from scorecube.analyses.rank_sets.leaderboard import (
    Leaderboard,
    OwnMeans,
    keep_means,
    sums_and_spreads,
)
from scorecube.analyses.rank_sets.over_collections import (
    OverCollections,
    Strata,
    mean_over,
    means_by_collection,
    strata_of,
    units_of_means,
)
from scorecube.collection import schema
from scorecube.collection.judgement_sets import NOT_COMMON
from scorecube.collection.rows import Rows
from scorecube.collection.selection import cell_of_settings, cells, n_cells, standardise
from scorecube.errors import BadPlan, option
from scorecube.kernels.linalg.panel_product import product
from scorecube.kernels.pairs.running_maximum import Drawn, Family, Resampled, resampled
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples, multiplicity_columns
from scorecube.statistics.integer_scores import in_units

RANK: Literal["rank"] = "rank"
STRATA = "strata"
"""Key of `Prepared.kept`."""
LEAST = 2
"""Topics of a collection."""


@dataclass(frozen=True, kw_only=True)
class Board(Leaderboard):
    """Board: one ranking from many collections, with limits, rank sets, and groups.

    Estimand: the weighted mean over these collections of each run's mean score over infinitely many topics of each. Topics are drawn within each
    collection, independently. Intervals, rank sets, groups and comparisons with a baseline are those of `Leaderboard`, with the squared standard errors
    sum of w^2 s^2 / n over the collections; a board of one collection is its leaderboard.

    Notes
    -----
    Runs that a collection lacks are named, and left out. ``mean_rank`` is the mean of the ranks in the collections (Borda),
    without limits: no method is known that holds.

    References: as of `Leaderboard`; Satterthwaite 1946, Biometrics Bulletin 2.

    Examples
    --------
    >>> from scorecube import join_collections
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> web, news = simulate_cube(n_runs=6, seed=3), simulate_cube(n_runs=6, seed=4).isel(topic=slice(20))
    >>> result = analyse(join_collections({"web": web, "news": news}), Board(weights=("web=2",)), trials=200, seed=1)
    >>> result["collection_mean"].sizes["collection"], result["weight"].values.round(3).tolist()
    (2, [0.333, 0.667])
    """

    name: ClassVar[str] = "board"
    subject: ClassVar[str] = "a board"
    n_collections: ClassVar[int] = ALL_COLLECTIONS
    examples: ClassVar[tuple[str, ...]] = (
        "--seed 1",
        "--collections nq,fiqa --weights nq=2 --baseline RUN --seed 1",
    )
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "trials": {"default": 10_000},
        "collection": {
            "help": "Collections that are averaged over, separated by commas; all by default."
        },
    }

    collections: tuple[str, ...] = option_field(
        (), "Collections, in their order.", may_be_empty=True, on_command_line=False
    )
    weights: tuple[str, ...] = option_field(
        (),
        "Weights of collections, such as nq=2,fiqa=0.5; 1 for others.",
        detail="Divided by their sum.",
        may_be_empty=True,
    )
    standardise: Literal["none", "z", "std-AB", "rank"] = option_field(
        "none",
        "Scores of each topic relative to those of all runs: z, std-AB (0.15 z + 0.5), or rank, the share of other runs with a lower score; or none.",
        detail="For collections whose scores have different scales.",
    )

    def prepare(self, cube: xr.Dataset) -> Prepared:
        strata = strata_of(cube, self.weights)
        if self.collections and self.collections != strata.names:
            raise BadPlan(
                f"the collections of the cube are {', '.join(strata.names)}; the plan is for {', '.join(self.collections)}"
            )
        scores = self.standardised(cube)
        if not self.by_system:
            return Prepared(scores, source=cube)
        means, repetitions = systems_of(scores)
        by_run = [
            mean_over(each, strata.weights)
            for each in means_by_collection(cells(scores)[0], strata)
        ]
        variances = np.stack(
            [
                variance_of(np.stack(by_run)[:, repetitions.system_of == k])
                for k in range(len(repetitions.counts))
            ],
            axis=1,
        )
        coords = {name: scores[name] for name in (names.COLLECTION,) if name in scores.coords}
        return Prepared(
            means.assign_coords(coords), replace(repetitions, variances=variances), source=cube
        )

    def standardised(self, cube: xr.Dataset) -> xr.Dataset:
        """Return the scores that are averaged."""
        if self.standardise == "none":
            return cube
        if names.TOPIC_GROUPS in cube.attrs:
            raise BadPlan(
                f"{option('standardise', self.standardise)} is of topics, and these come in groups; standardise each collection first, or take topics as independent with {option('by_topic', True)}",
                option="standardise",
            )
        if self.standardise != RANK:
            return standardise(cube, self.standardise)
        from scipy.stats import rankdata  # takes long to import

        axis = cube[names.SCORE].get_axis_num(names.RUN)
        shares = (rankdata(cube[names.SCORE].values, axis=axis) - 1) / (cube.sizes[names.RUN] - 1)
        labels = [f"{RANK}:{metric}" for metric in schema.labels_of(cube, names.METRIC)]
        return cube.assign({names.SCORE: (cube[names.SCORE].dims, shares)}).assign_coords(
            {names.METRIC: schema.label_array(labels)}
        )

    def check(self, prepared: Prepared) -> list[str]:
        strata = self.strata(prepared)
        counts = np.diff(strata.starts)
        few = [name for name, n in zip(strata.names, counts, strict=True) if n < LEAST]
        if few:
            raise BadPlan(
                f"a board needs {LEAST} topics of each collection; {', '.join(few[:5])} {'has' if len(few) == 1 else 'have'} fewer: leave out such collections with {option('collections')}",
                option="collections",
            )
        source = prepared.cube if prepared.source is None else prepared.source
        return [*source.attrs.get(NOT_COMMON, []), *super().check(prepared)]

    def strata(self, prepared: Prepared) -> Strata:
        """Return the collections of a prepared cube."""
        if STRATA not in prepared.kept:
            prepared.kept[STRATA] = strata_of(prepared.cube, self.weights)
        found: Strata = prepared.kept[STRATA]
        return found

    def rows(self, prepared: Prepared) -> list[Rows]:
        """Return the scores of each cell in each collection."""
        parts = self.strata(prepared).parts()
        return [Rows(each.scores[:, part]) for each in super().rows(prepared) for part in parts]

    def in_cell(self, prepared: Prepared, cell: int) -> tuple[list[Rows], list[Seen]]:
        """Return the scores of a cell in each collection, and what is known of them."""
        n = len(self.strata(prepared).names)
        here = slice(cell * n, (cell + 1) * n)
        return self.rows(prepared)[here], self.seen(prepared)[here]

    def make_statistics(self, prepared: Prepared) -> list[Moderated]:
        strata = self.strata(prepared)
        counts, variances = runs_of(prepared.cube, prepared.shared)
        found: list[Moderated] = []
        for cell, single in enumerate(variances):
            rows, seen = self.in_cell(prepared, cell)
            means = np.stack([each.mean for each in seen])
            units = units_of_means(mean_over(means, strata.weights))
            parts: tuple[Any, ...]
            if self.resampling == GAUSSIAN:
                parts = tuple(map(row_units, rows, seen))
                products = tuple(map(products_of_scores, parts))
            else:
                parts = tuple(in_units(*comparable(each[:])) for each in rows)
                products = (None,) * len(parts)
            own = (units, MODERATION, counts, single, parts, strata)
            found.append(OverCollections(*own, products=products))
        return found

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        inputs, strata = super().inputs(prepared, trials, seed), self.strata(prepared)
        keys = [
            stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS, part)
            for part in range(len(strata.names))
        ]
        inputs |= {"keys": np.stack(keys), "starts": strata.starts}
        if self.resampling == GAUSSIAN:
            return inputs
        for cell, statistic in enumerate(self.statistics(prepared)):
            assert isinstance(statistic, OverCollections)
            inputs |= {
                f"centred_{cell}": np.concatenate(
                    [part.values for part in statistic.parts], axis=1
                ),
                f"snap_{cell}": np.array([part.snap for part in statistic.parts]),
                f"sums_by_part_{cell}": np.stack([part.sums for part in statistic.parts]),
                f"of_difference_{cell}": statistic.of_difference,
                f"of_variance_{cell}": statistic.of_variance,
            }
        return inputs

    def fewest_topics(self, cube: xr.Dataset) -> int:
        return int(np.diff(strata_of(cube, self.weights).starts).min())

    def draw(self, inputs: Inputs, low: int, high: int) -> Any:
        if self.resampling == GAUSSIAN:
            return super().draw(inputs, low, high)
        return [
            multiplicity_columns(bootstrap_samples(key, int(n), low, high), int(n))
            for key, n in zip(inputs["keys"], np.diff(inputs["starts"]), strict=True)
        ]

    def resample(self, inputs: Inputs, cell: int, counts: Any) -> Any:
        if self.resampling == GAUSSIAN:
            return super().resample(inputs, cell, counts)
        values = parts_of(inputs, f"centred_{cell}")
        factors = (
            inputs[f"{name}_{cell}"].tolist() for name in ("snap", "of_difference", "of_variance")
        )
        return [
            Part(resampled(centred, drawn, snap), difference, variance)
            for centred, drawn, snap, difference, variance in zip(
                values, counts, *factors, strict=True
            )
        ]

    def largest(self, inputs: Inputs, replicates: Replicates, family: Family, reached: Any) -> Any:
        cell, parts, errors, trials, _ = replicates
        if isinstance(parts, Drawn):
            return super().largest(inputs, replicates, family, reached)
        moderation = (MODERATION, float(inputs[f"added_{cell}"]))
        return largest_of_parts(parts, errors, trials, family, moderation, reached)

    def observe(self, inputs: Inputs, replicates: Replicates, out: Arrays) -> None:
        cell, parts, errors, trials, place = replicates
        if isinstance(parts, Drawn):
            super().observe(inputs, replicates, out)
            return
        own: list[Any] = [None] * len(parts)
        if f"own_{cell}" in inputs:
            own = parts_of(inputs, f"own_{cell}")
        chosen = slice(*trials)
        means, deviations, spread = np.zeros(
            (3, len(parts[0].scores.centred), trials[1] - trials[0])
        )
        for part, values, sums in zip(parts, own, inputs[f"sums_by_part_{cell}"], strict=True):
            scores = part.scores
            n = scores.centred.shape[1]
            # Whole numbers, so that equal means are equal.
            means += (
                scores.sums[: len(sums), chosen] + n * sums[:, np.newaxis]
            ) * part.of_difference
            if values is not None:
                scores = Resampled(values, scores.weights, product(values, scores.weights), 0)
            totals, squares = sums_and_spreads(scores, trials)
            deviations += totals * part.of_difference
            spread += squares * part.of_variance
        if errors is not None:
            deviations += errors.shifts[:, chosen]
            means += errors.shifts[:, chosen]
            spread += errors.own[:, chosen]
        keep_means(out, cell, place, means, deviations, spread)

    def own_means(self, prepared: Prepared, cell: int) -> OwnMeans:
        statistic = self.statistics(prepared)[cell]
        assert isinstance(statistic, OverCollections)
        return statistic.own_means(*self.in_cell(prepared, cell))

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        from scipy.stats import rankdata

        result = super().finalize(prepared, totals, trials)
        strata, cell_of = self.strata(prepared), cell_of_settings(prepared.cube)
        sides, by_collection = [], []
        for cell, bounds in enumerate(self.known_bounds(prepared)):
            own: Any = self.own_means(prepared, cell)
            sides.append(own.limits(bounds, self.alpha / 2))
            by_collection.append([part.mean for part in own.parts])
        means = np.array(by_collection)
        ranks = rankdata(-means, axis=-1)
        low, high = np.array(sides).swapaxes(0, 1)
        by_cell = {
            "collection_mean": means,
            "collection_mean_low": low,
            "collection_mean_high": high,
            "mean_rank": np.stack([mean_over(each, strata.weights) for each in ranks]),
        }
        values = {name: expand_cells(each, cell_of) for name, each in by_cell.items()}
        values |= {"weight": strata.weights, "topics": np.diff(strata.starts)}
        values["separated_neighbours"] = separated_neighbours(result)
        arrays = {
            each.name: (each.dims, values[each.name], each.attrs())
            for each in VARIABLES
            if each.name in values
        }
        found = result.assign(arrays).assign_coords(
            {names.COLLECTION: schema.label_array(strata.names)}
        )
        return found.assign_attrs(
            collections=list(strata.names), weights=list(self.weights), standardise=self.standardise
        )

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cost, cube = super().cost(prepared, trials), prepared.cube
        n_tested = sum(len(first) for first, _ in self.families(cube))
        n = 0 if self.resampling == GAUSSIAN else len(self.strata(prepared).names)
        return replace(
            cost,
            seconds=cost.seconds + 2e-8 * n * n_cells(cube) * n_tested,
            fixed_bytes=cost.fixed_bytes + 8.0 * AT_ONCE * 128 * (n + 4),
            input_seconds=4 * cost.input_seconds,
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> NoReturn:
        raise BadPlan(
            "a board draws topics of each collection by itself: there are no samples of all"
        )


def parts_of(inputs: Inputs, name: str) -> list[Any]:
    """Return the scores of each collection, of an array (run, topic) of the inputs."""
    ends = inputs["starts"][1:-1]
    return [np.ascontiguousarray(each) for each in np.split(inputs[name], ends, axis=1)]


def separated_neighbours(result: xr.Dataset) -> Any:
    """Return how many pairs of runs that follow each other in the order of means share no group: int32 (metric, gain)."""
    order = np.argsort(result["rank"].values, axis=-1, kind="stable")
    first, last = (
        np.take_along_axis(result[name].values, order, -1) for name in ("group_first", "group_last")
    )
    return (last[..., :-1] < first[..., 1:]).sum(axis=-1).astype(np.int32)
