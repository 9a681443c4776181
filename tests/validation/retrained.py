"""Limits of differences for other training runs, where seeds shift all items of a system together, or not; limits of effect sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube import names
from scorecube.analyses.preparation import make_table
from scorecube.analyses.repetitions import Repetitions
from scorecube.methods.compare.comparison import part_of, row_of
from scorecube.methods.compare.retrained import with_training_runs
from scorecube.methods.compare.rows import Asked
from scorecube.workflow.api import analyse
from tests.validation import truths
from tests.validation.cases import MODEL, POPULATION, Case
from tests.validation.rates import Values, chained, collected, covers
from tests.validation.truths import AT_ONCE, Floats, Truth, binary, cubes, made, normal

ASKED = Asked("a", "b", {}, True)
SHIFT = 0.02
"""Standard deviation between the means of seeds, where they shift."""


class Trained(NamedTuple):
    """Two equal systems: their seeds, collections, items, and whether seeds shift.

    binary: Whether scores are 0 and 1; else normal, without a range.
    """

    seeds: int
    collections: int
    items: int
    shifts: bool
    binary: bool

    def draw(self, chance: np.random.Generator) -> Floats:
        """Return scores (collection, system x seed, item); a shift is the same in all collections."""
        shape = (self.collections, 2, self.seeds, self.items)
        item = chance.normal(size=(self.collections, 1, 1, self.items))
        own = chance.normal(size=(self.collections, 2, 1, self.items))
        rest = chance.normal(size=shape)
        shift = chance.normal(size=(2, self.seeds, 1)) * self.shifts
        if self.binary:  # a latent shift of 1 moves means by .22 or so
            scores = (0.8 + item + 0.4 * own + 0.6 * rest + SHIFT / 0.22 * shift > 0) * 1.0
        else:
            scores = 0.5 + 0.2 * item + 0.1 * own + 0.15 * rest + SHIFT * shift
        return np.asarray(scores.reshape(self.collections, -1, self.items))


def cube_of(scores: Floats) -> xr.Dataset:
    """Return scores (metric, system x seed, item) of two systems as a cube."""
    n_metrics, n_runs, n_items = scores.shape
    is_binary = bool(((scores == 0) | (scores == 1)).all())
    ends = (0.0, 1.0) if is_binary else (np.nan, np.nan)
    coords: dict[str, Any] = {
        names.METRIC: [f"m{k:03d}" for k in range(n_metrics)],
        names.GAIN: ["auto"],
        names.RUN: [f"r{k}" for k in range(n_runs)],
        names.TOPIC: [f"t{k:05d}" for k in range(n_items)],
        names.SYSTEM: (names.RUN, np.repeat(["a", "b"], n_runs // 2).astype(object)),
        names.SCORE_LOW: (names.METRIC, np.full(n_metrics, ends[0])),
        names.SCORE_HIGH: (names.METRIC, np.full(n_metrics, ends[1])),
    }
    dims = (names.METRIC, names.GAIN, names.RUN, names.TOPIC)
    return xr.Dataset({names.SCORE: (dims, scores[:, np.newaxis])}, coords)


def coverage(truth: Trained, number: int, seed: int) -> Values:
    """Return whether limits hold the difference of 0, with training runs and for topics alone."""
    rows: list[dict[str, Any]] = []
    for start in range(0, number, AT_ONCE):
        places = range(start, min(start + AT_ONCE, number))
        drawn = np.array([truth.draw(np.random.default_rng((seed, place))) for place in places])
        parts = []
        for scores in drawn.swapaxes(0, 1):
            cube = cube_of(scores)
            table, repetitions = make_table(cube, on_grid=False), Repetitions.of(cube)
            of_cells = []
            for cell in range(len(places)):
                part = part_of(table, cell, ASKED, "")
                assert not isinstance(part, str)
                of_cells.append(with_training_runs(part, repetitions, cell))
            parts.append(of_cells)
        for of_sample in zip(*parts, strict=True):
            found = row_of({str(k): part for k, part in enumerate(of_sample)}, None)
            alone = row_of(
                {str(k): part._replace(sides=()) for k, part in enumerate(of_sample)}, None
            )
            rows.append(
                {
                    "retrained": covers(found.low, found.high, 0.0),
                    "limits over items alone": covers(alone.low, alone.high, 0.0),
                }
            )
    return collected(rows)


def retrained() -> Iterator[Case]:
    """Differences of two equal systems with seeds."""
    for k, b, n, shifts, is_binary in product(
        (2, 3, 5), (1, 4), (100, 1000), (False, True), (False, True)
    ):
        name = f"{'0/1' if is_binary else 'normal'}, {'shifts' if shifts else 'no shifts'}"
        many = "collection" if b == 1 else "collections"
        truth = Trained(k, b, n, shifts, is_binary)
        text = f"{name}, {k} seeds, {b} {many}"
        yield Case(text, MODEL, n, partial(_itself, truth), coverage, 500)


def _itself(truth: Any) -> Any:
    return truth


class Effects(NamedTuple):
    """A truth, and its effect sizes (pair,)."""

    truth: Truth
    effects: Floats


def effects_of(scores: Floats) -> Floats:
    """Return the effect sizes of pairs of runs, of scores (run, topic) of all topics there are."""
    rest = scores - scores.mean(axis=0)
    rest = rest - rest.mean(axis=1, keepdims=True)
    deviation = np.sqrt((rest**2).sum() / ((len(scores) - 1) * scores.shape[1]))
    first, second = np.triu_indices(len(scores), 1)
    means = scores.mean(axis=1)
    return np.asarray((means[first] - means[second]) / deviation)


def real(file: str, n: int) -> Effects:
    """Return topics of ten runs of a collection."""
    scores = truths.spread(truths.real_scores(file), 10)
    return Effects(truths.population(scores, n, ends=(0.0, 1.0)), effects_of(scores))


def model(laws: list[truths.Law], n: int) -> Effects:
    """Return topics of runs of some laws; effect sizes are those of 200,000 topics."""
    whole = made(laws, 200_000)(np.random.default_rng(1))
    return Effects(made(laws, n), effects_of(whole.scores))


def effect_coverage(truth: Effects, number: int, seed: int) -> Values:
    """Return whether limits of effect sizes hold them, (sample, pair); missing ones state nothing."""
    parts = []
    for cube, drawn, _ in cubes(truth.truth, number, seed):
        found = analyse(cube, sc.Paired()).isel(gain=0)
        low, high = (found[f"effect_size_{end}"].values for end in ("low", "high"))
        held = np.where(np.isnan(low), np.nan, covers(low, high, truth.effects))
        parts.append({"effect sizes": held[: len(drawn)]})
    return chained(parts)


LAWS: dict[str, Callable[[float], truths.Law]] = {
    "normal": normal,
    "0/1": binary,
    "P@10": truths.graded,
}
MEANS = np.linspace(0.5, 0.8, 10)


def effects() -> Iterator[Case]:
    """Effect sizes of all pairs of ten runs."""
    files = {
        "TREC-8 AP": "adhoc8/ap.csv",
        "Robust 2004 AP": "robust2004/ap_249topics.csv",
        "DL 2020 nDCG@10": "syndl-dl2020/nist-nDCG10.csv",
        "Web 2012 ERR@20": "web2012/err20.csv",
        "TREC-7 RR": "adhoc7/rr.csv",
    }
    for n, (name, file) in product((10, 25, 50, 200), files.items()):
        yield Case(name, POPULATION, n, partial(real, file, n), effect_coverage, 400)
    for n, (name, law) in product((10, 25, 50, 200), LAWS.items()):
        laws = [law(float(mean)) for mean in MEANS]
        text = f"{name}, means .5 to .8"
        yield Case(text, MODEL, n, partial(model, laws, n), effect_coverage, 400)
