"""Parallel resampling analyses for information-retrieval meta-evaluation.

Names in `__all__` are imported when they are first used, so that importing the package is fast.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorecube.methods.index import BUILT_IN
from scorecube.report import report as report  # before others import the package of this name

if TYPE_CHECKING:
    from scorecube import testing as testing
    from scorecube.analyses.protocol import Analysis as Analysis
    from scorecube.analyses.rank_sets import rank_sets as rank_sets
    from scorecube.analyses.variances import variances as variances
    from scorecube.collection.rankings import with_rankings as with_rankings
    from scorecube.collection.selection import select as select
    from scorecube.collection.selection import standardise as standardise
    from scorecube.errors import BadArgument as BadArgument
    from scorecube.errors import BadInput as BadInput
    from scorecube.errors import BadName as BadName
    from scorecube.errors import BadOutput as BadOutput
    from scorecube.errors import BadPlan as BadPlan
    from scorecube.errors import BadStudy as BadStudy
    from scorecube.errors import ClusterFailed as ClusterFailed
    from scorecube.errors import CorruptStudy as CorruptStudy
    from scorecube.errors import FetchFailed as FetchFailed
    from scorecube.errors import ScorecubeError as ScorecubeError
    from scorecube.errors import StoreFailed as StoreFailed
    from scorecube.errors import SweepFailed as SweepFailed
    from scorecube.errors import UnknownCollection as UnknownCollection
    from scorecube.errors import UnknownName as UnknownName
    from scorecube.ingest.public import fetch as fetch
    from scorecube.methods.compare.comparison import compare as compare
    from scorecube.methods.compare.gate import gate as gate
    from scorecube.methods.design.sizes import topic_set_size as topic_set_size
    from scorecube.methods.design.sizes import wcw as wcw
    from scorecube.methods.index import *  # noqa: F403
    from scorecube.metrics.registry import metric as metric
    from scorecube.report.papers import latex as latex
    from scorecube.report.papers import markdown as markdown
    from scorecube.storage.study import Study as Study
    from scorecube.workflow.api import analyse as analyse
    from scorecube.workflow.api import cube_from_scores as cube_from_scores
    from scorecube.workflow.api import evaluate as evaluate
    from scorecube.workflow.api import import_scores as import_scores
    from scorecube.workflow.api import list_analyses as list_analyses
    from scorecube.workflow.api import list_metrics as list_metrics
    from scorecube.workflow.api import open_study as open_study
    from scorecube.workflow.api import read_rankings as read_rankings
    from scorecube.workflow.api import samples as samples
    from scorecube.workflow.outputs import figure as figure
    from scorecube.workflow.outputs import table as table
    from scorecube.workflow.packs import results as results
    from scorecube.workflow.sweep import sweep as sweep
    from scorecube.workflow.sweep_file import Entry as Entry

__version__ = "1.0.0.dev0"

_NAMES = {
    "analyses.protocol": "Analysis",
    "analyses.variances": "variances",
    "analyses.rank_sets": "rank_sets",
    "collection.rankings": "with_rankings",
    "collection.selection": "select standardise",
    "methods.design.sizes": "topic_set_size wcw",
    "errors": "BadArgument BadInput BadName BadOutput BadPlan BadStudy ClusterFailed CorruptStudy "
    "FetchFailed ScorecubeError StoreFailed SweepFailed UnknownCollection UnknownName",
    "ingest.public": "fetch",
    "metrics": "metric",
    "report": "report",
    "report.papers": "latex markdown",
    "storage.study": "Study",
    "testing": "testing",
    "workflow.api": "analyse cube_from_scores evaluate import_scores "
    "list_analyses list_metrics open_study read_rankings samples",
    "workflow.outputs": "figure table",
    "methods.compare.comparison": "compare",
    "methods.compare.gate": "gate",
    "workflow.packs": "results",
    "workflow.sweep": "sweep",
    "workflow.sweep_file": "Entry",
}
"""Module -> what it offers."""
_MODULES = {name: f"scorecube.{module}" for module, row in _NAMES.items() for name in row.split()}
_MODULES |= {entry.class_name: "scorecube.methods" for entry in BUILT_IN}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    from scorecube.workflow.plugins import load_plugins

    if name in _MODULES:
        for problem in load_plugins():
            warnings.warn(problem, stacklevel=2)
        module = import_module(_MODULES[name])
        value = getattr(module, name, module)  # `testing` is the module itself
        _register_accessor()
        return value
    from scorecube.errors import did_you_mean

    raise AttributeError(
        f"module 'scorecube' has no attribute {name!r}{did_you_mean(name, __all__)}",
        name=name,
        obj=None,
    )


def _register_accessor() -> None:
    """Give datasets the attribute ``scorecube``, once xarray is loaded."""
    if "xarray" in sys.modules:
        import_module("scorecube.workflow.accessor")


def __dir__() -> list[str]:
    return __all__


_register_accessor()
