"""How many topics, and how many repetitions, does a difference between two systems need?

Reference: Miller 2024, "Adding error bars to evals", sections 3 and 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.analyses.preparation import make_table
from scorecube.analyses.repetitions import Repetitions
from scorecube.collection.arguments import CubeLike, as_cube
from scorecube.collection.schema import annotate
from scorecube.declare import Variable, along
from scorecube.errors import BadPlan, option
from scorecube.methods.design.parameters import MOST_TOPICS
from scorecube.methods.design.power import MOST
from scorecube.methods.design.sizes import PAIRED, topic_set_size
from scorecube.statistics.variance import components

REPETITIONS = "repetitions"
NEEDED = "repetitions_needed"
NUMBERS = (1, 2, 3, 5, 10)
MOST_REPETITIONS = 1000
(VARIANCE,) = along(
    (names.METRIC, names.GAIN, REPETITIONS),
    Variable("variance", "condition", "half the variance of differences on a topic"),
)
OF_PAIR = (
    *along(
        (names.METRIC, names.GAIN, REPETITIONS),
        Variable(
            "topics_retrained", "estimate", "topics, for other training runs, too", "topics", ".0f"
        ),
    ),
    *along(
        (names.METRIC, names.GAIN),
        Variable(
            NEEDED,
            "estimate",
            "repetitions of each for the topics at hand, for other training runs, too",
            form=".0f",
        ),
    ),
)
"""What a design of a pair has beside topics for these training runs."""


class Wanted(NamedTuple):
    """What is to be detected, and with which errors of type I and II."""

    difference: float
    alpha: float
    beta: float

    def options(self) -> dict[str, float]:
        """Return them as options of a design."""
        return {"min_diff": self.difference, "alpha": self.alpha, "beta": self.beta}


class Spread(NamedTuple):
    """Variances of the difference of two systems.

    topics: Over topics, of expected scores.
    rests: Topic x repetition, of each system; none where they are unknown.
    between: Between training runs, of each system.
    """

    topics: float
    rests: tuple[float, ...]
    between: tuple[float, ...]

    def per_topic(self, repetitions: int) -> float:
        """Return the variance of a difference of means over repetitions on one topic."""
        return self.topics + sum(self.rests) / repetitions

    def reaches(self, wanted: Wanted, n: int, repetitions: int) -> bool:
        """Return whether `compare` has the power, with limits for other training runs, too.

        Its degrees of freedom are Satterthwaite's, to be expected of these variances.
        """
        if repetitions < 2 or not self.rests:
            return False
        over_topics = self.per_topic(repetitions) / n
        total = over_topics + sum(self.between) / repetitions
        if total == 0:
            return True
        parts = over_topics**2 / (n - 1)
        for between, rest in zip(self.between, self.rests, strict=True):
            parts += ((between + rest / n) / repetitions) ** 2 / (repetitions - 1)
        freedom = total**2 / parts
        critical = scipy.special.stdtrit(freedom, 1 - wanted.alpha / 2)
        ratio = min(wanted.difference**2 / total, MOST)
        missed = scipy.special.ncfdtr(1, freedom, ratio, critical**2)
        return bool(np.nan_to_num(missed) <= wanted.beta)


def spread_of(of: Repetitions, cell: int) -> Spread:
    """Return the variances of the difference of two systems; negative estimates are 0.

    Of a system with one repetition those of the other are taken.
    """
    tables = [of.values(cell, system) for system in of.by_system]
    first, second = (scores.mean(axis=0) for scores in tables)
    over_topics = float(np.var(first - second, ddof=1))
    several = [components(scores) for scores in tables if len(scores) > 1]
    if not several:
        return Spread(over_topics, (), ())
    found = [components(scores) if len(scores) > 1 else several[0] for scores in tables]
    rests = tuple(float(each[-1]) for each in found)
    between = tuple(max(float(each[0]), 0.0) for each in found)
    for rest, scores in zip(rests, tables, strict=True):
        over_topics -= rest / len(scores)
    return Spread(max(over_topics, 0.0), rests, between)


def pair_design(
    cube: CubeLike,
    pair: tuple[str, ...],
    wanted: Wanted,
    missing: Literal["refuse", "drop"] = "refuse",
) -> xr.Dataset:
    """Return the topics that a difference between two systems needs, by number of repetitions.

    ``topics`` are for the paired t test of means over these repetitions; ``topics_retrained`` for
    limits that hold for other training runs, too, which two repetitions or more have; missing where
    no number of topics suffices.

    Raises BadPlan: Another number of systems than two.
    """
    if len(pair) != 2 or pair[0] == pair[1]:
        text = f"{option('pair', ','.join(pair))}: expected two systems, such as ours,main"
        raise BadPlan(text, option="pair")
    read = as_cube(cube)
    table = make_table(read, runs=pair, missing=missing, bags=False)
    of = Repetitions.of(read, pair, missing=missing, bags=False)
    spreads = [spread_of(of, cell) for cell in range(len(table.scores))]
    numbers = list(NUMBERS) if spreads[0].rests else [1]
    at_hand = table.sizes.size
    values: dict[str, list[Any]] = {"variance": [], "topics_retrained": [], NEEDED: []}
    for spread in spreads:
        topics = [
            least(partial(spread.reaches, wanted, repetitions=k), MOST_TOPICS) for k in numbers
        ]
        values["variance"].append([spread.per_topic(k) / 2 for k in numbers])
        values["topics_retrained"].append(topics)
        values[NEEDED].append(least(partial(spread.reaches, wanted, at_hand), MOST_REPETITIONS))
    found = table.dataset((VARIANCE, *OF_PAIR), values, {REPETITIONS: np.array(numbers)})
    sizes = topic_set_size(
        found["variance"],
        wanted.difference,
        alpha=wanted.alpha,
        beta=wanted.beta,
        method="t",
        variance_of=PAIRED,
    )
    added = {variable.name: found[variable.name].variable for variable in OF_PAIR}
    kept = {key: read.attrs[key] for key in ("collection", names.WORDS) if key in read.attrs}
    notes = [*table.notes, *sizes.attrs["notes"], *_notes(of, table.nouns.repetition)]
    options = {"method": "t", "pair": list(of.by_system)} | wanted.options()
    facts: dict[str, Any] = {"pair": list(of.by_system), "n_topics": at_hand, "notes": notes}
    facts["plan"] = json.dumps({"options": options})
    return annotate(sizes.assign(added), OF_PAIR).assign_attrs(kept | facts)


def _notes(of: Repetitions, repetition: str) -> Iterator[str]:
    """Yield what is said of systems with one repetition."""
    single = [system for system, runs in of.by_system.items() if len(runs) == 1]
    if len(single) == 1:
        yield f"{single[0]} has one {repetition}: the variances of the other serve both."
    elif single:
        yield f"One {repetition} of each system: how many more would help is unknown."


def least(enough: Callable[[int], bool], most: int) -> float:
    """Return the least number from 2 on that is enough, as is every larger one; NaN if none is."""
    if not enough(most):
        return np.nan
    low = 2
    while low < most:
        middle = (low + most) // 2
        if enough(middle):
            most = middle
        else:
            low = middle + 1
    return float(low)
