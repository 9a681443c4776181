"""Tests of pairs of runs where scores are missing: each pair on the topics that both have, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scorecube.analyses import Bootstrap, Paired, Randomisation, Tukey, Unpaired
from scorecube.errors import BadPlan
from scorecube.report.results import table
from scorecube.statistics.multiple_testing import adjusted
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, figure, import_scores, open_study, select
from tests.conftest import Cli
from tests.oracles.agreement import FAMILIES, as_cube, outcomes, read_exactly, topic_positions
from tests.oracles.paired_tests import run_positions

TESTS = (
    Bootstrap(missing="pairwise"), Bootstrap(missing="pairwise", precision="mixed", sided=1, alphas=(0.3, 0.01)),
    Bootstrap(missing="pairwise", studentised=False), Randomisation(missing="pairwise"), Randomisation(missing="pairwise", sided=1),
    Paired(missing="pairwise"),
)  # fmt: skip
EVERY_TEST = pytest.mark.parametrize(
    "test", TESTS, ids=lambda test: f"{test.name}{TESTS.index(test)}"
)
Holes = list[list[Fraction | None]]


@st.composite
def tables_with_holes(draw: st.DrawFn) -> Holes:
    """Draw a small table of discrete scores, some of them missing: by run, by topic, anywhere."""
    values = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    n_runs, n_topics = draw(st.integers(2, 5)), draw(st.integers(2, 8))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.1, 0.5]))
    missing = chance.random((n_runs, n_topics)) < share
    if draw(st.booleans()):
        missing[chance.integers(n_runs)] |= chance.random(n_topics) < 0.8
    scores = chance.integers(len(values), size=(n_runs, n_topics))
    return [
        [None if hole else values[k] for hole, k in zip(*row, strict=True)]
        for row in zip(missing, scores.tolist(), strict=True)
    ]


def cube_of(table_of: Holes) -> xr.Dataset:
    """Return a cube with NaN where a score is missing."""
    cube = as_cube(
        {"m": [[score if score is not None else Fraction(0) for score in row] for row in table_of]}
    )
    cube["score"].values[0, 0][np.array([[score is None for score in row] for row in table_of])] = (
        np.nan
    )
    return cube


def own_cube(cube: xr.Dataset, i: int, j: int) -> xr.Dataset:
    """Return the complete cube of two runs and the topics that both have, of one metric and gain setting."""
    pair = cube.isel(run=[i, j])
    return pair.isel(
        topic=np.flatnonzero(pair["score"].notnull().all(("metric", "gain", "run")).values)
    )


def assert_exact(cube: xr.Dataset, holes: Holes, test: Any, seed: int, trials: int) -> None:
    """Compare one metric's result with the oracle: every pair alone, on its own topics."""
    result = analyse(cube, test, trials=trials, seed=seed, workers=1).isel(metric=0, gain=0)
    signs = None
    if isinstance(test, Randomisation):
        signs = np.asarray(test.samples(cube, seed, trials)["topic_sign"].values)
    undefined = infinite = untested = 0
    estimated: list[list[float]] = [[] for _ in test.alphas]
    for place, (i, j) in enumerate(combinations(range(len(holes)), 2)):
        common = [
            k
            for k, (a, b) in enumerate(zip(holes[i], holes[j], strict=True))
            if a is not None and b is not None
        ]
        assert int(result["common_topics"][place]) == len(common)
        if len(common) < 2:
            untested += 1
            assert math.isnan(result["p_value"][place])
            assert math.isnan(result["t"][place])
            assert np.isnan(result["kth_difference"][:, place]).all()
            continue
        rows = [[Fraction(row[k] or 0) for k in common] for row in (holes[i], holes[j])]
        if signs is not None:
            drawn = signs[:, common].tolist()
        else:
            complete = as_cube({"m": rows})
            drawn = topic_positions(test.samples(complete, seed, trials), complete)
        expected = outcomes(rows, test, drawn)[0, 1]
        assert int(result["reached"][place]) == expected.count
        assert float(result["p_value"][place]) == float(Fraction(expected.count, trials))
        means = [sum(row) / len(common) for row in rows]
        assert float(result["common_difference"][place]) == pytest.approx(
            float(means[0] - means[1]), rel=1e-11, abs=1e-13
        )
        for level in range(len(test.alphas)):
            kth = float(expected.kth[level])
            assert float(result["kth_difference"][level, place]) == pytest.approx(
                kth, rel=1e-11, abs=1e-13
            )
            estimated[level].append(kth)
        undefined, infinite = undefined + expected.undefined, infinite + expected.infinite
    assert int(result["untested_pairs"]) == untested
    assert (int(result["undefined_replicates"]), int(result["infinite_replicates"])) == (
        undefined,
        infinite,
    )
    assert int(np.isnan(result["p_value"]).sum()) == untested
    for level, found in enumerate(estimated):
        largest = max(found, default=math.nan)
        assert float(result["estimated_difference"][level]) == pytest.approx(
            largest, rel=1e-11, abs=1e-13, nan_ok=True
        )
        below = int((result["p_value"] < test.alphas[level]).sum())
        assert int(result["significant"][level]) == below
        tested = result.sizes["pair"] - untested
        share = below / tested if tested else math.nan
        assert float(result["share"][level]) == pytest.approx(share, nan_ok=True)


