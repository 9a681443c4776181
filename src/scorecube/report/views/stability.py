"""View of the stability method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube.report.tables.stability import stability
from scorecube.report.tables.topic_samples import conditions
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import sample_title
from scorecube.report.views.view import Column, Order, Table, View, on_demand, select_tables


def title(options: Mapping[str, Any]) -> str:
    """Return sampling, sizes and fuzziness."""
    return f"{sample_title(options)}, fuzziness {', '.join(f'{each:.0%}' for each in options['fuzziness'])}"


def headline(result: xr.Dataset) -> list[str]:
    """Return the metrics with the lowest error rates, which are about these topics."""
    frame = with_labels(stability(result))
    rows = frame[frame["size"] == frame["size"].max()]
    best = rows.iloc[0]
    rows = rows[rows["fuzziness"] == best["fuzziness"]]
    first = f"{best['label']} has the lowest error rate" if len(rows) > 1 else str(best["label"])
    after = (
        f"; next is {rows['label'].iloc[1]} with {rows['error_rate'].iloc[1]:.1%} and {rows['ties'].iloc[1]:.1%}"
        if len(rows) > 1
        else ""
    )
    return [
        f"{first}: {best['error_rate']:.1%} of the comparisons contradict the majority of their "
        f"pair and {best['ties']:.1%} are ties, with fuzziness {best['fuzziness']:.0%}, in {result.attrs['trials']:,} trials of {best['size']} of these "
        f"{result.attrs['n_topics']} topics{after}; no interval for other topics is known"
    ]


def fewest_errors(frame: pd.DataFrame) -> str:
    """Return the metric with the lowest error rate at the largest size."""
    row = (
        frame[frame["size"] == frame["size"].max()].sort_values("error_rate", kind="stable").iloc[0]
    )
    return f"{row['label']} {row['error_rate']:.2%}"


VIEW = View(
    name="stability",
    heading="Stability method",
    about=(
        "Topic sets are drawn, and every pair of runs is compared on each. Two means that differ by less than the fuzziness (a share of the "
        "larger mean) are a tie. The error rate is the share of comparisons that contradict the majority of the comparisons of their pair; a good metric has "
        "few errors and few ties. The majority is that of the same trials, not the true order of the two runs; rates are about these topics and runs, and have no interval."
    ),
    tables={"stability": Table(stability)},
    title=title,
    caption=lambda result: (
        f"{conditions(result)}. Fewer ties (left) and fewer errors (low) are better."
    ),
    headline=headline,
    page_tables=lambda frames: select_tables(frames, {"Error rates and ties": "stability"}),
    figure=on_demand("figures.stability:errors_and_ties"),
    column=Column("fewest errors", fewest_errors),
    order=Order("error_rate", more_is_better=False, conditions=("fuzziness", "size", "sampling")),
)
