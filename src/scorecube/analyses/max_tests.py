"""Base of analyses of the largest statistic over pairs: max-T tests and leaderboards, in blocks of bootstrap trials."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.leader import ends_in_units, largest_of_means, varied_runs
from scorecube.analyses.step_down import Family, counted_maxima, family_inputs, trial_groups
from scorecube.analyses.table import Table, make_table
from scorecube.errors import BadName, BadPlan, counted, nearest
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples, multiplicity_columns

TRIALS_AT_ONCE = 512
"""Trials whose resamples are in memory at a time."""
FAMILIES = "families"
"""Key of `Prepared.kept`."""
FEW_TOPICS = 25
"""Number of topics below which error rates are not known."""
REFUSED_BINARY, FEW_BINARY = 5, 10
"""Numbers of topics up to which scores 0 and 1 are refused, and noted."""


@dataclass(frozen=True, kw_only=True)
class MaxStatistics(Analysis):
    """Base of analyses of families of pairs by the step-down max-T method."""

    reads_table: ClassVar[bool] = True
    reads_means: ClassVar[bool] = False
    """Whether the largest t of the means of runs is computed, too."""
    default_trials: ClassVar[int] = 10_000
    compile_seconds: ClassVar[float] = 2.0

    def table_of(self, cube: xr.Dataset) -> Table:
        """Return the table of a cube."""
        return make_table(cube)

    def prepare(self, cube: xr.Dataset) -> Prepared:
        table = self.table_of(cube)
        if len(table.runs) < 2 or min(part.size() for part in table.strata) < 2:
            raise BadPlan(
                f"{self.name} needs 2 runs, and 2 topics or groups of topics of each collection; found {counted(len(table.runs), 'run')} and "
                f"{counted(min(part.size() for part in table.strata), 'topic')}"
            )
        baseline = getattr(self, "baseline", None)
        if baseline is not None and baseline not in table.runs:
            raise BadName(
                f"no run {baseline!r} in the scores; nearest: {nearest(baseline, list(table.runs))}",
                option="baseline",
            )
        return Prepared(cube, shared=table)

    def check(self, prepared: Prepared) -> list[str]:
        table: Table = prepared.shared
        notes, n_units = list(table.notes), min(part.size() for part in table.strata)
        notes += binary_notes(table)
        if n_units < FEW_TOPICS:
            notes.append(
                f"{counted(n_units, 'topic')}: with fewer than {FEW_TOPICS} the family-wise error rate is not known to be close to alpha"
            )
        return notes

    def families(self, prepared: Prepared) -> list[list[Family]]:
        """Return the families of each cell."""
        if FAMILIES not in prepared.kept:
            table: Table = prepared.shared
            prepared.kept[FAMILIES] = [self.families_of(table, k) for k in range(len(table.scores))]
        found: list[list[Family]] = prepared.kept[FAMILIES]
        return found

    @abstractmethod
    def families_of(self, table: Table, cell: int) -> list[Family]:
        """Return the families of a cell."""

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        table: Table = prepared.shared
        keys = [
            stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS, k) for k in range(len(table.strata))
        ]
        inputs = {
            "units": table.units,
            "keys": np.stack(keys),
            "edges": np.array([part.units.stop for part in table.strata]),
            "weights": np.array([part.weight for part in table.strata]),
            "sizes": np.array([len(each.first) for each in self.families(prepared)[0]]),
        }
        if self.reads_means:
            cells = range(len(table.scores))
            inputs["ends"] = np.array([ends_in_units(table, cell) for cell in cells])
            inputs["varied"] = np.stack([varied_runs(table, cell) for cell in cells])
        for cell, families in enumerate(self.families(prepared)):
            for k, family in enumerate(families):
                found = family_inputs(table, cell, family)
                inputs |= {f"{name}_{cell}_{k}": value for name, value in found.items()}
        return inputs

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        families = self.families(prepared)
        n_cells, n_pairs = len(families), sum(len(each.first) for each in families[0])
        of_means = Output("largest_t", (n_cells,), Combine.CONCAT, "float64")
        return (
            Output("reached", (n_cells, n_pairs), Combine.ADD, least=0, most=1),
            Output("largest", (n_cells, len(families[0])), Combine.CONCAT, "float64"),
            *([of_means] if self.reads_means else []),
        )

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        units, stops = inputs["units"], inputs["edges"].tolist()
        places = [slice(low, high) for low, high in zip([0, *stops], stops, strict=False)]
        strata = list(zip(inputs["weights"].tolist(), places, strict=True))
        n_families = len(inputs["sizes"])
        reached: list[list[Any]] = [[0] * n_families for _ in units]
        largest = np.empty((len(units), n_families, stop - start))
        largest_t = np.empty((len(units), stop - start))
        for low, high in trial_groups(start, stop, TRIALS_AT_ONCE):
            counts = [
                multiplicity_columns(bootstrap_samples(key, n, low, high), n)
                for key, n in zip(inputs["keys"], (p.stop - p.start for p in places), strict=True)
            ]
            here = slice(low - start, high - start)
            for cell, scores in enumerate(units):
                for k in range(n_families):
                    family = {
                        name: inputs[f"{name}_{cell}_{k}"]
                        for name in ("first", "second", "edges", "totals", "added")
                    }
                    found, largest[cell, k, here] = counted_maxima(scores, strata, counts, family)
                    reached[cell][k] = reached[cell][k] + found
                if self.reads_means:
                    varied = scores[inputs["varied"][cell]]
                    largest_t[cell, here] = largest_of_means(
                        varied, strata, counts, inputs["ends"][cell]
                    )
        padded = [
            np.concatenate(
                [_padded(row, size) for row, size in zip(rows, inputs["sizes"], strict=True)]
            )
            for rows in reached
        ]
        arrays: Arrays = {"reached": np.stack(padded), "largest": largest}
        return arrays | ({"largest_t": largest_t} if self.reads_means else {})

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        table: Table = prepared.shared
        n_cells, n_runs, n_units = table.units.shape
        n_pairs = sum(len(each.first) for each in self.families(prepared)[0])
        return Cost(
            seconds=n_cells * n_pairs * (1.2e-9 + 4.2e-11 * n_units),
            bytes=16.0 * n_cells,
            fixed_bytes=8.0 * TRIALS_AT_ONCE * (3 * 128 + 2 * n_runs + n_units),
            result_bytes=24.0 * n_cells * trials + 200.0 * n_pairs,
            result_seconds=1e-4 * n_cells * n_runs,
            input_bytes=8.0 * table.units.size,
            input_seconds=2e-9 * n_cells * n_pairs * n_units,
        )


def _padded(counts: Any, size: int) -> Any:
    """Return counts of varied pairs, filled with zeros for the others."""
    return np.concatenate([counts, np.zeros(size - len(counts), np.int64)])


def binary_notes(table: Table) -> list[str]:
    """Refuse scores 0 and 1 of up to 5 topics, and return a note of up to 10."""
    n_units = min(part.size() for part in table.strata)
    if (
        n_units > FEW_BINARY
        or not (table.binary & np.ptp(table.scores, axis=(1, 2)).astype(bool)).any()
    ):
        return []
    text = f"scores 0 and 1 of {counted(n_units, 'topic')}: some pair of many equal runs differs on all of so few"
    if n_units <= REFUSED_BINARY:
        raise BadPlan(text)
    return [text]
