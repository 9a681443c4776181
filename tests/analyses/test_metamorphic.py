"""Relations between the results of related cubes, for every analysis.

A relation changes a cube (and what is drawn for its positions) in a way whose effect on the result is known without computing it. `RELATIONS` lists
them. For each analysis a relation has a `Law`, which names the variables that change, and how; all other variables are equal, bit for bit. `NO_LAW` has the
reason where there is none. An analysis that is added needs a law, or a reason, for every relation: `test_every_analysis_has_every_relation` fails without.

What depends on the position of topics: the topic samples of swap, stability, bootstrap, the signs of randomisation and the
permutations of tukey are drawn for positions of topics (tukey: and of runs; teams: of teams) in label order. With other labels the same seed therefore draws other
samples, and results are equal in distribution only. With the same samples drawn under the new labels (`drawn_for`) everything is equal, which is what is tested here; of the
results with other samples, the parts without resampling (`NOT_RESAMPLED`) are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube.analyses import registry
from scorecube.collection import schema
from scorecube.workflow.api import analyse
from tests.analyses.metamorphic import (
    BUILT_IN,
    COPIED,
    COPY,
    EASIER,
    N_TOPICS,
    OPTIONS,
    RUNS,
    SCALE,
    SEED,
    SHIFT,
    SIGNED,
    TRIALS,
    Case,
    Law,
    Relation,
    add_copy,
    at_found_labels,
    base_case,
    chosen,
    combined,
    double_topics,
    rename,
    same,
    scores_changed,
    view_renamed,
    without_copy,
    without_topics,
)

MEAN = ("mean",)
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
NOT_RESAMPLED = {
    "bootstrap": ("t", "mean"),
    "randomisation": ("t", "mean"),
    "tukey": ("t", "mean"),
    "maxt": ("t", "mean"),
    "leaderboard": ("mean", "rank"),
    "board": ("mean", "rank", "mean_rank", "collection_mean"),
    "paired": (),
    "reliability": ("component", "ratio", "value", "topics", "curve"),
    "correlate": ("tau", "tau_b", "tau_ap", "spearman", "z", "p_value", "p_exact", "tau_low", "tau_high", "discordant", "tied_pairs"),
    "judges": ("tau", "tau_ap", "agree", "only_truth", "only_judge", "opposite", "neither"),
    "teams": ("own_mean", "own_mean_without", "own_rank", "own_rank_without"),
}  # fmt: skip
LIMITS_OF_MEANS = ("mean", "mean_low", "mean_high")
OF_BOARDS = (*LIMITS_OF_MEANS, "collection_mean", "collection_mean_low", "collection_mean_high")
PLACES = ("rank", "rank_low", "rank_high", "group_first", "group_last", "groups", "leads")
"""What belongs to the best runs, which become the worst; see tests/analyses/rank_sets for what is known of them."""
OF_PAIRED = ("p_value", "t", "difference_low", "difference_high")
"""What depends on the grid of scores, whose unit follows from their range where the metric has none."""
ADJUSTED = ("p_value_holm", "p_value_bh")
WIDTHS = ("difference_low", "difference_high")
"""What depends on the width of the range where few topics differ."""
SCALED = ("mean_difference", *WIDTHS)
VARIANCES = ("component",)
RELIABILITY = (
    *VARIANCES,
    *(
        f"{name}{end}"
        for name in ("ratio", "value", "topics", "curve")
        for end in ("", "_low", "_high")
    ),
)
"""Sums of squares, and what follows from them: equal up to rounding."""
JUDGED = ("corrected", "corrected_low", "corrected_high")
JUDGED_DIFFERENCES = tuple(
    f"{name}{end}" for name in ("bias", "run_bias") for end in ("", "_low", "_high")
)
BOUGHT = ("corrected", "corrected_low", "corrected_high", "slope", "tau_low", "tau_high")
"""What depends on the topics whose labels are used, which are drawn by position."""
IN_ORDER = ("sorted_run", "sorted_mean", "swops")
"""What follows the order of the first metric, in which equal runs stand by label."""
OF_TAU = ("topics_low", "topics_high")
"""Limits from groups of topics, which are drawn by position."""
AP_COEFFICIENTS = ("tau_ap",)
"""Coefficients that look at the top of a ranking, which is another with the opposite order."""


BEHIND_OTHERS = Law(free=["share_behind"])
"""How far a metric is behind the best depends on the others."""


def laws(default: Law | None = None, /, **others: Law | str) -> dict[str, Law | str]:
    """Return the law, or the reason why there is none, of each built-in analysis."""
    table: dict[str, Law | str] = {} if default is None else dict.fromkeys(BUILT_IN, default)
    return table | others


def grown(*names: str, **more: Any) -> Law:
    """Return the law that variables grow by the constant."""
    return Law(plus=dict.fromkeys(names, SHIFT), **more)


def scaled(*names: str, **more: Any) -> Law:
    """Return the law that variables are scaled."""
    return Law(times=dict.fromkeys(names, SCALE), **more)


def minus(*names: str, **more: Any) -> Law:
    """Return the law that variables change their sign."""
    return Law(times=dict.fromkeys(names, -1.0), **more)


FIXED = (
    "scores follow from the rankings and are computed again: they cannot be changed by themselves"
)
OWN_NAMES = "a metric is computed again by its name: it cannot have another"
ALL_RUNS = "each number is about all runs together; test_numbers_of_all_runs_add_up_over_pairs has what is known of parts"
RESAMPLED = "everything is resampled; see test_samples_of_other_topics_are_equal_in_distribution"
JOINTLY = "samples are simulated from one model of all runs under all metrics, in which each has its position"
POOL = "fewer runs contribute fewer documents to the pool: all scores without a team may change"
GROWTH = np.sqrt((2 * N_TOPICS - 1) / (N_TOPICS - 1))
"""t of every topic twice: the variance of the mean falls by (n - 1) / (2 n - 1)."""
KEPT_MEANS = (
    "variance",
    "variance_mean",
    "variance_low",
    "variance_high",
    "whole_variance",
    "own_mean",
    "own_mean_without",
    "change_mean",
    "change_low",
    "change_high",
    "rank_change_mean",
    "rank_change_low",
    "rank_change_high",
)
ON_GRID = ("max_performance", "relative_difference")
"""Numbers on the grid, whose unit is another for another range of scores."""
RELATIONS: dict[str, Relation] = {
    "runs in the opposite order": Relation(
        "Runs get labels in the opposite order: t changes its sign, better and worse change places with the pair, nothing else changes.",
        rename("run"), view_renamed("run"),
        laws(
            Law(),
            correlate=Law(free=IN_ORDER[:2]), teams=Law(close=KEPT_MEANS),
             # of runs with equal scores the first is named
            judges=Law(close=[*JUDGED, *JUDGED_DIFFERENCES, "slope"]),
            reliability=Law(close=RELIABILITY),
        ),
    ),
    "topics in the opposite order": Relation(
        "Topics, and those of the samples, get labels in the opposite order: nothing changes.",
        rename("topic"), view_renamed("topic"),
        laws(
            Law(close=["mean"]), swap=Law(free=["tau_low", "tau_high"]), correlate=Law(free=OF_TAU, close=["sorted_mean"]), board=RESAMPLED, maxt=Law(close=["mean"]), leaderboard=Law(close=LIMITS_OF_MEANS), reliability=Law(kept=NOT_RESAMPLED["reliability"], close=RELIABILITY),
            paired=Law(close=["mean", *OF_PAIRED, *ADJUSTED]), teams=Law(close=[*KEPT_MEANS]),
            judges=Law(free=BOUGHT, close=[*JUDGED, *JUDGED_DIFFERENCES, "slope"]),
        ),
    ),
    "topics in the opposite order, samples drawn": Relation(
        "The same with the samples that the seed draws: what is not resampled does not change.",
        lambda case: replace(rename("topic")(case), turned=""), view_renamed("topic"),
        laws(
            **dict.fromkeys(["swap", "stability"], RESAMPLED),
            **{name: Law(kept=kept, close=["mean", "mean_first", "mean_second", "own_mean", "own_mean_without", *OF_PAIRED, *ADJUSTED, "collection_mean", *RELIABILITY]) for name, kept in NOT_RESAMPLED.items()},
        ),
    ),
    "teams in the opposite order": Relation(
        "Teams, and those of the samples, get labels in the opposite order: nothing changes.",
        rename("team"), view_renamed("team"), laws(Law(), teams=Law(close=KEPT_MEANS), reliability=Law(close=RELIABILITY)),
    ),
    "metrics renamed": Relation(
        "Metrics get other names: nothing changes.",
        rename("metric"), view_renamed("metric", "metric_a", "metric_b"), laws(Law(), teams=OWN_NAMES),
    ),
    "metrics and gains in another order": Relation(
        "Metrics and gain settings in another order: their results are in that order.",
        chosen(metric=[2, 0, 1], gain=[1, 0]), at_found_labels("metric", "gain"), laws(Law(), correlate=Law(free=IN_ORDER), reliability=Law()),
    ),
    "two metrics of three": Relation(
        "Without a metric, the results of the others do not change.",
        chosen(metric=[0, 2]), at_found_labels("metric"), laws(Law(), swap=BEHIND_OTHERS),
    ),
    "one metric of three": Relation(
        "A metric by itself gives what all together give: a list of metrics can be split into two calls.",
        chosen(metric=[1]), at_found_labels("metric"), laws(Law(), correlate=Law(free=IN_ORDER), swap=BEHIND_OTHERS),
    ),
    "one gain setting of two": Relation(
        "Without a gain setting, the results of the others do not change.",
        chosen(gain=[0]), at_found_labels("gain"), laws(Law(), swap=BEHIND_OTHERS, reliability=Law()),
    ),
    "fewer runs": Relation(
        "Without some runs, the results of pairs of the others do not change.",
        chosen(run=[0, 2, 4, 5]), at_found_labels("run"),
        laws(
            **{name: Law(kept=kept) for name, kept in BY_PAIR.items() if name != "tukey"},
            **dict.fromkeys(["swap", "correlate", "judges", "tukey", "reliability"], ALL_RUNS), teams=POOL,
        ),
    ),
    "a run twice": Relation(
        "With a copy of a run, the results of pairs of the others do not change; those of the copy are in test_a_copy_equals_its_run.",
        add_copy, without_copy,
        laws(
            **{name: Law(kept=kept) for name, kept in BY_PAIR.items()},
            **dict.fromkeys(["swap", "correlate", "reliability"], ALL_RUNS),
            judges=Law(kept=("corrected", "slope"), close=["corrected", "slope"]),
            teams=Law(kept=("team_left_out", "own_mean", "own_mean_without")),
        ),
    ),
    "a constant is added": Relation(
        f"Scores + {SHIFT}: means grow by it, differences do not change.",
        scores_changed(lambda scores: np.rint((scores + SHIFT) * 1000) / 1000), same,
        laws(
            grown("mean", free=WIDTHS), correlate=grown("sorted_mean"), maxt=grown("mean", free=WIDTHS, close=["t"]), stability=Law(), teams=FIXED, reliability=Law(close=RELIABILITY),
            leaderboard=grown(*LIMITS_OF_MEANS), board=grown(*OF_BOARDS), swap=Law(free=ON_GRID),
            judges=grown(*JUDGED, free=["slope"], close=JUDGED_DIFFERENCES),  # sums of squares cancel
        ),
    ),
    "topics become easier": Relation(
        "A number is added to all scores of a topic, on each topic another: differences of runs do not change.",
        scores_changed(lambda scores: np.rint((scores + EASIER) * 1000) / 1000), without_topics,
        laws(
            Law(free=["mean", *WIDTHS]), correlate=Law(free=["sorted_mean"]), maxt=Law(free=["mean", *WIDTHS], close=["t"]), paired=Law(free=["mean", *OF_PAIRED, *ADJUSTED]), leaderboard=Law(free=LIMITS_OF_MEANS), board=Law(free=OF_BOARDS), swap=Law(free=ON_GRID), reliability=Law(close=RELIABILITY),
            judges=Law(free=[*JUDGED, "slope"], close=JUDGED_DIFFERENCES),
            teams=FIXED,
        ),
    ),
    "scores are halved": Relation(
        f"Scores x {SCALE}, means and differences are scaled, nothing else changes.",
        scores_changed(lambda scores: scores * SCALE), same,
        laws(
            reliability=Law(times=dict.fromkeys(VARIANCES, SCALE**2)),
            judges=scaled(*JUDGED, *JUDGED_DIFFERENCES, close=["slope"]),
            stability=Law(), correlate=scaled("sorted_mean"), tukey=scaled("mean", *SCALED, close=["t"]),
            paired=scaled("mean", *OF_PAIRED[2:], *SCALED, close=OF_PAIRED[:2]), teams=FIXED, leaderboard=scaled(*LIMITS_OF_MEANS), board=scaled(*OF_BOARDS), maxt=scaled("mean", *SCALED, close=["t"]),
            swap="bins are as wide as before",
            **dict.fromkeys(["bootstrap", "randomisation"], scaled("mean", "estimated_difference", *SCALED, close=["t"])),
        ),
    ),
    "scores are negated": Relation(
        "-scores: differences change their sign, and the better run becomes the worse.",
        scores_changed(lambda scores: -scores), same,
        laws(
            minus("mean", *SIGNED, free=WIDTHS), leaderboard=minus("mean", free=[*LIMITS_OF_MEANS[1:], *PLACES]), board=minus("mean", "collection_mean", free=[*OF_BOARDS[1:3], *OF_BOARDS[4:], *PLACES, "mean_rank", "separated_neighbours"]), paired=minus("mean", *SIGNED, free=OF_PAIRED[2:]), reliability=Law(), stability=Law(exchanged=("first_better", "second_better")),
            swap=Law(free=["max_performance", "relative_difference"]),  # the largest mean is now that of the worst run
            correlate=Law(kept=[*NOT_RESAMPLED["correlate"][:2], "spearman", *NOT_RESAMPLED["correlate"][4:]]),
            judges=Law(kept=["tau", "agree", "only_truth", "only_judge", "opposite", "neither"]),
            teams=FIXED,
        ),
    ),
    "every topic twice": Relation(
        "With a copy of every topic means do not change, and t grows by a known factor; samples of fewer topics than all, the same as before, give what they gave.",
        double_topics, same,
        laws(
            reliability="topics at hand are a sample: copies of topics would look like agreement of topics",
            swap=Law(free=["tau_low", "tau_high"]), stability=Law(), paired=Law(kept=["mean"], close=["mean"]),
            **dict.fromkeys(["bootstrap", "randomisation", "tukey"],
                Law(kept=["t", "mean"], close=["mean"], times={"t": GROWTH})),
            maxt=Law(kept=["t", "mean"], close=["mean"], times={"t": GROWTH}),
            leaderboard=Law(kept=["mean", "rank"], close=["mean"]), board=Law(kept=["mean", "rank", "collection_mean", "mean_rank"], close=["mean", "collection_mean"]),
            correlate=Law(kept=NOT_RESAMPLED["correlate"]),
            judges=Law(kept=["tau", "tau_ap"]),

            teams=Law(
                kept=["team_left_out", "n_runs", *NOT_RESAMPLED["teams"]], close=["own_mean", "own_mean_without"],
            ),
        ),
    ),
}  # fmt: skip


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
    law.compare(after, law.applied(before))


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
        assert (pair["p_value"].values == 1.0).all()
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
    for name, rank in (("teams", ("own_rank", "own_mean")),):
        found = add_copy(base(name)[0]).result()
        for variable in rank:
            np.testing.assert_array_equal(
                found[variable].sel(run=COPIED).values, found[variable].sel(run=COPY).values
            )
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


def test_a_metric_and_its_negative_correlate_negatively(
    base: Callable[[str], tuple[Case, xr.Dataset]],
) -> None:
    case, _ = base("correlate")
    one = ("correlate", (case.cubes[0].isel(metric=[0, 1]),))

    def with_third(scale: float) -> xr.Dataset:
        """Add a metric that is the second one on another scale."""
        cube = one[1][0]
        third = cube.isel(metric=[1]).assign_coords(metric=schema.label_array(["m9"]))
        third = third.assign(score=third["score"] * scale)
        whole = xr.concat(
            [cube, third],
            "metric",
            data_vars="minimal",
            coords="minimal",
            compat="override",
            join="outer",
        )
        return replace(
            case, cubes=(whole.assign_coords(metric=schema.label_array(whole["metric"].values)),)
        ).result()

    same_order, opposite = with_third(0.5), with_third(-0.5)

    def values(result: xr.Dataset, a: str, b: str, variable: str) -> Any:
        where = (
            (result["metric_a"].values == a)
            & (result["metric_b"].values == b)
            & result["of_metrics"].values
        )
        return result[variable].isel(comparison=np.flatnonzero(where)).values

    for variable in ("tau", "tau_b", "spearman"):
        found, expected = (
            values(same_order, "m1", "m9", variable),
            values(same_order, "m1", "m2", variable),
        )
        np.testing.assert_array_equal(found, expected)
        negative = -values(opposite, "m1", "m2", variable)
        np.testing.assert_allclose(values(opposite, "m1", "m9", variable), negative, rtol=1e-12)
    assert (values(same_order, "m2", "m9", "tau_b") == 1.0).all()
    assert (values(opposite, "m2", "m9", "tau_b") == -1.0).all()


DRAWN = {
    "swap": ("count", 2.0), "stability": ("first_better", 1.0), "bootstrap": ("p_value", 0.5), "randomisation": ("p_value", 0.5),
    "tukey": ("p_value", 0.5), "maxt": ("p_value", 0.5), "leaderboard": ("p_baseline", 0.5), "board": ("p_baseline", 0.5), "teams": ("variance_mean", 0.5),
}  # fmt: skip
"""A variable that depends on the samples, and a bound of the standard deviation of one trial's part in it."""


@pytest.mark.parametrize("name", DRAWN)
def test_samples_of_other_topics_are_equal_in_distribution(name: str) -> None:
    """With labels in the opposite order other topics (or teams) are drawn, and results differ by sampling errors only."""
    case, trials = base_case(name), 1000
    variable, deviation = DRAWN[name]
    results = []
    for each in (case, rename("team" if name == "teams" else "topic")(case)):
        options = {"baseline": RUNS[0]} if variable == "p_baseline" else OPTIONS.get(name, {})
        analysis = registry.load(name)(**options)
        results.append(
            analyse(combined(name, each.cubes), analysis, trials=trials, seed=SEED, workers=1)[
                variable
            ].values
        )
    scale = 1 if name not in ("swap", "stability") else (15 * trials if name == "swap" else trials)
    one, other = (np.asarray(values, float) / scale for values in results)
    assert not np.array_equal(one, other)
    # The difference of two means of 1000 trials, at most six standard errors.
    assert np.nanmax(np.abs(one - other)) < 6 * deviation * np.sqrt(2 / trials)
