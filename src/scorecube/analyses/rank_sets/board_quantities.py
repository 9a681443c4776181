"""What results of `Board` hold, and what follows from them."""

from __future__ import annotations

from scorecube import names
from scorecube.analyses.rank_sets import leaderboard_quantities
from scorecube.collection.schema import limits, variables

_CELL = (names.METRIC, names.GAIN)
_OF_COLLECTION = (*_CELL, names.COLLECTION, names.RUN)
VARIABLES = (
    *leaderboard_quantities.VARIABLES,
    *variables(_OF_COLLECTION, "estimate", "score", collection_mean="mean score in a collection"),
    *limits("collection_mean", _OF_COLLECTION, "score", "{} limit of the mean in a collection"),
    *variables((names.COLLECTION,), "share", weight="weight of a collection"),
    *variables((names.COLLECTION,), "count", "topics", topics="topics of a collection"),
    *variables(
        *((*_CELL, names.RUN), "estimate", "1"),
        mean_rank="mean of the ranks in the collections (Borda); no interval is known to hold",
    ),
    *variables(
        *(_CELL, "count", "pairs"),
        separated_neighbours="pairs of runs next to each other in the order of means that are separated",
    ),
)
OPTIONAL = leaderboard_quantities.OPTIONAL
DERIVED = leaderboard_quantities.DERIVED
