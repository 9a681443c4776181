"""Topics and seeds for the difference of two systems: a plain oracle, one seed, and what is refused."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.methods.design.view import needs_of_mean
from tests.methods.test_retrained import SYSTEMS, cube_of, simulated
from tests.oracles import retrained as oracle

if TYPE_CHECKING:
    from tests.conftest import Cli

DIFFERENCE = 0.05


def tables(sides: dict[str, Any]) -> tuple[oracle.Table, oracle.Table]:
    return sides["ours"].tolist(), sides["base"].tolist()


def is_least(power: Any, number: float, least: int) -> bool:
    """Return whether a number reaches .8, and the one before does not."""
    n = int(number)
    before = n == least or power(n - 1) < 0.8 + 1e-9
    return bool(power(n) >= 0.8 - 1e-9 and before)


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.2])
def test_numbers_are_the_least_that_the_oracle_allows(shift: float) -> None:
    sides = simulated(2, (3, 4), 200, shift)
    of = tables(sides)
    found = sc.analyse(cube_of(sides), sc.Design(pair=SYSTEMS, min_diff=DIFFERENCE))
    found = found.isel(metric=0, gain=0)
    for runs in found["repetitions"].values.tolist():
        row = found.sel(repetitions=runs)
        plain = [
            oracle.power(of, n, runs, DIFFERENCE, retrained=False)
            for n in (row["topics"].item() - 1, row["topics"].item())
        ]
        assert plain[0] < 0.8 <= plain[1]
        assert row["power"].item() == pytest.approx(plain[1], rel=1e-9)
        more = row["topics_retrained"].item()
        if runs > 1 and math.isfinite(more):
            assert is_least(
                lambda n, runs=runs: oracle.power(of, n, runs, DIFFERENCE, retrained=True), more, 2
            )
            assert more >= row["topics"].item()
        else:
            assert runs == 1 or oracle.power(of, 10**7, runs, DIFFERENCE, retrained=True) < 0.8
    needed = found["repetitions_needed"].item()
    assert is_least(lambda k: oracle.power(of, 200, k, DIFFERENCE, retrained=True), needed, 2)
    assert np.isnan(found["topics_retrained"].values).any()


def test_the_mean_over_collections_needs_a_part_of_each() -> None:
    """As many topics in all collections together as one takes by itself."""
    cubes = [cube_of(simulated(seed, (1, 1), 200, 0.0)) for seed in (1, 2)]
    design = sc.Design(pair=SYSTEMS, min_diff=DIFFERENCE)
    results = [sc.analyse(cube, design) for cube in cubes]
    (needed,) = re.findall(r": ([\d,]+) \(", needs_of_mean(results)[0])
    alone = [result["topics"].item() for result in results]
    assert int(needed) == round(sum(alone) / 2 / 2)


def test_one_seed_of_each_is_a_paired_t_test() -> None:
    sides = simulated(2, (1, 1), 200, 0.0)
    found = sc.analyse(cube_of(sides), sc.Design(pair=SYSTEMS, min_diff=DIFFERENCE))
    apart = (sides["ours"] - sides["base"])[0]
    expected = sc.topic_set_size(float(apart.var(ddof=1)) / 2, DIFFERENCE, method="t")
    assert found["topics"].values.ravel().tolist() == [expected["topics"].item()]
    assert found["topics_retrained"].isnull().all()
    assert found["repetitions_needed"].isnull().all()


def test_what_is_refused() -> None:
    with pytest.raises(BadPlan, match="systems"):
        sc.Design(pair=SYSTEMS, systems=5)
    with pytest.raises(BadPlan, match="one number"):
        sc.Design(pair=SYSTEMS, min_diff=(0.1, 0.2))
    cube = cube_of(simulated(2, (2, 2), 20, 0.0))
    for pair in (("ours",), ("ours", "ours"), ("ours", "base", "ours")):
        with pytest.raises(BadPlan, match="two systems"):
            sc.analyse(cube, sc.Design(pair=pair))


def test_the_command(tmp_path: Path, scorecube: Cli) -> None:
    cube = cube_of(simulated(2, (3, 3), 100, 0.02))
    path = tmp_path / "study"
    sc.open_study(path, mode="a").add("a", cube=cube)
    words = ("design", path, "--pair", "ours,base", "--min-diff", DIFFERENCE)
    rows = json.loads(scorecube(*words, "--format", "json").succeeded().stdout)
    expected = sc.analyse(cube, sc.Design(pair=SYSTEMS, min_diff=DIFFERENCE))
    assert [row["repetitions"] for row in rows] == expected["repetitions"].values.tolist()
    assert [row["topics"] for row in rows] == expected["topics"].values.ravel().tolist()
    needed = f"{expected['repetitions_needed'].item():.0f} seeds of each"
    assert needed in " ".join(scorecube(*words).succeeded().stdout.split())
    scorecube(*words, "--out", tmp_path / "picture.png").succeeded()
