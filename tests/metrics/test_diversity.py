"""Diversity measures: equal to plain definitions, to ndeval where it agrees, and different from it where it does not."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube.errors import BadInput, BadName
from scorecube.metrics import DEFINITIONS, Metric, parse_metric, score_by_intent
from scorecube.testing import simulate_rankings
from tests.oracles import diversity
from tests.oracles.diversity import ORACLES, topic_of

BY_INTENT = [name for name in DEFINITIONS if DEFINITIONS[name].by_intent]
DOCUMENTS = [f"d{number}" for number in range(8)]
UNJUDGED = ["u0", "u1", "u2"]
INTENTS = ["1", "2", "3", "4"]
GAINS = [0.0, 1.0, 2.0, 5.0]
EVERY = pytest.mark.parametrize("name", BY_INTENT)
examples = settings(deadline=None, max_examples=60)


@dataclass(frozen=True)
class Case:
    """A ranked list, judgements by intent and probabilities."""

    listed: Sequence[str]
    judged: Mapping[str, Mapping[str, int]]
    probability: Mapping[str, float]

    def arrays(self) -> tuple[Any, Any, Any]:
        """Return documents, levels and probability as `score_by_intent` wants them, of one run and one topic."""
        ids = sorted(self.judged)
        levels = [[self.judged[d].get(intent, -1) for intent in INTENTS] for d in ids]
        documents = [ids.index(d) if d in ids else -1 for d in self.listed]
        return (
            np.array([[documents]], np.int32),
            np.array([levels], np.int8),
            np.array([[self.probability[intent] for intent in INTENTS]]),
        )

    def score(self, metric: Metric | str, gains: Sequence[float] = GAINS) -> float:
        """Score with the package."""
        chosen = parse_metric(metric) if isinstance(metric, str) else metric
        return float(score_by_intent(chosen, *self.arrays(), np.array([gains]))[0, 0, 0])

    def topic(self, metric: Metric, gains: Sequence[float] = GAINS) -> diversity.Topic:
        """Return the oracle's topic."""
        return topic_of(
            self.listed,
            self.judged,
            gains,
            metric.cutoff,
            metric.rel,
            self.probability,
            metric.judged_only,
        )

    def expected(self, metric: Metric | str, gains: Sequence[float] = GAINS) -> float:
        """Score with the oracle."""
        chosen = parse_metric(metric) if isinstance(metric, str) else metric
        return diversity.oracle(chosen.name, self.topic(chosen, gains), **dict(chosen.settings))


@st.composite
def cases(draw: st.DrawFn, *, uniform: bool = False, lowest: int = -1) -> Case:
    """Draw a list and judgements; a document is judged for some of the intents. Ties of gains are exact."""
    ids = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True))
    own = st.dictionaries(st.sampled_from(INTENTS), st.integers(lowest, 3), min_size=1)
    listed = draw(st.lists(st.sampled_from(DOCUMENTS + UNJUDGED), min_size=1, unique=True))
    ones = dict.fromkeys(INTENTS, 1.0)
    drawn = (
        ones
        if uniform
        else draw(
            st.sampled_from(
                [
                    ones,
                    {"1": 0.5, "2": 0.25, "3": 0.125, "4": 0.125},
                    {"1": 0.5, "2": 0.375, "3": 0, "4": 0.125},
                ]
            )
        )
    )
    return Case(listed, {d: draw(own) for d in ids}, drawn)


@st.composite
def metrics(draw: st.DrawFn, name: str) -> Metric:
    """Draw a metric of a family. Dyadic parameters keep ties of the greedy list ties."""
    definition = DEFINITIONS[name]
    cutoff = draw(st.integers(int(definition.cutoff == "required"), 12))
    number = st.none() | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    drawn = {key: draw(number) for key in definition.parameters}
    kept = tuple((key, value) for key, value in drawn.items() if value is not None)
    return Metric(name, draw(st.integers(1, 3)), cutoff, kept, draw(st.booleans()))


