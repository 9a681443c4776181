"""Names that somebody may choose to do harm, or that are merely odd, and a study in which everything has such a name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.analyses.protocol import Analysis
from scorecube.testing import simulate_cube
from scorecube.workflow import api

HOSTILE = {
    "html": "<script>document.title='taken'</script>",
    "attribute": "\"><img src=x onerror=\"document.title='taken'\">",
    "template": "{{ 7 * 191 }}${7*191}{% raw %}",
    "formula": "=HYPERLINK(\"http://x\",\"y\")",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "minus": "-2+3+cmd",
    "separator": "a;=1+1;b",
    "latex": "\\input{/etc/passwd}%",
    "math": "$x^{$_$",
    "path": "..\\..%2f..",
    "marks": "_a_*b*`c`[d](javascript:x)|e~f#g&lt;",
    "markup": "[bold red][/x]:smile:",
    "turned": "\u202egnp.exe\u2066",
    "combining": "e\u0301\u0323\u0308\u0300",
    "right-to-left": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "wide": "\u691c\u7d22\u30c6\u30b9\u30c8",
    "long": "long-" * 60,
}  # fmt: skip
CONTROL = {
    "terminal": "\x1b]0;owned\x07\x1b[31mred",
    "c1": "\x9b31mred",
    "lines": "one\r\ntwo\u2028three\tfour",
    "zero": "a\x00b\x7f",
}
COLLECTIONS = ("$a_{b}$ c^", "_Übung 'x' & =1+1;")
"""Names that a collection may have: no slashes, no dots at the beginning."""
ANALYSES: tuple[Analysis, ...] = (
    sc.Swap(), sc.Bootstrap(), sc.Correlation(), sc.Paired(), sc.Stability(), sc.Tukey(), sc.Leaderboard(),
)  # fmt: skip
METRICS = (HOSTILE["math"], "_" + HOSTILE["at"], HOSTILE["long"])
GAINS = (HOSTILE["html"], HOSTILE["math"])


def hostile_cube(
    runs: Sequence[str],
    metrics: Sequence[str] = METRICS,
    gains: Sequence[str] = GAINS,
    seed: int = 0,
) -> xr.Dataset:
    """Return simulated scores of 25 topics with names of our own; each run is a team."""
    cube = simulate_cube(
        n_runs=len(runs), seed=seed, metrics=("AP", "RR", "Q"), gains=("3:2:1", "1:1:1")
    )
    cube = cube.isel(
        topic=slice(25), gain=slice(len(gains)), metric=[k % 3 for k in range(len(metrics))]
    )
    topics = [*HOSTILE.values(), *(f"t{k}" for k in range(25))][:25]
    named: dict[str, Sequence[str]] = {
        "metric": metrics,
        "gain": gains,
        "run": runs,
        "topic": topics,
    }
    labels = {
        dim: np.array(sorted(found) if dim in ("run", "topic") else list(found), object)
        for dim, found in named.items()
    }
    return cube.assign_coords({**labels, "team": ("run", labels["run"])})


def hostile_study(
    path: Path,
    analyses: Sequence[Analysis] = ANALYSES,
    more: Sequence[str] = (),
    gains: Sequence[str] = GAINS,
) -> None:
    """Write a study of two collections with results of analyses, of 20 trials each.

    more: Further names of runs.
    """
    study = sc.open_study(path, mode="a")
    for k, name in enumerate(COLLECTIONS):
        study.add(
            name, cube=hostile_cube([*list(HOSTILE.values())[:10], *more], gains=gains, seed=k)
        )
    for analysis in analyses:
        for task in api.plan_in_study(study, analysis, trials=20, seed=1):
            task.run()
