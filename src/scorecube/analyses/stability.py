"""The stability method: error rate and ties of comparisons on topic samples.

Reference: Buckley and Voorhees 2000, "Evaluating evaluation measure stability", SIGIR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Part, Sum, Totals
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import TwoSamples
from scorecube.collection.run_pairs import pair_labels
from scorecube.collection.schema import label_array, read_variables

VARIABLES = read_variables("""
    [metric gain size fuzziness pair]
    first_better | count/i | trials | topic samples on which the pair's first run is better
    second_better | count/i | trials | topic samples on which the pair's second run is better
    equal | count/i | trials | topic samples on which both are equal within the fuzziness
    [metric gain size fuzziness]
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
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> cube, method = simulate_cube(n_runs=6, seed=3), Stability(sampling="replacement")
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

    def block_of(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        sizes, (n_cells, n_runs, _) = self.n_drawn(table), table.scores.shape
        better = np.zeros((n_cells, len(sizes), len(self.fuzziness), n_runs, n_runs), np.int64)
        for s, size in enumerate(sizes):
            for low, high in self.chunks(table, start, stop):
                counts = self.counts(table, size, low, high)[:1]
                for cell, grid in enumerate(table.grids):
                    means = self.sums(table, cell, counts, size)[:, 0]
                    means += grid.low / grid.unit * size
                    for run in range(n_runs):
                        apart, larger = means[run] - means, np.maximum(means[run], means)
                        for k, fuzzy in enumerate(self.fuzziness):
                            # A difference of up to one unit for each topic is none.
                            least = np.maximum(fuzzy * larger - size, size + 0.5)
                            better[cell, s, k, run] += (apart >= least).sum(axis=-1)
        first, second = np.triu_indices(n_runs, 1)
        return {
            "first_better": Sum(better[..., first, second]),
            "second_better": Sum(better[..., second, first]),
        }

    def result_of(self, table: Table, totals: Totals) -> xr.Dataset:
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
        runs = xr.DataArray(label_array(table.runs), dims=names.RUN)
        coords = {
            names.SIZE: np.array(self.sizes(table)),
            names.FUZZINESS: np.array(self.fuzziness),
            names.RUN: runs,
            **pair_labels(runs),
        }
        attrs = {"sampling": self.sampling, "summary": self.summary}
        return table.dataset(VARIABLES, values, coords, attrs)
