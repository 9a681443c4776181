"""The stability method: how often does a topic sample contradict most samples?

Reference: Buckley and Voorhees 2000, "Evaluating evaluation measure stability".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import pair_labels, pairs_of
from scorecube.analyses.protocol import Part, Sum, Totals
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import TwoSamples
from scorecube.collection.schema import label_array, read_variables
from scorecube.names import Purpose

VARIABLES = read_variables("""
    [metric gain sampling size fuzziness pair]
    first_better | count/i | trials | topic samples on which the pair's first run is better
    second_better | count/i | trials | topic samples on which the pair's second run is better
    equal | count/i | trials | topic samples on which both are equal within the fuzziness
    [metric gain sampling size fuzziness]
    error_rate | share | 1 | share of comparisons that contradict the majority of their pair
    ties | share | 1 | share of comparisons that are equal within the fuzziness
""")


@dataclass(frozen=True, kw_only=True)
class Stability(TwoSamples):
    """Stability method: how often does a topic sample contradict most samples?

    The topic sample of a trial is the first sample of the swap method with the same seed. The error
    rate is the share of comparisons that contradict the majority of their pair, `ties` the share of
    those that are equal within the fuzziness.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cube, method = testing.simulate_cube(n_runs=6, seed=3), Stability(sampling="replacement")
    >>> result = analyse(cube, method, trials=100, seed=1)
    >>> orders = result[["first_better", "second_better", "equal"]].sel(metric="AP", pair=0)
    >>> int(orders.to_array().sum())
    100
    """

    name: ClassVar[str] = "stability"
    examples: ClassVar[tuple[str, ...]] = ("--size 25 --trials 1000 --seed 1",)

    fuzziness: tuple[float, ...] = option_field(
        (0.05,),
        "Means that differ by less than this share of the larger are equal.",
        minimum=0,
        below=1,
    )

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        n_cells, n_runs, _ = table.scores.shape
        shape = (n_cells, len(self.samplings), len(self.n_drawn(table)), len(self.fuzziness))
        better = np.zeros((*shape, n_runs, n_runs), np.int64)
        for place, size, _, counts in self.draws(table, Purpose.SWAP_TOPICS, start, stop):
            drawn = counts()[:1]
            for cell, grid in enumerate(table.grids):
                means = self.sums(table, cell, drawn, size)[:, 0] + grid.low / grid.unit * size
                for k, run in np.ndindex(len(self.fuzziness), n_runs):
                    larger = np.maximum(means[run], means)
                    # A difference of up to one unit for each topic is none.
                    least = np.maximum(self.fuzziness[k] * larger - size, size + 0.5)
                    better[cell, *place, k, run] += (means[run] - means >= least).sum(axis=-1)
        first, second = np.triu_indices(n_runs, 1)
        return {
            "first_better": Sum(better[..., first, second]),
            "second_better": Sum(better[..., second, first]),
        }

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        first, second = totals["first_better"], totals["second_better"]
        equal = table.trials - first - second
        n_comparisons = table.trials * first.shape[-1]
        values = {
            "first_better": first,
            "second_better": second,
            "equal": equal,
            "error_rate": np.minimum(first, second).sum(axis=-1) / n_comparisons,
            "ties": equal.sum(axis=-1) / n_comparisons,
        }
        coords = self.coords(table) | pair_labels(table.runs, pairs_of(table.runs))
        coords |= {names.FUZZINESS: np.array(self.fuzziness), names.RUN: label_array(table.runs)}
        return self.squeezed(table.dataset(VARIABLES, values, coords, {"summary": self.summary}))
