"""Topic set size design, and worst-case widths of confidence intervals by number of topics."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy
import xarray as xr

from scorecube.errors import BadPlan, option
from scorecube.methods.design.parameters import Numbers, described, labelled_all
from scorecube.methods.design.power import (
    NAGATA,
    TOLERANCE,
    Anova,
    noncentrality_per_topic,
    smallest,
    unit_width,
)

METHODS = ("anova", "t", "ci")
MODES = ("exact", "sakai")
ROUTES = ("ci", "anova-tool", "anova-exact")
PAIRED = "paired"
WITHIN = "within"
VARIANCES_OF = (PAIRED, WITHIN)
"""Two-way residual variance, of systems on the same topics; one-way variance within systems."""
NO_VARIANCE = "a variance of 0 needs no topics at all; 2 are the smallest number possible"
AS_IN_PAPERS = (
    "variance within systems (one-way, equation 1), as in Sakai's papers; that of systems on the "
    "same topics is smaller and asks for fewer topics"
)
NO_CONSTANTS = "Nagata's constants are for alpha 0.05 or 0.01, beta 0.2 or 0.1; else it is exact"


def topic_set_size(
    variance: Numbers | xr.Dataset,
    min_diff: Numbers | None = None,
    *,
    width: Numbers | None = None,
    systems: Numbers = 10,
    alpha: Numbers = 0.05,
    beta: Numbers = 0.2,
    method: str = "anova",
    mode: str = "exact",
    variance_of: str | None = None,
) -> xr.Dataset:
    """Return the number of topics that a test collection needs.

    Every parameter is a number, a list, which adds a dim of its name, or a labelled array.

    Parameters
    ----------
    variance
        Variance of the scores; that of differences is twice as large. Or the dataset of
        `variances`, which has two.
    min_diff
        Difference in mean score to detect, between the best and the worst system (anova) or two
        systems (t); 0.1 by default.
    width
        Only for ``ci``: largest expected width of the interval of a difference; 0.1 by default.
    systems
        Only for ``anova``: number of systems to compare.
    alpha, beta
        Probabilities of errors of type I and II; ``ci`` has 1 - confidence level, and no beta.
    method
        ``anova`` (analysis of variance), ``t`` (paired t test) or ``ci`` (confidence intervals).
    mode
        ``exact``: the smallest number of topics with a power of at least 1 - beta. ``sakai``: that
        of Sakai's spreadsheet for ``anova``, which rounds the power to two decimals.
    variance_of
        Which variance it is: ``paired`` (two-way residual, of systems on the same topics) or
        ``within`` (one-way, within systems). By default ``within``, as in the papers; ``paired`` of
        the dataset of `variances`, unless `mode` is ``sakai``.

    Returns
    -------
    sizes
        Dataset: `topics`, and their `power`, or their `expected_width` for ``ci``. Coordinates
        hold the parameters, attributes ``variance_of`` and, with remarks, ``notes``.

    Raises
    ------
    BadPlan
        A parameter is out of range, or goes with another method.

    References
    ----------
    Sakai and Shang 2016, section 3 and Table 3; Sakai 2017, equations 1 and 2.

    Examples
    --------
    >>> [int(topic_set_size(0.114, 0.15, mode=mode)["topics"]) for mode in ("exact", "sakai")]
    [160, 159]
    >>> topic_set_size([0.0368, 0.0824], width=0.1, method="ci")["topics"].values.tolist()
    [116, 256]
    """
    _check_choice("method", method, METHODS)
    _check_choice("mode", mode, MODES)
    if variance_of is not None:
        _check_choice("variance_of", variance_of, VARIANCES_OF)
    chosen = variance_of or default_variance_of(isinstance(variance, xr.Dataset), mode)
    notes = list[str]()
    if isinstance(variance, xr.Dataset):
        notes += [AS_IN_PAPERS] if variance_of is None and chosen == WITHIN else []
        variance = variance.get(f"{chosen}_variance", ())
    wanted, other = ("width", "min_diff") if method == "ci" else ("min_diff", "width")
    given = {"min_diff": min_diff, "width": width}
    if given[other] is not None:
        raise BadPlan(
            f"{option('method', method)} takes {option(wanted)}, not {option(other)}", option=other
        )
    size = 0.1 if given[wanted] is None else given[wanted]
    values: dict[str, Any] = {"variance": variance, wanted: size}
    values |= {"systems": systems} if method == "anova" else {}
    values |= {"alpha": alpha} if method == "ci" else {"alpha": alpha, "beta": beta}
    parameters = labelled_all(values)
    tool = method == "anova" and mode == "sakai"
    notes += [] if parameters["variance"].all() else [NO_VARIANCE]
    notes += _notes_of_tool(parameters) if tool else []
    anova = partial(_sizes, paired=chosen == PAIRED, tool=tool)
    compute = interval_sizes if method == "ci" else anova
    topics, reached = xr.apply_ufunc(compute, *parameters.values(), output_core_dims=[[], []])
    second = "expected_width" if method == "ci" else "power"
    results = {"topics": topics.astype(np.int64), second: reached}
    attrs = {"analysis": "design", "method": method, "mode": mode, "variance_of": chosen}
    return described(results, parameters, attrs | {"notes": notes})


def default_variance_of(of_scores: bool, mode: str) -> str:
    """Return which variance a design takes unless it is named: the papers' one, within systems.

    Of scores it is that of systems on the same topics, unless the mode is that of the papers.
    """
    return PAIRED if of_scores and mode != "sakai" else WITHIN


def _sizes(
    variance: Any, difference: Any, *others: Any, paired: bool, tool: bool
) -> tuple[Any, Any]:
    """Return numbers of topics and their power; others are systems, alpha and beta.

    Without systems it is the paired t test: two systems on the same topics.
    """
    if len(others) == 2:
        others = (2, *others)
        paired = True
    variance, difference, systems, alpha, beta = np.broadcast_arrays(variance, difference, *others)
    design = Anova(systems, alpha, beta, paired, tool)
    topics = np.where(variance > 0, design.topics(variance, difference), 2.0)
    power = design.power(topics, topics * noncentrality_per_topic(variance, difference))
    return topics, np.where(variance > 0, power, 1.0)


def interval_sizes(variance: Any, width: Any, alpha: Any) -> tuple[Any, Any]:
    """Return numbers of topics whose intervals have at most an expected width, and their width."""
    variance, width, alpha = np.broadcast_arrays(variance, width, alpha)
    with np.errstate(divide="ignore", over="ignore"):
        allowed = width / np.sqrt(2.0 * variance)
        first = np.ceil((2.0 * scipy.special.ndtri(alpha / 2.0) / allowed) ** 2)

    def enough(n: Any) -> Any:
        return unit_width(n, alpha) <= allowed * (1.0 + TOLERANCE)

    topics = smallest(enough, np.full(variance.shape, 2.0), first)
    return topics, unit_width(topics, alpha) * np.sqrt(2.0 * variance)


def wcw(
    variance: Numbers | xr.Dataset,
    topics: Numbers = range(10, 201),
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
        Variance within systems of each metric, or the dataset of `variances`.
    topics
        Numbers of topics.
    route
        ``ci``: the expected width itself; else the difference that analysis of variance detects,
        ``anova-tool`` by Sakai's spreadsheet in steps of 0.001, ``anova-exact`` by exact power.
        Several routes add a dim.
    systems, alpha, beta
        As of `topic_set_size`; the route ``ci`` has no systems and no beta.

    Returns
    -------
    widths
        Dataset: `width` over (route,) the dims of `variance`, and topics.

    Raises
    ------
    BadPlan
        A parameter is out of range, or goes with another route.

    Examples
    --------
    >>> wcw([0.0368, 0.0824], 50)["width"].round(4).values.tolist()
    [0.1534, 0.2296]
    >>> wcw(0.0368, 50, route=["anova-tool", "anova-exact"])["width"].round(4).values.tolist()
    [0.152, 0.1531]
    """
    routes = [route] if isinstance(route, str) else list(route)
    if not routes or len(set(routes)) < len(routes):
        raise BadPlan(f"{option('route')}: expected one or more, each once", option="route")
    for name in routes:
        _check_choice("route", name, ROUTES)
    if isinstance(variance, xr.Dataset):
        variance = variance.get("within_variance", ())
    values = {"variance": variance, "topics": topics, "alpha": alpha}
    others = {"systems": systems, "beta": beta}
    parameters = labelled_all(values if routes == ["ci"] else values | others)
    widths = [xr.apply_ufunc(partial(_width, route=name), *parameters.values()) for name in routes]
    label = xr.DataArray(np.array(routes, object), dims="route", coords={"route": routes})
    width = widths[0] if isinstance(route, str) else xr.concat(widths, label)
    notes = _notes_of_tool(parameters) if "anova-tool" in routes else []
    result = described(
        {"width": width}, parameters, {"analysis": "wcw", "variance_of": WITHIN, "notes": notes}
    )
    return result.assign_coords({"route": route}) if isinstance(route, str) else result


def _width(
    variance: Any, n: Any, alpha: Any, systems: Any = 2, beta: Any = 0.2, *, route: str
) -> Any:
    """Return the widths of a route, of arrays that broadcast."""
    if route == "ci":
        return unit_width(n, alpha) * np.sqrt(2.0 * variance)
    if route == "anova-exact":  # of all variances by one noncentrality
        return Anova(systems, alpha, beta).difference(n, variance)
    variance, n, alpha, systems, beta = np.broadcast_arrays(variance, n, alpha, systems, beta)
    return Anova(systems, alpha, beta, tool=True).difference(n, variance)


def _notes_of_tool(parameters: dict[str, xr.DataArray]) -> list[str]:
    """Return a remark where Sakai's spreadsheet has no constants."""
    rates = xr.broadcast(parameters["alpha"], parameters["beta"])
    pairs = set(zip(*(rate.values.round(9).ravel().tolist() for rate in rates), strict=True))
    return [] if pairs <= NAGATA.keys() else [NO_CONSTANTS]


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise BadPlan(f"{option(name, value)}: choose one of {', '.join(choices)}", option=name)