def usual(name: str, cutoff: int) -> Metric:
    """Return a metric with a cut-off if it needs one."""
    return Metric(name, cutoff=cutoff or (5 if DEFINITIONS[name].cutoff == "required" else 0))


def test_every_metric_has_an_oracle_with_its_parameters() -> None:
    assert set(ORACLES) == set(BY_INTENT)
    for name in BY_INTENT:
        assert list(inspect.signature(ORACLES[name]).parameters)[1:] == list(
            DEFINITIONS[name].parameters
        )


@EVERY
@examples
@given(data=st.data(), case=cases())
def test_equals_oracle(name: str, data: st.DataObject, case: Case) -> None:
    metric = data.draw(metrics(name))
    assert case.score(metric) == pytest.approx(
        case.expected(metric), rel=1e-9, abs=1e-12, nan_ok=True
    )


@EVERY
@examples
@given(case=cases(), cutoff=st.integers(0, 12))
def test_lies_between_zero_and_one(name: str, case: Case, cutoff: int) -> None:
    found = case.score(usual(name, cutoff))
    # Greedy lists gain at least 1 - 1/e of the best one at every rank (Nemhauser et al. 1978), so scores may exceed 1.
    slack = 1 / (math.e - 1) if name in ("alpha-nDCG", "nERR-IA") else 1e-12
    assert math.isnan(found) or 0.0 <= found <= 1.0 + slack


def test_broadcasts_over_gains_runs_and_topics() -> None:
    random = np.random.default_rng(3)
    documents = np.stack([[random.permutation(9)[:6] for _ in range(4)] for _ in range(5)]).astype(
        np.int32
    )
    levels = random.integers(-1, 4, (4, 9, 3)).astype(np.int8)
    levels[0] = 0
    gains, probability = np.array([GAINS, [0.0, 1.0, 1.0, 1.0]]), random.dirichlet([1, 1, 1], 4)
    for name in BY_INTENT:
        metric = Metric(name, 1, 5)
        scores = score_by_intent(metric, documents, levels, probability, gains)
        assert scores.shape == (2, 5, 4)
        assert np.isnan(scores[:, :, 0]).all()
        for gain, run, topic in np.ndindex(scores.shape):
            alone = score_by_intent(
                metric,
                documents[run : run + 1, [topic]],
                levels[[topic]],
                probability[[topic]],
                gains[[gain]],
            )
            np.testing.assert_array_equal(scores[gain, run, topic], alone.item())
        assert (np.ptp(scores[:, :, 1:], axis=0) > 0).any() == DEFINITIONS[name].uses_gains


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("alpha-nDCG(alpha=0.5)@20", "alpha-nDCG@20"),
        ("alpha-nDCG(alpha=0.25)@20", "alpha-nDCG(alpha=0.25)@20"),
        ("D#-nDCG(gamma=0.5)@10", "D#-nDCG@10"),
        ("D#-nDCG( gamma=0.7, rel=2 ) @10", "D#-nDCG(rel=2,gamma=0.7)@10"),
        ("geo:D#-nDCG", "geo:D#-nDCG"),
        ("I-rec(judged_only=True)@10", "I-rec(judged_only=True)@10"),
    ],
)
def test_names_parse_and_print_back(text: str, canonical: str) -> None:
    assert str(parse_metric(text)) == canonical
    assert parse_metric(canonical) == parse_metric(text)


def test_unknown_diversity_names_list_the_nearest() -> None:
    for text, wanted in [
        ("D#nDCG@10", "D#-nDCG"),
        ("alpha_nDCG@5", "alpha-nDCG"),
        ("ERRIA@5", "ERR-IA"),
        ("Irec", "I-rec"),
    ]:
        with pytest.raises(BadName, match=f"nearest known ones are: .*{wanted}"):
            parse_metric(text)
    for text in ("alpha-nDCG(alpha=1.5)", "D#-nDCG(gamma=-0.1)"):
        with pytest.raises(BadName, match="is not a number above 0 below 1 or 0 or 1"):
            parse_metric(text)


