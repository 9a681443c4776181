"""What analyses claim of simulated samples, and what is true of the population that the samples are drawn from.

Each subject is one analysis. A claim is a number that the analysis prints of a sample, with its interval where it has one; its truth is known from
the model of the population, or from many more samples of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array, Arrays, Inputs, Prepared
from scorecube.analyses.leave_out.rescored_runs import compute_trials
from scorecube.analyses.leave_out.teams import Teams
from scorecube.analyses.rank_agreement.correlation import Correlation
from scorecube.analyses.rank_agreement.correlation_quantities import STATISTICS
from scorecube.analyses.rank_agreement.ranking_pairs import coefficients
from scorecube.analyses.rank_sets.ranks import Ranks
from scorecube.analyses.reliability.reliability import Reliability
from scorecube.analyses.simulation.populations import Population
from scorecube.analyses.simulation.samples import result_of, sample_cube
from scorecube.analyses.topic_samples.swap import Swap
from scorecube.kernels.rank.concordance import compare
from scorecube.statistics.decay_curve import fit_decay, without_ties
from scorecube.statistics.variance_components import COEFFICIENTS, coefficient, topics_for

VALUES = ("estimate", "low", "high", "held", "truth")
"""What one trial writes of each claim; NaN for what does not exist."""
LEVEL = 0.95
EQUAL_MEANS = 1e-8
"""True means are rounded to it before they are compared: calibrated margins have the wanted mean up to rounding."""
TRUE_TOPICS, TRUE_TRIALS = 8_000, 4_000
"""Topics and trials of the sample that has the true swap rates, and required differences."""
TRUTH_FROM = 2**40
"""First topic of that sample, far behind those of all trials."""
SHARE_OF_BIN = 0.01
"""Share of comparisons that a bin of differences has at least, for a claim about its rate."""
BIN_WIDTH, BINS = 0.01, (0, 2, 4, 6, 8, 10)
"""Width of the bins of differences, and those whose rates are extrapolated."""
STEP = 5
"""Steps of sizes of samples, up to half of the topics."""
TOPS = (1, 5, 10)
TARGET = 0.95
POWER, MIN_DIFF = 0.8, 0.1


@dataclass(frozen=True)
class Claim:
    """A number that an analysis prints.

    quantity: What it is called in tables.
    size: Number of topics that it is about, or of teams left out.
    nominal: Nominal coverage, by its confidence level; NaN for an estimate without one.
    """

    quantity: str
    size: int
    nominal: float = LEVEL


@dataclass(frozen=True)
class Subject(ABC):
    """An analysis that is checked.

    n: Topics of a sample.
    trials: Trials of the analysis on each sample.
    at: Numbers of topics to which swap rates are extrapolated.
    labels: Of the cells: metric, with the gain setting where there are several.
    """

    n: int
    trials: int
    at: tuple[int, ...]
    labels: tuple[str, ...]

    @property
    @abstractmethod
    def claims(self) -> list[Claim]:
        """Claims about each cell."""

    @abstractmethod
    def truth(self, population: Population, seed: int) -> Arrays:
        """Return what is true: ``truth`` (cell, claim), and further arrays that `measure` reads."""

    @abstractmethod
    def seconds(self, n_runs: int) -> float:
        """Return the estimated time of one sample, for each cell."""

    def truth_seconds(self, n_runs: int) -> float:
        """Return the estimated time of `truth`, for each cell, where it is much."""
        return 0.0

    @abstractmethod
    def measure(self, cube: xr.Dataset, true: Inputs, seed: int) -> Array:
        """Return what is claimed of one sample: (value, cell, claim), in the order of `VALUES`."""


def covered(low: Any, high: Any, truth: Any) -> Array:
    """Return 1 where an interval contains the truth, else 0; NaN without an interval or truth."""
    known = ~(np.isnan(low) & np.isnan(high)) & np.isfinite(truth)
    # An end that does not exist is infinite.
    inside = ~(truth < low) & ~(truth > high)
    return np.where(known, inside, np.nan)


def with_truth(estimate: Array, low: Array, high: Array, truth: Array) -> Array:
    """Return the values of claims with intervals."""
    return np.stack([estimate, low, high, covered(low, high, truth), truth])


def true_ranking(population: Population) -> Array:
    """Return whole numbers (cell, run) in the order of the true means; equal for equal means."""
    return np.rint(population.means / EQUAL_MEANS)


@dataclass(frozen=True)
class SwapClaims(Subject):
    """Required differences with limits, and swap rates of more topics, from a fit to those of fewer."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of samples."""
        half = self.n // 2
        return tuple(sorted({*range(STEP, half, STEP), half}))

    @property
    def claims(self) -> list[Claim]:
        half = self.n // 2
        rates = [
            Claim(f"swap rate, difference {BIN_WIDTH * k:.2f}", size, np.nan)
            for size in (half, *self.at)
            for k in BINS
        ]
        return [Claim("required difference", half), Claim("share that has it", half), *rates]

    def truth(self, population: Population, seed: int) -> Arrays:
        shape = (*population.shape, -1)
        drawn = population.draw(seed, TRUTH_FROM, TRUTH_FROM + TRUE_TOPICS).reshape(shape)
        cube = sample_cube(drawn, np.arange(population.shape[1]))
        sizes = tuple(sorted({self.n // 2, *self.at}))
        swap = Swap(sampling="disjoint", size=sizes, bin_width=BIN_WIDTH, limits=False)
        found = result_of(swap, cube, TRUE_TRIALS, seed)
        required = found.sel({names.SIZE: self.n // 2}).isel({names.CONFIDENCE: 0})
        first = [required["required_difference_smooth"].values, required["share"].values]
        total = found["count"].sum(names.BIN).transpose(names.METRIC, names.SIZE).values
        enough = self._of_bins(found, "count") >= SHARE_OF_BIN * total[:, np.newaxis]
        known = np.where(enough, self._of_bins(found, "swap_rate"), np.nan).swapaxes(1, 2)
        places = [sizes.index(size) for size in (self.n // 2, *self.at)]
        later = known[:, places].reshape(len(known), -1)
        return {"truth": np.concatenate([np.stack(first, axis=1), later], axis=1)}

    @staticmethod
    def _of_bins(found: xr.Dataset, name: str) -> Array:
        """Return a variable for the chosen bins, (cell, bin, size); NaN for bins that do not exist."""
        values = found[name].transpose(names.METRIC, names.BIN, names.SIZE).values.astype(float)
        chosen = np.full((len(values), len(BINS), values.shape[-1]), np.nan)
        known = [k for k in BINS if k < values.shape[1]]
        chosen[:, : len(known)] = values[:, known]
        return chosen

    def seconds(self, n_runs: int) -> float:
        return 4e-9 * n_runs**2 * self.trials * len(self.sizes)

    def truth_seconds(self, n_runs: int) -> float:
        return 1e-10 * TRUE_TOPICS * TRUE_TRIALS * n_runs * (1 + len(self.at))

    def measure(self, cube: xr.Dataset, true: Inputs, seed: int) -> Array:
        swap = Swap(sampling="disjoint", size=self.sizes, bin_width=BIN_WIDTH)
        found = result_of(swap, cube, self.trials, seed)
        at = found.isel({names.SIZE: -1, names.CONFIDENCE: 0})
        variables = (
            ("required_difference_smooth", "required_low", "required_high"),
            ("share", "share_low", "share_high"),
        )
        limited = np.stack([[at[name].values for name in triple] for triple in variables], axis=-1)
        rates = self._of_bins(found, "swap_rate")
        usable = without_ties(rates, self._of_bins(found, "tie_share"))
        height, decay = fit_decay(np.array(self.sizes, float), usable)
        beyond = [height * np.exp(-decay * size) for size in self.at]
        estimate = np.concatenate([limited[0], rates[..., -1], *beyond], axis=1)
        truth = true["truth"]
        low, high = np.full(truth.shape, np.nan), np.full(truth.shape, np.nan)
        low[:, :2], high[:, :2] = limited[1], limited[2]
        return with_truth(estimate, low, high, truth)


@dataclass(frozen=True)
class CorrelateClaims(Subject):
    """Tau of two rankings over infinitely many topics; at the first cell of each pair."""

    @property
    def claims(self) -> list[Claim]:
        return [Claim(f"tau with {label}", self.n) for label in self.labels[1:]]

    @property
    def pairs(self) -> tuple[Array, Array]:
        """First and second cell of each pair."""
        first, second = np.triu_indices(len(self.labels), 1)
        return first, second

    def truth(self, population: Population, seed: int) -> Arrays:
        first, second = self.pairs
        ranking = true_ranking(population)
        counts = compare(ranking[np.newaxis], np.zeros(len(ranking)), first, second)
        tau = coefficients(counts, first, second, ranking.shape[1])[STATISTICS.index("tau"), 0]
        return {"truth": self._placed(tau)}

    def _placed(self, values: Array) -> Array:
        """Return values (..., pair) at (..., cell, claim)."""
        first, second = self.pairs
        placed = np.full((*values.shape[:-1], len(self.labels), len(self.labels) - 1), np.nan)
        placed[..., first, second - 1] = values
        return placed

    def seconds(self, n_runs: int) -> float:
        return 2e-4 * n_runs * len(self.labels)

    def measure(self, cube: xr.Dataset, true: Inputs, seed: int) -> Array:
        analysis = Correlation(along=("metric",), intervals=(), confidence=LEVEL, two_kinds=False)
        found = result_of(analysis, cube, 1, seed).sel({names.STATISTIC: "tau"})
        estimate, low, high = (
            self._placed(found[f"population{end}"].values) for end in ("", "_low", "_high")
        )
        return with_truth(estimate, low, high, true["truth"])


@dataclass(frozen=True)
class DesignClaims(Subject):
    """Numbers of topics with intervals, and the power that t tests have with so many topics."""

    @property
    def claims(self) -> list[Claim]:
        about = ("one-way", "two-way")
        return [Claim(f"topics, {kind}", self.n) for kind in about] + [
            Claim(f"power with them, {kind}", self.n, np.nan) for kind in about
        ]

    def truth(self, population: Population, seed: int) -> Arrays:
        n_cells, n_runs = population.shape
        covariances = population.covariances()
        first, second = np.triu_indices(n_runs, 1)
        # Of all pairs of runs half the variances of differences, (cell, pair).
        truth, spread = np.full((n_cells, 4), POWER), np.empty((n_cells, len(first)))
        for cell in range(n_cells):
            own = _own(covariances, cell, n_runs)
            variances = np.diag(own)
            spread[cell] = (variances[first] + variances[second]) / 2 - own[first, second]
            for k, (variance, paired) in enumerate(
                ((variances.mean(), False), (_residual(own), True))
            ):
                truth[cell, k] = self._size(variance, paired)
        return {"truth": truth, "spread": np.maximum(spread, 0.0)}

    @staticmethod
    def _size(variance: float, paired: bool) -> int:
        from scorecube.design import topic_set_size  # pandas: --help does without

        size = topic_set_size(variance, MIN_DIFF, beta=1 - POWER, method="t", paired=paired)
        return int(size["topics"])

    def seconds(self, n_runs: int) -> float:
        return 1e-5 * n_runs**2

    def measure(self, cube: xr.Dataset, true: Inputs, seed: int) -> Array:
        from scorecube.design import achieved_power, topic_set_size_of_cube, variance_intervals

        found = topic_set_size_of_cube(
            variance_intervals(cube, LEVEL), min_diff=MIN_DIFF, beta=1 - POWER, method="t"
        ).isel({names.GAIN: 0})
        values = np.full((len(VALUES), *true["truth"].shape), np.nan)
        for k, name in enumerate(("topics", "paired_topics")):
            sizes, low, high = (found[f"{name}{end}"].values for end in ("", "_low", "_high"))
            values[..., k] = with_truth(sizes, low, high, true["truth"][:, k])
            for cell, spread in enumerate(true["spread"]):
                power = achieved_power(spread, MIN_DIFF, values[0, cell, k], method="t")["power"]
                reached = power.values
                held = float((reached >= POWER).mean())
                values[:, cell, 2 + k] = [reached.mean(), np.nan, np.nan, held, POWER]
        return values


@dataclass(frozen=True)
class RanksClaims(Subject):
    """Rank sets, all together and each by itself, and sets of the k best runs."""

    @property
    def claims(self) -> list[Claim]:
        sets = ["all ranks together", "each rank by itself"]
        return [Claim(name, self.n) for name in [*sets, *(f"the {k} best" for k in TOPS)]]

    def truth(self, population: Population, seed: int) -> Arrays:
        ranking = true_ranking(population)
        above = (ranking[:, np.newaxis] > ranking[:, :, np.newaxis]).sum(axis=2)
        below = (ranking[:, np.newaxis] < ranking[:, :, np.newaxis]).sum(axis=2)
        n_runs = ranking.shape[1]
        # Best and worst rank (end, cell, run) that each run shares with equal ones.
        ranks = np.stack([1 + above, n_runs - below])
        # Of sets: the mean number of ranks that equal runs share, and the number of runs that are among the k best.
        shared = (ranks[1] - ranks[0] + 1).mean(axis=1)
        best = [(ranks[0] <= k).sum(axis=1) for k in TOPS]
        return {"truth": np.stack([shared, shared, *best], axis=1).astype(float), "ranks": ranks}

    def seconds(self, n_runs: int) -> float:
        return 4e-10 * self.n * self.trials * n_runs**2

    def measure(self, cube: xr.Dataset, true: Inputs, seed: int) -> Array:
        lowest, highest = true["ranks"]
        values = np.full((len(VALUES), *true["truth"].shape), np.nan)
        values[4] = true["truth"]
        for k, marginal in enumerate((False, True)):
            found = result_of(Ranks(marginal=marginal), cube, self.trials, seed)
            low, high = found["rank_low"].values, found["rank_high"].values
            held = (low <= lowest) & (highest <= high)
            values[0, :, k] = (high - low + 1).mean(axis=1)
            values[3, :, k] = held.mean(axis=1) if marginal else held.all(axis=1)
            if not marginal:
                for place, top in enumerate(TOPS):
                    chosen = low <= top
                    values[0, :, 2 + place] = chosen.sum(axis=1)
                    values[3, :, 2 + place] = (chosen | (lowest > top)).all(axis=1)
        return values


@dataclass(frozen=True)
class ReliabilityClaims(Subject):
    """Reliability coefficients, and numbers of topics, with both intervals; the systems are those of the collection."""

    ends: ClassVar[dict[str, str]] = {"F": "", "jackknife": "_jackknife"}
    titles: ClassVar[dict[str, str]] = {"erho2": "E rho^2", "phi": "Phi"}

    @property
    def claims(self) -> list[Claim]:
        return [
            Claim(text.format(self.titles[name], f"{TARGET:g}", interval), self.n)
            for text in ("{0}, {2}", "topics for {0} {1}, {2}")
            for name in COEFFICIENTS
            for interval in self.ends
        ]

    def truth(self, population: Population, seed: int) -> Arrays:
        n_cells, n_runs = population.shape
        covariances, rows = population.covariances(), []
        for cell in range(n_cells):
            own = _own(covariances, cell, n_runs)
            rest = _residual(own)
            topics = max((own.sum() / n_runs - rest) / n_runs, 0.0)
            systems = population.means[cell].var(ddof=1)
            ratios = np.array([systems / rest, systems / (topics + rest)])
            values = [*coefficient(ratios, np.array([self.n])), *topics_for(ratios, TARGET)]
            rows.append(np.repeat(np.array(values, float), len(self.ends)))
        return {"truth": np.array(rows)}

    def seconds(self, n_runs: int) -> float:
        return 4e-6 * self.n * n_runs

    def measure(self, cube: xr.Dataset, true: Inputs, seed: int) -> Array:
        analysis = Reliability(topic_sizes=(self.n,), target=(TARGET,), confidence=LEVEL)
        found = result_of(analysis, cube, 1, 0)
        columns = [
            [found[f"{name}{end}"].sel({names.COEFFICIENT: which}).values[:, 0] for end in ends]
            for name in ("value", "topics")
            for which in COEFFICIENTS
            for ends in (("", f"{end}_low", f"{end}_high") for end in self.ends.values())
        ]
        estimate, low, high = np.moveaxis(np.array(columns, float), 0, -1)
        return with_truth(estimate, low, high, true["truth"])


def t_interval(values: Array, error: float) -> tuple[Array, Array]:
    """Return the t interval of the mean along the last axis."""
    count = values.shape[-1]
    half = scipy.special.stdtrit(count - 1, 1 - error / 2) * values.std(axis=-1, ddof=1)
    half = half / np.sqrt(count)
    return values.mean(axis=-1) - half, values.mean(axis=-1) + half


def _own(covariances: Array, cell: int, n_runs: int) -> Array:
    """Return the covariances of the runs under one cell."""
    part = slice(cell * n_runs, (cell + 1) * n_runs)
    return covariances[part, part]


def _residual(covariances: Array) -> float:
    """Return the variance of scores that is left after systems and topics."""
    n_runs = len(covariances)
    return float((np.trace(covariances) - covariances.sum() / n_runs) / (n_runs - 1))


SUBJECTS: dict[str, type[Subject]] = {
    "swap": SwapClaims,
    "correlate": CorrelateClaims,
    "design": DesignClaims,
    "ranks": RanksClaims,
    "reliability": ReliabilityClaims,
}


TRUE_SUBSETS = 2_000
"""Subsets of each number of teams that have the true means; the first trials of the random stream."""
PARTS = 4
"""Numbers of teams left out: 1, and these parts of all teams."""
QUANTITIES = ("variance", "tau")


@dataclass(frozen=True)
class TeamClaims:
    """Mean variance and mean tau over all subsets of k teams that are left out, from few subsets.

    leaves: Numbers of teams left out.
    trials: Subsets of each number.
    """

    leaves: tuple[int, ...]
    trials: int

    @classmethod
    def of(cls, n_teams: int, trials: int) -> TeamClaims:
        """Return the claims for a number of teams."""
        parts = (round(n_teams * part / PARTS) for part in range(1, PARTS))
        leaves = sorted({1, *(k for k in parts if 1 <= k < n_teams)})
        return cls(tuple(leaves), trials)

    @property
    def analysis(self) -> Teams:
        """The analysis with its options."""
        return Teams(leave=self.leaves)

    @property
    def claims(self) -> list[Claim]:
        """Claims about each cell: of each number of teams, and of all together, which the number of teams within the margin rests on."""
        return [
            claim
            for quantity in QUANTITIES
            for claim in (
                *(Claim(f"{quantity}, teams left out", k) for k in self.leaves),
                Claim(f"{quantity}, all numbers together", max(self.leaves)),
            )
        ]

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        """Return the arrays of the analysis, and what is true; the subsets of sample k are behind those of the truth."""
        inputs = self.analysis.inputs(prepared, TRUE_SUBSETS + trials * self.trials, seed)
        truth = self._values(inputs, 0, TRUE_SUBSETS).mean(axis=-1)
        return inputs | {"truth": truth, "leaves": np.array(self.leaves)}

    def measure(self, inputs: Any, sample: int) -> Array:
        """Return what is claimed of one sample of subsets: (value, cell, claim)."""
        start = TRUE_SUBSETS + sample * self.trials
        values = self._values(inputs, start, start + self.trials)
        return np.concatenate(
            [self._with_all(values[k], inputs["truth"][k]) for k in range(len(QUANTITIES))], axis=-1
        )

    @staticmethod
    def _values(inputs: Any, start: int, stop: int) -> Array:
        """Return variances and tau: (quantity, cell, leave, subset)."""
        found = compute_trials(inputs, start, stop).by_name()
        variance, agreeing, pairs = (found[name] for name in ("variance", "agreeing", "pairs"))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.stack([variance[:, :, 0], agreeing / pairs])

    @staticmethod
    def _with_all(values: Array, truth: Array) -> Array:
        """Return the values of the claims of one quantity: of each number of teams, then of all together."""
        low, high = t_interval(values, 1 - LEVEL)
        each = with_truth(values.mean(axis=-1), low, high, truth)
        low, high = t_interval(values, (1 - LEVEL) / values.shape[1])
        last = np.full((*each.shape[:2], 1), np.nan)
        last[3, :, 0] = ((low <= truth) & (truth <= high)).all(axis=1)
        return np.concatenate([each, last], axis=-1)
