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
        Teams,
        Tukey,
        Unpaired,
    )
    from scorecube.collection.judgement_sets import judgement_sets
    from scorecube.collection.pools import removed_when_left_out
    from scorecube.collection.rankings import with_rankings
    from scorecube.design import topic_set_size, variances, wcw
    from scorecube.errors import ScorecubeError
    from scorecube.ingest.public import fetch
    from scorecube.workflow import Entry, sweep
    from scorecube.workflow.api import (
        analyse,
        cube_from_scores,
        evaluate,
        figure,
        judged_documents,
        list_analyses,
        list_metrics,
        open_study,
        read_rankings,
        table,
    )

__version__ = "0.1.0"

_HOMES = {"ScorecubeError": "scorecube.errors", "judgement_sets": "scorecube.collection.judgement_sets"}
_HOMES |= dict.fromkeys(("topic_set_size", "variances", "wcw"), "scorecube.design")
_HOMES |= dict.fromkeys(("Entry", "sweep"), "scorecube.workflow")
_HOMES |= {
    "fetch": "scorecube.ingest.public",
    "removed_when_left_out": "scorecube.collection.pools",
    "with_rankings": "scorecube.collection.rankings",
}

__all__ = [
    "Agreement",
    "Bootstrap",
    "Correlation",
    "Entry",
    "Paired",
    "Randomisation",
    "ScorecubeError",
    "Splits",
    "Stability",
    "Swap",
    "Teams",
    "Tukey",
    "Unpaired",
    "analyse",
    "cube_from_scores",
    "evaluate",
    "fetch",
    "figure",
    "judged_documents",
    "judgement_sets",
    "list_analyses",
    "list_metrics",
    "open_study",
    "read_rankings",
    "removed_when_left_out",
    "sweep",
    "table",
    "topic_set_size",
    "variances",
    "wcw",
    "with_rankings",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from scorecube.analyses.registry import load_class

        return load_class(name) or getattr(import_module(_HOMES.get(name, "scorecube.workflow.api")), name)
    raise AttributeError(f"module 'scorecube' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
