"""What is shown of the swap method, and of the stability method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.readable import is_known
from scorecube.report.results import labelled
from scorecube.report.tables import Table, combine
from scorecube.report.views import DIFFERENCE, DISCRIMINATION, Answer, Question, View

ERRORS = Question("How often do samples of topics disagree?", "How many errors?", ("stability",))
STRICTEST = {names.CONFIDENCE: np.inf, names.SIZE: np.inf}


def along_sampling(result: xr.Dataset) -> xr.Dataset:
    """Return a result with the dim sampling, also of one."""
    if names.SAMPLING in result.dims:
        return result
    return result.expand_dims({names.SAMPLING: [result.attrs[names.SAMPLING]]})


def first_sampling(result: xr.Dataset) -> xr.Dataset:
    """Return the part of a result that is about the first sampling."""
    if names.SAMPLING not in result.dims:
        return result
    return result.isel(sampling=0).assign_attrs(sampling=str(result[names.SAMPLING].values[0]))


SENSITIVITY = Table(
    "sampling metric gain size confidence",
    "metric gain confidence required_difference max_performance relative_difference share trials "
    "size sampling required_low required_high share_low share_high share_behind~ "
    "required_difference_smooth required_suffix open_bin",
    sort="-confidence -size -share",
    within=1,
    part=along_sampling,
    brief="metric=label sampling needed_difference=required_difference,required_low,required_high "
    "share_with_it=share~ topics=size confidence",
    at=STRICTEST,
)
"""Required differences, by the share of comparisons that have them (Sakai 2005, Tables 1-4)."""
RATES = Table(
    "sampling metric gain size bin",
    "metric gain bin lower count swaps swap_rate~ tie_share size sampling",
    part=along_sampling,
)
"""Swap rate of every bin (Sakai 2005, Figures 2-4), with 95 % limits over trials."""
HALVES = Table(
    "sampling metric gain size",
    "metric gain size tau tau_low tau_high trials sampling",
    sort="-size -tau",
    within=1,
    part=along_sampling,
)
"""Mean of Kendall's tau between the rankings by both samples, with limits over topics."""
OVERLAP = Table("sampling size", "size sampling unique common", part=along_sampling)
"""Mean numbers of distinct and of common topics of the samples (Sakai 2005, Table 5)."""


def strictest(result: xr.Dataset) -> list[dict[Any, Any]]:
    """Return the rows of the first sampling, highest confidence, and largest size."""
    return labelled(SENSITIVITY.frame(first_sampling(result)), STRICTEST)


def samples_of(row: Mapping[str, Any]) -> str:
    """Return the samples of a row, and of how many trials its number and limits are."""
    # Replicates of the jackknife have a tenth of the trials, whose chance error is in the limits.
    return f"samples of {row['size']} topics, {row['trials']:,} trials"


