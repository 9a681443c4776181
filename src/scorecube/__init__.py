"""Parallel resampling analyses for information-retrieval meta-evaluation.

Names in `__all__` are imported when they are first used, so that importing the package is fast.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorecube.report import report  # before others import the package of this name

if TYPE_CHECKING:
    from scorecube.analyses import (
        Board,
        Bootstrap,
        Correlation,
        Judges,
        Leaderboard,
        MaxT,
        Paired,
        Randomisation,
        Reliability,
        Stability,
        Swap,
        Teams,
        Tukey,
        Unpaired,
    )
    from scorecube.analyses.designs import variances
    from scorecube.analyses.quantities import complete
    from scorecube.analyses.rank_sets import rank_sets
    from scorecube.collection.judgement_sets import judgement_sets
    from scorecube.collection.many_collections import join_collections
    from scorecube.collection.rankings import with_rankings
    from scorecube.collection.selection import select, standardise
    from scorecube.design import topic_set_size, wcw
    from scorecube.errors import ScorecubeError
    from scorecube.ingest.preferences import agreement_with_preferences
    from scorecube.ingest.public import fetch
    from scorecube.report.paper_tables import latex, markdown
    from scorecube.workflow.api import (
        analyse,
        cube_from_scores,
        doubts,
        evaluate,
        figure,
        findings,
        import_scores,
        judged_documents,
        list_analyses,
        list_metrics,
        merge,
        open_study,
        read_rankings,
        samples,
        table,
    )
    from scorecube.workflow.comparison import compare, gate
    from scorecube.workflow.sweep import sweep
    from scorecube.workflow.sweep_file import Entry

__version__ = "1.0.0.dev0"

_MODULES = {
    "complete": "scorecube.analyses.quantities",
    "agreement_with_preferences": "scorecube.ingest.preferences",
    "Entry": "scorecube.workflow.sweep_file",
    "ScorecubeError": "scorecube.errors",
    "fetch": "scorecube.ingest.public",
    "compare": "scorecube.workflow.comparison",
    "gate": "scorecube.workflow.comparison",
    "join_collections": "scorecube.collection.many_collections",
    "judgement_sets": "scorecube.collection.judgement_sets",
    "latex": "scorecube.report.paper_tables",
    "markdown": "scorecube.report.paper_tables",
    "rank_sets": "scorecube.analyses.rank_sets",
    "select": "scorecube.collection.selection",
    "standardise": "scorecube.collection.selection",
    "sweep": "scorecube.workflow.sweep",
    "topic_set_size": "scorecube.design",
    "variances": "scorecube.analyses.designs",
    "wcw": "scorecube.design",
    "with_rankings": "scorecube.collection.rankings",
}
"""Name -> module; analyses are in the registry, other names in `scorecube.workflow.api`."""

__all__ = [
    "Board",
    "Bootstrap",
    "Correlation",
    "Entry",
    "Judges",
    "Leaderboard",
    "MaxT",
    "Paired",
    "Randomisation",
    "Reliability",
    "ScorecubeError",
    "Stability",
    "Swap",
    "Teams",
    "Tukey",
    "Unpaired",
    "agreement_with_preferences",
    "analyse",
    "compare",
    "complete",
    "cube_from_scores",
    "doubts",
    "evaluate",
    "fetch",
    "figure",
    "findings",
    "gate",
    "import_scores",
    "join_collections",
    "judged_documents",
    "judgement_sets",
    "latex",
    "list_analyses",
    "list_metrics",
    "markdown",
    "merge",
    "open_study",
    "rank_sets",
    "read_rankings",
    "report",
    "samples",
    "select",
    "standardise",
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

        _load_plugins()
        found = load_class(name) or getattr(
            import_module(_MODULES.get(name, "scorecube.workflow.api")), name
        )
        _register_accessor()
        return found
    from scorecube.errors import did_you_mean

    raise AttributeError(
        f"module 'scorecube' has no attribute {name!r}{did_you_mean(name, __all__)}",
        name=name,
        obj=None,
    )


_accessor: list[str] = []
"""What has been registered with xarray."""


def _register_accessor() -> None:
    """Give datasets the attribute ``scorecube`` as soon as there can be any: once xarray is loaded."""
    if "xarray" in sys.modules and not _accessor:
        _accessor.append("scorecube")
        import_module("scorecube.workflow.accessor").register()


def _load_plugins() -> None:
    """Load what other packages add, and warn of what cannot be loaded."""
    from scorecube.workflow.plugins import load_plugins

    for problem in load_plugins():
        warnings.warn(problem, stacklevel=3)


def __dir__() -> list[str]:
    return __all__


_register_accessor()
