"""Variances of scores: within systems (one-way), and the two-way residual."""

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.arguments import as_cube
from scorecube.collection.gaps import which_lack_most
from scorecube.collection.topic_groups import by_group
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, option

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
VARIANCE = "variance"
RESIDUAL = "residual_variance"
VARIABLES = (
    *schema.variables(
        *(schema.CELL, "estimate"),
        variance="within-system variance of scores over topics (one-way ANOVA)",
        residual_variance="variance left after runs and topics (two-way ANOVA); not for topic set size design",
    ),
    *schema.variables(
        schema.CELL, "count", "runs", "i", n_runs="runs with a score on at least one topic"
    ),
    *schema.variables(
        schema.CELL, "count", "topics", "i", n_topics="topics with a score of at least one run"
    ),
)


def variances(cube: xr.Dataset) -> xr.Dataset:
    """Estimate the variances of every metric and gain setting of a cube.

    Parameters
    ----------
    cube
        Scores (metric, gain, run, topic), NaN for missing. The scores of single topics are used, whatever the
        summary of a metric.

    Returns
    -------
    variances
        Dataset over metric and gain: `variance` is the parameter of topic set size design;
        `residual_variance`, without the variance between topics, is smaller and is *not* the parameter of
        Sakai's tools; `n_runs`, `n_topics`.

    References
    ----------
    Sakai and Shang 2016, equation 1.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> result = variances(simulate_cube(n_runs=5, seed=1))
    >>> result["variance"].dims, result["variance"].round(4).values.tolist()
    (('metric', 'gain'), [[0.0579], [0.0608]])
    """
    cube = as_cube(cube)
    schema.check(cube, schema.CUBE, "the cube")
    cube = by_group(cube)
    scores = np.asarray(cube[names.SCORE].values, np.float64)
    present = ~np.isnan(scores)
    values = {
        VARIANCE: within_system_variance(scores),
        RESIDUAL: residual_variance(scores),
        "n_runs": present.any(axis=-1).sum(axis=-1),
        "n_topics": present.any(axis=-2).sum(axis=-1),
    }
    coords = {dim: cube[dim] for dim in schema.CELL}
    result = xr.Dataset(
        {item.name: (item.dims, values[item.name]) for item in VARIABLES}, coords=coords
    )
    attrs = {
        key: cube.attrs[key] for key in ("collection", *names.ABOUT_TOPICS) if key in cube.attrs
    }
    if not present.all():
        lacks, runs = ~present.all(axis=(0, 1)), schema.labels_of(cube, names.RUN)
        attrs[names.LEFT_OUT] = (
            f"{int((~present).sum()):,} of {present.size:,} scores are missing, most of {which_lack_most(lacks, runs)}: variances are of those there are."
        )
    return schema.annotate(result.reset_coords(drop=True).assign_attrs(attrs), VARIABLES)


def design_variances(cube: xr.Dataset) -> xr.DataArray:
    """Return the within-system variances of a cube, for topic set size design.

    Parameters
    ----------
    cube
        Scores, e.g. from `evaluate`.

    Returns
    -------
    variances
        (metric, gain), in squared score units.

    Raises
    ------
    BadPlan
        A metric has a summary other than the mean, or no run with scores on two topics.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> design_variances(simulate_cube(n_runs=5, seed=1)).dims
    ('metric', 'gain')
    """
    refuse_other_summaries(cube, "topic set size design")
    variance = variances(cube)[VARIANCE]
    missing = [
        str(metric)
        for metric in variance[names.METRIC].values[np.isnan(variance.values).any(axis=-1)]
    ]
    if missing:
        raise BadPlan(
            f"no variance of {', '.join(missing)}: no run has scores on two topics; use more topics, or leave it out of "
            f"{option('metrics')}"
        )
    return variance


def within_system_variance(scores: FloatArray) -> FloatArray:
    """Return the one-way within-system variance V_E of scores (..., run, topic).

    It is the sum of squared deviations from run means over the sum of (topics of the run - 1), without
    missing scores runs x (topics - 1). NaN if no run has two topics.

    Parameters
    ----------
    scores
        float64 (..., run, topic), NaN for missing.

    Returns
    -------
    variance
        float64 (...).

    References
    ----------
    Sakai and Shang 2016, equation 1; runs with missing scores are pooled.

    Examples
    --------
    >>> float(within_system_variance(np.array([[0.0, 1.0, np.nan], [0.2, 0.2, 0.2]])))
    0.16666666666666666
    """
    # In this order numpy adds the scores of a run, and the sums of runs, one after the other.
    cells = np.ascontiguousarray(np.asarray(scores, np.float64).swapaxes(-1, -2))
    known = ~np.isnan(cells)
    counts = known.sum(axis=-2)
    rest = np.where(known, cells, 0.0)
    # A second pass corrects the rounding of the mean, so that equal scores have variance 0 exactly.
    for _ in range(2):
        means = rest.sum(axis=-2) / np.maximum(counts, 1)
        rest = np.where(known, rest - means[..., np.newaxis, :], 0.0)
    squares = (rest * rest).sum(axis=-2).cumsum(axis=-1)[..., -1]
    return _ratio(squares, np.maximum(counts - 1, 0).sum(axis=-1))


def residual_variance(scores: FloatArray) -> FloatArray:
    """Return the two-way residual variance V_E2 of scores (..., run, topic).

    Without missing scores it is the sum of (x - run mean - topic mean + mean)^2 over (runs - 1)(topics - 1);
    with missing scores the additive model is fitted by least squares. NaN without residual degrees of
    freedom.
    """
    present = ~np.isnan(scores)
    n_runs, n_topics = scores.shape[-2:]
    run_means = scores.mean(axis=-1, keepdims=True)
    residuals = scores - run_means - (scores - run_means).mean(axis=-2, keepdims=True)
    variance = _ratio(
        (residuals**2).sum(axis=(-2, -1)), np.full(scores.shape[:-2], (n_runs - 1) * (n_topics - 1))
    )
    for cell in np.ndindex(*scores.shape[:-2]):
        if not present[cell].all():
            variance[cell] = _unbalanced_residual(scores[cell], present[cell])
    return variance


def _unbalanced_residual(scores: FloatArray, present: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    """Return the residual variance of a table with missing scores."""
    if not present.any():
        return float("nan")
    weight = present.astype(np.float64)
    centred = np.where(present, scores - scores[present].mean(), 0.0)
    normal = np.block(
        [[np.diag(weight.sum(axis=1)), weight], [weight.T, np.diag(weight.sum(axis=0))]]
    )
    effects, _, rank, _ = np.linalg.lstsq(
        normal, np.concatenate([centred.sum(axis=1), centred.sum(axis=0)])
    )
    fitted = effects[: len(scores), np.newaxis] + effects[len(scores) :]
    squares = float((np.where(present, centred - fitted, 0.0) ** 2).sum())
    free = int(present.sum()) - int(rank)
    return squares / free if free > 0 else float("nan")


def _ratio(squares: Any, free: Any) -> FloatArray:
    """Return sums of squares over degrees of freedom; NaN for 0 degrees of freedom."""
    degrees = np.asarray(free, np.float64)
    return np.asarray(
        np.divide(squares, degrees, out=np.full(degrees.shape, np.nan), where=degrees > 0)
    )
