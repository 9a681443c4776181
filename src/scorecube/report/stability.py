"""What is shown of the stability method: table, figure and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.style import FIGURE_SIZE, curve_style
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import sample_conditions, sample_title
from scorecube.report.tables import declared
from scorecube.report.text_formats import with_labels
from scorecube.report.view import DIFFERENCE, Canvas, Summary, View, on_page

RATES = declared(
    "metric gain -size fuzziness",
    "metric gain fuzziness error_rate ties trials size sampling",
    sort="fuzziness -size error_rate",
)
"""Error rates and ties, the lowest error rate first (Buckley and Voorhees 2000, Table 1)."""


def title(options: Mapping[str, Any]) -> str:
    """Return sampling, sizes and fuzziness."""
    return f"{sample_title(options)}, fuzziness {', '.join(f'{each:.0%}' for each in options['fuzziness'])}"


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the metrics with the lowest error rates, which are about these topics."""
    frame = with_labels(RATES.make(result))
    rows = frame[frame["size"] == frame["size"].max()]
    rows = rows[rows["fuzziness"] == rows["fuzziness"].iloc[0]]
    best, first, after = rows.iloc[0], str(rows["label"].iloc[0]), ""
    if len(rows) > 1:
        label, rate, ties = rows.iloc[1][["label", "error_rate", "ties"]]
        first += " has the lowest error rate"
        after = f"; next is {label} with {rate:.1%} and {ties:.1%}"
    yield with_number(
        f"{first}: {best['error_rate']:.1%} of the comparisons contradict the majority of their "
        f"pair and {best['ties']:.1%} are ties, with fuzziness {best['fuzziness']:.0%}, in {result.attrs['trials']:,} trials of {best['size']} of these "
        f"{result.attrs['n_topics']} topics{after}; no interval for other topics is known",
        f"error rate, {best['label']}, {best['size']} topics",
        [best["error_rate"]],
        table="stability",
    )


def errors_and_ties(canvas: Canvas, result: xr.Dataset) -> None:
    """Error rate against ties, for each metric a line through its sizes for each fuzziness: left and low is better."""
    cells = result.isel(gain=0)
    axes = canvas.panel(FIGURE_SIZE)
    for k, metric in enumerate(labels_of(result, names.METRIC)):
        at = cells.isel(metric=k)
        ties, errors = 100 * at["ties"].values, 100 * at["error_rate"].values
        for level in range(result.sizes[names.FUZZINESS]):
            style, label = curve_style(k, 5, 1.0), None if level else metric
            axes.plot(ties[:, level], errors[:, level], label=label, **style)
        for step, level in np.ndindex(*ties.shape) if k == 0 and ties.size > 1 else ():
            words = f"{int(result[names.SIZE][step])} topics"
            if result.sizes[names.FUZZINESS] > 1:
                words += f", {float(result[names.FUZZINESS][level]):.0%}"
            place = (ties[step, level], errors[step, level])
            axes.annotate(words, place, (6, 3), textcoords="offset points", fontsize=7, color="0.4")
    axes.set(ylim=(0.0, None), xlim=(0.0, None))
    axes.set(xlabel="ties, % of comparisons", ylabel="error rate, % of comparisons")
    title = f"{sample_conditions(result)}, gains {cells[names.GAIN].item()}"
    if result.sizes[names.FUZZINESS] == 1:
        title += f", fuzziness {float(result[names.FUZZINESS][0]):.0%}"
    axes.set_title(title)
    axes.legend(ncols=2 if result.sizes[names.METRIC] > 6 else 1)


VIEW = View(
    name="stability",
    heading="Stability method",
    about=(
        "Topic sets are drawn, and every pair of runs is compared on each. Two means that differ by less than the fuzziness (a share of the "
        "larger mean) are a tie. The error rate is the share of comparisons that contradict the majority of the comparisons of their pair; a good metric has "
        "few errors and few ties. The majority is that of the same trials, not the true order of the two runs; rates are about these topics and runs, and have no interval."
    ),
    summary=(
        Summary(
            "metric=label error_rate=error_rate ties topics=size fuzziness",
            at={"fuzziness": 0, names.SIZE: math.inf},
        ),
    ),
    tables={"stability": RATES},
    title=title,
    caption=lambda result: (
        f"{sample_conditions(result)}. Fewer ties (left) and fewer errors (low) are better."
    ),
    findings=findings,
    page_tables=on_page({"Error rates and ties": "stability"}),
    figure=errors_and_ties,
    chapter=DIFFERENCE,
)