@settings(max_examples=120)
@given(
    holes=tables_with_holes(), trials=st.integers(1, 50), seed=st.integers(0, 2**64 - 1), sided=st.sampled_from([1, 2]),
    studentised=st.booleans(), precision=st.sampled_from(["double", "mixed"]),
)  # fmt: skip
def test_bootstrap_on_own_topics_is_exact(
    holes: Holes, trials: int, seed: int, **options: Any
) -> None:
    values = {score for row in holes for score in row}
    assume(len(holes[0]) > 5 or len(values) == 1 or values - {0, 1})  # else refused
    assert_exact(
        cube_of(holes),
        holes,
        Bootstrap(missing="pairwise", plus_one=False, **options),
        seed,
        trials,
    )


@settings(max_examples=80)
@given(
    holes=tables_with_holes(),
    trials=st.integers(1, 50),
    seed=st.integers(0, 2**64 - 1),
    sided=st.sampled_from([1, 2]),
)
def test_randomisation_on_own_topics_is_exact(
    holes: Holes, trials: int, seed: int, sided: int
) -> None:
    assert_exact(
        cube_of(holes),
        holes,
        Randomisation(missing="pairwise", sided=sided, plus_one=False),
        seed,
        trials,
    )


def random_holes(
    seed: int, n_runs: int = 12, n_topics: int = 30, metrics: tuple[str, ...] = ("AP",)
) -> xr.Dataset:
    """Return scores of four decimals, a tenth missing, and one run with few."""
    cube = simulate_cube(metrics=metrics, gains=("3:2:1",), n_runs=n_runs, seed=seed).isel(
        topic=slice(n_topics)
    )
    values = cube["score"].values.round(4)
    chance = np.random.default_rng(seed)
    values[chance.random(values.shape) < 0.1] = np.nan
    values[:, :, 3, 1:] = np.nan
    return cube.assign(score=(cube["score"].dims, values))


@EVERY_TEST
@pytest.mark.parametrize("seed", [1, 2])
def test_a_pair_is_tested_as_in_the_cube_of_its_runs_and_topics(test: Any, seed: int) -> None:
    cube = random_holes(seed)
    result = analyse(cube, test, trials=300, seed=seed, workers=1).isel(metric=0, gain=0)
    signs = test.samples(cube, seed, 300) if isinstance(test, Randomisation) else None
    for place, (i, j) in enumerate(combinations(range(12), 2)):
        own = own_cube(cube, i, j)
        if own.sizes["topic"] < 2:
            assert np.isnan(result["p_value"].values[..., place]).all()
            continue
        given_signs = None if signs is None else signs.sel(topic=own["topic"].values)
        alone = analyse(own, test, trials=300, seed=seed, samples=given_signs, workers=1).isel(
            metric=0, gain=0
        )
        for name in ("reached", "p_value"):
            if name in result:
                np.testing.assert_array_equal(
                    result[name].values[..., place], alone[name].values[..., 0]
                )
        for name in ("t", "kth_difference", "common_topics", "common_difference"):
            if name in result:
                np.testing.assert_allclose(
                    result[name].values[..., place],
                    alone[name].values[..., 0],
                    rtol=1e-12,
                    atol=1e-15,
                )


