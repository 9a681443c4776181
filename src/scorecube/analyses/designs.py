"""Topic set size design for the variances of scores, and the curves of Sakai 2017."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import width_of
from scorecube.analyses.jackknife import limits, of_scores
from scorecube.analyses.preparation import make_table
from scorecube.analyses.table import Table
from scorecube.collection.schema import Variable, annotate, read_variables
from scorecube.design import topic_set_size, wcw
from scorecube.design.parameters import QUANTITIES
from scorecube.design.power import exact_noncentrality, tool_noncentrality
from scorecube.design.sizes import AS_IN_PAPERS, WITHIN, default_variance_of
from scorecube.errors import BadInput, BadPlan
from scorecube.statistics.grid import EQUAL, EQUAL_SIZE
from scorecube.statistics.variance import components, within_system_variance

Missing = Literal["refuse", "drop"]
VarianceOf = Literal["paired", "within"]
VARIANCES = read_variables("""
    [metric gain]
    within_variance | estimate | 1 | variance of scores within systems (one-way)
    within_variance | limits:within_variance | 1 | limit of the variance within systems
    paired_variance | estimate | 1 | variance left after systems and topics (two-way residual)
    paired_variance | limits:paired_variance | 1 | limit of the two-way residual variance
""")
"""Of `variances`."""
TOPIC_LIMITS = read_variables("topics | limits:topics | topics | limit of the number of topics")
SIZES = (
    *(Variable(name, (), "f", of.units, of.meaning, of.role) for name, of in QUANTITIES.items()),
    *TOPIC_LIMITS,
)
"""Of designs."""
NO_VARIANCE = "no variance between runs: nothing to detect"
FEWEST = 25
"""Topics from which on variances have limits: with 10 or 15 they hold in as few as .87 or .89."""
OPTIONS = ("min_diff", "systems", "alpha", "beta")
FIVE_EIGHTY = ((0.01, 0.10), (0.01, 0.20), (0.05, 0.10), (0.05, 0.20))
CONDITIONS = {
    "a": (0.05, 0.20, 10),
    "b": (0.05, 0.10, 5),
    "c": (0.01, 0.20, 18),
    "d": (0.01, 0.10, 10),
}
"""(alpha, beta, systems) for which the noncentrality is about 4 z^2 (Sakai 2017, section 3)."""
EXTREME_VARIANCES = (0.0182, 0.0471, 0.1145)


def variances(cube: Any, missing: Missing = "refuse") -> xr.Dataset:
    """Estimate the variances of every metric and gain setting of a cube.

    Parameters
    ----------
    cube
        Scores, e.g. from `evaluate`.
    missing
        ``refuse`` missing scores, or ``drop`` their topics.

    Returns
    -------
    variances
        Dataset over metric and gain. `within_variance` (one-way, within systems) is the parameter
        of Sakai's spreadsheets; `paired_variance` (two-way residual, of systems on the same topics)
        is smaller. Both have ``_low`` and ``_high``, 95 % jackknife limits over topics, from 25
        topics on.

    References
    ----------
    Sakai and Shang 2016, equation 1.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> result = variances(simulate_cube(n_runs=5, seed=1))
    >>> result["within_variance"].dims, result["within_variance"].round(4).values.tolist()
    (('metric', 'gain'), [[0.0579], [0.0608]])
    """
    table = make_table(cube, missing=missing, bags=False)
    n_units = table.sizes.size  # of topics in groups, the groups
    values: dict[str, Any] = {}
    least = np.array([_rounding(table, cell) for cell in range(len(table.scores))])
    for name, estimate in (
        ("within_variance", within_system_variance),
        ("paired_variance", lambda scores: components(scores)[-1]),
    ):
        values[name], *left_out = of_scores(table, estimate)
        values[name][values[name] <= least**2] = 0.0  # of equal scores, what is left is rounding
        ends = limits(values[name], np.array(left_out if n_units >= FEWEST else []), "log")
        values |= zip((f"{name}_low", f"{name}_high"), ends, strict=True)
    of_cube = getattr(cube, "attrs", {})
    kept = {key: of_cube[key] for key in ("collection", names.LEFT_OUT) if key in of_cube}
    attrs = kept | {"trials": 0, "n_topics": n_units, "notes": list(table.notes)}
    return table.dataset(VARIANCES, values, attrs=attrs)


def _rounding(table: Table, cell: int) -> float:
    """Return the difference up to which scores of a cell are equal."""
    width = width_of(table, cell)
    return EQUAL_SIZE * float(np.abs(table.scores[cell]).max()) if width is None else EQUAL * width


def design_of_cube(
    cube: Any, missing: Missing = "refuse", variance_of: VarianceOf | None = None, **settings: Any
) -> xr.Dataset:
    """Return `topic_set_size` by one of the variances of scores, with jackknife limits."""
    estimated, parts = variances(cube, missing), []
    chosen = variance_of or default_variance_of(True, settings.get("mode", "exact"))
    for end in ("", "_low", "_high"):
        variance = estimated[f"{chosen}_variance{end}"].reset_coords(drop=True)
        is_known = variance > 0
        sizes = topic_set_size(variance.where(is_known, 1.0), variance_of=chosen, **settings)
        if not is_known.all():
            variance = variance.assign_attrs(sizes["variance"].attrs)
            sizes = sizes.where(is_known).assign_coords(variance=variance)
        parts.append(sizes)
    low, high = (part["topics"].drop_vars("variance").variable for part in parts[1:])
    result = annotate(parts[0].assign(topics_low=low, topics_high=high), TOPIC_LIMITS)
    said = [AS_IN_PAPERS] if chosen == WITHIN else []
    still = (estimated[f"{chosen}_variance"] == 0).all(names.GAIN).values
    said += [f"{metric}: {NO_VARIANCE}" for metric in estimated[names.METRIC].values[still]]
    notes = list(dict.fromkeys([*said, *estimated.attrs["notes"], *result.attrs["notes"]]))
    return result.assign_attrs(estimated.attrs | {"notes": notes})


def page_design(cube: xr.Dataset, name: str, **settings: Any) -> xr.Dataset | None:
    """Return the design of a collection, of metrics that vary; None without any.

    settings: Of `design_of_cube`, where a page is asked for others than the defaults.
    """
    topic_set_size(1.0, **settings)  # wrong options are refused, collections without a design not
    try:
        result = design_of_cube(cube, "drop", **settings)
    except (BadPlan, BadInput):  # no complete topics, scores out of range, or too many topics
        return None
    varied = (result["variance"] > 0).all("gain").values
    chosen = result.isel(metric=varied).assign_attrs(collection=name)
    return with_options(chosen) if varied.any() else None


def with_options(result: xr.Dataset) -> xr.Dataset:
    """Return a design for one difference with its options as those of a stored result."""
    options = {key: float(result[key]) for key in OPTIONS}
    options |= {key: result.attrs[key] for key in ("method", "mode", "variance_of")}
    return result.assign_attrs(plan=json.dumps({"options": options}))


def widths_of_cube(cube: xr.Dataset, missing: Missing = "drop", **settings: Any) -> xr.Dataset:
    """Return the worst-case widths for the variances within systems of a cube."""
    estimated = variances(cube, missing)
    if estimated.attrs["n_topics"] < 2:
        raise BadPlan("no variance of one topic: 2 are needed")
    return wcw(estimated["within_variance"], **settings).assign_attrs(estimated.attrs)


def noncentralities(systems: Sequence[int]) -> xr.Dataset:
    """Return noncentralities by number of systems, and 4 z^2 (Sakai 2017, Figure 1)."""
    m = np.array(list(systems), float)
    alpha, beta = np.array(FIVE_EIGHTY).T[:, :, np.newaxis]
    alphas, betas, numbers = np.array(list(CONDITIONS.values())).T
    levels = np.array([0.01, 0.05])
    values = {
        "approximate": (("risks", "systems"), tool_noncentrality(m, alpha, beta)),
        "exact": (("risks", "systems"), exact_noncentrality(m, alpha, beta)),
        "four_z_squared": ("alpha", 4.0 * scipy.special.ndtri(levels / 2.0) ** 2),
        "at_condition": ("condition", tool_noncentrality(numbers, alphas, betas)),
    }
    return xr.Dataset(values, {"systems": m, "alpha": levels, "condition": list(CONDITIONS)})


def tools_compared(variances: Sequence[float], mode: str) -> xr.Dataset:
    """Return topics by interval width, and by difference to be detected (Sakai 2017, Figure 2)."""
    difference = np.round(np.arange(0.05, 0.501, 0.005), 3).tolist()
    intervals = topic_set_size(variances, width=difference, method="ci")["topics"].values
    anova, dims = topic_set_size(variances, difference, mode=mode), ("variance", "difference")
    values = {"interval_topics": (dims, intervals), "anova_topics": (dims, anova["topics"].values)}
    return xr.Dataset(values, {"variance": list(variances), "difference": difference})


def with_curves(result: xr.Dataset, along: str) -> xr.Dataset:
    """Return sizes with ``nearby_topics`` (..., point), for ``nearby`` values of a dim."""
    points = np.linspace(float(result[along].min()), 3.0 * float(result[along].max()), 120)
    settings: dict[str, Any] = {key: result[key] for key in OPTIONS[1:] if key in result.variables}
    settings |= {key: result.attrs[key] for key in ("method", "mode", "variance_of")}
    settings[along] = points
    sizes = topic_set_size(result["variance"].clip(1e-300), **settings)["topics"]
    topics = sizes.rename({along: "point"}).variable
    return result.assign(nearby=("point", points), nearby_topics=topics)
