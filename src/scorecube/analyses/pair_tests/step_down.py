"""Step-down max-T families of pairs of runs, in blocks of bootstrap trials: base of the max-T test and of rank sets.

The statistic of a pair is the moderated t (Smyth 2004, Statistical Applications in Genetics and Molecular Biology 3, article 3): its
squared standard error is the weighted mean of the pair's own one and the median of all pairs. Any statistic gives a valid family if the
bootstrap repeats it; this one keeps pairs of runs that are almost copies of each other, whose own t has long tails, from deciding
what all other pairs must reach.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.drawn_samples import bootstrapped_topics
from scorecube.analyses.pair_tests.base import (
    cell_units,
    check_runs,
    exact_level,
    few_binary_topics,
    n_pairs,
    pair_result_bytes,
)
from scorecube.analyses.pair_tests.family import Pairs, by_system_field, check_baseline
from scorecube.analyses.pair_tests.gaussian import (
    AUTO,
    GAUSSIAN,
    MANY_TOPICS,
    TOPICS,
    Seen,
    bytes_of_products,
    look,
    normal_numbers,
    products_of_scores,
    refuse_gaussian,
    resampling_field,
    root_of,
    row_units,
)
from scorecube.analyses.pair_tests.moderated import Moderated
from scorecube.analyses.pair_tests.repetitions import (
    SHARE_OF_MODERATION,
    OverRepetitions,
    RepetitionErrors,
    Repetitions,
    deviates_of_seed,
    normal_deviates,
    of_deviates,
    repetition_errors,
    systems_by_default,
    systems_of,
)
from scorecube.collection.rows import Rows, rows_of_cells
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import n_cells
from scorecube.errors import counted, option
from scorecube.kernels.linalg.panel_product import product
from scorecube.kernels.pairs.running_maximum import (
    TILE,
    Drawn,
    Family,
    resampled,
    step_down,
    step_down_over_repetitions,
)
from scorecube.kernels.pairs.tail_counts import EQUAL
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples, multiplicity_columns
from scorecube.kernels.registers import has_wide_registers

AT_ONCE = 512
"""Trials whose sums are in memory at a time. Without wide registers the library's product rounds by the shape of its arguments, so it
always gets the same trials together, wherever a block begins."""
FEW_TOPICS = 25
"""Number of topics below which error rates are not known."""
MODERATION = 4.0
"""Weight of the median variance of all pairs beside a pair's own, whose weight is 1; variances are squared standard errors. Chosen on adhoc6 AP, web2012 ERR@20 and web2013 AP among 0, 1, 2 and 4."""
STATISTICS, SEEN = "statistics", "seen"
"""Keys of `Prepared.kept`."""


class Replicates(NamedTuple):
    """Some trials of one cell.

    cell: Position of the cell.
    scores: Resampled scores, of these trials and perhaps others; of boards the parts of `resampled_parts.Part`.
    errors: What repetitions of systems add, of the same trials; None without repetitions.
    trials: First of these trials in `scores`, and the one after the last.
    place: Their positions in the block.
    """

    cell: int
    scores: Any
    errors: RepetitionErrors | None
    trials: tuple[int, int]
    place: slice


