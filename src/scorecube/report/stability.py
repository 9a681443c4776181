"""What is shown of the stability method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.results import labelled
from scorecube.report.swap import along_sampling, first_sampling, sample_title
from scorecube.report.tables import Table
from scorecube.report.views import DIFFERENCE, Answer, Question, View

ERRORS = Question("How often do samples of topics disagree?", "How many errors?", ("stability",))

RATES = Table(
    "sampling metric gain size fuzziness",
    "metric gain fuzziness error_rate ties trials size sampling",
    sort="fuzziness -size error_rate",
    within=1,
    part=along_sampling,
    brief="metric=label sampling error_rate ties topics=size fuzziness",
    at={names.SIZE: np.inf, names.FUZZINESS: 0},
)
"""Error rates and ties, the lowest error rate first (Buckley and Voorhees 2000, Table 1)."""


def title(options: Mapping[str, Any]) -> str:
    """Return sampling, sizes and fuzziness."""
    fuzziness = ", ".join(f"{value:.0%}" for value in options["fuzziness"])
    return f"{sample_title(options)}, fuzziness {fuzziness}"


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the error rates at the largest size and the smallest fuzziness, the lowest first."""
    least = float(result[names.FUZZINESS].min())
    at = {names.SIZE: np.inf, names.FUZZINESS: least}
    for row in labelled(RATES.frame(first_sampling(result)), at):
        clause = (
            f"with {row['ties']:.1%} ties and fuzziness {least:.0%}, on samples of {row['size']} "
            "of these topics"
        )
        yield Answer(row["label"], row["error_rate"], form=".1%", clause=clause, what="error rate")


def errors_and_ties(canvas: Any, result: xr.Dataset) -> None:
    """Error rate by ties, for each metric a line through its sizes at each fuzziness."""
    from scorecube.report.drawing import title_of

    axes, cells = canvas.panel(), first_sampling(result).isel(gain=0)
    for k, metric in enumerate(labels_of(result, names.METRIC)):
        at = cells.isel(metric=k)
        ties, errors = 100 * at["ties"].values, 100 * at["error_rate"].values
        for level in range(result.sizes[names.FUZZINESS]):
            style, label = canvas.curve(k, 5, 1.0), None if level else metric
            axes.plot(ties[:, level], errors[:, level], label=label, **style)
    axes.set(ylim=(0.0, None), xlim=(0.0, None), title=title_of(result))
    axes.set(xlabel="ties, % of comparisons", ylabel="error rate, % of comparisons")
    axes.legend(ncols=2 if result.sizes[names.METRIC] > 6 else 1)


VIEW = View(
    name="stability",
    heading="Stability method",
    tables={"stability": RATES},
    about="Topic sets are drawn, and every pair of runs is compared on each. Means that differ by "
    "less than the fuzziness, a share of the larger one, are a tie. The error rate is the share of "
    "comparisons that contradict the majority of their pair, which is not the true order; rates "
    "are about these topics and runs, and have no limits.",
    answers={ERRORS: answers},
    chapter=DIFFERENCE,
    title=title,
    figure=errors_and_ties,
)
