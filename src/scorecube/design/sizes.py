"""Topic set size design: how many topics, and the inverse questions for a given number of topics."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube.design.inputs import (
    ALPHA,
    BETA,
    METHOD,
    MIN_DIFF,
    MODE,
    MOST_TOPICS,
    NOTES,
    POWER,
    SYSTEMS,
    TOPICS,
    VARIANCE,
    WIDTH,
    Numbers,
    check_errors,
    labelled,
    outcome,
    spread,
)
from scorecube.design.interval import expected_interval, interval_size
from scorecube.design.power import SLACK, Anova, PairedT, PowerModel, has_constants
from scorecube.design.search import BoolArray, FloatArray, IntArray, root, smallest
from scorecube.errors import BadPlan

METHODS = ("anova", "t", "ci")
MODES = ("exact", "sakai")
DEFAULT_DIFFERENCE = 0.1
MOST_PER_TOPIC = 1e15
"""Where the noncentrality of one topic is cut off: two topics are enough long before."""
GRID = 1000
"""In mode sakai, differences are sought in steps of 1 / GRID, as one types them into a spreadsheet."""


def topic_set_size(
    variance: Numbers,
    min_diff: Numbers | None = None,
    *,
    width: Numbers | None = None,
    systems: Numbers = 10,
    alpha: Numbers = 0.05,
    beta: Numbers = 0.2,
    method: str = "anova",
    mode: str = "exact",
    sided: int = 2,
) -> xr.Dataset:
    """Return how many topics a test collection needs.

    Every parameter is a number, a list or a labelled array. Numbers give a result without dims (``int(result["topics"])``), a
    list gives a dimension called as its parameter, and several are combined in all ways. ``sc.table(result)`` is the result
    as a data frame, ``sc.figure(result)`` as a picture.

    Parameters
    ----------
    variance
        Within-system variance of the scores, e.g. from `variances`. Differences are taken to have twice as much.
    min_diff
        Difference in mean score to be detected, between the best and the worst system (anova) or two systems (t);
        0.1 by default. Not for ``ci``.
    width
        Widest confidence interval for the difference of two systems, on average; 0.1 by default. Only for ``ci``.
    systems
        Number of systems m that will be compared; only for ``anova``.
    alpha
        Probability of a type I error; 1 - confidence for ``ci``.
    beta
        Probability of a type II error; not for ``ci``.
    method
        ``anova`` (one-way analysis of variance), ``t`` (paired t test) or ``ci`` (confidence intervals).
    mode
        ``exact``: the fewest topics whose exact power is at least 1 - beta. ``sakai``: what Sakai's spreadsheets give,
        usually one topic less, because a power that reads 1 - beta to two decimals is taken. Intervals are the same in both.
    sided
        2, or 1 for a one-sided t test.

    Returns
    -------
    sizes
        Dataset: `topics`, and the `power` with that many (exact or, in mode ``sakai``, approximated as the tool does);
        for ``ci`` instead `expected_width`. What was given is in the coordinates, remarks in the attribute notes.

    Warns
    -----
    UserWarning
        A variance of 0, for which 2 topics, the fewest possible, are returned.

    Raises
    ------
    BadPlan
        Numbers out of range, parameters that the method does not take, more than ten million topics.

    References
    ----------
    Sakai and Shang 2016 (S3), section 3 and Table 3; Sakai 2017 (S2), equations 1 and 2.

    Examples
    --------
    >>> int(topic_set_size(0.114, 0.15)["topics"]), int(topic_set_size(0.114, 0.15, mode="sakai")["topics"])
    (160, 159)
    >>> topic_set_size([0.0368, 0.0824], width=[0.1, 0.2], method="ci")["topics"].values.tolist()
    [[116, 31], [256, 66]]
    """
    facts = _facts(method, mode, sided)
    v = labelled(VARIANCE, variance)
    if (v.values == 0).any():
        facts[NOTES].append("a variance of 0 needs no topics at all; 2, the fewest possible, are returned")
        warnings.warn(facts[NOTES][-1], stacklevel=2)
    if method == "ci":
        _refuse(method, WIDTH, MIN_DIFF, min_diff)
        return _interval_sizes(v, labelled(WIDTH, DEFAULT_DIFFERENCE if width is None else width), alpha, facts)
    _refuse(method, MIN_DIFF, WIDTH, width)
    difference = labelled(MIN_DIFF, DEFAULT_DIFFERENCE if min_diff is None else min_diff)
    settings = _settings(systems, alpha, beta, facts)
    given = [v, difference, *settings.values()]
    wide = _by_name(given)
    model = _model(wide, facts)
    scores, gap = wide[VARIANCE].values, wide[MIN_DIFF].values
    g = _per_topic(scores, gap)
    topics = np.where(scores > 0, _model_sizes(model, g, tool=mode == "sakai"), 2)
    power = np.where(scores > 0, _power(model, topics.astype(np.float64), g, mode), 1.0)
    found = {TOPICS: wide[VARIANCE].copy(data=topics), POWER: wide[VARIANCE].copy(data=power)}
    return outcome("design", found, given, facts)


def _interval_sizes(v: xr.DataArray, width: xr.DataArray, alpha: Numbers, facts: dict[str, Any]) -> xr.Dataset:
    given = [v, width, labelled(ALPHA, alpha)]
    wide, allowed, risk = spread(given)
    positive = np.where(wide.values > 0, wide.values, 1.0)
    within = np.where(wide.values > 0, allowed.values, np.inf)
    topics = interval_size(positive, within, risk.values, MOST_TOPICS)
    expected = expected_interval(topics.astype(np.float64), wide.values, risk.values)
    found = {TOPICS: wide.copy(data=topics), "expected_width": wide.copy(data=expected)}
    result = outcome("design", found, given, facts)
    result["expected_width"].attrs.update(units="1", long_name="expected width of the interval with that many topics")
    return result


def detectable_difference(
    variance: Numbers,
    topics: Numbers,
    *,
    systems: Numbers = 10,
    alpha: Numbers = 0.05,
    beta: Numbers = 0.2,
    method: str = "anova",
    mode: str = "exact",
    sided: int = 2,
) -> xr.Dataset:
    """Return the smallest difference that so many topics detect with power 1 - beta.

    Parameters
    ----------
    topics
        Number of topics at hand.
    variance, systems, alpha, beta, method, mode, sided
        As of `topic_set_size`; method ``anova`` or ``t``. In mode ``sakai`` differences go in steps of 0.001.

    Returns
    -------
    differences
        Dataset: `min_diff`, and the `power` to detect it.

    Examples
    --------
    >>> detectable_difference(0.0368, 50)["min_diff"].round(4).item(), detectable_difference(0.0368, 50, mode="sakai")["min_diff"].item()
    (0.1531, 0.152)
    """
    facts = _facts(method, mode, sided)
    _refuse_intervals(method, "expected_width")
    v, n, settings = labelled(VARIANCE, variance), labelled(TOPICS, topics), _settings(systems, alpha, beta, facts)
    given = [v, n, *settings.values()]
    if mode == "sakai":
        wide = _by_name(given)
        model = _model(wide, facts)
        v_wide = wide[VARIANCE]
        steps = _tool_difference(model, v_wide.values, wide[TOPICS].values)
        difference = v_wide.copy(data=steps)
        g = _per_topic(v_wide.values, steps)
        reached = model.tool_power(wide[TOPICS].values, wide[TOPICS].values * g)
        power = v_wide.copy(data=np.where(v_wide.values > 0, reached, 1.0))
    else:
        # The noncentrality does not depend on the variance.
        wide = _by_name(given[1:])
        model = _model(wide, facts)
        noncentrality = root(lambda each: model.power(wide[TOPICS].values, each), model.target)
        per_topic = wide[TOPICS].copy(data=noncentrality / wide[TOPICS].values)
        difference = (2.0 * v * per_topic) ** 0.5
        reached = model.power(wide[TOPICS].values, noncentrality)
        power = xr.broadcast(v, wide[TOPICS].copy(data=reached))[1].where(v > 0, 1.0)
    return outcome("design", {MIN_DIFF: difference, POWER: power}, given, facts)


def achieved_power(
    variance: Numbers,
    min_diff: Numbers,
    topics: Numbers,
    *,
    systems: Numbers = 10,
    alpha: Numbers = 0.05,
    method: str = "anova",
    mode: str = "exact",
    sided: int = 2,
) -> xr.Dataset:
    """Return the power with which so many topics detect a difference.

    Parameters
    ----------
    min_diff, topics
        Difference to be detected, and number of topics at hand.
    variance, systems, alpha, method, mode, sided
        As of `topic_set_size`; method ``anova`` or ``t``.

    Returns
    -------
    powers
        Dataset: `power`.

    Examples
    --------
    >>> achieved_power(0.5, 0.5, 34, method="t")["power"].round(4).item()
    0.8078
    """
    facts = _facts(method, mode, sided)
    _refuse_intervals(method, "expected_width")
    settings = _settings(systems, alpha, 0.5, facts, with_beta=False)
    given = [labelled(VARIANCE, variance), labelled(MIN_DIFF, min_diff), labelled(TOPICS, topics), *settings.values()]
    wide = _by_name(given)
    scores = wide[VARIANCE].values
    g = _per_topic(scores, wide[MIN_DIFF].values)
    model = _model({**wide, BETA: xr.full_like(wide[VARIANCE], 0.5)}, facts)
    power = np.where(scores > 0, _power(model, wide[TOPICS].values, g, mode), 1.0)
    return outcome("design", {POWER: wide[VARIANCE].copy(data=power)}, given, facts)


def expected_width(variance: Numbers, topics: Numbers, *, alpha: Numbers = 0.05) -> xr.Dataset:
    """Return the expected width of the confidence interval for the difference of two systems.

    Parameters
    ----------
    variance, alpha
        As of `topic_set_size`.
    topics
        Number of topics at hand.

    Returns
    -------
    widths
        Dataset: `width`.

    References
    ----------
    S2, section 2.

    Examples
    --------
    >>> expected_width(0.1144, [50, 1000])["width"].round(4).values.tolist()
    [0.2705, 0.0594]
    """
    given = [labelled(VARIANCE, variance), labelled(TOPICS, topics), labelled(ALPHA, alpha)]
    scores, n, risk = spread(given)
    width = scores.copy(data=expected_interval(n.values, scores.values, risk.values))
    return outcome("design", {WIDTH: width}, given, _facts("ci", "exact", 2))


def _per_topic(variance: FloatArray, difference: FloatArray) -> FloatArray:
    """Return the noncentrality of one topic, D^2 / (2 variance); for a variance of 0, that of 1; callers replace those results."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(difference**2 / (2.0 * np.where(variance > 0, variance, 1.0)), MOST_PER_TOPIC))


