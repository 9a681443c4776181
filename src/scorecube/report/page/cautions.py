"""What to be careful about: conditions under which the numbers of a study say less than they seem to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import COLLECTION
from scorecube.report.text_formats import merge_gains

FEW_TOPICS = 25
"""Fewer than the smallest set that is usually held sufficient (Buckley and Voorhees 2000)."""
FEW_RUNS = 10
Z = 1.96
BEYOND = 2
"""Times the topics at hand, beyond which a number of topics is called an extrapolation."""
MOST_NAMED = 4


@dataclass(frozen=True)
class Caution:
    """One remark.

    Parameters
    ----------
    text
        What it is about, and what follows; equal remarks of several collections are told once.
    collection
        Where it holds.
    detail
        Numbers of this collection.
    """

    text: str
    collection: str
    detail: str = ""


def cautions_of(kind: str, result: xr.Dataset, frames: Mapping[str, pd.DataFrame]) -> list[Caution]:
    """Return what to be careful about with one result.

    Parameters
    ----------
    kind
        Analysis.
    result
        Its result.
    frames
        The result's tables by name, those that are not too long.
    """
    made = [*_trials(result), *(CHECKS[kind](result, frames) if kind in CHECKS else [])]
    where = str(result.attrs[COLLECTION])
    return [Caution(text, where, detail) for text, detail in made] + [
        Caution(str(note)[0].upper() + str(note)[1:].rstrip(".") + ".", where) for note in result.attrs.get("notes", [])
    ]


def cautions_of_collection(facts: Mapping[str, Any]) -> list[Caution]:
    """Return what to be careful about with a collection, given what `overview` tells of it."""
    made = []
    name = str(facts["name"])
    if facts["topics"] < FEW_TOPICS:
        text = f"Fewer than {FEW_TOPICS} topics: everything that depends on topics is rough."
        made.append(Caution(text, name, f"{facts['topics']} topics"))
    if facts["runs"] < FEW_RUNS:
        text = f"Fewer than {FEW_RUNS} runs: shares of pairs and rank correlations take few values."
        made.append(Caution(text, name, f"{facts['runs']} runs"))
    if facts["missing_scores"]:
        made.append(
            Caution("Scores are missing; every analysis says how it treats them.", name, f"{facts['missing_scores']:,} scores")
        )  # fmt: skip
    return made


def together(cautions: Iterable[Caution]) -> list[dict[str, Any]]:
    """Return each text once, with the collections it holds for."""
    found: dict[str, dict[str, list[str]]] = {}
    for each in cautions:
        details = found.setdefault(each.text, {}).setdefault(each.collection, [])
        if each.detail and each.detail not in details:
            details.append(each.detail)
    return [
        {"text": text, "where": [name + (f" ({'; '.join(details)})" if details else "") for name, details in places.items()]}
        for text, places in found.items()
    ]  # fmt: skip


def _trials(result: xr.Dataset) -> Iterable[tuple[str, str]]:
    """Say where too few trials make p-values near alpha uncertain by as much as alpha."""
    trials = int(result.attrs.get("trials", 0))
    if names.ALPHA not in result.coords or not trials or "p_value" not in result:
        return
    for alpha in result[names.ALPHA].values.tolist():
        error = Z * math.sqrt(alpha * (1 - alpha) / trials)
        if error > alpha:
            needed = math.ceil(Z**2 * (1 - alpha) / alpha)
            yield (
                f"Too few trials for alpha {alpha:g}: a p-value near it is uncertain by more than itself; {needed:,} trials or more are needed.",
                f"{result.attrs['analysis']}, {trials:,} trials: {alpha:g} +- {error:.3f}",
            )


def _pairs(result: xr.Dataset, frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, str]]:
    frame = frames["power"]
    made = []
    for column, text in (
        ("degenerate_pairs", "Pairs of runs have equal scores on every topic: they count as not different."),
        ("constant_pairs", "Pairs of runs differ by the same amount on every topic: their t statistic is infinite."),
        ("untested_pairs", "Pairs of runs have too few common topics to be tested."),
    ):
        if column in frame and int(frame[column].max()):
            made.append((text, f"up to {int(frame[column].max()):,} of {result.sizes[names.PAIR]:,} pairs"))
    return made


def _bootstrap(result: xr.Dataset, frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, str]]:
    made = _pairs(result, frames)
    trials, pairs = int(result.attrs["trials"]), result.sizes[names.PAIR]
    alpha = float(result[names.ALPHA].max())
    if (trials + 1) * alpha < pairs:
        made.append(
            (
                "Too few trials for Holm's adjustment to find any pair: it takes as many as pairs / alpha. Tukey's test "
                "(scorecube tukey) holds for all pairs together with fewer.",
                f"{result.attrs['analysis']}: {pairs / alpha:,.0f} trials",
            )
        )
    return made


def _swap(result: xr.Dataset, frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, str]]:
    made = []
    frame = merge_gains(frames["sensitivity"])
    strict = frame[(frame["confidence"] == frame["confidence"].max()) & (frame["size"] == frame["size"].max())]
    none = list(dict.fromkeys(strict.loc[strict["required_difference"].isna(), "metric"]))
    if none:
        more = f" and {len(none) - MOST_NAMED} more" if len(none) > MOST_NAMED else ""
        made.append(
            (
                f"No difference is large enough for {strict['confidence'].iloc[0]:.0%} confidence.",
                f"{', '.join(none[:MOST_NAMED])}{more}",
            )
        )
    if result.sizes[names.SIZE] >= 3:
        made.append(
            (
                "Dashed curves beyond the largest sample are extrapolations of a fitted decay, not measurements.",
                f"beyond {int(result[names.SIZE].max())} topics",
            )
        )
    if result.attrs["sampling"] == "replacement":
        made.append(
            (
                "Samples with replacement overlap, so swap rates come out too low for topics that are really new.",
                f"{float(result['common'].isel(size=-1)):.0f} topics in common",
            )
        )
    return made


def _correlate(result: xr.Dataset, frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, str]]:
    found = [frame["tied_pairs"].max() for name, frame in frames.items() if "tied_pairs" in frame and len(frame)]
    ties = int(max(found, default=0))
    runs = result.sizes[names.RUN]
    text = "Runs have equal means: such pairs count as neither agreeing nor disagreeing, and keep tau below 1."
    return [(text, f"up to {ties:,} of {runs * (runs - 1) // 2:,} pairs")] if ties else []


def _design(result: xr.Dataset, frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, str]]:
    at_hand = int(result.attrs["topics_at_hand"])
    frame = merge_gains(frames["sizes"])
    far = frame[frame["topics"] > BEYOND * at_hand]
    if far.empty:
        return []
    text = f"Topic set size design asks for more than {BEYOND} times the topics that its variances were estimated from: take it as an order of magnitude."
    return [(text, f"{', '.join(dict.fromkeys(far['metric']))}")]


CHECKS = {
    "swap": _swap, "bootstrap": _bootstrap, "randomisation": _bootstrap, "unpaired": _bootstrap, "tukey": _pairs,
    "correlate": _correlate, "design": _design,
}  # fmt: skip
