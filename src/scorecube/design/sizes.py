"""Topic set size design, and difference, power or width for a number of topics."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube.design.inputs import (
    ALPHA,
    BETA,
    MAX_TOPICS,
    METHOD,
    MIN_DIFF,
    MODE,
    NOTES,
    POWER,
    SYSTEMS,
    TOPICS,
    VARIANCE,
    WIDTH,
    Numbers,
    broadcast_numbers,
    check_error_rates,
    design_result,
    labelled_numbers,
)
from scorecube.design.interval import expected_interval_width, interval_size
from scorecube.design.power import Anova, PairedT, PowerModel, has_constants
from scorecube.design.search import BoolArray, FloatArray, IntArray, root, smallest_integer
from scorecube.errors import BadPlan, option

METHODS = ("anova", "t", "ci")
MODES = ("exact", "sakai")
DEFAULT_SIZE = 0.1
"""Default of `min_diff` and of `width`."""
MAX_PER_TOPIC = 1e15
"""Largest noncentrality of one topic; two topics suffice for much smaller values."""
GRID = 1000
"""In mode sakai, differences are multiples of 1 / GRID, as entered in a spreadsheet."""


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
    paired: bool = False,
) -> xr.Dataset:
    """Return the number of topics that a test collection needs.

    Every parameter is a number, a list or a labelled array. Numbers give a result without dims
    (``int(result["topics"])``), a list adds a dim with the name of its parameter, and arrays are broadcast.
    ``sc.table(result)`` returns the result as a data frame, ``sc.figure(result)`` as a figure.

    Parameters
    ----------
    variance
        Within-system variance of the scores, e.g. from `variances`; the variance of differences is twice as
        large.
    min_diff
        Difference in mean score to be detected, between the best and the worst system (anova) or two systems
        (t); 0.1 by default. Not for ``ci``.
    width
        Largest expected width of the confidence interval for the difference of two systems; 0.1 by default.
        Only for ``ci``.
    systems
        Number of systems m to be compared; only for ``anova``.
    alpha
        Probability of a type I error; 1 - confidence level for ``ci``.
    beta
        Probability of a type II error; not for ``ci``.
    method
        ``anova`` (one-way analysis of variance), ``t`` (paired t test) or ``ci`` (confidence intervals).
    mode
        ``exact``: the smallest number of topics with an exact power of at least 1 - beta. ``sakai``: the
        number in Sakai's spreadsheets, usually one topic less, as they round the power to two decimals.
        ``ci`` is the same in both modes.
    paired
        Whether `variance` is the two-way residual variance, of comparisons on the same topics: ``anova`` then has
        n - 1 error degrees of freedom less.

    Returns
    -------
    sizes
        Dataset: `topics`, and their `power` (exact, or in mode ``sakai`` approximated as by the tool) or, for
        ``ci``, their `expected_width`. The coordinates hold the parameters, the attribute ``notes`` holds
        remarks.

    Warns
    -----
    UserWarning
        A variance of 0, for which 2 topics, the fewest possible, are returned.

    Raises
    ------
    BadPlan
        A number is out of range, a parameter is not one of the method, or more than ten million topics are
        needed.

    References
    ----------
    Sakai and Shang 2016, section 3 and Table 3; Sakai 2017, equations 1 and 2.

    Examples
    --------
    >>> int(topic_set_size(0.114, 0.15)["topics"]), int(topic_set_size(0.114, 0.15, mode="sakai")["topics"])
    (160, 159)
    >>> topic_set_size([0.0368, 0.0824], width=[0.1, 0.2], method="ci")["topics"].values.tolist()
    [[116, 31], [256, 66]]
    """
    attrs = _method_attrs(method, mode)
    variances = labelled_numbers(VARIANCE, variance)
    if (variances.values == 0).any():
        attrs[NOTES].append(
            "a variance of 0 needs no topics at all; the result is 2, the smallest number possible"
        )
        warnings.warn(attrs[NOTES][-1], stacklevel=2)
    if method == "ci":
        _refuse_argument(method, WIDTH, MIN_DIFF, min_diff)
        widths = labelled_numbers(WIDTH, DEFAULT_SIZE if width is None else width)
        return _interval_sizes(variances, widths, alpha, attrs)
    _refuse_argument(method, MIN_DIFF, WIDTH, width)
    difference = labelled_numbers(MIN_DIFF, DEFAULT_SIZE if min_diff is None else min_diff)
    parameters = [variances, difference, *_settings(systems, alpha, beta, attrs).values()]
    arrays = _by_name(parameters)
    model = _model(arrays, attrs, paired)
    v = arrays[VARIANCE].values
    g = _per_topic(v, arrays[MIN_DIFF].values)
    topics = np.where(v > 0, _model_sizes(model, g, tool=mode == "sakai"), 2)
    power = np.where(v > 0, _power(model, topics.astype(np.float64), g, mode), 1.0)
    values = {TOPICS: arrays[VARIANCE].copy(data=topics), POWER: arrays[VARIANCE].copy(data=power)}
    return design_result("design", values, parameters, attrs)


def _interval_sizes(
    variances: xr.DataArray, widths: xr.DataArray, alpha: Numbers, attrs: dict[str, Any]
) -> xr.Dataset:
    parameters = [variances, widths, labelled_numbers(ALPHA, alpha)]
    v, width, alphas = broadcast_numbers(parameters)
    positive = np.where(v.values > 0, v.values, 1.0)
    allowed = np.where(v.values > 0, width.values, np.inf)
    topics = interval_size(positive, allowed, alphas.values, MAX_TOPICS)
    expected = expected_interval_width(topics.astype(np.float64), v.values, alphas.values)
    values = {TOPICS: v.copy(data=topics), "expected_width": v.copy(data=expected)}
    result = design_result("design", values, parameters, attrs)
    result["expected_width"].attrs.update(
        units="1", long_name="expected width of the interval with that many topics"
    )
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
) -> xr.Dataset:
    """Return the smallest difference that topics detect with power 1 - beta.

    Parameters
    ----------
    topics
        Number of topics.
    variance, systems, alpha, beta, method, mode
        See `topic_set_size`; method ``anova`` or ``t``. In mode ``sakai`` differences are multiples of 0.001.

    Returns
    -------
    differences
        Dataset: `min_diff`, and the `power` to detect it.

    Raises
    ------
    BadPlan
        With method ``ci``.

    Examples
    --------
    >>> [detectable_difference(0.0368, 50, mode=mode)["min_diff"].round(4).item() for mode in ("exact", "sakai")]
    [0.1531, 0.152]
    """
    attrs = _method_attrs(method, mode)
    if method == "ci":
        raise BadPlan(f"{option(METHOD, 'ci')} has no difference to be detected", option=METHOD)
    variances, n = labelled_numbers(VARIANCE, variance), labelled_numbers(TOPICS, topics)
    parameters = [variances, n, *_settings(systems, alpha, beta, attrs).values()]
    if mode == "sakai":
        arrays = _by_name(parameters)
        model = _model(arrays, attrs)
        v, n_topics = arrays[VARIANCE].values, arrays[TOPICS].values
        steps = _tool_difference(model, v, n_topics)
        difference = arrays[VARIANCE].copy(data=steps)
        reached = model.tool_power(n_topics, n_topics * _per_topic(v, steps))
        power = difference.copy(data=np.where(v > 0, reached, 1.0))
    else:
        # The noncentrality does not depend on the variance.
        arrays = _by_name(parameters[1:])
        model = _model(arrays, attrs)
        n_topics = arrays[TOPICS].values
        noncentrality = root(lambda candidate: model.power(n_topics, candidate), model.target)
        difference = (2.0 * variances * arrays[TOPICS].copy(data=noncentrality / n_topics)) ** 0.5
        reached = model.power(n_topics, noncentrality)
        power = xr.broadcast(variances, arrays[TOPICS].copy(data=reached))[1].where(
            variances > 0, 1.0
        )
    return design_result("design", {MIN_DIFF: difference, POWER: power}, parameters, attrs)


def expected_width(variance: Numbers, topics: Numbers, *, alpha: Numbers = 0.05) -> xr.Dataset:
    """Return the expected width of the interval for the difference of two systems.

    Parameters
    ----------
    variance, alpha
        See `topic_set_size`.
    topics
        Number of topics.

    Returns
    -------
    widths
        Dataset: `width`.

    References
    ----------
    Sakai 2017, section 2.

    Examples
    --------
    >>> expected_width(0.1144, [50, 1000])["width"].round(4).values.tolist()
    [0.2705, 0.0594]
    """
    parameters = [
        labelled_numbers(name, value)
        for name, value in ((VARIANCE, variance), (TOPICS, topics), (ALPHA, alpha))
    ]
    v, n, alphas = broadcast_numbers(parameters)
    width = v.copy(data=expected_interval_width(n.values, v.values, alphas.values))
    return design_result("design", {WIDTH: width}, parameters, _method_attrs("ci", "exact"))


def _per_topic(variance: FloatArray, difference: FloatArray) -> FloatArray:
    """Return the noncentrality of a topic, D^2 / (2 variance); finite at variance 0."""
    with np.errstate(over="ignore"):
        return np.asarray(
            np.minimum(difference**2 / (2.0 * np.where(variance > 0, variance, 1.0)), MAX_PER_TOPIC)
        )


def _by_name(parameters: Sequence[xr.DataArray]) -> dict[Any, xr.DataArray]:
    """Return parameters by name, broadcast against each other."""
    return dict(
        zip([array.name for array in parameters], broadcast_numbers(parameters), strict=True)
    )


def _first_estimate(constant: FloatArray, extra: FloatArray, g: FloatArray) -> FloatArray:
    """Return the first estimate n0 of the number of topics, see `PowerModel.start`."""
    return np.asarray(np.maximum(np.ceil(constant / g + extra), 2.0), np.float64)


def _model_sizes(model: PowerModel, g: FloatArray, *, tool: bool) -> IntArray:
    constant, extra = model.start(tool=tool)
    with np.errstate(divide="ignore", over="ignore"):
        first = _first_estimate(constant, extra, g)
    if (first > MAX_TOPICS).any():
        raise BadPlan(
            f"the number of topics would be more than {MAX_TOPICS:,}: use a larger {option(MIN_DIFF)}, in units of the scores",
            option=MIN_DIFF,
        )

    def enough(n: FloatArray) -> BoolArray:
        if tool:
            return model.tool_accepts(model.tool_power(n, n * g))
        return model.accepts(model.power(n, n * g))

    return smallest_integer(
        enough,
        first if tool else np.full_like(first, 2.0),
        first,
        MAX_TOPICS,
        "the number of topics",
    )


def _tool_difference(model: PowerModel, variance: FloatArray, n: FloatArray) -> FloatArray:
    """Return the smallest multiple of 0.001 that the tool detects with n topics."""
    constant, extra = model.start(tool=True)
    if (np.ceil(extra) > n).any():
        fewest = int(np.ceil(extra.max()))
        raise BadPlan(
            f"{option(TOPICS, int(n.min()))}: Sakai's tool needs at least {fewest} topics for this alpha; use more topics, or "
            f"{option(MODE, 'exact')}",
            option=TOPICS,
        )
    positive = np.where(variance > 0, variance, 1.0)

    def enough(steps: FloatArray) -> BoolArray:
        g = _per_topic(variance, steps / GRID)
        first = _first_estimate(constant, extra, g)
        return np.asarray((first <= n) & model.tool_accepts(model.tool_power(n, n * g)), bool)

    guess = np.ceil(GRID * np.sqrt(2.0 * positive * constant / np.maximum(n - extra, 0.5)))
    steps = smallest_integer(
        enough, np.ones_like(guess), guess, 1e12, "the difference in steps of 0.001"
    )
    return np.where(variance > 0, steps / GRID, 0.0)


def _power(model: PowerModel, n: FloatArray, g: FloatArray, mode: str) -> FloatArray:
    return model.tool_power(n, n * g) if mode == "sakai" else model.power(n, n * g)


def _method_attrs(method: str, mode: str) -> dict[str, Any]:
    for name, value, choices in ((METHOD, method, METHODS), (MODE, mode, MODES)):
        if value not in choices:
            raise BadPlan(f"{option(name, value)}: choose {' or '.join(choices)}", option=name)
    return {METHOD: method, MODE: mode, NOTES: []}


def _settings(
    systems: Numbers, alpha: Numbers, beta: Numbers, attrs: dict[str, Any]
) -> dict[str, xr.DataArray]:
    """Return the other parameters of the method; append notes to `attrs`."""
    settings = {SYSTEMS: labelled_numbers(SYSTEMS, systems)} if attrs[METHOD] == "anova" else {}
    settings[ALPHA] = labelled_numbers(ALPHA, alpha)
    settings[BETA] = labelled_numbers(BETA, beta)
    check_error_rates(settings[ALPHA], settings[BETA])
    anova_tool = attrs[METHOD] == "anova" and attrs[MODE] == "sakai"
    if anova_tool:
        attrs[NOTES].append(
            "power is approximated as in Sakai's tool, which rounds it to 2 decimals"
        )
    if anova_tool and not has_constants(*xr.broadcast(settings[ALPHA], settings[BETA])):
        attrs[NOTES].append(
            "Nagata's constants exist for alpha 0.05 or 0.01 with beta 0.2 or 0.1 only; for others the noncentrality is exact"
        )
    return settings


def _model(
    arrays: dict[Any, xr.DataArray], attrs: dict[str, Any], paired: bool = False
) -> PowerModel:
    alpha, beta = arrays[ALPHA].values, arrays[BETA].values
    if attrs[METHOD] == "anova":
        return Anova(alpha, beta, arrays[SYSTEMS].values, paired)
    return PairedT(alpha, beta)


def _refuse_argument(method: str, required: str, other: str, value: Numbers | None) -> None:
    if value is not None:
        raise BadPlan(
            f"{option(METHOD, method)} takes {option(required)}, not {option(other)}; use {option(required)}, or another method",
            option=other,
        )