def _by_name(parameters: Sequence[xr.DataArray]) -> dict[Any, xr.DataArray]:
    """Return parameters by name, each over all dims of all of them."""
    return dict(zip([each.name for each in parameters], spread(parameters), strict=True))


def _first_sizes(constant: FloatArray, extra: FloatArray, g: FloatArray) -> FloatArray:
    """Return the first estimate n0 of the number of topics, see `PowerModel.start`."""
    return np.asarray(np.maximum(np.ceil(constant / g + extra), 2.0), np.float64)


def _model_sizes(model: PowerModel, g: FloatArray, *, tool: bool) -> IntArray:
    constant, extra = model.start(tool=tool)
    with np.errstate(divide="ignore", over="ignore"):
        first = _first_sizes(constant, extra, g)
    if (first > MOST_TOPICS).any():
        raise BadPlan(
            f"the number of topics would be more than {MOST_TOPICS:,}: ask for a larger difference; its unit is that of the scores"
        )

    def enough(n: FloatArray) -> BoolArray:
        if tool:
            return model.tool_accepts(model.tool_power(n, n * g))
        return np.asarray(model.power(n, n * g) >= model.target - SLACK, bool)

    return smallest(enough, first if tool else np.full_like(first, 2.0), first, MOST_TOPICS, "the number of topics")


