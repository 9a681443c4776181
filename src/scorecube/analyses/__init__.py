"""One file for each analysis, all of the same shape (see `analysis.py`)."""

from scorecube.analyses.analysis import Analysis
from scorecube.analyses.swap import Swap

ANALYSES: dict[str, type[Analysis]] = {analysis.name: analysis for analysis in (Swap,)}

__all__ = ["ANALYSES", "Analysis", "Swap"]