def test_plain_levels_and_plain_rankings_are_refused() -> None:
    with pytest.raises(BadName, match="metric I-rec@5 scores levels by intent"):
        parse_metric("I-rec@5").score(
            np.array([1], np.int8), np.array([1, 1]), np.array([0.0, 1.0])
        )
    with pytest.raises(TypeError, match="AP needs no intents"):
        Case(["d1"], {"d1": {"1": 1}}, dict.fromkeys(INTENTS, 1.0)).score("AP")
    with pytest.raises(
        BadInput,
        match=r"metric D#-nDCG@10 needs documents judged by intent.*dialect='trec-intents'",
    ):
        sc.evaluate(simulate_rankings(n_runs=2), ["AP", "D#-nDCG@10"])


def test_simulated_intents_leave_levels_as_they_are() -> None:
    plain, by_intent = (
        simulate_rankings(n_runs=3, seed=2),
        simulate_rankings(n_runs=3, seed=2, n_intents=4),
    )
    assert by_intent[list(plain.data_vars)].drop_vars("intent", errors="ignore").equals(plain)
    documents, levels = by_intent["document_at_rank"].values, by_intent["intent_level"].values
    for run, topic in itertools.product(range(3), (0, 20)):
        best = levels[topic].max(axis=1)[documents[run, topic]]
        np.testing.assert_array_equal(best, plain["level_at_rank"].values[run, topic])


def test_worked_example_by_hand() -> None:
    judged = {"d0": {"1": 1, "2": 1}, "d1": {"1": 1}, "d2": {"3": 1}, "d3": {"1": 0}}
    case = Case(["d1", "d3", "d0"], judged, dict.fromkeys(INTENTS, 1.0))
    # Gains 1, 0, 1/2 + 1 = 3/2; ideal: d0 (2), then d2 (1), then d1 (1/2).
    dcg = 1 + 1.5 / 2
    ideal = 2 + 1 / math.log2(3) + 0.5 / 2
    assert case.score("alpha-nDCG@3") == pytest.approx(dcg / ideal, rel=1e-14)
    assert case.score("nERR-IA@3") == pytest.approx(
        (1 + 1.5 / 3) / (2 + 1 / 2 + 0.5 / 3), rel=1e-14
    )
    assert case.score("alpha-DCG@3") == pytest.approx(
        dcg / (3 * (1 + 0.5 / math.log2(3) + 0.25 / 2)), rel=1e-14
    )
    assert case.score("P-IA@3") == pytest.approx((2 + 1) / 9, rel=1e-14)
    assert case.score("AP-IA") == pytest.approx(((1 + 2 / 3) / 2 + 1 / 3) / 3, rel=1e-14)
    assert case.score("I-rec@3") == pytest.approx(2 / 3)
    d_ndcg = (1 + 2 / 2) / (2 + 1 / math.log2(3) + 1 / 2)
    assert case.score("D-nDCG@3") == pytest.approx(d_ndcg, rel=1e-14)
    assert case.score("D#-nDCG(gamma=0.25)@3") == pytest.approx(
        0.25 * 2 / 3 + 0.75 * d_ndcg, rel=1e-14
    )


def test_gains_of_repeated_intents_halve() -> None:
    """A gain vector of the kind in Clarke et al. 2008, section 3.1: repeated nuggets bring half as much each time."""
    nuggets = {"a": "13", "b": "1", "c": "1", "d": "", "e": "24"}
    judged = {d: {i: int(i in own) for i in "1234"} for d, own in nuggets.items()}
    topic = topic_of(list("abcde"), judged, GAINS, probability=dict.fromkeys("1234", 1.0))
    assert [4 * gain for gain in diversity.novelty(topic, 0.5)] == [2.0, 0.5, 0.25, 0.0, 2.0]


