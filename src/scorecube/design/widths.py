"""Worst-case confidence interval width by number of topics (Sakai 2017)."""

from collections.abc import Sequence

import xarray as xr

from scorecube.collection import schema
from scorecube.design.inputs import (
    MIN_DIFF,
    NOTES,
    ROUTE,
    TOPICS,
    VARIABLES,
    VARIANCE,
    WIDTH,
    Numbers,
    labelled_numbers,
)
from scorecube.design.sizes import detectable_difference, expected_width
from scorecube.errors import BadPlan, option

ROUTES = ("ci", "anova-tool", "anova-exact")
TOPIC_RANGE = range(10, 201)


def wcw(
    variance: Numbers,
    topics: Numbers = TOPIC_RANGE,
    *,
    route: str | Sequence[str] = "ci",
    systems: Numbers = 10,
    alpha: Numbers = 0.05,
    beta: Numbers = 0.2,
) -> xr.Dataset:
    """Return the worst-case expected width of intervals for pairs of systems.

    Parameters
    ----------
    variance
        Within-system variance of each metric's scores, e.g. from `variances`: a number, a list or a labelled
        array.
    topics
        Numbers of topics.
    route
        ``ci``: the expected width itself. The other routes use ANOVA-based design, as Sakai 2017 does: the width is
        the difference that the topics detect, which is nearly the same for (alpha, beta, systems) = (.05,
        .20, 10), (.05, .10, 5), (.01, .20, 18) and (.01, .10, 10); ``anova-tool`` with Sakai's rule in steps
        of 0.001, ``anova-exact`` with exact power. Several routes add a dim.
    systems, beta
        Parameters of the ANOVA routes.
    alpha
        1 - confidence level.

    Returns
    -------
    widths
        Dataset: `width` over (route,) the dims of `variance`, and topics.

    Raises
    ------
    BadPlan
        A route is unknown, or a value is out of range.

    References
    ----------
    Sakai 2017, sections 3 and 4, Figure 3.

    Examples
    --------
    >>> wcw([0.0368, 0.0824], 50)["width"].round(4).values.tolist()
    [0.1534, 0.2296]
    >>> wcw(0.0368, [50, 100], route=["anova-tool", "anova-exact"])["width"].round(4).values.tolist()
    [[0.152, 0.108], [0.1531, 0.1078]]
    """
    routes = [route] if isinstance(route, str) else list(route)
    if not routes or len(set(routes)) < len(routes) or set(routes) - set(ROUTES):
        raise BadPlan(
            f"{option(ROUTE, route)}: choose one or more of {', '.join(ROUTES)}", option=ROUTE
        )
    widths, notes = [], []
    for name in routes:
        if name == "ci":
            found = expected_width(variance, topics, alpha=alpha)
            width = found[WIDTH]
        else:
            mode = "sakai" if name == "anova-tool" else "exact"
            found = detectable_difference(
                variance, topics, systems=systems, alpha=alpha, beta=beta, mode=mode
            )
            width = found[MIN_DIFF].rename(WIDTH)
        notes += [note for note in found.attrs[NOTES] if note not in notes]
        widths.append(width)
    if isinstance(route, str):
        result = widths[0].to_dataset().assign_coords({ROUTE: route})
    else:
        # The route ci has no systems and beta: give it the coordinates of the other routes.
        fullest = max(widths, key=lambda width: len(width.coords))
        aligned = [
            width.assign_coords(
                {key: fullest[key] for key in fullest.coords if key not in width.coords}
            )
            .broadcast_like(fullest)
            .transpose(*fullest.dims)
            for width in widths
        ]
        result = xr.concat(aligned, dim=ROUTE, coords="minimal", compat="override").to_dataset(
            name=WIDTH
        )
        result = result.assign_coords({ROUTE: schema.label_array(routes)})
    dims = [ROUTE] * (not isinstance(route, str)) + list(labelled_numbers(VARIANCE, variance).dims)
    dims += [str(dim) for dim in labelled_numbers(TOPICS, topics).dims]
    result = result.transpose(*dims, ...)
    return schema.annotate(result.assign_attrs(analysis="wcw", notes=notes), [VARIABLES[WIDTH]])
