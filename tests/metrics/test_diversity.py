"""Metrics of topics with several intents: plain definitions, a worked example, what the paper says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube.errors import BadInput, BadName, BadPlan
from scorecube.metrics import DEFINITIONS, IntentLists, Metric, parse_metric, score_by_intent
from scorecube.testing import simulate_rankings
from tests.oracles.diversity import Topic, made_up_intents, oracle

BY_INTENT = [name for name, one in DEFINITIONS.items() if one.by_intent]
DOCUMENTS = [f"d{number}" for number in range(8)]
INTENTS = ["1", "2", "3", "4"]
EQUAL = dict.fromkeys(INTENTS, 1.0)
GAINS = [0.0, 1.0, 2.0, 5.0]
EVERY = pytest.mark.parametrize("name", BY_INTENT)
examples = settings(deadline=None, max_examples=50)


@dataclass(frozen=True)
class Case:
    """A ranked list, judgements by document and intent, and probabilities."""

    listed: Sequence[str]
    judged: Mapping[str, Mapping[str, int]]
    probability: Mapping[str, float]

    def score(self, metric: Metric | str) -> float:
        """Score with the package."""
        chosen = parse_metric(metric) if isinstance(metric, str) else metric
        ids = sorted(self.judged)
        levels = [[self.judged[d].get(intent, -1) for intent in INTENTS] for d in ids]
        lists = IntentLists(
            np.array([[[ids.index(d) if d in ids else -1 for d in self.listed]]], np.int32),
            np.array([levels], np.int8),
            np.array([[self.probability[intent] for intent in INTENTS]]),
        )
        return float(score_by_intent(chosen, lists, np.array([GAINS]))[0, 0, 0])

    def expected(self, metric: Metric) -> float:
        """Score with the oracle."""
        known = {d for d, own in self.judged.items() if max(own.values()) >= 0}
        kept = [d for d in self.listed if d in known or not metric.judged_only]
        topic = Topic(kept, self.judged, self.probability, GAINS, metric.rel)
        return oracle(metric.name, topic, metric.cutoff, **dict(metric.settings))  # type: ignore[arg-type]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a list, and judgements of each document for some of the intents."""
    ids = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True))
    own = st.dictionaries(st.sampled_from(INTENTS), st.integers(-1, 3), min_size=1)
    listed = draw(st.lists(st.sampled_from([*DOCUMENTS, "u0", "u1"]), min_size=1, unique=True))
    uneven = {"1": 0.5, "2": 0.375, "3": 0.0, "4": 0.125}
    return Case(listed, {d: draw(own) for d in ids}, draw(st.sampled_from([EQUAL, uneven])))


@EVERY
@examples
@given(data=st.data(), case=cases())
def test_equals_oracle_and_lies_between_zero_and_one(
    name: str, data: st.DataObject, case: Case
) -> None:
    gamma = data.draw(st.sampled_from([None, 0.0, 0.3, 1.0])) if name == "D#-nDCG" else None
    rel, cutoff = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 12))
    chosen = () if gamma is None else (("gamma", gamma),)
    metric = Metric(name, rel, cutoff, chosen, data.draw(st.booleans()))
    found = case.score(metric)
    assert found == pytest.approx(case.expected(metric), rel=1e-12, abs=1e-15, nan_ok=True)
    assert math.isnan(found) or -1e-12 <= found <= 1 + 1e-12


