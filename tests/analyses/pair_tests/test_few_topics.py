"""Bootstrap tests with few topics: the warning, and the error rates behind it."""

from __future__ import annotations

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.testing import simulate_cube


def test_few_topics_are_warned_of() -> None:
    cube = simulate_cube(n_runs=4, seed=1)
    few, many = (
        make_plan(cube.isel(topic=slice(n)), sc.Bootstrap(), trials=10, seed=1).warnings
        for n in (24, 25)
    )
    assert many == ()
    assert len(few) == 1
    assert "24 topics are few for a bootstrap test" in few[0]
    assert "randomisation" in few[0]
