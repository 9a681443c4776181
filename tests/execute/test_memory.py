"""A stated limit of memory decides the length of blocks, and what cannot fit is refused with both numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.errors import BadPlan
from scorecube.execute import memory
from scorecube.execute.estimate import estimate
from scorecube.execute.memory import default_memory, parse_memory
from scorecube.testing import simulate_cube
from tests.conftest import Cli


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("512m", 512 * 10**6),
        ("2k", 2000),
        ("100", 100),
        ("1tib", 2**40),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "4 apples", "0", "1e9", "4GBB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BadPlan, match="is not a size; expected"):
        parse_memory(text)


def test_blocks_shrink_until_they_fit() -> None:
    cube = simulate_cube(n_runs=200, seed=1)
    plan = make_plan(cube, sc.Bootstrap(), trials=100_000, seed=1)
    cost = plan.plan.analysis.cost(plan.prepared, plan.plan.trials)
    roomy = estimate(plan, 2, memory=64 * 10**9)
    limit = int(cost.result_bytes + 2 * (cost.fixed_bytes + 5 * cost.bytes))
    tight = estimate(plan, 2, memory=limit)
    assert tight.block_units == 5 < roomy.block_units
    assert tight.result_bytes + 2 * tight.bytes_per_worker <= limit


def test_what_cannot_fit_is_refused_before_anything_is_computed(
    scorecube: Cli, study: Path
) -> None:
    outcome = scorecube("bootstrap", study, "--trials", 1000, "--memory", "1MB", "--workers", 2)
    assert outcome.status == 1
    assert "error: this needs about 0.0" in outcome.stderr
    assert (
        "and 0.001 GB are allowed; use fewer --metrics, --trials or --workers, or raise --memory"
        in outcome.stderr
    )
    assert scorecube("bootstrap", study, "--trials", 20, "--memory", "1GB", "--seed", 1).succeeded()


def test_a_container_that_allows_less_decides(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "CONTROL_GROUP", limit)
    machine = default_memory()
    limit.write_text("max\n")
    assert default_memory() == machine
    limit.write_text("1000000\n")
    assert default_memory() == 800_000
