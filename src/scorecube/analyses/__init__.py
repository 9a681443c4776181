"""One file for each analysis, all of the same shape (see `analysis.py`)."""

from scorecube.analyses.base import Analysis
from scorecube.analyses.leave_out.teams import Teams
from scorecube.analyses.pair_tests.bootstrap import Bootstrap
from scorecube.analyses.pair_tests.classical import Paired
from scorecube.analyses.pair_tests.randomisation import Randomisation
from scorecube.analyses.pair_tests.tukey import Tukey
from scorecube.analyses.pair_tests.unpaired import Unpaired
from scorecube.analyses.rank_agreement.agreement import Agreement
from scorecube.analyses.rank_agreement.correlation import Correlation
from scorecube.analyses.topic_samples.splits import Splits
from scorecube.analyses.topic_samples.stability import Stability
from scorecube.analyses.topic_samples.swap import Swap
from scorecube.collection.judgement_sets import judgement_sets

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
