"""Every registered metric equals its plain definition, on any list and under any parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.metrics import DEFINITIONS, Definition, Metric, Parameter
from tests.oracles.metrics import ORACLES, oracle

PLAIN = [name for name, one in DEFINITIONS.items() if not one.by_intent]
N_LEVELS = 3
GAINS = st.floats(0.0, 30.0).map(lambda gain: round(gain, 2))


@dataclass(frozen=True)
class Case:
    """A ranked list, the judgements of its topic and the gain of each level."""

    levels: list[int]
    judged: list[int]
    gains: list[float]

    def score(self, metric: Metric) -> float:
        """Score with the package."""
        levels, judged = np.array(self.levels, np.int8), np.array(self.judged, np.int64)
        return float(metric.score(levels, judged, np.array(self.gains)))


@st.composite
def cases(draw: st.DrawFn, min_relevant: int = 0, max_size: int = 15) -> Case:
    """Draw a list of levels -1 .. 3 and at least as many judged documents of each level as it holds."""
    levels = draw(st.lists(st.integers(-1, N_LEVELS), min_size=1, max_size=max_size))
    missed = draw(st.lists(st.integers(0, 4), min_size=N_LEVELS + 1, max_size=N_LEVELS + 1))
    judged = [levels.count(level) + missed[level] for level in range(N_LEVELS + 1)]
    if sum(judged[1:]) < min_relevant:
        judged[draw(st.integers(1, N_LEVELS))] += min_relevant
    return Case(levels, judged, [0.0, *draw(st.lists(GAINS, min_size=N_LEVELS, max_size=N_LEVELS))])


def values(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Draw any value that a declared parameter may have, None for leaving it out."""
    if parameter.words:
        return st.none() | st.sampled_from(list(parameter.words))
    highest = min(parameter.below, parameter.above + 20)
    numbers = st.floats(parameter.above, highest, exclude_min=True, exclude_max=True)
    if parameter.also:
        numbers |= st.sampled_from(parameter.also)
    if isinstance(parameter.default, tuple):  # one for each level, rising as the level falls
        return st.none() | st.lists(numbers, min_size=N_LEVELS, max_size=N_LEVELS, unique=True).map(
            lambda drawn: tuple(sorted(drawn))
        )
    return st.none() | numbers


@st.composite
def metrics(draw: st.DrawFn, definition: Definition) -> Metric:
    """Draw a metric of a family: rel, cut-off and parameters."""
    cutoff = (
        0
        if definition.cutoff == "none"
        else draw(st.integers(int(definition.cutoff == "required"), 20))
    )
    drawn = {key: draw(values(parameter)) for key, parameter in definition.parameters.items()}
    if "max" in drawn and drawn["form"] == "exp2":  # no gain is above
        drawn["max"] = draw(st.floats(30.0, 60.0))
    elif "form" in drawn:
        drawn.pop("max", None)
    kept = tuple((key, value) for key, value in drawn.items() if value is not None)
    return Metric(definition.name, draw(st.integers(1, N_LEVELS + 1)), cutoff, kept)


def test_every_metric_has_an_oracle() -> None:
    assert set(ORACLES) == set(PLAIN)


@pytest.mark.parametrize("name", PLAIN)
@settings(deadline=None, max_examples=100)
@given(data=st.data(), case=cases())
def test_equals_oracle(name: str, data: st.DataObject, case: Case) -> None:
    metric = data.draw(metrics(DEFINITIONS[name]))
    if name == "AWP":  # not defined where a lower level gains more
        case = replace(case, gains=sorted(case.gains))
    expected = oracle(
        name,
        case.levels,
        case.judged,
        case.gains,
        metric.cutoff,
        metric.rel,
        **dict(metric.settings),
    )
    assert case.score(metric) == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", PLAIN)
def test_equals_oracle_on_long_lists(name: str) -> None:
    random = np.random.default_rng(5)
    shares = [0.1, 0.5, 0.2, 0.15, 0.05]
    for cutoff in (0, 1, 10, 100, 1000):
        if DEFINITIONS[name].cutoff == ("required" if cutoff == 0 else "none"):
            continue
        levels = random.choice(np.arange(-1, N_LEVELS + 1), size=300, p=shares).tolist()
        judged = [levels.count(level) + 20 for level in range(N_LEVELS + 1)]
        case = Case(levels, judged, [0.0, 0.5, 2.5, 10.0])
        expected = oracle(name, levels, judged, case.gains, cutoff)
        assert case.score(Metric(name, cutoff=cutoff)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("rel", [1, 2])
def test_broadcasts_over_gains_runs_and_topics(name: str, rel: int) -> None:
    random = np.random.default_rng(7)
    n_gains, n_runs, n_topics, depth = 2, 3, 9, 9
    levels = random.integers(-1, N_LEVELS + 1, (n_runs, n_topics, depth)).astype(np.int8)
    judged = random.integers(depth, 2 * depth, (n_topics, N_LEVELS + 1))
    judged[0, 1:], levels[:, 0] = 0, 0  # a topic without a relevant document
    gains = np.array([[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 5.0, 10.0]])
    metric = Metric(name, rel, 5 if DEFINITIONS[name].cutoff == "required" else 0)

    scores = metric.score(levels[np.newaxis], judged, gains[:, np.newaxis, np.newaxis])

    assert scores.shape == (n_gains, n_runs, n_topics)
    assert scores.dtype == np.float64
    for gain, run, topic in np.ndindex(scores.shape):
        alone = metric.score(levels[run, topic], judged[topic], gains[gain])
        np.testing.assert_array_equal(scores[gain, run, topic], alone)
    assert np.isnan(scores[:, :, 0]).all()
    assert not np.isnan(scores[:, :, 1:]).any()
    assert (np.ptp(scores[:, :, 1:], axis=0) > 0).any() == DEFINITIONS[name].uses_gains
