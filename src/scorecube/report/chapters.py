"""What the report says about each analysis: its title, its explanation, the tables it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr

from scorecube.report.tables import combine, swap

Tables = list[tuple[str, pd.DataFrame]]


@dataclass(frozen=True)
class Chapter:
    """One analysis in the report.

    Parameters
    ----------
    name
        Of the method.
    about
        What was done and how to read it, in plain words, with its conditions.
    title
        Options of a plan -> what tells it from other plans.
    caption
        A result -> what its picture shows.
    tables
        Results of several collections, made alike -> headings and tables; all but the first of a heading are folded.
    """

    name: str
    about: str
    title: Callable[[Mapping[str, Any]], str]
    caption: Callable[[xr.Dataset], str]
    tables: Callable[[Sequence[xr.Dataset]], Tables]


def swap_title(options: Mapping[str, Any]) -> str:
    """Name sampling, size and rule."""
    size = f" of {options['size']} topics" if options["size"] else ""
    return f"{options['sampling']} samples{size}, rule {options['rule']}"


def swap_tables(results: Sequence[xr.Dataset]) -> Tables:
    """Return the sensitivity table of each confidence, without the columns that are alike in all rows."""
    frame = combine([swap.sensitivity(result) for result in results]).drop(columns=["trials", "sampling"])
    tables = [
        (f"Sensitivity at {confidence:.0%} confidence", part.drop(columns="confidence"))
        for confidence, part in frame.groupby("confidence", sort=False)
    ]
    return [*tables, ("Topics in the samples", combine([swap.overlap(result) for result in results]))]


CHAPTERS: Mapping[str, Chapter] = {
    "swap": Chapter(
        "Swap method",
        "Two topic sets are drawn, and every pair of runs is compared on both. The swap rate is the share of comparisons in which the "
        "two sets disagree about the better run, given the difference seen on the first. The required difference is the smallest "
        "from which on the swap rate stays within what is accepted. A metric is the more sensitive the larger the share of comparisons "
        "that reach its required difference (column iv). The rates describe these runs and topics; they are no significance test.",
        swap_title,
        lambda result: f"{swap.conditions(result)}. Bands are 95 % intervals; gaps are empty bins.",
        swap_tables,
    ),
}  # fmt: skip
