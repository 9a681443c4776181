"""The stability method: error rate and ties of comparisons on topic samples.

Reference: Buckley and Voorhees 2000, "Evaluating evaluation measure stability", SIGIR.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Arrays, Combine, Cost, Inputs, Output, Prepared, labelled_result
from scorecube.analyses.options import option_field
from scorecube.analyses.topic_samples.base import TopicSampling, counts_of, sample_sums, units_of
from scorecube.analyses.topic_samples.stability_quantities import VARIABLES
from scorecube.collection.run_pairs import pair_labels, pair_positions
from scorecube.collection.selection import cells, n_cells
from scorecube.kernels.swap.dispatch import trials_at_once
from scorecube.kernels.swap.stability import count_orders


@dataclass(frozen=True, kw_only=True)
class Stability(TopicSampling):
    """Stability method: how often does a topic sample contradict most samples?

    The topic sample of a trial is the first sample of the swap method with the same seed. For each pair of runs, the samples on
    which the first run is better, the second is better, and both are equal within the fuzziness are counted. The error rate is the
    share of the smaller of the first two counts, `ties` is the share of the third, both over all pairs.

    Memory and the size of a recorded block are 8 bytes for each value of fuzziness, size, cell and pair of runs, for any number of trials.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Stability(sampling="replacement"), trials=100, seed=1)
    >>> orders = result[["first_better", "second_better", "equal"]].sel(metric="AP", pair=0).squeeze()
    >>> int(orders.to_array().sum())
    100
    """

    name: ClassVar[str] = "stability"
    examples: ClassVar[tuple[str, ...]] = ("--size 25 --trials 1000 --seed 1",)

    fuzziness: tuple[float, ...] = option_field(
        (0.05,),
        "Means that differ by less than this share of the larger are equal.",
        detail="So are means that do not differ at all.",
        minimum=0,
        below=1,
    )

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        fuzziness = {"fuzziness": np.array(self.fuzziness)}
        return super().inputs(prepared, trials, seed) | fuzziness

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        cube = prepared.cube
        n_runs = cube.sizes[names.RUN]
        shape = (
            len(self.sizes(cube)),
            len(self.fuzziness),
            n_cells(cube),
            n_runs * (n_runs - 1) // 2,
        )
        return (
            Output("first_better", shape, Combine.ADD, "int32", least=0),
            Output("second_better", shape, Combine.ADD, "int32", least=0),
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        n_cells, n_runs, n_topics = (int(length) for length in inputs["shape"])
        shape = (
            len(inputs["sizes"]),
            len(inputs["fuzziness"]),
            n_cells,
            n_runs * (n_runs - 1) // 2,
        )
        first, second = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        chunk = trials_at_once(max(n_cells * n_runs, n_topics))
        for step, size in enumerate(map(int, inputs["sizes"])):
            units = units_of(inputs, step)
            for low in range(start, stop, chunk):
                counts = counts_of(inputs, size, low, min(low + chunk, stop))[:1]
                sums = sample_sums(inputs, step, units, counts)[:, :, 0]
                tolerance = float(inputs["tolerances"][step])
                count_orders(sums, tolerance, inputs["fuzziness"], first[step], second[step])
        return {"first_better": first, "second_better": second}

    def sums_hold(self, prepared: Prepared, block: Inputs, n_units: int, trials: int) -> bool:
        return bool((block["first_better"] + block["second_better"] <= n_units).all())

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        cell_of = cells(cube)[1]
        run_a, run_b = (
            positions.astype(np.int64) for positions in pair_positions(cube.sizes[names.RUN])
        )
        in_blocks = run_b * (run_b - 1) // 2 + run_a
        # From (size, fuzziness, cell, pair of `count_orders`) to (metric, gain, size, fuzziness, pair).
        first, second = (
            np.moveaxis(totals[name][..., in_blocks], 2, 0)[cell_of].astype(np.int64)
            for name in ("first_better", "second_better")
        )
        equal = trials - first - second
        n_pairs = first.shape[-1]
        values = {
            "first_better": first,
            "second_better": second,
            "equal": equal,
            "error_rate": np.minimum(first, second).sum(axis=-1) / (trials * n_pairs),
            "ties": equal.sum(axis=-1) / (trials * n_pairs),
        }
        coords = {
            names.SIZE: np.array(self.sizes(cube)),
            names.FUZZINESS: np.array(self.fuzziness),
            names.RUN: cube[names.RUN],
            **pair_labels(cube[names.RUN]),
        }
        attrs = {
            "trials": trials,
            "sampling": self.sampling,
            "n_runs": cube.sizes[names.RUN],
            "n_topics": cube.sizes[names.TOPIC],
        }
        return labelled_result(cube, VARIABLES, values, coords, attrs)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        count, n_runs, n_topics = n_cells(cube), cube.sizes[names.RUN], cube.sizes[names.TOPIC]
        pairs, n_sizes = n_runs * (n_runs - 1) // 2, len(self.sizes(cube))
        per_size = (
            2.5e-10 * count * pairs * len(self.fuzziness) + 1e-10 * n_topics * count * n_runs + 1e-7
        )
        output_bytes = 8.0 * n_sizes * len(self.fuzziness) * count * pairs
        columns = count * n_runs
        sampling = self.sampling_cost(cube, trials, per_size, columns, 8.0 * columns)
        return replace(
            sampling,
            fixed_bytes=sampling.fixed_bytes + output_bytes,
            result_bytes=48.0 * pairs + 4 * output_bytes,
        )
