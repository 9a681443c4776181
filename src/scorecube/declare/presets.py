"""Presets: the settings of a method in a paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Paper = Literal["sakai-2005", "sakai-2007", "sakai-2017", "sakai-shang-2016"]
OF_2007 = ("3:2:1", "30:20:10", "0.3:0.2:0.1", "1:1:1", "10:5:1")
"""Gain settings of Sakai 2007, the first also of Sakai 2005."""
BEST_RUNS = 30
"""Both papers take as many runs, by relaxed average precision."""


class Preset(NamedTuple):
    """Settings of an analysis in a paper: options other than the defaults, and trials, by name.

    gains: Gain settings of a collection that has several; empty for all.
    best_runs: How many runs are taken, the best; 0 for all.
    """

    values: Mapping[str, Any] = {}
    gains: tuple[str, ...] = ()
    best_runs: int = 0
