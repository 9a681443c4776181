"""bpref, a metric of judged documents; the condensed form of others is ``judged_only=True``."""

from typing import Any

from scorecube.metrics.common import n_relevant, n_scored
from scorecube.metrics.registry import UNIT, metric


@metric(
    "bpref",
    range=UNIT,
    source="trec_eval bpref; Buckley and Voorhees 2004",
    cutoff="none",
    non_relevant=True,
)
def bpref(
    ranks: Any, levels: Any, judged: Any, gains: Any, cutoff: int, parameters: Any, out: Any
) -> None:
    """Binary preference: mean over the R relevant documents of 1 - min(n, R) / min(R, N).

    n of the N non-relevant documents are above.
    """
    relevant = n_relevant(judged)
    fewer = min(relevant, judged[0])
    above, total = 0, 0.0
    for k in range(n_scored(ranks, 0)):
        if levels[k] == 0:
            above += 1
        else:
            total += 1.0 - min(above, relevant) / fewer if above > 0 else 1.0
    out[0] = total / relevant