@examples
@given(case=cases(uniform=True), cutoff=st.integers(1, 10))
def test_err_ia_of_the_paper_is_a_constant_factor_away(case: Case, cutoff: int) -> None:
    metric = parse_metric(f"ERR-IA@{cutoff}")
    found = case.score(metric)
    assume(not math.isnan(found))
    factor = 0.5 * sum(0.5**k / (k + 1) for k in range(cutoff))
    assert found * factor == pytest.approx(
        diversity.err_ia_of_chapelle(case.topic(metric)), rel=1e-9, abs=1e-12
    )


@examples
@given(case=cases())
def test_one_intent_makes_ordinary_measures(case: Case) -> None:
    judged = {d: {"1": max(own.values())} for d, own in case.judged.items()}
    one = replace(case, judged=judged)
    levels = np.array([max(judged.get(d, {"1": -1})["1"], -1) for d in case.listed], np.int8)
    counts = np.bincount([own["1"] for own in judged.values() if own["1"] >= 0], minlength=4)
    for name, plain in [
        ("D-nDCG@5", "nDCG@5"),
        ("AP-IA", "AP"),
        ("AP-IA@4", "AP@4"),
        ("P-IA@5", "P@5"),
        ("I-rec@3", "Hit@3"),
    ]:
        expected = parse_metric(plain).score(levels, counts, np.array(GAINS))
        assert one.score(name) == pytest.approx(float(expected), rel=1e-12, nan_ok=True), name
    without = parse_metric("nDCG@5").score(levels, counts, np.array([0.0, 1.0, 1.0, 1.0]))
    assert one.score("alpha-nDCG(alpha=0)@5") == pytest.approx(
        float(without), rel=1e-12, nan_ok=True
    )


@examples
@given(case=cases(), factor=st.sampled_from([0.5, 4.0]))
def test_only_proportions_of_probabilities_matter(case: Case, factor: float) -> None:
    other = replace(
        case, probability={intent: factor * p for intent, p in case.probability.items()}
    )
    for name in BY_INTENT:
        metric = usual(name, 4)
        assert other.score(metric) == pytest.approx(case.score(metric), rel=1e-12, nan_ok=True)


@EVERY
def test_gain_zero_for_all_is_a_score(name: str) -> None:
    case = Case(["d1", "d0"], {"d0": {"1": 1}, "d1": {"2": 0}}, dict.fromkeys(INTENTS, 1.0))
    assert math.isfinite(case.score(usual(name, 0), [0.0, 0.0, 0.0, 0.0]))


# ndeval, through pyndeval.
SHARED = {
    "alpha-nDCG": "alpha-nDCG", "nERR-IA": "nERR-IA", "alpha-DCG": "alpha-DCG", "ERR-IA": "ERR-IA",
    "P-IA": "P-IA", "I-rec": "strec", "AP-IA": "MAP-IA",
}  # fmt: skip


def ndeval(
    case: Case, measures: Sequence[str], alpha: float = 0.5, rel: int = 1
) -> dict[str, float]:
    """Score with ndeval; intents in numeric order, as the program itself numbers them, and no tied scores."""
    pyndeval = pytest.importorskip("pyndeval")
    rows = sorted(
        (intent, d, level) for d, own in case.judged.items() for intent, level in own.items()
    )
    # The first row of each intent in turn, so that pyndeval numbers the intents 0, 1, 2.
    qrels = [("q", intent, d, level) for intent, d, level in rows]
    evaluator = pyndeval.RelevanceEvaluator(qrels, measures, relevance_level=rel, alpha=alpha)
    run = [("q", d, float(len(case.listed) - k)) for k, d in enumerate(case.listed)]
    found = evaluator.evaluate(run)["q"]
    return {measure: float(found[measure]) for measure in measures}


