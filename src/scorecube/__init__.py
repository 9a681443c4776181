"""Parallel resampling analyses for information-retrieval meta-evaluation.

Everything named in `__all__` is imported when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorecube.analyses import Bootstrap, Paired, Randomisation, Stability, Swap, Tukey, Unpaired
    from scorecube.api import (
        analyse,
        cube_from_scores,
        evaluate,
        figure,
        list_analyses,
        list_metrics,
        open_study,
        read_rankings,
        table,
    )
    from scorecube.errors import ScorecubeError

__version__ = "0.1.0"

_ANALYSES = ("Bootstrap", "Paired", "Randomisation", "Stability", "Swap", "Tukey", "Unpaired")
_HOMES = dict.fromkeys(_ANALYSES, "scorecube.analyses") | {"ScorecubeError": "scorecube.errors"}

__all__ = [
    "Bootstrap",
    "Paired",
    "Randomisation",
    "ScorecubeError",
    "Stability",
    "Swap",
    "Tukey",
    "Unpaired",
    "analyse",
    "cube_from_scores",
    "evaluate",
    "figure",
    "list_analyses",
    "list_metrics",
    "open_study",
    "read_rankings",
    "table",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "scorecube.api")), name)
    raise AttributeError(f"module 'scorecube' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
