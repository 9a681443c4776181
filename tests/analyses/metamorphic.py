"""Cubes, changes of cubes and views of results for the relations of `test_metamorphic.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from scorecube.collection import schema
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.collection.rankings import with_rankings
from scorecube.methods import index
from scorecube.testing import simulate_rankings
from scorecube.workflow.api import analyse, evaluate
from tests.attributes import without_attrs
from tests.given_samples import drawn_by
from tests.methods import own

TRIALS, SEED = 40, 11
MINIMAL: Any = {"data_vars": "minimal", "coords": "minimal", "compat": "override", "join": "outer"}
BUILT_IN = tuple(entry.name for entry in index.entries())
SCALE = 0.5
EASIER = 0.125 * np.arange(12)
OPTIONS: dict[str, dict[str, Any]] = {
    "swap": {"size": 5, "bins": 120, "confidence": (0.9, 0.7, 0.55), "required": "suffix"},
    "stability": {"size": 6, "fuzziness": (0.0,)},
    "bootstrap": {"alphas": (0.2, 0.05)},
    "teams": {"leave": (1, 2), "topic_sizes": (6,), "pool_depth": 3, "drop_unpooled": True},
    "judges": {"labels": (4, 8)},
}
"""Options that are not the default: limits depend on the order of labels, by which groups are drawn; `fuzziness` is a share of the mean, which adding a constant changes."""
NAMES = ("teams_left_out",)
"""Variables that are labels, which relations change; flags and numbers beside them say the same."""
SIGNED = ("mean_difference", "t", "d_z", "effect_size", "rank_difference")
"""What changes its sign with the order of a pair."""
ESTIMATES = (
    *SIGNED, "effect_size_low", "effect_size_high", "difference_low", "difference_high", "joint_low", "joint_high", "p_single", "estimated_difference",
)  # fmt: skip
"""Floating-point sums over topics, of pairs of runs."""
RANKED, MANY_SETS = "teams", "judges"
METRICS = {"teams": ["AP", "nDCG@10", "RR"]}
"""Other analyses get scores of any name: three decimals, with ties."""


View = Callable[[xr.Dataset, xr.Dataset], tuple[xr.Dataset, xr.Dataset]]
Scores = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """The cubes of an analysis, and what is drawn for other positions along the dim `turned`, see `drawn_for`."""

    name: str
    cubes: tuple[xr.Dataset, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    turned: str = ""

    def result(self) -> xr.Dataset:
        """Return the result, without attributes."""
        options = OPTIONS.get(self.name, own(self.name, "OPTIONS", {})) | dict(self.options)
        with drawn_for(self.turned):
            found = analyse(
                combined(self.name, self.cubes), index.load(self.name)(**options), trials=TRIALS, seed=SEED, workers=1
            )  # fmt: skip
        plain = without_attrs(found).drop_vars("summary", errors="ignore")
        return plain.drop_indexes(["run_a", "run_b"], errors="ignore")

    def changed(self, change: Callable[[xr.Dataset], xr.Dataset], **options: Any) -> Case:
        """Return the case with changed cubes, and other options."""
        return replace(
            self, cubes=tuple(map(change, self.cubes)), options=dict(self.options) | options
        )


def combined(name: str, cubes: tuple[xr.Dataset, ...]) -> xr.Dataset:
    """Return the cube that an analysis takes."""
    if name == MANY_SETS:
        return judgement_sets({"truth": cubes[0], "a": cubes[1], "b": cubes[2]})
    return cubes[0]


@dataclass(frozen=True)
class Law:
    """How a result changes; all that is not named here stays, bit for bit.

    free: Variables without a law.
    close: Variables that stay up to rounding: floating-point sums in another order, or of scaled scores.
    times: Factor of a variable, up to rounding.
    kept: Only variables that have a law; all if empty.
    """

    free: Sequence[str] = ()
    close: Sequence[str] = ()
    times: Mapping[str, float] = field(default_factory=dict)
    kept: Sequence[str] = ()

    @property
    def named(self) -> set[str]:
        """Variables that are named in the law and must exist."""
        return {*self.times, *self.kept, *self.free}

    def compare(self, found: xr.Dataset, expected: xr.Dataset) -> None:
        """Fail if a result does not obey the law."""
        # A sum of squares of residuals depends on the order of topics in its last digit.
        rounded = {*self.close, *self.times}
        rounded |= {*ESTIMATES} if "pair" in expected.dims else set()
        compared = 0
        for name in map(str, expected.data_vars):
            if name in (*self.free, *NAMES) or (self.kept and name not in self.kept):
                continue
            one, other = found[name], expected[name].transpose(*found[name].dims)
            assert one.shape == other.shape, name
            if name in rounded:
                other = other * self.times.get(name, 1.0)
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13, err_msg=name)
            else:
                np.testing.assert_array_equal(one, other, err_msg=name)
            compared += 1
        assert compared, "nothing was compared"


@dataclass(frozen=True)
class Relation:
    """A change of a cube, and what it does to results.

    change: The changed case.
    view: The parts of the two results that correspond to each other: (result, changed result) to (expected before the law, found).
    laws: Law of each analysis, or the reason why there is none.
    """

    change: Callable[[Case], Case]
    view: View
    laws: dict[str, Law | str]


# Cubes


def base_case(name: str) -> Case:
    """Return 6 runs of 3 teams on 12 topics: ties, an equal pair of runs, scores in [0, 0.7]."""
    if make := own(name, "CUBE"):
        return Case(name, (make(),))
    chance = np.random.default_rng(4)
    judged = 1 + chance.poisson([6, 4, 2], (12, 3))
    rankings = simulate_rankings(judged, n_runs=6, n_teams=3, depth=25, seed=7)
    if name == RANKED:
        return Case(
            name, (with_rankings(evaluate(rankings, METRICS[name], ["3:2:1", "1:1:1"]), rankings),)
        )
    cubes = []
    for _ in range(3 if name == MANY_SETS else 1):
        cube = evaluate(rankings, ["AP", "nDCG@10", "RR"], ["3:2:1", "1:1:1"])
        # Thousandths, so that scaled and shifted scores are exact numbers of some unit again.
        whole = (
            np.rint(cube["score"].values * 700) + chance.integers(0, 3, cube["score"].shape) * 10
        )
        whole[[0, 2], :, 3] = whole[[0, 2], :, 4]
        whole[2, :, 5] = whole[2, :, 0] + 30
        cube["score"].values = whole / 1000
        cubes.append(
            cube.assign_coords(
                metric=schema.label_array(["m1", "m2", "m3"]), uses_gains=("metric", [True] * 3)
            )
        )
    return Case(name, tuple(cubes))


@contextmanager
def drawn_for(turned: str) -> Iterator[None]:
    """Draw for labels in the opposite order along a dim what is drawn for the labels as they are."""
    with drawn_by(lambda name, draw: _turned(name, draw, turned)) if turned else nullcontext():
        yield


def _turned(name: str, draw: Callable[..., Any], turned: str) -> Callable[..., Any]:
    """Return a function that draws for other positions along a dim."""

    def positions(key: Any, *of: Any) -> Any:
        drawn, n = draw(key, *of), of[0]
        return (
            np.int32(n - 1) - drawn
            if n == {"topic": N_TOPICS, "run": len(RUNS)}.get(turned)
            else drawn
        )

    def counts(key: Any, sampling: int, n: int, *of: Any) -> Any:
        drawn = draw(key, sampling, n, *of)
        return np.ascontiguousarray(drawn[..., ::-1]) if turned == "topic" else drawn

    def ranges(scores: Any, *of: Any) -> Any:
        order = (slice(None, None, -1 if turned == dim else 1) for dim in ("topic", "cell", "run"))
        return draw(np.ascontiguousarray(scores[tuple(order)]), *of)

    def signs(*of: Any) -> Any:
        return draw(*of)[::-1] if turned == "topic" else draw(*of)

    def subset(key: Any, trial: int, stream: int, n: int, size: int) -> Any:
        """Draw other teams, of which there are 3, or topics."""
        drawn = draw(key, trial, stream, n, size)
        return n - 1 - drawn if n == {"topic": N_TOPICS, "team": 3}.get(turned) else drawn

    others: dict[str, Callable[..., Any]] = {
        "topic_counts": counts,
        "null_ranges": ranges,
        "sign_columns": signs,
        "random_subset": subset,
    }
    return others.get(name, positions)


def renamed(dataset: xr.Dataset, **names: Mapping[str, str]) -> xr.Dataset:
    """Return a dataset with other labels, everywhere, in label order."""
    found = dataset
    for name, variable in dataset.variables.items():
        if variable.dtype.kind not in "OUT":
            continue
        dim = {"run_a": "run", "run_b": "run"}.get(str(name), str(name))
        if dim in names:
            labels = [names[dim].get(str(label), str(label)) for label in variable.values.ravel()]
            array = np.array(labels, object).reshape(variable.shape)
            found = (
                found.assign({name: (variable.dims, array)})
                if name in dataset.data_vars
                else found.assign_coords({name: (variable.dims, array)})
            )
    for dim in names:
        if dim in found.dims:
            found = found.isel(
                {dim: np.argsort([str(label) for label in found[dim].values], kind="stable")}
            )
    return found


def in_label_order(result: xr.Dataset) -> xr.Dataset:
    """Return a result whose pairs have the smaller label first, in label order."""
    if "run_a" not in result.coords:
        return result
    a, b = (result[name].values.astype(str) for name in ("run_a", "run_b"))
    turned = xr.DataArray(a > b, dims="pair")
    found = result.copy()
    for name in SIGNED:
        if name in result and "pair" in result[name].dims:
            found[name] = result[name].where(~turned, -result[name]).transpose(*result[name].dims)
    for name in {"difference", "joint", "effect_size"} & {
        str(of).removesuffix("_low") for of in result
    }:
        for one, other in (("low", "high"), ("high", "low")):
            mine, theirs = result[f"{name}_{one}"], result[f"{name}_{other}"]
            found[mine.name] = mine.where(~turned, -theirs).transpose(*mine.dims)
    if "first_better" in result:
        for one, other in (("first_better", "second_better"), ("second_better", "first_better")):
            found[one] = result[one].where(~turned, result[other]).transpose(*result[one].dims)
    first, second = (
        np.minimum(a.astype(object), b.astype(object)),
        np.maximum(a.astype(object), b.astype(object)),
    )
    found = found.assign_coords(run_a=("pair", first), run_b=("pair", second))
    return found.isel(pair=np.lexsort((second.astype(str), first.astype(str))))


def pairs_of(result: xr.Dataset, runs: Sequence[str]) -> xr.Dataset:
    """Return the pairs of some runs only, and these runs."""
    found = result
    if "run_a" in result.coords:
        among = np.isin(result["run_a"].values.astype(str), runs) & np.isin(
            result["run_b"].values.astype(str), runs
        )
        found = found.isel(pair=np.flatnonzero(among))
    return found.sel(run=list(runs)) if "run" in found.dims else found


def backwards(labels: Sequence[str]) -> dict[str, str]:
    """Return new names whose order is the opposite."""
    return {label: f"{chr(ord('z') - k)}-{label}" for k, label in enumerate(sorted(labels))}


RUNS = tuple(f"team{k:02d}-run{j}" for k in (1, 2, 3) for j in (1, 2))
TOPICS = tuple(f"{k:03d}" for k in range(1, 13))
TEAMS = ("team01", "team02", "team03")
N_TOPICS = len(TOPICS)
RENAMED = {
    "run": backwards(RUNS),
    "topic": backwards(TOPICS),
    "team": backwards(TEAMS),
    "metric": {"m1": "n1", "m2": "n2", "m3": "n3"},
}
COPIED, COPY = RUNS[1], RUNS[1] + "-copy"


def rename(dim: str) -> Callable[[Case], Case]:
    """Return a change of labels so that their order is the opposite."""

    def change(case: Case) -> Case:
        cubes = tuple(renamed(cube, **{dim: RENAMED[dim]}) for cube in case.cubes)
        return replace(case, cubes=cubes, turned=dim)

    return change


def view_renamed(*dims: str) -> View:
    """Return the view of two results with renamed labels."""
    return lambda result, found: (
        in_label_order(renamed(result, **dict.fromkeys(dims, RENAMED[dims[0]]))),
        found,
    )


def scores_changed(
    change: Callable[[Scores], Scores], **options: dict[str, Any]
) -> Callable[[Case], Case]:
    """Return a change of the scores, with other options of some analyses."""

    def of_cube(cube: xr.Dataset) -> xr.Dataset:
        made = cube.copy(deep=True)
        made["score"].values = change(cube["score"].values)
        return made

    return lambda case: case.changed(of_cube, **options.get(case.name, {}))


def chosen(**positions: Any) -> Callable[[Case], Case]:
    """Return a change to some positions along the dims, and their order."""

    def of_cube(cube: xr.Dataset) -> xr.Dataset:
        return cube.isel({dim: where for dim, where in positions.items() if dim in cube.dims})

    return lambda case: case.changed(of_cube)


def add_copy(case: Case) -> Case:
    """Add a copy of a run, with the next label."""

    def of_cube(cube: xr.Dataset) -> xr.Dataset:
        copy = cube.sel(run=[COPIED]).assign_coords(run=schema.label_array([COPY]))
        whole = xr.concat([cube, copy], "run", **MINIMAL)
        made = whole.isel(run=np.argsort(whole["run"].values.astype(str)))
        return made.assign_coords(
            run=schema.label_array(made["run"].values),
            team=("run", schema.label_array(made["team"].values)),
        )

    return case.changed(of_cube)


def same(result: xr.Dataset, found: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Compare everything."""
    return result, found


def without_topics(result: xr.Dataset, found: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Compare what does not count the difficulty of topics as variance."""
    relative = {"coefficient": ["erho2"], "source": ["systems", "interaction"]}
    chosen = {dim: labels for dim, labels in relative.items() if dim in result.dims}
    return result.sel(chosen), found.sel(chosen)


def at_found_labels(*dims: str) -> View:
    """Compare what the changed result still has, in its order."""

    def view(result: xr.Dataset, found: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        for dim in dims:
            result = (
                pairs_of(result, list(found["run"].values.astype(str)))
                if dim == "run"
                else result.sel({dim: found[dim].values})
            )
        return result, found

    return view


def without_copy(result: xr.Dataset, found: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Compare the runs that both have."""
    return result, pairs_of(found, RUNS)