@EVERY_TEST
def test_without_missing_scores_nothing_changes(test: Any) -> None:
    cube = simulate_cube(n_runs=9, seed=4)
    plain = type(test)(**{**test.options(), "missing": "refuse", "alphas": test.alphas})
    expected = analyse(cube, plain, trials=200, seed=7, workers=1).drop_attrs()
    result = analyse(cube, test, trials=200, seed=7, workers=1).drop_attrs()
    assert set(result.data_vars) - set(expected.data_vars) == {
        "common_topics",
        "common_difference",
        "untested_pairs",
    }
    xr.testing.assert_identical(result[list(expected.data_vars)], expected)


@pytest.mark.slow
@EVERY_TEST
@settings(max_examples=12)
@given(block_units=st.integers(1, 70), workers=st.integers(1, 3), tile=st.sampled_from([8, 9, 64]))
def test_blocks_threads_and_tiles_are_free_choices(
    test: Any, block_units: int, workers: int, tile: int
) -> None:
    cube = random_holes(5, metrics=("AP", "RR"))
    expected = analyse(cube, test, trials=120, seed=9, workers=1, block_units=10_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scorecube.analyses.pair_tests.bootstrap.TILE", tile)
        result = analyse(cube, test, trials=120, seed=9, workers=workers, block_units=block_units)
    xr.testing.assert_identical(result.drop_attrs(), expected.drop_attrs())


@EVERY_TEST
def test_fewer_metrics_or_runs_change_nothing_for_those_left(test: Any) -> None:
    cube = random_holes(6, metrics=("AP", "RR", "nDCG@10"))
    every = analyse(cube, test, trials=120, seed=4, workers=1).drop_attrs()
    fewer = analyse(select(cube, metrics=["RR"]), test, trials=120, seed=4, workers=1).drop_attrs()
    xr.testing.assert_identical(fewer, every.sel(metric=["RR"]))
    left = [0, 3, 4, 7, 11]
    some = analyse(cube.isel(run=left), test, trials=120, seed=4, workers=1)
    pairs = zip(*run_positions(every), strict=True)
    where = [k for k, pair in enumerate(pairs) if set(pair) <= set(left)]
    for name in ("reached", "p_value", "t", "kth_difference", "common_topics", "common_difference"):
        if name in some:
            np.testing.assert_array_equal(some[name].values, every[name].values[..., where])


def test_classical_tests_are_scipys_on_common_topics() -> None:
    from scipy import stats

    cube = random_holes(8)
    result = analyse(cube, Paired(missing="pairwise")).isel(metric=0, gain=0)
    scores = cube["score"].values[0, 0]
    for place, (i, j) in enumerate(combinations(range(12), 2)):
        both = ~np.isnan(scores[i]) & ~np.isnan(scores[j])
        if both.sum() < 2:
            assert np.isnan(result["p_value"].values[:, place]).all()
            continue
        x, y = scores[i, both], scores[j, both]
        assert float(result["p_value"].sel(test="t")[place]) == pytest.approx(
            stats.ttest_rel(x, y).pvalue, rel=1e-9
        )
        ahead, behind = int((x > y).sum()), int((x < y).sum())
        sign = stats.binomtest(ahead, ahead + behind).pvalue
        assert float(result["p_value"].sel(test="sign")[place]) == pytest.approx(sign, rel=1e-9)


def test_missing_scores_are_refused_unless_asked_for() -> None:
    cube = random_holes(1)
    for test in (Bootstrap(), Randomisation(), Paired(), Tukey(), Unpaired()):
        with pytest.raises(BadPlan, match="missing or infinite"):
            analyse(cube, test, trials=10, seed=1)
    with pytest.raises(BadPlan, match="not one of refuse, pairwise"):
        analyse(cube, Bootstrap(missing="drop"), trials=10, seed=1)  # type: ignore[arg-type]
    cube["score"].values[0, 0, 1, 1] = np.inf
    for test in TESTS:
        with pytest.raises(BadPlan, match="1 scores are infinite"):
            analyse(cube, test, trials=10, seed=1)


def test_samples_of_all_topics_are_refused_where_pairs_draw_their_own() -> None:
    cube, test = random_holes(1), Bootstrap(missing="pairwise")
    samples = Bootstrap().samples(cube.fillna(0.0), 1, 20)
    with pytest.raises(BadPlan, match="samples cannot be saved or replayed"):
        analyse(cube, test, trials=20, samples=samples)
    with pytest.raises(BadPlan, match="samples cannot be saved or replayed"):
        test.samples(cube, 1, 20)
    # Signs belong to topics: those of missing ones are left out.
    signs = Randomisation(missing="pairwise")
    drawn = analyse(cube, signs, trials=50, seed=3).drop_attrs()
    replayed = analyse(cube, signs, trials=50, samples=signs.samples(cube, 3, 50)).drop_attrs()
    xr.testing.assert_identical(replayed, drawn)


def test_adjustments_pass_over_pairs_without_a_p_value() -> None:
    p = np.array([0.01, np.nan, 0.03, 0.2, np.nan])
    for method in ("holm", "bh"):
        found, known = adjusted(p, method), ~np.isnan(p)
        np.testing.assert_array_equal(np.isnan(found), ~known)
        np.testing.assert_array_equal(found[known], adjusted(p[known], method))
    np.testing.assert_allclose(adjusted(p, "holm")[[0, 2, 3]], [0.03, 0.06, 0.2])
    assert np.isnan(adjusted(np.full(3, np.nan), "bh")).all()


@EVERY_TEST
def test_tables_count_the_pairs_that_were_tested(test: Any) -> None:
    cube = random_holes(2)
    result = analyse(cube, test, trials=100, seed=1)
    untested = int(result["untested_pairs"].item())
    assert untested >= 11
    assert set(table(result)["pairs"]) == {66 - untested}
    pairs = table(result, "pairs")
    np.testing.assert_array_equal(pairs["n_topics"], result["common_topics"].values.ravel())
    columns = [column for column in map(str, pairs) if column.startswith(("p_", "asl"))]
    assert columns
    for column in columns:
        np.testing.assert_array_equal(pairs[column].isna(), pairs["n_topics"] < 2)


@pytest.mark.parametrize("name", ["bootstrap", "randomisation", "paired"])
def test_the_command_takes_missing_scores_pair_by_pair(
    scorecube: Cli, tmp_path: Path, name: str
) -> None:
    study = tmp_path / "study.zarr"
    open_study(study, mode="a").add("holes", cube=random_holes(3))
    trials = [] if name == "paired" else ["--trials", 40, "--seed", 1]
    refused = scorecube(name, study, *trials)
    assert refused.status == 1
    assert "--missing pairwise" in refused.stderr
    scorecube(name, study, *trials, "--missing", "pairwise").succeeded()
    (result,) = open_study(study)["holes"].results(name)
    assert result.attrs["missing"] == "pairwise"
    assert int(result["common_topics"].min()) < 2
    assert scorecube(name, study, *trials, "--missing", "some").status == 2


def test_the_figure_shows_the_pairs_that_were_tested() -> None:
    result = analyse(random_holes(2), TESTS[0], trials=100, seed=1)
    (line, *_) = figure(result).axes[0].get_lines()
    assert line.get_xdata()[-1] == 66 - int(result["untested_pairs"].item())
    assert np.isfinite(line.get_ydata()).all()


@pytest.mark.data
@pytest.mark.slow
def test_all_runs_of_clef_tar_are_tested_exactly(data: Path) -> None:
    folder = data / "clef-tar-2017"
    if not folder.is_dir():
        pytest.skip("clef-tar-2017 is not among the third-party collections")
    cube = import_scores([folder / "ap.csv"])
    values = cube["score"].values[0, 0]
    assert values.shape == (52, 30)
    assert np.isnan(values).any()
    filled = read_exactly_with_holes(folder / "ap.csv", cube)
    for test in (
        Bootstrap(missing="pairwise", precision="mixed", plus_one=False),
        Randomisation(missing="pairwise", plus_one=False),
    ):
        assert_exact(cube, filled, test, seed=5, trials=40)


def read_exactly_with_holes(path: Path, cube: xr.Dataset) -> Holes:
    """Return the decimal texts of a matrix as fractions, None where the cell is empty."""
    known = cube["score"].notnull().isel(metric=0, gain=0).values
    holes: Holes = []
    for run, row in enumerate(known):
        part = cube.isel(run=[run], topic=np.flatnonzero(row))
        scores = iter(read_exactly(path, part)[0])
        holes.append([next(scores) if here else None for here in row])
    return holes
