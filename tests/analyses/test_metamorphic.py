"""Relations between the results of related cubes, for every analysis.

A relation changes a cube (and what is drawn for its positions) in a way whose effect on the result is known without computing it. `RELATIONS` lists
them. For each analysis a relation has a `Law`, which names the variables that change, and how; all other variables are equal, bit for bit. `NO_LAW` has the
reason where there is none. An analysis that is added needs a law, or a reason, for every relation: `test_every_analysis_has_every_relation` fails without.

Samples are drawn for positions in label order: under other labels the same samples are drawn (`drawn_for`), so that everything is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tests.analyses.metamorphic import (
    BUILT_IN,
    COPIED,
    COPY,
    EASIER,
    RUNS,
    SCALE,
    TRIALS,
    Case,
    Law,
    Relation,
    add_copy,
    at_found_labels,
    base_case,
    chosen,
    rename,
    same,
    scores_changed,
    view_renamed,
    without_copy,
    without_topics,
)
from tests.methods import own

PAIR_TESTS = ("bootstrap", "randomisation", "tukey", "maxt", "paired")
BY_PAIR = {
    "stability": ("first_better", "second_better", "equal"),
    "bootstrap": ("reached", "p_value", "t", "mean"),
    "randomisation": ("reached", "p_value", "t", "mean"),
    "paired": ("p_value", "mean"),
    "tukey": ("t", "mean"),
    "maxt": ("t", "mean"),
    "leaderboard": ("mean",),
    "board": ("mean", "collection_mean"),
}
"""What belongs to a pair of runs or to a run, whatever other runs there are."""
LIMITS_OF_MEANS = ("mean", "mean_low", "mean_high", "leader_low", "leader_high")
CHANGES = tuple(
    f"{name}_topics_{end}" for name in ("change", "rank_change") for end in ("low", "high")
)
"""Their groups of topics follow the order of topics."""
OF_BOARDS = (*LIMITS_OF_MEANS, "collection_mean", "collection_mean_low", "collection_mean_high")
OF_PAIRED = ("p_value", "t", "difference_low", "difference_high")
"""What depends on the grid of scores, whose unit follows from their range where the metric has none."""
ADJUSTED = ("p_value_holm", "p_value_bh")
WIDTHS = ("difference_low", "difference_high")
"""What depends on the width of the range where few topics differ."""
SCALED = ("mean_difference", "joint_low", "joint_high", *WIDTHS)
VARIANCES = ("component",)
RELIABILITY = (
    *VARIANCES,
    *(f"{name}{end}" for name in ("value", "topics", "curve") for end in ("", "_low", "_high")),
)
"""Sums of squares, and what follows from them: equal up to rounding."""
JUDGED = ("corrected", "corrected_low", "corrected_high")
JUDGED_DIFFERENCES = ("bias", "bias_low", "bias_high", "run_bias")
BOUGHT = ("corrected", "corrected_low", "corrected_high", "tau_low", "tau_high")
"""What depends on the topics whose labels are used, which are drawn by position."""
IN_ORDER = ("sorted_mean", "swops")
"""What follows the order of the first metric, in which equal runs stand by label."""
OF_TAU = ("topics_low", "topics_high")
"""Limits from groups of topics, which are drawn by position."""
OF_EFFECTS = ("effect_size_low", "effect_size_high")
"""The same of effect sizes."""
BEHIND_OTHERS = Law(free=["share_behind"])
"""How far a metric is behind the best depends on the others."""


def laws(default: Law | None = None, /, **others: Law | str) -> dict[str, Law | str]:
    """Return the law, or the reason why there is none, of each built-in analysis."""
    table: dict[str, Law | str] = {} if default is None else dict.fromkeys(BUILT_IN, default)
    return table | others


def scaled(*names: str, **more: Any) -> Law:
    """Return the law that variables are scaled."""
    return Law(times=dict.fromkeys(names, SCALE), **more)


FIXED = (
    "scores follow from the rankings and are computed again: they cannot be changed by themselves"
)
COMPARED = "each number is about two metrics or gain settings, in their order"
OWN_NAMES = "a metric is computed again by its name: it cannot have another"
ALL_RUNS = "each number is about all runs together; test_numbers_of_all_runs_add_up_over_pairs has what is known of parts"
RESAMPLED = "everything is resampled, of topics by their positions"
POOL = "fewer runs contribute fewer documents to the pool: all scores without a team may change"
KEPT_MEANS = (
    "variance",
    *(f"{name}_{end}" for name in ("variance", "change", "rank_change") for end in ("mean", "low", "high")),
)  # fmt: skip
ON_GRID = ("max_performance", "relative_difference")
"""Numbers on the grid, whose unit is another for another range of scores."""
RELATIONS: dict[str, Relation] = {
    "runs in the opposite order": Relation(
        rename("run"), view_renamed("run"),
        laws(
            Law(),
            correlate=Law(free=IN_ORDER[:1]), teams=Law(close=KEPT_MEANS),
             # of runs with equal scores the first is named
            judges=Law(close=[*JUDGED, *JUDGED_DIFFERENCES]),
            reliability=Law(close=RELIABILITY),
        ),
    ),
    "topics in the opposite order": Relation(
        rename("topic"), view_renamed("topic"),
        laws(
            Law(close=["mean"]), swap=Law(free=["tau_low", "tau_high"]), correlate=Law(free=OF_TAU, close=["sorted_mean"]), board=RESAMPLED, leaderboard=Law(close=LIMITS_OF_MEANS), reliability=Law(kept=("component", "value", "topics", "curve"), close=RELIABILITY),
            **dict.fromkeys(("bootstrap", "randomisation", "tukey", "maxt"), Law(free=OF_EFFECTS, close=["mean"])), paired=Law(free=OF_EFFECTS, close=["mean", *OF_PAIRED, *ADJUSTED]), teams=Law(free=CHANGES, close=[*KEPT_MEANS]),
            judges=Law(free=BOUGHT, close=[*JUDGED, *JUDGED_DIFFERENCES]),
        ),
    ),
    "teams in the opposite order": Relation(
        rename("team"), view_renamed("team"), laws(Law(), teams=Law(close=[*KEPT_MEANS, *CHANGES]), reliability=Law(close=RELIABILITY)),
    ),
    "metrics renamed": Relation(
        rename("metric"), view_renamed("metric", "metric_a", "metric_b"), laws(Law(), teams=OWN_NAMES),
    ),
    "metrics and gains in another order": Relation(
        chosen(metric=[2, 0, 1], gain=[1, 0]), at_found_labels("metric", "gain"), laws(Law(), correlate=COMPARED),
    ),
    "one metric of three": Relation(
        chosen(metric=[1]), at_found_labels("metric"), laws(Law(), correlate=COMPARED, swap=BEHIND_OTHERS),
    ),
    "one gain setting of two": Relation(
        chosen(gain=[0]), at_found_labels("gain"), laws(Law(), correlate=COMPARED, swap=BEHIND_OTHERS),
    ),
    "fewer runs": Relation(
        chosen(run=[0, 2, 4, 5]), at_found_labels("run"),
        laws(
            **{name: Law(kept=kept) for name, kept in BY_PAIR.items() if name != "tukey"},
            **dict.fromkeys(["swap", "correlate", "judges", "tukey", "reliability"], ALL_RUNS), teams=POOL,
        ),
    ),
    "a run twice": Relation(
        add_copy, without_copy,
        laws(
            **{name: Law(kept=kept) for name, kept in BY_PAIR.items()},
            **dict.fromkeys(["swap", "correlate", "reliability"], ALL_RUNS),
            judges=Law(kept=("corrected",), close=["corrected"]),
            teams="a copy belongs to a team, whose mean changes",
        ),
    ),
    "topics become easier": Relation(
        scores_changed(lambda scores: np.rint((scores + EASIER) * 1000) / 1000), without_topics,
        laws(
            Law(free=["mean", *WIDTHS]), correlate=Law(free=["sorted_mean"]), maxt=Law(free=["mean", *WIDTHS], close=["t"]), paired=Law(free=["mean", *OF_PAIRED, *ADJUSTED]), leaderboard=Law(free=[*LIMITS_OF_MEANS, "limits_reason"]), board=Law(free=[*OF_BOARDS, "limits_reason"]), swap=Law(free=ON_GRID), reliability=Law(close=RELIABILITY),
            judges=Law(free=[*JUDGED] , close=JUDGED_DIFFERENCES),
            teams=FIXED,
        ),
    ),
    "scores are halved": Relation(
        scores_changed(lambda scores: scores * SCALE), same,
        laws(
            reliability=Law(times=dict.fromkeys(VARIANCES, SCALE**2)),
            judges=scaled(*JUDGED, *JUDGED_DIFFERENCES),
            stability=Law(), correlate=scaled("sorted_mean"), tukey=scaled("mean", "estimated_difference", *SCALED, close=["t"]),
            paired=scaled("mean", *OF_PAIRED[2:], *SCALED, close=OF_PAIRED[:2]), teams=FIXED, leaderboard=scaled(*LIMITS_OF_MEANS), board=scaled(*OF_BOARDS), maxt=scaled("mean", *SCALED, close=["t"]),
            swap="bins are as wide as before",
            bootstrap=scaled("mean", "estimated_difference", *SCALED, close=["t"]), randomisation=scaled("mean", *SCALED, close=["t"]),
        ),
    ),
}  # fmt: skip


for _name in BUILT_IN:
    for _relation, _law in own(_name, "LAWS", {}).items():
        RELATIONS[_relation].laws[_name] = _law


@pytest.fixture(scope="module")
def base() -> Callable[[str], tuple[Case, xr.Dataset]]:
    """Return a function from the name of an analysis to its case and result."""
    known: dict[str, tuple[Case, xr.Dataset]] = {}

    def find(name: str) -> tuple[Case, xr.Dataset]:
        if name not in known:
            case = base_case(name)
            known[name] = case, case.result()
        return known[name]

    return find


CASES = [
    (relation, name)
    for relation, each in RELATIONS.items()
    for name, law in each.laws.items()
    if isinstance(law, Law)
]


@pytest.mark.parametrize(
    ("relation", "name"), CASES, ids=lambda value: str(value).replace(" ", "-")
)
def test_relation(base: Callable[[str], tuple[Case, xr.Dataset]], relation: str, name: str) -> None:
    case, result = base(name)
    law = RELATIONS[relation].laws[name]
    assert isinstance(law, Law)
    found = RELATIONS[relation].change(case).result()
    before, after = RELATIONS[relation].view(result, found)
    law.compare(after, before)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_analysis_has_every_relation(name: str) -> None:
    """An analysis is added together with its laws."""
    for relation, each in RELATIONS.items():
        assert name in each.laws, f"{name} has neither a law nor a reason under {relation!r}"


def test_laws_name_variables_that_exist(base: Callable[[str], tuple[Case, xr.Dataset]]) -> None:
    for relation, each in RELATIONS.items():
        named = {name: law.named for name, law in each.laws.items() if isinstance(law, Law)}
        assert set(each.laws) <= set(BUILT_IN)
        known = set().union(*(base(name)[1].data_vars for name in named))
        for name, variables in named.items():
            assert set(variables) <= known, (relation, name)


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_variable_of_a_result_is_empty(
    base: Callable[[str], tuple[Case, xr.Dataset]], name: str
) -> None:
    """Laws of variables that are NaN throughout could not be broken."""
    if own(name, "CUBE"):
        pytest.skip("takes another cube, and has no laws of scores")
    for variable, array in base(name)[1].data_vars.items():
        if name == "swap" and str(variable).startswith(("required_l", "required_h", "share_")):
            continue
        if name == "judges" and str(variable).startswith("label"):
            continue  # need labels; see test_judges.py
        if array.dtype.kind != "O":
            assert np.isfinite(np.asarray(array.values, float)).any(), variable


# What is known of copies, parts and signs


def analyse_pair(name: str, case: Case, runs: Sequence[str], **options: Any) -> xr.Dataset:
    """Return the result of some runs only."""
    few = replace(
        case, cubes=tuple(cube.sel(run=list(runs)) for cube in case.cubes), options=options
    )
    return few.result()


@pytest.mark.parametrize("name", [*PAIR_TESTS, "stability"])
def test_a_copy_equals_its_run(base: Callable[[str], tuple[Case, xr.Dataset]], name: str) -> None:
    case, _ = base(name)
    found = add_copy(case).result()
    a, b = (found[side].values.astype(str) for side in ("run_a", "run_b"))
    (own,) = np.flatnonzero((a == COPIED) & (b == COPY))
    pair = found.isel(pair=own)
    if name == "stability":
        assert (pair["equal"].values == TRIALS).all()
    else:
        p = pair["p_value"].values  # without a range t of equal scores has no p-value
        assert np.isnan(p).all() if name == "paired" else (p == 1.0).all()
        assert "t" not in pair or np.isnan(pair["t"].values).all()  # 0 / 0
    assert name == "paired" or "reached" not in pair or (pair["reached"].values == TRIALS).all()
    for other in sorted(set(RUNS) - {COPIED}):
        one, two = (
            found.isel(
                pair=np.flatnonzero(((a == run) & (b == other)) | ((a == other) & (b == run)))
            )
            for run in (COPIED, COPY)
        )
        # A copy sorts right behind its run: the pairs have the same order.
        for variable in BY_PAIR[name] if name not in ("tukey", "maxt") else ("t", "p_value"):
            if "pair" in one[variable].dims:
                np.testing.assert_array_equal(
                    one[variable].values, two[variable].values, err_msg=f"{variable} {other}"
                )


def test_comparisons_of_a_run_with_its_copy_are_ties(
    base: Callable[[str], tuple[Case, xr.Dataset]],
) -> None:
    for rule, rate in (("s0", 0.0), ("s1", 1.0)):
        found = analyse_pair("swap", add_copy(base("swap")[0]), [COPIED, COPY], rule=rule)
        assert (found["count"].values[..., 0] == TRIALS).all()
        assert (found["swap_rate"].values[..., 0] == rate).all()
    before, found = base("correlate")[1], add_copy(base("correlate")[0]).result()
    # The copied run is tied with its copy; a run that was tied with it is now tied with both.
    assert (found["tied_pairs"].values >= before["tied_pairs"].values + 1).all()


@pytest.mark.parametrize(("name", "variables"), [("swap", ("count", "swaps", "tau")), ("stability", ("error_rate", "ties")), ("correlate", ("discordant", "tied_pairs"))])  # fmt: skip
def test_numbers_of_all_runs_add_up_over_pairs(
    base: Callable[[str], tuple[Case, xr.Dataset]], name: str, variables: Sequence[str]
) -> None:
    """Counts are sums over pairs of runs, and shares are means."""
    case, result = base(name)
    pairs = [analyse_pair(name, case, pair, **case.options) for pair in combinations(RUNS, 2)]
    for variable in variables:
        each = np.stack([np.asarray(pair[variable].values, float) for pair in pairs])
        total = each.mean(axis=0) if result[variable].dtype.kind == "f" else each.sum(axis=0)
        np.testing.assert_allclose(
            result[variable].values, total, rtol=1e-12, atol=1e-12, err_msg=variable
        )
