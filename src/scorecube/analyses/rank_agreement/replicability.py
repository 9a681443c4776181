"""Does an effect found in one collection appear in another one? Effect ratio and delta relative improvement.

References: Breuer, Ferro, Fuhr, Maistro, Sakai, Schaer and Soboroff 2020, "How to measure the reproducibility of system-oriented IR
experiments", SIGIR, equations 5 and 6; Fieller 1954, "Some problems in interval estimation", Journal of the Royal Statistical Society B 16.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_tests.base import check_runs
from scorecube.analyses.pair_tests.family import check_baseline
from scorecube.collection.arguments import as_cube
from scorecube.collection.schema import labels_of
from scorecube.errors import BadName, BadPlan, meant, nearest, option


def replicated_effects(
    first: xr.Dataset,
    second: xr.Dataset,
    *,
    baseline: str,
    runs: Sequence[str] | None = None,
    same_topics: bool = False,
    confidence: float = 0.95,
) -> list[dict[str, Any]]:
    """Return the rows of `scorecube.replicability`, which has the arguments."""
    if not 0 < confidence < 1:
        raise BadPlan(
            f"{option('confidence', confidence)} is not between 0 and 1{meant(confidence, names.CONFIDENCE)}"
        )
    cubes = _shared(first, second, baseline, runs, same_topics)
    others = [run for run in labels_of(cubes[0], names.RUN) if run != baseline]
    rows = []
    for metric in labels_of(cubes[0], names.METRIC):
        for gain in labels_of(cubes[0], names.GAIN):
            cells = [cube[names.SCORE].sel(metric=metric, gain=gain) for cube in cubes]
            for run in others:
                pair = [(cell.sel(run=run).values, cell.sel(run=baseline).values) for cell in cells]
                found = effects(pair, same_topics, confidence)
                rows.append(
                    {"metric": metric, "gain": gain, "run": run, "baseline": baseline} | found
                )
    return rows


class Effect(NamedTuple):
    """Effect of a run over a baseline in one collection.

    difference, improvement: Difference of means, and the same relative to the mean of the baseline; NaN for a mean of
        0.
    influence: float64 (2, topic): what each topic adds to the difference and to the improvement, less its mean.
    """

    difference: float
    improvement: float
    influence: np.ndarray[Any, Any]


def effect(run: Any, baseline: Any) -> Effect:
    """Return the effect of a run, given the scores of both on the same topics."""
    z, mean = run - baseline, float(baseline.mean())
    difference = float(z.mean())
    improvement = difference / mean if mean else math.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = (z - improvement * baseline) / mean if mean else np.full(len(z), math.nan)
    return Effect(difference, improvement, np.stack([z - difference, relative]))


def effects(
    pair: Sequence[tuple[Any, Any]], same_topics: bool, confidence: float
) -> dict[str, float]:
    """Return the columns of `replicability`, from the scores of run and baseline in both collections."""
    from scipy.special import stdtrit  # takes long to import

    one, two = (effect(*scores) for scores in pair)
    sizes = [each.influence.shape[1] for each in (one, two)]
    variances = [
        each.influence.var(axis=1, ddof=1) / n for each, n in zip((one, two), sizes, strict=True)
    ]
    covariance = np.zeros(2)
    if same_topics:
        covariance = (one.influence * two.influence).sum(axis=1) / (sizes[0] - 1) / sizes[0]

    def quantile(weight: float, k: int) -> float:
        """Return that of t for the second estimate minus a multiple of the first (Welch and Satterthwaite)."""
        parts = [weight**2 * variances[0][k], variances[1][k]]
        total = sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True))
        freedom = (
            sizes[0] - 1.0 if same_topics else sum(parts) ** 2 / total if total > 0 else math.inf
        )
        return float(stdtrit(freedom, (1 + confidence) / 2)) if math.isfinite(freedom) else 0.0

    ratio = two.difference / one.difference if one.difference else math.nan
    low, high = math.nan, math.nan
    if math.isfinite(ratio):
        low, high = fieller(
            (one.difference, two.difference),
            (variances[0][0], variances[1][0], covariance[0]),
            quantile(ratio, 0),
        )
    change = one.improvement - two.improvement
    half = (
        quantile(1.0, 1)
        * math.sqrt(max(variances[0][1] + variances[1][1] - 2 * covariance[1], 0.0))
        if math.isfinite(change)
        else math.nan
    )
    return {
        "topics_a": sizes[0],
        "topics_b": sizes[1],
        "difference_a": one.difference,
        "difference_b": two.difference,
        "effect_ratio": ratio,
        "effect_ratio_low": low,
        "effect_ratio_high": high,
        "improvement_a": one.improvement,
        "improvement_b": two.improvement,
        "delta_ri": change,
        "delta_ri_low": change - half,
        "delta_ri_high": change + half,
    }


def fieller(
    estimates: tuple[float, float], variances: tuple[float, float, float], t: float
) -> tuple[float, float]:
    """Return the limits of the second estimate divided by the first; NaN if the set of ratios that are not rejected has no limits.

    estimates: First and second.
    variances: Of both, and their covariance.
    t: Quantile of the test of each ratio r: (second - r first)^2 <= t^2 (variance of that).
    """
    (x, y), (v, w, c) = estimates, variances
    square = x * x - t * t * v
    cross = x * y - t * t * c
    rest = cross * cross - square * (y * y - t * t * w)
    if square <= 0 or rest < 0:
        return math.nan, math.nan
    return (cross - math.sqrt(rest)) / square, (cross + math.sqrt(rest)) / square


def _shared(
    first: xr.Dataset,
    second: xr.Dataset,
    baseline: str,
    runs: Sequence[str] | None,
    same_topics: bool,
) -> list[xr.Dataset]:
    """Return what two collections share, checked."""
    first, second = cubes = [as_cube(first), as_cube(second)]
    for cube in cubes:
        check_baseline(cube, baseline)
    chosen: dict[str, list[str]] = {}
    for dim in (names.METRIC, names.GAIN, names.RUN, *([names.TOPIC] if same_topics else [])):
        known = labels_of(second, dim)
        chosen[dim] = [label for label in labels_of(first, dim) if label in known]
        if not chosen[dim]:
            raise BadPlan(
                f"the collections have no {dim} in common; replicability compares those of both"
            )
    if runs is not None:
        for run in runs:
            if run not in chosen[names.RUN]:
                raise BadName(
                    f"no run {run!r} in both collections; nearest: {nearest(run, chosen[names.RUN])}",
                    option="runs",
                )
        chosen[names.RUN] = [run for run in chosen[names.RUN] if run in runs or run == baseline]
    cubes = [cube.sel(chosen) for cube in cubes]
    for cube in cubes:
        check_runs(cube, "replicability")
    return cubes