@dataclass(frozen=True, kw_only=True)
class StepDown(Analysis):
    """Base of analyses that test families of pairs of runs by the step-down max-T method."""

    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --alpha 0.05 --seed 1",)
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {"trials": {"default": 10_000}}
    subject: ClassVar[str] = "the max-T test"
    """Name of the analysis in messages."""

    by_system: bool | None = by_system_field()
    resampling: Literal["topics", "gaussian", "auto"] = resampling_field()

    @property
    def reads_by_run(self) -> bool:
        return self.resampling == GAUSSIAN and not self.by_system

    @property
    def uses_systems(self) -> bool:
        return bool(self.by_system)

    def of_cube(self, cube: xr.Dataset) -> tuple[Self, list[str]]:
        chosen = self
        if self.resampling == AUTO:
            large = self.fewest_topics(cube) >= MANY_TOPICS
            chosen = replace(self, resampling=GAUSSIAN if large else TOPICS)
        return systems_by_default(chosen, cube)

    def fewest_topics(self, cube: xr.Dataset) -> int:
        """Return the number of topics that are resampled together."""
        return cube.sizes[names.TOPIC]

    def prepare(self, cube: xr.Dataset) -> Prepared:
        return Prepared(*systems_of(cube), source=cube) if self.by_system else Prepared(cube)

    @abstractmethod
    def families(self, cube: xr.Dataset) -> Sequence[Pairs]:
        """Return the families of pairs, each in label order."""

    @property
    def has_limits(self) -> bool:
        """Whether the largest statistic of each trial and family is kept, for simultaneous intervals."""
        return True

    def check(self, prepared: Prepared) -> list[str]:
        cube = prepared.cube
        finite = self.resampling == GAUSSIAN and all(each.finite for each in self.seen(prepared))
        check_runs(cube, self.subject, finite=finite)
        check_baseline(cube, getattr(self, "baseline", None))
        n_topics = cube.sizes[names.TOPIC]
        repetitions: Repetitions | None = prepared.shared
        remarks = few_binary_topics(cube, self.subject)
        if repetitions is not None:
            remarks = [*repetitions.remarks(labels_of(cube, names.RUN)), *remarks]
        if self.resampling == TOPICS and self.fewest_topics(cube) >= MANY_TOPICS:
            remarks.append(
                f"{counted(n_topics, 'topic')}: {option('resampling', AUTO)} draws normal errors of means in place of topics, in a time that does not grow with them"
            )
        if n_topics < FEW_TOPICS:
            remarks.append(
                f"{counted(n_topics, 'topic')}: with fewer than {FEW_TOPICS} the family-wise error rate is not known to be close "
                "to alpha"
            )
        return remarks

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        families = self.families(prepared.cube)
        inputs = {"key": stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS)}
        if self.resampling == GAUSSIAN:
            inputs["error_key"] = stream_key(seed, names.Purpose.NORMAL_ERRORS)
        repetitions: Repetitions | None = prepared.shared
        if repetitions is not None:
            inputs |= {
                "repetition_key": stream_key(seed, names.Purpose.REPETITIONS),
                "system_of": repetitions.system_of,
                "repetitions": repetitions.counts,
            }
        for cell, statistic in enumerate(self.statistics(prepared)):
            # Pairs of a family are in ascending order of |t|, those without variance are left out.
            ordered = [statistic.ascending(pairs) for pairs in families]
            units = statistic.units
            chosen = zip(families, (order for order, _ in ordered), strict=True)
            # Rows of one layout for any number of pairs: kernels are compiled for it.
            first, second = np.ascontiguousarray(
                np.concatenate([np.stack(pairs)[:, order] for pairs, order in chosen], 1)
            )
            inputs |= {
                f"first_{cell}": first,
                f"second_{cell}": second,
                f"edges_{cell}": np.concatenate([edges for _, edges in ordered]),
                f"stops_{cell}": np.cumsum([len(order) for order, _ in ordered]),
                f"added_{cell}": np.array(statistic.added),
                f"sums_{cell}": units.sums,
            }
            if self.resampling == GAUSSIAN:
                inputs |= {
                    f"root_{cell}": root_of(statistic.covariance),
                    f"squares_{cell}": statistic.sums((first, second))[1],
                    f"levels_{cell}": statistic.levels,
                    f"variances_of_means_{cell}": statistic.covariance.diagonal(),
                }
            else:
                inputs |= {f"centred_{cell}": units.values, f"snap_{cell}": np.array(units.snap)}
            if repetitions is not None and isinstance(statistic, OverRepetitions):
                inputs[f"variances_{cell}"] = statistic.single
        inputs["n_cells"] = np.array(n_cells(prepared.cube))
        inputs["n_pairs"] = np.array(sum(len(first) for first, _ in families))
        return inputs

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        count, families = n_cells(prepared.cube), self.families(prepared.cube)
        n_tested = sum(len(first) for first, _ in families)
        reached = Output("reached", (count, n_tested), Combine.ADD, least=0, most=1)
        largest = Output("largest", (count, len(families)), Combine.CONCAT, "float64")
        return (reached, largest) if self.has_limits else (reached,)

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        count = int(inputs["n_cells"])
        reached = np.zeros((count, int(inputs["n_pairs"])), np.int64)
        largest = np.empty((count, len(inputs["stops_0"]), stop - start))
        found = {"reached": reached} | ({"largest": largest} if self.has_limits else {})
        further = self.room(inputs, stop - start)
        for low, high in trial_groups(start, stop):
            counts = self.draw(inputs, low, high)
            repeated = self.repeated(inputs, low, high)
            begin, end = max(low, start), min(high, stop)
            for cell in range(count):
                found_here = Replicates(
                    cell,
                    self.resample(inputs, cell, counts),
                    self.errors(inputs, cell, repeated),
                    (begin - low, end - low),
                    slice(begin - start, end - start),
                )
                for k, family, part in families_of(inputs, cell):
                    largest[cell, k, found_here.place] = self.largest(
                        inputs, found_here, family, reached[cell, part]
                    )
                self.observe(inputs, found_here, further)
        return found | further

    def draw(self, inputs: Inputs, low: int, high: int) -> Any:
        """Return how often each topic is drawn in the trials low .. high-1: float64 (topic, trial); or normal numbers."""
        if self.resampling == GAUSSIAN:
            return normal_numbers(inputs, low, high)
        n_topics = inputs["centred_0"].shape[1]
        return multiplicity_columns(drawn(inputs, n_topics, low, high), n_topics)

    def resample(self, inputs: Inputs, cell: int, counts: Any) -> Any:
        """Return the resampled scores of a cell, for `Replicates`, with the numbers of draws of each topic."""
        if self.resampling == GAUSSIAN:
            return Drawn(product(inputs[f"root_{cell}"], counts))
        return resampled(inputs[f"centred_{cell}"], counts, float(inputs[f"snap_{cell}"]))

    def repeated(self, inputs: Inputs, low: int, high: int) -> tuple[Any, Any] | None:
        """Return what repetitions of all cells have in common in trials low .. high-1; None without repetitions."""
        if "system_of" not in inputs:
            return None
        deviates = normal_deviates(inputs, low, high)
        return of_deviates(deviates, inputs["system_of"], inputs["repetitions"])

    def errors(
        self, inputs: Inputs, cell: int, repeated: tuple[Any, Any] | None
    ) -> RepetitionErrors | None:
        """Return what repetitions add to a cell."""
        if repeated is None:
            return None
        own, weight = inputs[f"variances_{cell}"], SHARE_OF_MODERATION * MODERATION
        return repetition_errors(repeated, own, inputs["repetitions"], weight)

    def largest(self, inputs: Inputs, replicates: Replicates, family: Family, reached: Any) -> Any:
        """Return the largest statistic of each trial over a family, and count the trials that reach each of its pairs."""
        cell, scores, errors, trials, _ = replicates
        added = float(inputs[f"added_{cell}"])
        if errors is None and not isinstance(scores, Drawn):
            infinite = scores.centred.shape[1] * (1.0 - EQUAL)
            return step_down(scores, trials, family, added, infinite, reached)
        moderation, none = (MODERATION, added), np.zeros_like(scores.sums)
        own = (none, none) if errors is None else (errors.shifts, errors.variances)
        return step_down_over_repetitions(scores, own, trials, family, moderation, reached)

    def rehearsal(self, inputs: Arrays) -> Arrays:
        few = dict(inputs)
        for cell in range(int(inputs["n_cells"])):
            few[f"stops_{cell}"] = np.minimum(inputs[f"stops_{cell}"], TILE)
        return few

    def room(self, inputs: Inputs, n_trials: int) -> Arrays:
        """Return arrays for further outputs of a block."""
        return {}

    def observe(self, inputs: Inputs, replicates: Replicates, out: Arrays) -> None:
        """Write further outputs of some trials into the arrays of `room`."""

    def facts(self) -> dict[str, str]:
        """Return the attributes of a result that say what was drawn; none for topics."""
        return {"resampling": GAUSSIAN} if self.resampling == GAUSSIAN else {}

    def statistics(self, prepared: Prepared) -> list[Moderated]:
        """Return the statistic of each cell."""
        if STATISTICS not in prepared.kept:
            prepared.kept[STATISTICS] = self.make_statistics(prepared)
        found: list[Moderated] = prepared.kept[STATISTICS]
        return found

    def rows(self, prepared: Prepared) -> list[Rows]:
        """Return the scores of each cell."""
        return rows_of_cells(prepared.cube)

    def seen(self, prepared: Prepared) -> list[Seen]:
        """Return what one look at each of `rows` says."""
        if SEEN not in prepared.kept:
            prepared.kept[SEEN] = list(map(look, self.rows(prepared)))
        found: list[Seen] = prepared.kept[SEEN]
        return found

    def make_statistics(self, prepared: Prepared) -> list[Moderated]:
        """Return the statistic of each cell, anew."""
        repetitions = prepared.shared
        counts, variances = runs_of(prepared.cube, repetitions)
        if self.resampling == GAUSSIAN:
            return [
                OverRepetitions(
                    *(each, MODERATION, counts, single), products=products_of_scores(each)
                )
                for each, single in zip(
                    map(row_units, self.rows(prepared), self.seen(prepared)), variances, strict=True
                )
            ]
        units = cell_units(prepared.cube)
        if repetitions is not None:
            return [
                OverRepetitions(each, MODERATION, counts, single)
                for each, single in zip(units, variances, strict=True)
            ]
        return [Moderated(each, MODERATION) for each in units]

    def counts(self, prepared: Prepared, reached: Any, trials: int) -> list[list[Any]]:
        """Return the adjusted number of trials that reach each pair, int32 (pair,), by cell and family."""
        found = []
        families = self.families(prepared.cube)
        for statistic, row in zip(self.statistics(prepared), reached, strict=True):
            start, adjusted = 0, []
            for pairs in families:
                order, _ = statistic.ascending(pairs)
                adjusted.append(statistic.adjusted_counts(pairs, order, row[start:], trials))
                start += len(order)
            found.append(adjusted)
        return found

    def critical_values(self, statistic: Moderated, largest: Any, alphas: Sequence[float]) -> Any:
        """Return the moderated |t| that the largest one of a trial exceeds with probability alpha: float64 (alpha,).

        The ceil((1 - alpha) (B + 1))-th smallest of B trials; NaN if B is too small for it.
        """
        ordered, trials = np.sort(largest), len(largest)
        ranks = [math.ceil((1 - exact_level(alpha)) * (trials + 1)) for alpha in alphas]
        chosen = [ordered[rank - 1] if rank <= trials else math.nan for rank in ranks]
        return statistic.t_of(np.array(chosen))

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        count, n_runs, n_topics = n_cells(cube), cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        families = self.families(cube)
        n_tested = sum(len(first) for first, _ in families)
        speed = 2 if has_wide_registers() else 1
        n_read, n_scores = self.topics_of_trials(cube), count * n_runs * n_topics
        per_pair = 1.2e-9 + 4.2e-11 * n_read / speed
        input_bytes, products = 16.0 * n_scores, 0.0
        if self.resampling == GAUSSIAN:
            input_bytes = bytes_of_products(n_runs, n_topics)
            products = n_scores * (1.5e-8 + 5e-11 * n_runs)
        n_drawn = 0 if prepared.source is None else prepared.source.sizes[names.RUN]
        n_largest = len(families) if self.has_limits else 0
        return Cost(
            seconds=count * (n_tested * per_pair + 2e-10 * n_runs * (n_read or n_runs))
            + 8e-9 * (n_read or 4 * n_runs)
            + 2.5e-8 * (count + 1) * n_drawn,
            bytes=8.0 * count * n_largest,
            fixed_bytes=8.0 * count * n_tested
            + 8.0 * AT_ONCE * (2 * n_runs + 3 * (n_read or n_runs) + TILE),
            fixed_seconds=3e-4 * count * n_tested / TILE / 50,
            result_bytes=pair_result_bytes(cube, 1, n_tested, of_scores=not self.reads_by_run)
            + 8.0 * count * (trials * n_largest + n_tested),
            result_seconds=count * n_tested * (4e-7 + 2e-9 * n_read),
            input_bytes=24.0 * count * (n_tested + n_pairs(cube)) + input_bytes,
            input_seconds=count * (n_tested + n_pairs(cube)) * (2e-7 + 4e-10 * n_read) + products,
            together=1 if has_wide_registers() else AT_ONCE,
        )

    def topics_of_trials(self, cube: xr.Dataset) -> int:
        """Return the number of topics whose scores every trial reads."""
        return 0 if self.resampling == GAUSSIAN else cube.sizes[names.TOPIC]

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``, topic labels, one half; by system also ``repetition_error[trial, run]``."""
        if self.resampling == GAUSSIAN:
            raise refuse_gaussian("no topics are drawn", "resampling")
        drawn = bootstrapped_topics(cube, seed, trials)
        if not self.by_system:
            return drawn
        return drawn.merge(deviates_of_seed(seed, cube[names.RUN].values, trials))


def families_of(inputs: Inputs, cell: int) -> Iterator[tuple[int, Family, slice]]:
    """Yield the index of each family of a cell, its pairs, and their place in the counts."""
    start = 0
    for k, stop in enumerate(inputs[f"stops_{cell}"].tolist()):
        part = slice(start, stop)
        stored = {name: f"{name}_{cell}" for name in Family._fields}
        found = {name: inputs[key][part] for name, key in stored.items() if key in inputs}
        yield k, Family(**found), part
        start = stop


def runs_of(cube: xr.Dataset, repetitions: Repetitions | None) -> tuple[Any, Any]:
    """Return the numbers of runs of systems, int64 (system,), and the variances of single runs, float64 (cell, system); of runs 1 and 0."""
    if repetitions is not None:
        return repetitions.counts, repetitions.variances
    n_runs = cube.sizes[names.RUN]
    return np.ones(n_runs, np.int64), np.zeros((n_cells(cube), n_runs))


def trial_groups(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most `AT_ONCE` trials that cover start .. stop-1."""
    low = start if has_wide_registers() else start // AT_ONCE * AT_ONCE
    while low < stop:
        high = low + AT_ONCE
        yield low, min(high, stop) if has_wide_registers() else high
        low = high


def drawn(inputs: Inputs, n_topics: int, low: int, high: int) -> Any:
    """Return the samples of trials low .. high-1: int32 (trial, 1, draw)."""
    return bootstrap_samples(inputs["key"], n_topics, low, high)