def test_a_list_of_two_intents_by_hand() -> None:
    """Intents of probability .75 and .25; levels of d0 for them 1 and 3, of d1 2 and none, of d2 none and 1."""
    judged = {"d0": {"1": 1, "2": 3}, "d1": {"1": 2, "2": 0}, "d2": {"1": 0, "2": 1}}
    probability = {"1": 0.75, "2": 0.25, "3": 0.0, "4": 0.0}
    case = Case(["u0", "d2", "d1"], judged, probability)
    gained = {"d0": 0.75 * 1 + 0.25 * 5, "d1": 0.75 * 2, "d2": 0.25 * 1}
    found = gained["d2"] / math.log2(3) + gained["d1"] / 2
    best = gained["d0"] + gained["d1"] / math.log2(3) + gained["d2"] / 2
    assert case.score("I-rec@2") == 0.5
    assert case.score("I-rec@3") == 1.0
    assert case.score("D-nDCG@3") == pytest.approx(found / best, rel=1e-14)
    assert case.score("D#-nDCG@3") == pytest.approx(0.5 + 0.5 * found / best, rel=1e-14)
    assert case.score("D#-nDCG(gamma=0.25)@3") == pytest.approx(0.25 + 0.75 * found / best)
    assert case.score("D-nDCG(judged_only=True)@1") == pytest.approx(gained["d2"] / gained["d0"])


@examples
@given(case=cases())
def test_one_intent_makes_ordinary_measures(case: Case) -> None:
    judged = {d: {"1": max(own.values())} for d, own in case.judged.items()}
    levels = np.array([judged.get(d, {"1": -1})["1"] for d in case.listed], np.int8)
    counts = np.bincount([own["1"] for own in judged.values() if own["1"] >= 0], minlength=4)
    for name, plain in (("D-nDCG@5", "nDCG@5"), ("I-rec@3", "Hit@3")):
        expected = float(parse_metric(plain).score(levels, counts, np.array(GAINS)))
        found = replace(case, judged=judged).score(name)
        assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


@EVERY
@examples
@given(case=cases())
def test_only_proportions_of_probabilities_matter(name: str, case: Case) -> None:
    other = replace(case, probability={i: 7 * p for i, p in case.probability.items()})
    metric = Metric(name, cutoff=4)
    assert other.score(metric) == pytest.approx(case.score(metric), rel=1e-12, nan_ok=True)


def test_a_cube_has_the_scores_of_each_list() -> None:
    rankings = made_up_intents(simulate_rankings(n_runs=2, seed=2)).isel(topic=slice(12))
    rankings["intent_level"][4] = 0  # a topic without intents that count
    metrics = [f"{name}@10" for name in BY_INTENT]
    cube = sc.evaluate(rankings, [*metrics, "AP"], ["3:2:1", "5:2:1"])
    levels = rankings["intent_level"].values
    probability = rankings["intent_probability"].values
    for k, gains in enumerate(([0.0, 1, 2, 3], [0.0, 1, 2, 5])):
        for run, topic in np.ndindex(2, 12):
            judged: Any = {str(d): dict(enumerate(own)) for d, own in enumerate(levels[topic])}
            at_ranks = rankings["document_at_rank"].values[run, topic]
            shares: Any = dict(enumerate(probability[topic]))
            case = Topic([str(d) for d in at_ranks], judged, shares, gains)
            expected = [oracle(name, case, 10) for name in BY_INTENT]
            found = cube["score"].sel(metric=metrics)[:, k, run, topic]
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isnan(cube["score"].sel(metric=metrics)[..., 4]).all()


def test_what_has_no_intents_is_refused() -> None:
    rankings = simulate_rankings(n_runs=4)
    with pytest.raises(BadInput, match="D#-nDCG@10") as caught:
        sc.evaluate(rankings, ["AP", "D#-nDCG@10"])
    assert caught.value.option == "metrics"
    with pytest.raises(BadName, match="I-rec@5"):
        parse_metric("I-rec@5").score(np.zeros((1, 1), np.int8), np.array([1, 1]), np.array(GAINS))
    cube = sc.evaluate(made_up_intents(rankings), ["AP", "I-rec@5"])
    with pytest.raises((BadName, BadPlan), match="I-rec@5"):
        sc.analyse(sc.with_rankings(cube, rankings), sc.Teams(leave=(1,)), trials=2)
    assert sc.analyse(cube, sc.Bootstrap(), trials=20).sizes["metric"] == 2
