"""Ties of permutation tests in floating point: ``python -m tests.simulations.float_ties DATA``.

The differences of P@10 are multiples of .1, which no binary number equals. Summed up in floating point as in the published study, topic by topic, equal
sums differ in their last bits, so that only a part of the resamples that are exactly as extreme as the observed difference counts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from scorecube import names
from scorecube.analyses.simulation.pair_models import UNITS, distinct_systems, fit_pair_model
from scorecube.kernels.experiments.differences import draw_differences
from scorecube.kernels.random.philox import stream_key
from tests.simulations.errors import LEVEL, MEASURES, SIZES, cube_of, published

EXPERIMENTS, RESAMPLES = 10_000, 2000


def p_values(differences: np.ndarray, random: np.random.Generator) -> tuple[float, float, float]:
    """Return two-sided p-values of one experiment: ties whole, half, and by sums in floating point."""
    tenths = np.rint(differences / UNITS * 10).astype(int)
    scores = tenths / 10
    signs = random.choice([-1.0, 1.0], (len(scores), RESAMPLES))
    sums = np.zeros(RESAMPLES)
    for sign, score in zip(signs, scores, strict=True):
        sums += sign * score
    exact, total = np.abs(tenths @ signs), abs(tenths.sum())
    rounded = np.abs(sums / len(scores)) >= abs(scores.mean())
    whole, more = (exact >= total).mean(), (exact > total).mean()
    return float(whole), float((whole + more) / 2), float(rounded.mean())


def main(data: Path) -> None:
    """Print type I error rates at .05 of three ways to count ties."""
    random, models = np.random.default_rng(1), []
    for collection in MEASURES["p10"][1]:
        scores = cube_of(data, collection, "p10")["score"].values[0, 0]
        models.append(fit_pair_model(scores[distinct_systems(scores, 0.1)], "pairs"))
    systems = sum(len(model.margins) for model in models)
    print(
        "| topics | ties whole | ties half | in floating point | published |\n|---|---|---|---|---|"
    )
    for size in SIZES:
        found = []
        for number, model in enumerate(models):
            arrays = model.arrays()
            rows = np.empty((round(EXPERIMENTS * len(model.margins) / systems), size), np.int32)
            draw_differences(
                stream_key(number, names.Purpose.EXPERIMENTS),
                0,
                *model.null_choices(),
                (arrays["cumulative"], arrays["guides"], arrays["scores"]),
                (arrays["copulas"], arrays["parameters"]),
                rows,
            )
            found += [p_values(row, random) for row in rows]
        rates = (np.array(found) <= LEVEL).mean(axis=0)
        known = float(published(data, "type_1", "p10", size)["p2"].loc[LEVEL])
        print(
            f"| {size} | " + " | ".join(f"{rate:.4f}" for rate in rates) + f" | {known:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