@pytest.mark.parametrize("name", SHARED)
@settings(deadline=None, max_examples=200)
@given(
    case=cases(uniform=True, lowest=0), cutoff=st.integers(2, 20), rel=st.integers(1, 3),
    alpha=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.9]),
)  # fmt: skip
def test_equals_ndeval(name: str, case: Case, cutoff: int, rel: int, alpha: float) -> None:
    chosen = (("alpha", alpha),) if DEFINITIONS[name].parameters else ()
    metric = Metric(name, rel, 0 if name == "AP-IA" else cutoff, chosen)
    theirs = SHARED[name] if name == "AP-IA" else f"{SHARED[name]}@{cutoff}"
    found = case.score(metric)
    assume(not math.isnan(found))
    assert found == pytest.approx(ndeval(case, [theirs], alpha, rel)[theirs], rel=1e-9, abs=1e-12)


@examples
@given(case=cases(uniform=True, lowest=0))
def test_ndeval_does_not_normalise_at_rank_1(case: Case) -> None:
    """Its loops over ranks begin at the second: alpha-DCG@1 and ERR-IA@1 are sums over intents, here means."""
    found = {
        name: case.score(f"{name}@1")
        for name in ("alpha-DCG", "ERR-IA", "alpha-nDCG", "nERR-IA", "P-IA", "I-rec")
    }
    assume(not math.isnan(found["P-IA"]))
    n_intents = len(case.topic(parse_metric("P-IA@1")).intents)
    theirs = ndeval(case, [f"{SHARED[name]}@1" for name in found])
    for name, value in found.items():
        times = n_intents if name in ("alpha-DCG", "ERR-IA") else 1
        assert theirs[f"{SHARED[name]}@1"] == pytest.approx(times * value, rel=1e-9, abs=1e-12), (
            name
        )


def test_ndeval_scores_a_topic_without_relevant_documents_zero() -> None:
    case = Case(["d1", "d2"], {"d1": {"1": 0}}, dict.fromkeys(INTENTS, 1.0))
    assert ndeval(case, ["alpha-nDCG@5", "strec@5"]) == {"alpha-nDCG@5": 0.0, "strec@5": 0.0}
    assert math.isnan(case.score("alpha-nDCG@5"))


def test_ndeval_takes_intents_without_relevant_documents_for_none() -> None:
    case = Case(["d1"], {"d1": {"1": 1, "2": 0, "3": 0}}, dict.fromkeys(INTENTS, 1.0))
    assert ndeval(case, ["strec@5", "P-IA@5"]) == {"strec@5": 1.0, "P-IA@5": 0.2}
    assert (case.score("I-rec@5"), case.score("P-IA@5")) == (1.0, 0.2)


def test_ties_of_the_greedy_list_go_to_the_last_document() -> None:
    """All three bring 2 at rank 1; the one with intents 2 and 3 leaves less for the others than either of them."""
    scores = []
    for last in ("23", "12"):
        rest = [own for own in ("12", "34", "23") if own != last]
        judged = {f"d{k}": dict.fromkeys(own, 1) for k, own in enumerate([*rest, last])}
        case = Case(["d2"], judged, dict.fromkeys(INTENTS, 1.0))
        assert diversity.greedy(case.topic(parse_metric("alpha-nDCG@2")), 0.5)[0] == "d2"
        scores.append(case.score("alpha-nDCG@2"))
        assert scores[-1] == pytest.approx(
            ndeval(case, ["alpha-nDCG@2"])["alpha-nDCG@2"], rel=1e-12
        )
    assert scores == pytest.approx(
        [2 / (2 + 1.5 / math.log2(3)), 2 / (2 + 2 / math.log2(3))], rel=1e-12
    )


def test_a_negative_level_is_refused_by_ndeval_and_not_judged_here() -> None:
    """The program ndeval stops at a level below 0 and takes levels above 1 for 1; here ``rel=`` says what is relevant."""
    case = Case(["d1", "d0"], {"d0": {"1": 2}, "d1": {"1": -1}}, dict.fromkeys(INTENTS, 1.0))
    assert case.score("I-rec@1") == 0.0
    assert case.score("I-rec(judged_only=True)@1") == 1.0
    assert case.score("I-rec(rel=2)@2") == 1.0
    assert math.isnan(case.score("I-rec(rel=3)@2"))
