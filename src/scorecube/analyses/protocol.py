"""The protocol of analyses on a table: options, blocks of units, and the result of all blocks.

`TableAnalysis` carries it into the engine that plans, runs and records blocks.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Array, Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.table import Table, make_table
from scorecube.analyses.units import BAGS, units_of
from scorecube.errors import BadPlan, ScorecubeError

TRIALS_LEFT_OUT = 10
"""Trials for one trial without each group of units."""
TIMED_UNITS = 16
"""Most units that are computed to know how long a unit takes."""
LONG_SECONDS = 0.1
"""Of a unit that takes longer, two are timed at most."""
TABLE, COST = "table", "cost"
"""Keys of `Prepared.kept`, and of the inputs of blocks."""


class Sum(NamedTuple):
    """Integers that are added over units: counts, `most` of which a unit adds."""

    array: Array
    most: float = math.inf
    least: float = 0


class Max(NamedTuple):
    """Integers of which the largest over units is kept, least .. most."""

    array: Array
    most: float = math.inf
    least: float = 0


class Concat(NamedTuple):
    """Numbers of units, least .. most or NaN: one place of the last axis each."""

    array: Array
    most: float = math.inf
    least: float = -math.inf


Part = Sum | Max | Concat
_COMBINE = {Sum: Combine.ADD, Max: Combine.MAX, Concat: Combine.CONCAT}


class Totals(dict[str, Array]):
    """Combined arrays of all blocks by name, and those without each group of units.

    left_out: In the order of `Table.tables_left_out`; empty where nothing is left out.
    """

    def __init__(self, arrays: Mapping[str, Array], left_out: list[dict[str, Array]]) -> None:
        super().__init__(arrays)
        self.left_out = left_out


@dataclass(frozen=True, kw_only=True)
class TableAnalysis(Analysis):
    """Base of analyses on a table: a frozen record whose fields are its options."""

    jackknife: ClassVar[bool] = False
    """Whether blocks are computed without each group of units, too, with a tenth of the trials."""

    def table(self, cube: xr.Dataset) -> Table:
        """Return what blocks and results are computed from."""
        return make_table(cube)

    def notes(self, table: Table) -> list[str]:
        """Return what is to be said of the result.

        Raises
        ------
        BadPlan
            Options that are impossible for the table.
        """
        return list(table.notes)

    def n_units(self, table: Table) -> int:
        """Return the number of units: trials, unless `unit` says otherwise."""
        return table.trials

    @abstractmethod
    def block(self, table: Any, start: int, stop: int) -> Mapping[str, Part]:
        """Return the named parts of the units start .. stop-1; an empty block declares their shapes and dtypes."""

    @abstractmethod
    def result(self, table: Any, totals: Totals) -> xr.Dataset:
        """Return the complete result of the combined parts of all blocks."""

    def adds_up(self, table: Any, parts: Arrays, n_units: int) -> bool:
        """Return whether what must hold between the counts of some units does; ranges are of parts."""
        return True

    def block_bytes(self, table: Table) -> float:
        """Return the memory of computing a block."""
        return 4.0 * table.nbytes

    def result_bytes(self, table: Table, combined: float) -> float:
        """Return the memory of the result beside the combined parts, which have so many bytes."""
        return 2.0 * table.nbytes + combined

    def drawn(self, table: Table) -> xr.Dataset:
        """Return what the trials of a table draw; units by their positions."""
        raise BadPlan(f"{self.name} draws nothing: there are no samples")

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return what is drawn for a seed, and the unit that each topic belongs to: itself, its group or its bag."""
        prepared, _ = self.prepare_checked(cube)
        unit = units_of(cube, BAGS, []).of_topic
        return self.drawn(table_of(prepared, trials, seed)).assign(
            unit_of_topic=(names.TOPIC, unit), topic=cube[names.TOPIC]
        )

    # What follows carries the protocol into the engine.

    def prepare(self, cube: xr.Dataset) -> Prepared:
        return Prepared(cube, shared=self.table(cube))

    def check(self, prepared: Prepared) -> list[str]:
        return self.notes(prepared.shared)

    def units(self, prepared: Prepared, trials: int) -> int:
        return self.n_units(table_of(prepared, trials))

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Any:
        return {TABLE: table_of(prepared, trials, seed)}

    def compute(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        table: Any = inputs[TABLE]
        arrays: Arrays = {}
        for name, part in self.parts(table, start, stop).items():
            arrays[name] = part.array
        return arrays

    def parts(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        """Return the parts of a block, and those without each group of units by names that end with its number."""
        parts: dict[str, Part] = dict(self.block(table, start, stop))
        if self.jackknife:
            trials = -(-start // TRIALS_LEFT_OUT), -(-stop // TRIALS_LEFT_OUT)
            for group, kept in enumerate(table.tables_left_out):
                for name, part in self.block(kept, *trials).items():
                    if isinstance(part, Concat):
                        continue
                    parts[left_out_name(name, group)] = part
        return parts

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        return tuple(_declared(self.parts(prepared.shared, 0, 0)))

    def sums_hold(self, prepared: Prepared, block: Inputs, n_units: int, trials: int) -> bool:
        return self.adds_up(table_of(prepared, trials), dict(block), n_units)

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        table = table_of(prepared, trials)
        n_groups = len(table.tables_left_out) if self.jackknife else 0
        left_out: list[dict[str, Array]] = [{} for _ in range(n_groups)]
        names_left_out = set()
        for group, arrays in enumerate(left_out):
            for name in totals:
                if left_out_name(name, group) in totals:
                    arrays[name] = totals[left_out_name(name, group)]
                    names_left_out.add(left_out_name(name, group))
        whole = {name: array for name, array in totals.items() if name not in names_left_out}
        return self.result(table, Totals(whole, left_out))

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        table = table_of(prepared, trials)
        if COST not in prepared.kept:
            try:
                prepared.kept[COST] = self.timed(table)
            except ScorecubeError:
                raise
            except Exception:  # of a block, which fails again when it is computed, and is told then
                prepared.kept[COST] = 0.0, 1e-9
        fixed, seconds = prepared.kept[COST]
        n_units = self.n_units(table)
        combined = float(sum(output.nbytes(n_units) for output in self.outputs(prepared)))
        return Cost(
            seconds=seconds,
            bytes=0.0,
            fixed_bytes=self.block_bytes(table),
            fixed_seconds=fixed,
            result_bytes=combined + self.result_bytes(table, combined),
            input_bytes=2.0 * table.nbytes,
        )

    def timed(self, table: Table) -> tuple[float, float]:
        """Return the seconds of a block beside those of its units, and of a unit, of blocks that are computed and discarded."""
        n_units = self.n_units(table)
        self.block(table, 0, min(1, n_units))
        one = _seconds(self, table, min(1, n_units))
        # A tenth of the units at most: each is computed again.
        n_timed = min(TIMED_UNITS, n_units // 10)
        # Without each of 10 groups a tenth of the trials is computed.
        times = 1 + int(self.jackknife)
        # A unit that takes long may do so for what a block of any length takes.
        long = one > LONG_SECONDS and n_timed > 1 and _seconds(self, table, 2) > 1.5 * one
        if long or n_timed < 2:
            return 0.0, times * one
        several = _seconds(self, table, n_timed)
        unit = max((several - one) / (n_timed - 1), several / n_timed / 8, 1e-9)
        return times * max(one - unit, 0.0), times * unit


def table_of(prepared: Prepared, trials: int = 1, seed: int | None = None) -> Table:
    """Return the table of a plan with its trials and its seed, made once; that of the inputs where no seed is given."""
    known: Table | None = prepared.kept.get(TABLE)
    if known is None or known.trials != trials or seed not in (None, known.seed):
        known = replace(prepared.shared, trials=trials, seed=1 if seed is None else seed)
        prepared.kept[TABLE] = known
    return known


def left_out_name(name: str, group: int) -> str:
    """Return the name of a part without a group of units."""
    return f"{name}_without_{group}"


def _declared(parts: Mapping[str, Part]) -> list[Output]:
    """Return the declarations of the parts of an empty block."""
    return [
        Output(
            name,
            part.array.shape[:-1] if isinstance(part, Concat) else part.array.shape,
            _COMBINE[type(part)],
            part.array.dtype.str,
            part.least,
            part.most,
        )
        for name, part in parts.items()
    ]


def _seconds(analysis: TableAnalysis, table: Table, n_units: int) -> float:
    """Return how long the first units take."""
    start = time.perf_counter()
    analysis.block(table, 0, n_units)
    return time.perf_counter() - start