def _tool_difference(model: PowerModel, variance: FloatArray, n: FloatArray) -> FloatArray:
    """Return the smallest multiple of 0.001 for which the tool gives at most n topics."""
    constant, extra = model.start(tool=True)
    if (np.ceil(extra) > n).any():
        fewest = int(np.ceil(extra.max()))
        raise BadPlan(
            f"topics {n.min():g}: mode sakai never gives fewer than {fewest} here; give more, or use mode exact"
        )
    positive = np.where(variance > 0, variance, 1.0)

    def enough(steps: FloatArray) -> BoolArray:
        g = _per_topic(variance, steps / GRID)
        first = _first_sizes(constant, extra, g)
        return np.asarray((first <= n) & model.tool_accepts(model.tool_power(n, n * g)), bool)

    guess = np.ceil(GRID * np.sqrt(2.0 * positive * constant / np.maximum(n - extra, 0.5)))
    steps = smallest(enough, np.ones_like(guess), guess, 1e12, "the difference in steps of 0.001")
    return np.where(variance > 0, steps / GRID, 0.0)


def _power(model: PowerModel, n: FloatArray, g: FloatArray, mode: str) -> FloatArray:
    return model.tool_power(n, n * g) if mode == "sakai" else model.power(n, n * g)


def _facts(method: str, mode: str, sided: int) -> dict[str, Any]:
    for name, value, known in ((METHOD, method, METHODS), (MODE, mode, MODES), ("sided", sided, (2, 1))):
        if value not in known:
            raise BadPlan(f"{name} {value!r} is not known: choose {' or '.join(map(str, known))}")
    if sided == 1 and method != "t":
        raise BadPlan(f"sided 1 is for method t: {method} has no direction")
    return {METHOD: method, MODE: mode, "sided": sided, NOTES: []}


