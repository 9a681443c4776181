"""The stability method: how often does a topic sample contradict most samples?

Reference: Buckley and Voorhees 2000, "Evaluating evaluation measure stability".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import frame_of, labelled
from scorecube.analyses.pairs import pair_labels, pairs_of
from scorecube.analyses.protocol import Part, Sum, Totals
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_samples import TwoSamples, along_sampling, first_sampling
from scorecube.collection.schema import CELL, label_array, labels_of
from scorecube.declare import (
    DIFFERENCE,
    Answer,
    Canvas,
    Down,
    Question,
    Table,
    Variable,
    View,
    along,
    option_field,
    shown,
)
from scorecube.names import Purpose

VARIABLES = (
    *along(
        ("metric", "gain", "sampling", "size", "fuzziness", "pair"),
        Variable(
            "first_better",
            "count",
            "topic samples on which the pair's first run is better",
            "trials",
            kinds="i",
        ),
        Variable(
            "second_better",
            "count",
            "topic samples on which the pair's second run is better",
            "trials",
            kinds="i",
        ),
        Variable(
            "equal",
            "count",
            "topic samples on which both are equal within the fuzziness",
            "trials",
            kinds="i",
        ),
    ),
    *along(
        ("metric", "gain", "sampling", "size", "fuzziness"),
        Variable(
            "error_rate", "share", "share of comparisons that contradict the majority of their pair"
        ),
        Variable("ties", "share", "share of comparisons that are equal within the fuzziness"),
    ),
)


ERRORS = Question("How often do samples of topics disagree?", "How many errors?")
ERROR_RATES = Table(
    ("sampling", "metric", "gain", "size", "fuzziness"),
    (*CELL, "fuzziness", "error_rate", "ties", "trials", "size", "sampling"),
    sort=("fuzziness", Down("size"), "error_rate"),
    within=1,
    part=along_sampling,
    brief=(
        shown("metric", "label"),
        "sampling",
        shown("error rate", "error_rate"),
        "ties",
        shown("samples of", "size"),
        "fuzziness",
    ),
    at={names.SIZE: np.inf, names.FUZZINESS: 0},
)
"""Error rates and ties, the lowest error rate first (Buckley and Voorhees 2000, Table 1)."""


def error_rates(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the error rates at the largest size and the smallest fuzziness, the lowest first."""
    least = float(result[names.FUZZINESS].values.min())
    at = {names.SIZE: np.inf, names.FUZZINESS: least}
    for row in labelled(frame_of(ERROR_RATES, first_sampling(result)), at):
        clause = (
            f"with {row['ties']:.1%} ties and fuzziness {least:.0%}, on samples of {row['size']} "
            f"of these {names.nouns(result.attrs).topics}"
        )
        yield Answer(row["label"], row["error_rate"], form=".1%", clause=clause, what="error rate")


def errors_and_ties(canvas: Canvas, result: xr.Dataset) -> None:
    """Error rate by ties, for each metric a line through its sizes at each fuzziness."""
    axes = canvas.panel()
    cells = first_sampling(result).isel(gain=0)
    for k, metric in enumerate(labels_of(result, names.METRIC)):
        at = cells.isel(metric=k)
        ties = 100 * at["ties"].values
        errors = 100 * at["error_rate"].values
        for level in range(result.sizes[names.FUZZINESS]):
            style = canvas.curve(k, 5, 1.0)
            label = None if level else metric
            axes.plot(ties[:, level], errors[:, level], label=label, **style)
    axes.set(ylim=(0.0, None), xlim=(0.0, None), title=canvas.title_of(result))
    axes.set(xlabel="ties, % of comparisons", ylabel="error rate, % of comparisons")
    axes.legend(ncols=2 if result.sizes[names.METRIC] > 6 else 1)


VIEW = View(
    name="stability",
    heading="Stability method",
    tables={"stability": ERROR_RATES},
    about="Topic sets are drawn, and every pair of runs is compared on each. Means that differ by "
    "less than the fuzziness, a share of the larger one, are a tie. The error rate is the share of "
    "comparisons that contradict the majority of their pair, which is not the true order; rates "
    "are about these topics and runs, and have no limits.",
    answers={ERRORS: error_rates},
    chapter=DIFFERENCE,
    conditions=("sampling", "fuzziness"),
    figure=errors_and_ties,
)


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
    view: ClassVar[View] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("buckley2000",)
    examples: ClassVar[tuple[str, ...]] = ("--size 25 --trials 1000 --seed 1",)

    fuzziness: tuple[float, ...] = option_field(
        (0.05,),
        "Means that differ by less than this share of the larger are equal.",
        minimum=0,
        below=1,
    )

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        n_cells, n_runs, _ = table.scores.shape
        shape = (n_cells, len(self.samplings), len(self.n_drawn(table)), len(self.fuzziness))
        better = np.zeros((*shape, n_runs, n_runs), np.int64)
        for drawn in self.draws(table, Purpose.SWAP_TOPICS, start, stop):
            size = drawn.size
            first_half = drawn.counts(0)[:1]
            for cell, grid in enumerate(table.grids):
                # Sums of scores over a sample, in units of the grid: (run, trial).
                sums = self.sums(table, cell, first_half, size)[:, 0] + grid.low / grid.unit * size
                for k, run in np.ndindex(len(self.fuzziness), n_runs):
                    larger = np.maximum(sums[run], sums)
                    # A difference of up to one unit for each topic is none.
                    least = np.maximum(self.fuzziness[k] * larger - size, size + 0.5)
                    is_better = sums[run] - sums >= least
                    better[cell, *drawn.place, k, run] += is_better.sum(axis=-1)
        first, second = np.triu_indices(n_runs, 1)
        return {
            "first_better": Sum(better[..., first, second]),
            "second_better": Sum(better[..., second, first]),
        }

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        first = totals["first_better"]
        second = totals["second_better"]
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