def shares(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the share of comparisons that reach the required difference, the largest first."""
    rows = strictest(result)
    near = [row["label"] for row in rows[1:] if row["share_behind_low"] <= 0]
    named = ", ".join(near) if len(near) < 4 else f"{len(near)} others"
    apart = f"; not separated from it: {named}" if near else ""
    for row in rows:
        clause = f"at {row['confidence']:.0%} confidence, {samples_of(row)}{apart}"
        apart, numbers = "", (row["share"], row["share_low"], row["share_high"])
        yield Answer(row["label"], *numbers, ".0%", clause, "comparisons confirmed")


def differences(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the required differences."""
    for row in strictest(result):
        numbers = row["required_difference"], row["required_low"], row["required_high"]
        least = "or more " if row["open_bin"] == 1 and is_known(numbers[0]) else ""
        clause = f"{least}at {row['confidence']:.0%} confidence, {samples_of(row)}"
        yield Answer(row["label"], *numbers, ".2f", clause, "required difference")


def swap_rates(canvas: Any, result: xr.Dataset) -> None:
    """Swap rate by difference (Sakai 2005, Figures 2-4): first sampling, largest sample size."""
    result = first_sampling(result)
    cells = result.isel(gain=0, size=-1)
    lower = cells["lower"].isel(metric=0).values
    cells = cells.isel(metric=(cells["lower"] == lower).all(names.BIN))  # those on one scale
    axes = canvas.panel()
    for k, label in enumerate(labels_of(cells, names.METRIC)):
        cell, style = cells.isel(metric=k), canvas.curve(k, 4.5, 1.4)
        # Markers of neighbours stand at different bins.
        style |= {"markevery": (k % 3, 3)} | ({"markerfacecolor": "none"} if k % 2 else {})
        axes.plot(lower, cell["swap_rate"].values, **style, label=label)
        filled = cell["count"] >= 0.001 * cell["count"].sum()
        ends = (cell[f"swap_rate_{end}"].where(filled).values for end in ("low", "high"))
        axes.fill_between(lower, *ends, color=style["color"], alpha=0.12, linewidth=0)
    words: dict[str, Any] = {"fontsize": 8, "color": "0.4", "ha": "right", "va": "bottom"}
    for rate in (1.0 - result[names.CONFIDENCE].values).tolist():
        axes.axhline(rate, linestyle="--", linewidth=0.8, color="0.4")
        axes.annotate(f"{rate:.0%}", (1.0, rate), xycoords=("axes fraction", "data"), **words)
    last = max(np.flatnonzero(cells["count"].any(names.METRIC)), default=0)
    axes.set(
        xlim=(None, lower[last] + lower[1] / 2), ylim=(0.0, None), title=canvas.title_of(result)
    )
    axes.set(xlabel="difference in mean score, lower edge of the bin", ylabel="swap rate")
    axes.legend(fontsize=8)


def sensitivity_bars(
    canvas: Any, results: Sequence[xr.Dataset], confidence: float | None = None
) -> None:
    """Share of comparisons by collection (Sakai 2005, Figures 5-8), of the largest size."""
    level = float(max(results[0][names.CONFIDENCE].values)) if confidence is None else confidence
    frame = combine(
        [SENSITIVITY.frame(first_sampling(result).isel(size=[-1], gain=[0])) for result in results]
    )
    frame = frame[frame["confidence"] == level]
    label = f"% of comparisons\nwith the difference required\nat {level:.0%} confidence"
    canvas.shares(frame, results, label)


SWAP = View(
    name="swap",
    heading="Swap method",
    tables={"sensitivity": SENSITIVITY, "rates": RATES, "halves": HALVES, "overlap": OVERLAP},
    about="Two topic sets are drawn, and every pair of runs is compared on both. The swap rate is "
    "the share of comparisons on which the sets disagree about the better run, by the difference "
    "on the first. The required difference is where the fitted rate falls to the accepted one. "
    "Limits are about these runs with other topics, and this number of trials: with more they are "
    "narrower, as each of 10 replicates has a tenth of the trials. Samples with replacement share "
    "topics, so that their required differences are too small. The rates are no test of a pair.",
    answers={DISCRIMINATION: shares, DIFFERENCE: differences},
    chapter=DIFFERENCE,
    conditions="sampling",
    figure=swap_rates,
    overview=sensitivity_bars,
)

ERROR_RATES = Table(
    "sampling metric gain size fuzziness",
    "metric gain fuzziness error_rate ties trials size sampling",
    sort="fuzziness -size error_rate",
    within=1,
    part=along_sampling,
    brief="metric=label sampling error_rate ties topics=size fuzziness",
    at={names.SIZE: np.inf, names.FUZZINESS: 0},
)
"""Error rates and ties, the lowest error rate first (Buckley and Voorhees 2000, Table 1)."""


def error_rates(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the error rates at the largest size and the smallest fuzziness, the lowest first."""
    least = float(result[names.FUZZINESS].min())
    at = {names.SIZE: np.inf, names.FUZZINESS: least}
    for row in labelled(ERROR_RATES.frame(first_sampling(result)), at):
        clause = (
            f"with {row['ties']:.1%} ties and fuzziness {least:.0%}, on samples of {row['size']} "
            "of these topics"
        )
        yield Answer(row["label"], row["error_rate"], form=".1%", clause=clause, what="error rate")


def errors_and_ties(canvas: Any, result: xr.Dataset) -> None:
    """Error rate by ties, for each metric a line through its sizes at each fuzziness."""
    axes, cells = canvas.panel(), first_sampling(result).isel(gain=0)
    for k, metric in enumerate(labels_of(result, names.METRIC)):
        at = cells.isel(metric=k)
        ties, errors = 100 * at["ties"].values, 100 * at["error_rate"].values
        for level in range(result.sizes[names.FUZZINESS]):
            style, label = canvas.curve(k, 5, 1.0), None if level else metric
            axes.plot(ties[:, level], errors[:, level], label=label, **style)
    axes.set(ylim=(0.0, None), xlim=(0.0, None), title=canvas.title_of(result))
    axes.set(xlabel="ties, % of comparisons", ylabel="error rate, % of comparisons")
    axes.legend(ncols=2 if result.sizes[names.METRIC] > 6 else 1)


STABILITY = View(
    name="stability",
    heading="Stability method",
    tables={"stability": ERROR_RATES},
    about="Topic sets are drawn, and every pair of runs is compared on each. Means that differ by "
    "less than the fuzziness, a share of the larger one, are a tie. The error rate is the share of "
    "comparisons that contradict the majority of their pair, which is not the true order; rates "
    "are about these topics and runs, and have no limits.",
    answers={ERRORS: error_rates},
    chapter=DIFFERENCE,
    conditions="sampling fuzziness",
    figure=errors_and_ties,
)
VIEWS = {"swap": SWAP, "stability": STABILITY}
