"""Parallel resampling analyses for information-retrieval meta-evaluation.

Everything named in `__all__` is imported when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorecube.analyses import (
        Agreement,
        Bootstrap,
        Correlation,
        Paired,
        Randomisation,
        Splits,
        Stability,
        Swap,
        Tukey,
        Unpaired,
        judgement_sets,
    )
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
    from scorecube.design import topic_set_size, variances, wcw
    from scorecube.errors import ScorecubeError

__version__ = "0.1.0"

_ANALYSES = (
    "Agreement",
    "Bootstrap",
    "Correlation",
    "Paired",
    "Randomisation",
    "Splits",
    "Stability",
    "Swap",
    "Tukey",
    "Unpaired",
    "judgement_sets",
)
_HOMES = dict.fromkeys(_ANALYSES, "scorecube.analyses") | {"ScorecubeError": "scorecube.errors"}
_HOMES |= dict.fromkeys(("topic_set_size", "variances", "wcw"), "scorecube.design")

__all__ = [
    "Agreement",
    "Bootstrap",
    "Correlation",
    "Paired",
    "Randomisation",
    "ScorecubeError",
    "Splits",
    "Stability",
    "Swap",
    "Tukey",
    "Unpaired",
    "analyse",
    "cube_from_scores",
    "evaluate",
    "figure",
    "judgement_sets",
    "list_analyses",
    "list_metrics",
    "open_study",
    "read_rankings",
    "table",
    "topic_set_size",
    "variances",
    "wcw",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "scorecube.api")), name)
    raise AttributeError(f"module 'scorecube' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
