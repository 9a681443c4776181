"""One file for each analysis, all of the same shape (see `analysis.py`)."""

from scorecube.analyses.agreement import Agreement
from scorecube.analyses.analysis import Analysis
from scorecube.analyses.bootstrap import Bootstrap
from scorecube.analyses.correlation import Correlation
from scorecube.analyses.joined import judgement_sets
from scorecube.analyses.paired import Paired
from scorecube.analyses.randomisation import Randomisation
from scorecube.analyses.splits import Splits
from scorecube.analyses.stability import Stability
from scorecube.analyses.swap import Swap
from scorecube.analyses.teams import Teams
from scorecube.analyses.tukey import Tukey
from scorecube.analyses.unpaired import Unpaired

ANALYSES: dict[str, type[Analysis]] = {
    analysis.name: analysis
    for analysis in (
        Swap,
        Stability,
        Bootstrap,
        Randomisation,
        Tukey,
        Unpaired,
        Paired,
        Correlation,
        Splits,
        Agreement,
        Teams,
    )
}

__all__ = [
    "ANALYSES",
    "Agreement",
    "Analysis",
    "Bootstrap",
    "Correlation",
    "Paired",
    "Randomisation",
    "Splits",
    "Stability",
    "Swap",
    "Teams",
    "Tukey",
    "Unpaired",
    "judgement_sets",
]
