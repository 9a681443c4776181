"""Analyses of a score cube, one record a file (see `base.py`), listed in `registry.py`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorecube.analyses.registry import load_class

if TYPE_CHECKING:
    from scorecube.analyses.board import Board
    from scorecube.analyses.bootstrap import Bootstrap
    from scorecube.analyses.correlation import Correlation
    from scorecube.analyses.judges import Judges
    from scorecube.analyses.leaderboard import Leaderboard
    from scorecube.analyses.max_t import MaxT
    from scorecube.analyses.paired import Paired
    from scorecube.analyses.protocol import Analysis
    from scorecube.analyses.randomisation import Randomisation
    from scorecube.analyses.reliability import Reliability
    from scorecube.analyses.stability import Stability
    from scorecube.analyses.swap import Swap
    from scorecube.analyses.teams import Teams
    from scorecube.analyses.tukey import Tukey
    from scorecube.analyses.unpaired import Unpaired

__all__ = [
    "Analysis",
    "Board",
    "Bootstrap",
    "Correlation",
    "Judges",
    "Leaderboard",
    "MaxT",
    "Paired",
    "Randomisation",
    "Reliability",
    "Stability",
    "Swap",
    "Teams",
    "Tukey",
    "Unpaired",
]


def __getattr__(name: str) -> Any:
    if name == "Analysis":
        return import_module("scorecube.analyses.protocol").Analysis
    analysis = load_class(name) if name in __all__ else None
    if analysis is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return analysis
