"""Classical tests of pairs of runs, without resampling: t, Wilcoxon and sign test, on the scores as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.max_tests import binary_notes
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.base import alphas_field, pair_coords, residual_variances
from scorecube.analyses.pair_tests.family import baseline_field
from scorecube.analyses.paired_quantities import VARIABLES
from scorecube.analyses.step_down import all_pairs, pairs_with
from scorecube.analyses.table import Selection, Table, make_table
from scorecube.collection.score_range import LARGEST_SCORE
from scorecube.errors import BadName, BadPlan, counted, nearest, option
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import guarded_estimates
from scorecube.statistics.paired_tests import classical_p_values, seconds_per_pair

PAIRS_AT_ONCE = 1024
"""Pairs whose differences are in memory at a time."""


@dataclass(frozen=True, kw_only=True)
class Paired(Analysis):
    """Paired t, Wilcoxon and sign tests of all pairs of runs.

    All are two-sided and computed with SciPy; differences that are closer than 1e-9 of the range of the scores are ties. Limits of differences are Student's t, with two
    pseudo-topics at plus and minus the range where fewer than 8 topics differ and for scores of 0 and 1. With a margin, two one-sided t tests of the same estimates give
    each pair a verdict at each alpha: ``equivalent`` if both reject a difference of the margin or more, so that the 1 - 2 alpha interval of the difference lies
    between -margin and margin; otherwise ``different`` if the two-sided t test finds a difference; otherwise ``inconclusive``.
    Estimand: the difference of both means over infinitely many topics.

    References
    ----------
    Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15, for the test of equivalence.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Paired(tests=("t", "sign")))["p_value"].dims
    ('metric', 'gain', 'test', 'pair')
    """

    name: ClassVar[str] = "paired"
    unit: ClassVar[str] = "pairs"
    resamples: ClassVar[bool] = False
    reads_table: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--tests t,wilcoxon",)

    tests: tuple[Literal["t", "wilcoxon", "sign"], ...] = option_field(
        ("t",),
        "Some of t, wilcoxon, sign.",
        detail="``wilcoxon`` is without zero differences, and exact for few topics without ties; ``sign`` is binomial, on the topics with "
        "different scores.",
    )
    alphas: tuple[float, ...] = alphas_field(finalize=True)
    baseline: str | None = baseline_field()
    equivalence: float | None = option_field(
        None,
        "Also test whether the means differ by less than this margin, in units of the score (two one-sided t tests).",
        detail="It is the largest difference of means that does not matter.",
        above=0,
        maximum=LARGEST_SCORE,
        unit="score",
        finalize=True,
    )

    def prepare(self, cube: xr.Dataset) -> Prepared:
        table = make_table(cube, Selection(bags=None))
        if len(table.runs) < 2 or table.sizes.size < 2:
            raise BadPlan(
                f"a paired test needs 2 runs and 2 topics; found {counted(len(table.runs), 'run')} and {counted(table.sizes.size, 'topic')}"
            )
        if self.baseline is not None and self.baseline not in table.runs:
            raise BadName(
                f"no run {self.baseline!r} in the scores; nearest: {nearest(self.baseline, list(table.runs))}",
                option="baseline",
            )
        return Prepared(cube, shared=table)

    def check(self, prepared: Prepared) -> list[str]:
        if len(set(self.tests)) < len(self.tests):
            raise BadPlan(f"{option('tests', self.tests)}: name each test once", option="tests")
        if self.equivalence is not None and max(self.alphas) >= 0.5:
            raise BadPlan(
                f"{option('equivalence', self.equivalence)} needs every alpha below 0.5: the interval of the test has confidence 1 - 2 alpha",
                option="alphas",
            )
        table: Table = prepared.shared
        return [*table.notes, *(binary_notes(table) if "t" in self.tests else [])]

    def pairs(self, table: Table) -> tuple[Any, Any]:
        """Return first and second runs of the pairs, int32 (pair,) each."""
        n_runs = len(table.runs)
        if self.baseline is None:
            return all_pairs(n_runs)
        return pairs_with(table.runs.index(self.baseline), n_runs)

    def units(self, prepared: Prepared, trials: int) -> int:
        return len(self.pairs(prepared.shared)[0])

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        table: Table = prepared.shared
        first, second = self.pairs(table)
        widths = [np.nan if ends is None else ends[1] - ends[0] for ends in table.ranges]
        return {
            "scores": table.scores,
            "values": table.values,
            "sizes": table.sizes,
            "widths": np.array(widths),
            "binary": table.binary,
            "first": first,
            "second": second,
        }

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        count = len(prepared.shared.scores)
        tests = Output("p", (count, len(self.tests)), Combine.CONCAT, "float64", least=0, most=1)
        return tests, Output("moments", (count, 4), Combine.CONCAT, "float64")

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        count = len(inputs["scores"])
        p = np.empty((count, len(self.tests), stop - start))
        moments = np.empty((count, 4, stop - start))
        for low in range(start, stop, PAIRS_AT_ONCE):
            place = slice(low, min(low + PAIRS_AT_ONCE, stop))
            here = slice(place.start - start, place.stop - start)
            pairs = inputs["first"][place], inputs["second"][place]
            for cell in range(count):
                p[cell, :, here], moments[cell, :, here] = self.tested(inputs, cell, pairs)
        return {"p": p, "moments": moments}

    def tested(self, inputs: Inputs, cell: int, pairs: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return p-values (test, pair), and mean and standard error of differences, plain and guarded: (4, pair)."""
        first, second = pairs
        width = None if np.isnan(inputs["widths"][cell]) else float(inputs["widths"][cell])
        scale = width or float(np.ptp(inputs["scores"][cell])) or 1.0
        differences = rounded(inputs["scores"][cell, first] - inputs["scores"][cell, second], scale)
        values = rounded(inputs["values"][cell, first] - inputs["values"][cell, second], scale)
        p = np.stack([classical_p_values(test, values) for test in self.tests])
        binary = bool(inputs["binary"][cell])
        plain = guarded_estimates(differences, inputs["sizes"], None, binary=binary)
        guarded = guarded_estimates(differences, inputs["sizes"], width, binary=binary)
        return p, np.stack([*plain[:2], *guarded[:2]])

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        table: Table = prepared.shared
        p, (mean, error) = totals["p"], totals["moments"].swapaxes(0, 1)[:2]
        alphas = np.array(self.alphas)
        significant = (p[:, :, np.newaxis] < alphas[:, np.newaxis]).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = mean / error
        values = {
            "p_value": p,
            "significant": significant,
            "share": significant / p.shape[-1],
            "mean": table.means,
            "residual_variance": table.in_bag * residual_variances(table.values),
            "standard_error": error,
            "t": t,
            **self.limits(table, totals["moments"]),
        }
        arrays = {
            each.name: (each.dims, values[each.name][table.cell_of], each.attrs())
            for each in VARIABLES
            if each.name in values
        }
        coords = pair_coords(table.labels(prepared.cube), self.alphas, self.pairs(table))
        facts: dict[str, Any] = {
            "n_runs": len(table.runs),
            "n_topics": table.sizes.size,
            **table.facts,
        }
        facts |= {} if self.baseline is None else {"baseline": self.baseline}
        facts |= {} if self.equivalence is None else {"equivalence": self.equivalence}
        result = xr.Dataset(arrays, coords, {"trials": 0, **facts})
        return result.assign_coords({names.TEST: list(self.tests)})

    def limits(self, table: Table, moments: Any) -> dict[str, Any]:
        """Return limits of differences at each level, by cell, and with a margin the p-values of the tests of equivalence."""
        from scipy.special import stdtr, stdtrit

        freedom = table.sizes.size - 1
        plain, error_of_plain, mean, error = moments.swapaxes(0, 1)
        sides = 2.0 if self.equivalence is None else 1.0
        half = np.stack([stdtrit(freedom, 1 - a / sides) * error for a in self.alphas], axis=1)
        widths = [np.inf if ends is None else ends[1] - ends[0] for ends in table.ranges]
        most = np.array(widths)[:, np.newaxis, np.newaxis]
        centre = mean[:, np.newaxis]
        found = {
            "difference_low": np.maximum(centre - half, -most),
            "difference_high": np.minimum(centre + half, most),
        }
        if self.equivalence is None:
            return found
        with np.errstate(divide="ignore", invalid="ignore"):
            outside = stdtr(freedom, (np.abs(mean) - self.equivalence) / error)
            unequal = 2 * stdtr(freedom, -np.abs(plain) / error_of_plain)
        within = np.abs(mean) < self.equivalence
        return found | {
            "equivalence_p_value": np.where(error > 0, outside, np.where(within, 0.0, 1.0)),
            "difference_p_value": np.where(error_of_plain > 0, unequal, 1.0 * (plain == 0)),
        }

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        table: Table = prepared.shared
        n_cells, _, n_units = table.scores.shape
        n_pairs = len(self.pairs(table)[0])
        return Cost(
            seconds=n_cells * (seconds_per_pair(self.tests, n_units) + 2e-7 * n_units),
            bytes=8.0 * n_cells * (len(self.tests) + 4),
            fixed_bytes=60.0 * n_units * min(n_pairs, PAIRS_AT_ONCE),
            result_bytes=16.0 * n_cells * n_pairs * (len(self.tests) + 2 * len(self.alphas) + 6),
            input_bytes=24.0 * table.scores.size,
        )


def rounded(differences: Any, scale: float) -> Any:
    """Return differences rounded to 1e-9 of a scale: what differs by less is tied."""
    unit = EQUAL * scale
    return np.rint(differences / unit) * unit
