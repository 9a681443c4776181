"""What the papers prove of the metrics, on any list."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.metrics import DEFINITIONS, Metric, parse_metric
from tests.metrics.test_against_oracles import PLAIN, Case, cases

BINARY_GAINS = [0.0, 1.0, 1.0, 1.0]
SLACK = 1e-12
NOT_BOUNDED_BY_ONE = {
    "WRR",
    "nG",
}  # nG@k above 1: a better document than the ideal list has at that rank
NOT_MONOTONE = {"nG"}  # sees one rank only
NOT_ONE_FOR_THE_IDEAL_LIST = {"P", "Recall", "WRR", "nG", "ERR", "RBP"}
JUDGED_ONLY = {name for name in PLAIN if DEFINITIONS[name].non_relevant}
EVERY_METRIC = pytest.mark.parametrize("name", PLAIN)
examples = settings(deadline=None, max_examples=40)
relevant_topics = cases(min_relevant=1)


def value(name: str, case: Case) -> float:
    """Score a case with a metric by name."""
    return case.score(parse_metric(name))


def rising(case: Case) -> Case:
    """Give higher levels more gain, at least a little."""
    return replace(case, gains=[0.0, *sorted(gain + 0.01 for gain in case.gains[1:])])


def ideal_levels(case: Case) -> list[int]:
    """Levels of all relevant documents, highest first."""
    return [level for level in (3, 2, 1) for _ in range(case.judged[level])]


def usual(name: str, cutoff: int) -> Metric:
    """Return a metric with a cut-off if it takes one."""
    return Metric(
        name,
        cutoff={"none": 0, "optional": cutoff, "required": cutoff or 5}[DEFINITIONS[name].cutoff],
    )


@EVERY_METRIC
@examples
@given(case=relevant_topics, cutoff=st.integers(0, 12), rel=st.integers(1, 3))
def test_lies_between_zero_and_one(name: str, case: Case, cutoff: int, rel: int) -> None:
    metric = replace(usual(name, cutoff), rel=rel)
    forms = (
        [metric, replace(metric, settings=(("form", "exp2"), ("max", 100.0)))]
        if name in {"ERR", "nERR"}
        else [metric]
    )
    for form in forms:
        found = rising(case).score(form)
        if sum(case.judged[rel:]) == 0:
            assert math.isnan(found)
            continue
        assert found >= -SLACK
        assert name in NOT_BOUNDED_BY_ONE or found <= 1 + SLACK


@examples
@given(case=relevant_topics)
def test_wrr_is_bounded_by_the_penalty_of_the_best_level(case: Case) -> None:
    best = ideal_levels(case)[0]
    bound = 1 / (1 - 1 / (2 + 3 - best))
    assert value("WRR", case) <= bound + SLACK
    assert value("NWRR", case) == pytest.approx(value("WRR", case) / bound, rel=1e-12)


@pytest.mark.parametrize("name", sorted(set(PLAIN) - NOT_ONE_FOR_THE_IDEAL_LIST))
@examples
@given(case=relevant_topics, cutoff=st.integers(0, 12))
def test_is_one_for_the_ideal_list(name: str, case: Case, cutoff: int) -> None:
    ideal = replace(rising(case), levels=ideal_levels(case))
    assert ideal.score(usual(name, cutoff)) == pytest.approx(1.0, rel=1e-12)


@examples
@given(case=relevant_topics)
def test_o_is_rr_iff_the_first_relevant_document_lies_within_rank_r(case: Case) -> None:
    binary = replace(case, gains=BINARY_GAINS)
    first = next((rank for rank, level in enumerate(case.levels, start=1) if level > 0), 0)
    o, rr = value("O", binary), value("RR", binary)
    if first <= sum(case.judged[1:]):
        assert o == pytest.approx(rr, rel=1e-12)
    else:
        assert o > rr * (1 + 1e-9)


@examples
@given(case=relevant_topics)
def test_q_is_ap_if_nothing_relevant_lies_below_rank_r(case: Case) -> None:
    n_relevant = sum(case.judged[1:])
    early = replace(case, levels=case.levels[:n_relevant], gains=BINARY_GAINS)
    assert value("Q", early) == pytest.approx(value("AP", early), rel=1e-12)


@examples
@given(case=relevant_topics)
def test_q_exceeds_ap_if_a_relevant_document_lies_below_rank_r(case: Case) -> None:
    n_relevant = sum(case.judged[1:])
    late = [0] * (n_relevant + 1)
    late[-1] = ideal_levels(case)[0]
    binary = replace(case, levels=late, gains=BINARY_GAINS)
    assert value("Q", binary) > value("AP", binary) * (1 + 1e-9)


@examples
@given(case=relevant_topics)
def test_p_p_plus_and_o_agree_if_the_preferred_rank_is_the_first(case: Case) -> None:
    first = next((level for level in case.levels if level > 0), 0)
    flat = replace(case, levels=[min(level, first) for level in case.levels])
    flat = replace(
        flat, judged=[max(n, flat.levels.count(level)) for level, n in enumerate(case.judged)]
    )
    assert value("P-measure", flat) == value("O", flat)
    assert value("P+", flat) == pytest.approx(value("O", flat), rel=1e-12)


@examples
@given(case=relevant_topics, others=st.lists(st.integers(0, 5), min_size=3, max_size=3))
def test_rr_wrr_and_nwrr_ignore_how_many_relevant_documents_there_are(
    case: Case, others: list[int]
) -> None:
    best = ideal_levels(case)[0]
    more = [
        n + (other if level <= best else 0)
        for level, (n, other) in enumerate(zip(case.judged, [0, *others], strict=True))
    ]
    for name in ("RR", "WRR", "NWRR"):
        assert value(name, replace(case, judged=more)) == value(name, case)


@examples
@given(case=relevant_topics)
def test_q_and_r_measure_are_counts_with_tiny_gains_and_weighted_precision_with_huge_ones(
    case: Case,
) -> None:
    case = rising(case)
    tiny, huge = (
        replace(case, gains=[factor * gain for gain in case.gains]) for factor in (1e-9, 1e9)
    )
    for blended, counted, weighted in [("Q", "AP", "AWP"), ("Rmeasure", "Rprec", "RWP")]:
        assert value(blended, tiny) == pytest.approx(value(counted, case), rel=1e-5)
        assert value(blended, huge) == pytest.approx(value(weighted, case), rel=1e-5)


@examples
@given(case=relevant_topics, cutoff=st.integers(0, 12))
def test_utility_of_evenly_stopping_users_is_ap_and_q(case: Case, cutoff: int) -> None:
    binary = replace(case, gains=BINARY_GAINS)
    at = f"@{cutoff}" if cutoff else ""
    for name in ("GAP", "NCUgu(nu=P)", "NCUrb(nu=P,gamma=0.999999999)"):
        assert value(name + at, binary) == pytest.approx(value("AP" + at, case), abs=1e-7)
    for name in ("NCUgu", "NCUrb(gamma=0.999999999)"):
        assert value(name + at, binary) == pytest.approx(value("Q" + at, binary), abs=1e-7)


@examples
@given(case=relevant_topics)
def test_binary_r_measure_is_r_precision_and_r_wp(case: Case) -> None:
    binary = replace(case, gains=BINARY_GAINS)  # Sakai 2004 eq 22
    assert value("Rmeasure", binary) == pytest.approx(value("Rprec", case), rel=1e-12)
    assert value("RWP", binary) == pytest.approx(value("Rprec", case), rel=1e-12)


@examples
@given(case=relevant_topics)
def test_binary_q_lies_between_ap_and_awp(case: Case) -> None:
    binary = replace(case, gains=BINARY_GAINS)  # Sakai 2004 eq 23
    assert value("AP", binary) - SLACK <= value("Q", binary) <= value("AWP", binary) + SLACK
    early = replace(binary, levels=case.levels[: sum(case.judged[1:])])
    assert value("AWP", early) == pytest.approx(value("AP", early), rel=1e-12)


@pytest.mark.parametrize("name", sorted(set(PLAIN) - NOT_MONOTONE))
@examples
@given(
    case=relevant_topics,
    cutoff=st.integers(0, 12),
    low=st.integers(-1, 0),
    high=st.integers(1, 3),
    data=st.data(),
)
def test_moving_a_relevant_document_up_never_lowers_a_score(
    name: str, case: Case, cutoff: int, low: int, high: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(case.levels)))
    above, below = case.levels[:place], case.levels[place:]
    judged = [n + (level in (low, high)) for level, n in enumerate(case.judged)]
    worse = rising(replace(case, levels=[*above, low, high, *below], judged=judged))
    better = replace(worse, levels=[*above, high, low, *below])
    # A document that comes into view above the cut-off may move the preferred rank, and so lower the score.
    metric = usual(name, 0 if name in {"P-measure", "P+"} else cutoff)
    assert better.score(metric) >= worse.score(metric) - SLACK


@pytest.mark.parametrize("name", sorted(set(PLAIN) - JUDGED_ONLY))
@examples
@given(case=relevant_topics, cutoff=st.integers(0, 12), n_behind=st.integers(1, 5))
def test_documents_that_nobody_judged_count_as_not_relevant(
    name: str, case: Case, cutoff: int, n_behind: int
) -> None:
    metric = usual(name, cutoff)
    expected = rising(case).score(metric)
    for other in ([max(level, 0) for level in case.levels], [*case.levels, *[-1] * n_behind]):
        assert replace(rising(case), levels=other).score(metric) == expected


@EVERY_METRIC
@examples
@given(case=relevant_topics, rel=st.integers(2, 3))
def test_rel_changes_levels_before_anything_is_counted(name: str, case: Case, rel: int) -> None:
    case = rising(case)
    lowered = replace(
        case,
        levels=[0 if 0 < level < rel else level for level in case.levels],
        judged=[sum(case.judged[:rel]), *[0] * (rel - 1), *case.judged[rel:]],
    )
    found, expected = case.score(replace(usual(name, 0), rel=rel)), lowered.score(usual(name, 0))
    assert found == pytest.approx(expected, abs=0, nan_ok=True)
