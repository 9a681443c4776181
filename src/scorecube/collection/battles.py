"""Battles of pairs of systems on prompts, as arrays beside the share of them that each has won.

The cube of battles has one metric, ``win_rate``: its topics are opponents, its scores the shares of
the battles with them that a system has won; they are missing where two never met. The battles stand
beside, counted by prompt and pair: variables along ``match``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection.evaluation import cube_dataset
from scorecube.collection.ranges import ranged
from scorecube.collection.schema import annotate, label_array, labels_of
from scorecube.declare import Variable, along
from scorecube.errors import BadPlan

WIN_RATE: Final = "win_rate"
MATCHES = along(
    (names.MATCH,),
    Variable("match_prompt", "", "number of the prompt", kinds="i"),
    Variable("match_a", "", "number of the first system, in battler", kinds="i"),
    Variable("match_b", "", "number of the second system, in battler", kinds="i"),
    Variable("match_battles", "", "battles of the two on the prompt", "battles", kinds="i"),
    Variable("match_wins", "", "battles that the first has won; ties are a half", "battles"),
)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Matches(NamedTuple):
    """Battles by prompt and pair.

    systems: Labels, sorted.
    prompt, first, second: int64 (match,): numbers of prompts and of systems, the first the lower.
    battles, wins: float64 (match,): battles, and those that the first has won.
    """

    systems: list[str]
    prompt: Ints
    first: Ints
    second: Ints
    battles: Floats
    wins: Floats


def cube_of_battles(
    run_a: Iterable[str], run_b: Iterable[str], prompt: Iterable[object], wins: Iterable[float]
) -> xr.Dataset:
    """Return the cube of battles, a row each.

    wins: 1 where the first system wins, 0 where the second does; 0.5 for ties, or shares.
    """
    labels, numbers = _numbered([*run_a, *run_b])
    a, b = numbers.reshape(2, -1)
    won_by_a = np.fromiter(wins, float)
    of_first = np.where(a < b, won_by_a, 1 - won_by_a)
    _, prompts = _numbered(list(prompt))
    n = len(labels)
    keys = (prompts * n + np.minimum(a, b)) * n + np.maximum(a, b)
    match, place = np.unique(keys, return_inverse=True)
    matches = Matches(
        labels,
        match // n**2,
        match // n % n,
        match % n,
        np.bincount(place).astype(float),
        np.asarray(np.bincount(place, weights=of_first), float),
    )
    battles, won = totals_of(matches)
    share = np.full((n, n), np.nan)
    np.divide(won, battles, out=share, where=battles > 0)
    cube = cube_dataset(
        share[np.newaxis, np.newaxis], [WIN_RATE], [names.AUTO], labels, labels, None
    )
    arrays = (matches.prompt, matches.first, matches.second, matches.battles.astype(np.int64))
    values = {
        variable.name: (names.MATCH, array)
        for variable, array in zip(MATCHES, (*arrays, matches.wins), strict=True)
    }
    battler = {names.BATTLER: label_array(labels)}
    cube = ranged(cube.assign(values).assign_coords(battler), {WIN_RATE: (0.0, 1.0)})
    cube.attrs[names.WORDS] = ["system", "opponent", *names.USUAL_WORDS[2:]]
    return annotate(cube, MATCHES)


def _numbered(labels: list[object]) -> tuple[list[str], Ints]:
    """Return the labels that there are, sorted, and the number of each one given."""
    place: dict[object, int] = {}
    numbers = np.fromiter((place.setdefault(each, len(place)) for each in labels), np.int64)
    texts = [*map(str, place)]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    return [texts[k] for k in order], np.argsort(np.array(order, np.int64))[numbers]


def totals_of(matches: Matches) -> tuple[Floats, Floats]:
    """Return (system, system): battles of each pair, and those that its first has won."""
    n = len(matches.systems)
    battles, won = np.zeros((2, n, n))
    np.add.at(battles, (matches.first, matches.second), matches.battles)
    np.add.at(won, (matches.first, matches.second), matches.wins)
    lost = battles - won
    return battles + battles.T, won + lost.T


def matches_of(cube: xr.Dataset) -> Matches:
    """Return the battles of the runs of a cube with each other (BadPlan for one of scores)."""
    if MATCHES[-1].name not in cube:
        raise BadPlan("these are scores; battles of pairs of systems are needed: import reads them")
    runs = labels_of(cube, names.RUN)
    place = {run: k for k, run in enumerate(runs)}
    number = np.array([place.get(run, -1) for run in labels_of(cube, names.BATTLER)], np.int64)
    prompt, a, b, battles, wins = (cube[variable.name].values for variable in MATCHES)
    first = number[a]
    second = number[b]
    kept = (first >= 0) & (second >= 0)
    return Matches(
        runs,
        prompt[kept].astype(np.int64),
        first[kept],
        second[kept],
        battles[kept].astype(float),
        wins[kept],
    )