def _settings(
    systems: Numbers, alpha: Numbers, beta: Numbers, facts: dict[str, Any], with_beta: bool = True
) -> dict[str, xr.DataArray]:
    """Return the settings that the method takes."""
    found = {SYSTEMS: labelled(SYSTEMS, systems)} if facts[METHOD] == "anova" else {}
    found[ALPHA] = labelled(ALPHA, alpha)
    if with_beta:
        found[BETA] = labelled(BETA, beta)
        check_errors(found[ALPHA], found[BETA])
    anova_tool = facts[METHOD] == "anova" and facts[MODE] == "sakai"
    if anova_tool:
        facts[NOTES].append("power is approximated as in Sakai's tool, which accepts what reads 1 - beta to 2 decimals")
    if anova_tool and with_beta and not has_constants(*xr.broadcast(found[ALPHA], found[BETA])):
        facts[NOTES].append(
            "Nagata's constants exist for alpha 0.05 or 0.01 with beta 0.2 or 0.1 only; elsewhere the exact noncentrality is used"
        )
    return found


def _model(wide: dict[Any, xr.DataArray], facts: dict[str, Any]) -> PowerModel:
    alpha, beta = wide[ALPHA].values, wide[BETA].values
    if facts[METHOD] == "anova":
        return Anova(wide[SYSTEMS].values, alpha, beta)
    return PairedT(alpha, beta, facts["sided"])


def _refuse(method: str, takes: str, other: str, value: Numbers | None) -> None:
    if value is not None:
        raise BadPlan(f"method {method} takes {takes}, not {other}; give {takes}, or choose another method")


def _refuse_intervals(method: str, instead: str) -> None:
    if method == "ci":
        raise BadPlan(f"method ci has no difference to be detected; use {instead} for the width that topics give")
