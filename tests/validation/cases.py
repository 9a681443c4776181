"""Cases of truths, and rows of what was measured on them: a CSV that the documentation reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from tests.validation import rates

MODEL, POPULATION = "model", "population"


class Goal(NamedTuple):
    """What a rate should be: nominal, at least and at most; and whether it is one of errors."""

    nominal: float
    low: float
    high: float
    error: bool = False


COVERED = Goal(0.95, 0.92, 1.0)
ERROR, ONE_SIDED = Goal(0.05, 0.0, 0.07, True), Goal(0.025, 0.0, 0.07, True)
FEW_FAIL, NEVER = Goal(0.025, 0.0, 0.06, True), Goal(0.0, 0.0, 0.0, True)
GOALS = {
    "means": COVERED,
    "leader": COVERED,
    "rank sets": COVERED,
    "difference": COVERED,
    "retrained": COVERED,
    "effect sizes": COVERED,
    "max-T": ERROR,
    "Friedman": ERROR,
    "Nemenyi": ERROR,
    "mean ranks, Holm": ERROR,
    "battles: rank sets": COVERED,
    "equivalent": ERROR,
    "false pass": ONE_SIDED,
    "false fail": ONE_SIDED,
    "fail at half": ONE_SIDED,
    "paired t: p against limits": NEVER,
    "compare: p against limits": NEVER,
    "t with Holm": ERROR,
    "Tukey limits": COVERED,
    "any fail of equals": FEW_FAIL,
    "any fail of equals, the mean": FEW_FAIL,
    "any fail at half the margin": FEW_FAIL,
    "all pass at the margin": FEW_FAIL,
}
"""Goals of quantities; others are reported without one."""


@dataclass(frozen=True)
class Case:
    """One truth and what is measured on it.

    truth, kind: Its name, and whether it is a real collection or a model.
    units: Topics or groups of a sample.
    make: Makes the truth when it is needed: populations read files.
    measure: Returns values by quantity.
    samples: How many.
    goal: Of quantities that `GOALS` does not name.
    """

    truth: str
    kind: str
    units: int
    make: Callable[[], Any]
    measure: rates.Measure
    samples: int = 1000
    goal: Goal | None = None


class Row(NamedTuple):
    """A line of the CSV."""

    part: str
    truth: str
    kind: str
    units: int
    quantity: str
    nominal: str
    measured: str
    error: str
    samples: int
    fails: str

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What a later measurement replaces."""
        return self.part, self.truth, self.units, self.quantity


def rows_of(part: str, case: Case, number: int, seed: int) -> Iterator[Row]:
    """Measure a case; of values by run there is a row of their mean and one of the worst run."""
    for quantity, values in case.measure(case.make(), number, seed).items():
        goal = (
            None
            if any(word in quantity for word in ("bias", "width", "share without"))
            else GOALS.get(quantity, case.goal)
        )
        found = {quantity: values}
        if values.ndim > 1 and values.shape[1] > 1 and goal is not None:
            found[f"{quantity}, worst"] = rates.worst_of(values, largest=goal.error)
        for name, each in found.items():
            rate, error = rates.rate_of(each)
            nominal = "" if goal is None else f"{goal.nominal:g}"
            fails = goal is not None and not goal.low <= round(rate, 3) <= goal.high
            numbers = (nominal, f"{rate:.4f}", f"{error:.4f}", len(each))
            verdict = "fails" if fails else ""
            yield Row(part, case.truth, case.kind, case.units, name, *numbers, verdict)


def read(path: Path) -> list[Row]:
    """Return the rows of a CSV; none of one that is not there."""
    if not path.exists():
        return []
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    return [Row(*row)._replace(units=int(row[3]), samples=int(row[8])) for row in table.to_numpy()]


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write a CSV."""
    pd.DataFrame(list(rows), columns=Row._fields).to_csv(path, index=False)
