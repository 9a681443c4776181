"""Pairs and gates on known truths: p-values beside limits, t with Holm, Tukey's limits, gates over many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.methods.compare.comparison import compared
from scorecube.methods.compare.gate import FAIL, PASS, decide
from scorecube.methods.compare.rows import Asked, Compared
from scorecube.workflow.api import analyse
from tests.validation import truths
from tests.validation.cases import MODEL, POPULATION, Case
from tests.validation.rates import ALPHA, EQUAL_MEANS, TRIALS, Values, chained, covers
from tests.validation.truths import Floats, Truth, binary, cube_of, cubes, graded, made

NEAR_ONE = "syndl-dl2020/nist-RR.csv"
UNIT = (0.0, 1.0)
COLLECTIONS, METRICS = 4, 5
"""Of a gate with many rows."""
FAMILIES = 25
"""Gates that are measured together."""


def contradictions(_: Any, number: int, seed: int) -> Values:
    """Return of pairs whether p and limits of `paired` t, and of `compare`, contradict.

    Half of the pairs have scores of 0 and 1 near the ceiling, half P@10, on 10 to 200 topics.
    """
    chance = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for place in range(max(1, number // 40)):
        n = int(chance.choice([10, 25, 50, 100, 200]))
        share = chance.choice([0.5, 0.8, 0.9, 0.97, 0.99], (40, 1))
        ability = np.clip(share + chance.choice([0.0, -0.2, -0.05, 0.05], (2, 40, 1)), 0, 1)
        steps = 1 if place % 2 else 10
        scores = chance.binomial(steps, ability, (2, 40, n)) / steps
        cube = cube_of(list(scores.swapaxes(0, 1)), None, UNIT)
        tested = analyse(cube, sc.Paired()).isel(gain=0, test=0, pair=0)
        differences = sc.compare(cube, "r000", "r001").isel(collection=0, gain=0)
        rows.append(
            {
                "paired t: p against limits": against(tested, "difference_"),
                "compare: p against limits": against(differences, ""),
            }
        )
    return chained(rows)


def against(found: Any, name: str) -> Floats:
    """Return whether p < .05 and limits that do not hold 0 differ, or p is 0, (metric,)."""
    outside = (found[f"{name}low"].values > 0) | (found[f"{name}high"].values < 0)
    p = found["p_value"].values
    return np.asarray((outside != (p < ALPHA)) | (p <= 0), float)


def t_with_holm(truth: Truth, number: int, seed: int) -> Values:
    """Return whether t with Holm finds a difference of equal means."""
    parts = []
    for cube, drawn, _ in cubes(truth, number, seed):
        p = analyse(cube, sc.Paired(alphas=(ALPHA,)))["p_value_holm"].values[:, 0, 0]
        first, second = np.triu_indices(len(drawn[0].means), 1)
        equal = np.abs(drawn[0].means[first] - drawn[0].means[second]) < EQUAL_MEANS
        parts.append({"t with Holm": (p[:, equal] < ALPHA).any(axis=1)})
    return chained(parts)


def tukey_limits(truth: Truth, number: int, seed: int) -> Values:
    """Return whether all joint limits of Tukey's test hold."""
    parts = []
    for cube, drawn, of_trials in cubes(truth, number, seed):
        found = analyse(cube, sc.Tukey(alphas=(ALPHA,)), trials=TRIALS, seed=of_trials).isel(gain=0)
        first, second = np.triu_indices(len(drawn[0].means), 1)
        true = np.array([sample.means[first] - sample.means[second] for sample in drawn])
        held = covers(found["joint_low"].values, found["joint_high"].values, true)
        parts.append({"Tukey limits": held.all(axis=1)})
    return chained(parts)


def gates_of_many(make: Callable[[float], Truth], number: int, seed: int) -> Values:
    """Return the errors of gates over four collections and five metrics, of the mean and of each.

    make: Returns a truth of two runs, given by how much the first is worse; margins are .02.
    """
    margin = 0.02
    parts = []
    for loss, name, verdict, each in (
        (0.0, "any fail of equals", FAIL, True),
        (0.0, "any fail of equals, the mean", FAIL, False),
        (margin / 2, "any fail at half the margin", FAIL, True),
        (margin, "all pass at the margin", PASS, True),
    ):
        truth = make(loss)
        verdicts = []
        for start in range(0, number, FAMILIES):
            size = min(FAMILIES, number - start)
            of_each = {}
            for k in range(COLLECTIONS):
                drawn = list(
                    truths.samples(truth, size * METRICS, seed + 1000 * k, start * METRICS)
                )
                of_each[f"c{k}"] = cube_of([each.scores for each in drawn], ends=UNIT)
            found = compared(of_each, Asked("r000", "r001", {}), None, "refuse")
            margins = {metric: margin for metric, _ in found.cells}
            for place in range(size):
                cells = found.cells[place * METRICS : (place + 1) * METRICS]
                rows = {key: row for key, row in found.rows.items() if key[1] in cells}
                family = Compared(found.collections, cells, rows, ())
                verdicts.append(decide(family, margins, each=each).verdict == verdict)
        parts.append({name: np.array(verdicts)})
    return {name: of for part in parts for name, of in part.items()}


def worse(law: Callable[[float], truths.Law], p: float, n: int, loss: float) -> Truth:
    """Return two runs of which the first has a mean that is smaller by a loss."""
    return made([law(p - loss), law(p)], n)


def centred(file: str, n: int, runs: int) -> Truth:
    """Return topics of runs that are moved to mean 0, with the range that all scores then have."""
    scores = truths.spread(truths.real_scores(file), runs)
    means = scores.mean(axis=1)
    return truths.population(scores, n, True, (-float(means.max()), 1 - float(means.min())))


def pairs() -> Iterator[Case]:
    """P-values beside limits, t with Holm and Tukey's limits near the end of the range."""
    yield Case("0/1 and P@10, 10 to 200 topics", MODEL, 0, lambda: None, contradictions, 2000)
    for n in (10, 25, 50):
        near = partial(centred, NEAR_ONE, n, 10)
        yield Case("DL 2020 RR, near 1, moved to mean 0", POPULATION, n, near, t_with_holm, 500)
        yield Case("DL 2020 RR, near 1, moved to mean 0", POPULATION, n, near, tukey_limits, 200)
    for p, n in product((0.9, 0.97, 0.999), (10, 25, 50, 200)):
        equal = partial(made, [binary(p)] * 10, n)
        yield Case(f"0/1, 10 equal runs of {p:g}", MODEL, n, equal, tukey_limits, 200)
        yield Case(f"0/1, 10 equal runs of {p:g}", MODEL, n, equal, t_with_holm, 500)


def many() -> Iterator[Case]:
    """Gates over four collections and five metrics."""
    laws = {"0/1 of .9": (binary, 0.9), "P@10 of .8": (graded, 0.8)}
    for (name, (law, p)), n in product(laws.items(), (25, 250, 1000)):
        make = partial(partial, worse, law, p, n)
        yield Case(f"4 collections, 5 metrics, {name}", MODEL, n, make, gates_of_many, 200)
