"""Cautions: conditions that limit what the numbers of a study mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.phrases import Z
from scorecube.report.tables import COLLECTION
from scorecube.report.views import view_of
from scorecube.storage import ATTRIBUTES, Row

FEW_TOPICS = 25
"""Fewer than the smallest set that is usually regarded as sufficient (Buckley and Voorhees 2000)."""
FEW_RUNS = 10


@dataclass(frozen=True)
class Caution:
    """One remark.

    text: The condition and its consequence; equal remarks on several collections are merged.
    detail: Numbers of this collection.
    """

    text: str
    collection: str
    detail: str = ""


def cautions_of(kind: str, result: xr.Dataset, frames: Mapping[str, pd.DataFrame]) -> list[Caution]:
    """Return the cautions of one result.

    kind: Analysis.
    frames: The result's tables by name, those that are not too long.
    """
    remarks = [*_trials(result), *view_of(kind).cautions(result, frames)]
    where = str(result.attrs.get(COLLECTION, ""))
    return (
        [Caution(text, where, detail) for text, detail in remarks]
        + [
            Caution(note[:1].upper() + _ended(note[1:]), where)
            for name in ("notes", names.DOUBTS)
            for note in result.attrs.get(name, ())
        ]
        + [Caution(result.attrs[key], where) for key in names.ABOUT_TOPICS if key in result.attrs]
    )


def cautions_of_collection(facts: Mapping[str, Any]) -> list[Caution]:
    """Return the cautions of a collection, given its facts as from `overview`."""
    name, found = str(facts["name"]), list[tuple[str, str]]()
    if facts["topics"] < FEW_TOPICS:
        text = f"Fewer than {FEW_TOPICS} topics: all estimates over topics are rough."
        found.append((text, f"{facts['topics']} topics"))
    if facts["runs"] < FEW_RUNS:
        text = f"Fewer than {FEW_RUNS} runs: shares of pairs and rank correlations take few values."
        found.append((text, f"{facts['runs']} runs"))
    if facts["missing_scores"]:
        text = "Scores are missing; each analysis reports how it treats them."
        found.append((text, f"{facts['missing_scores']:,} scores"))
    found += [(_ended(doubt), "") for doubt in facts.get(names.DOUBTS, ())]
    return [Caution(text, name, detail) for text, detail in found]


def doubts_of_results(row: Row) -> list[Caution]:
    """Return the doubts about the options of a collection's results, each once."""
    found = {
        f"{kind}: {doubt}"
        for kind in row.texts
        for facts in row.results(kind).values()
        for doubt in facts.get(ATTRIBUTES, {}).get(names.DOUBTS, ())
    }
    return [Caution(_ended(text), row.collection) for text in sorted(found)]


def _ended(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


def merge_cautions(cautions: Iterable[Caution]) -> list[dict[str, Any]]:
    """Return each text once, with its collections."""
    merged: dict[str, dict[str, list[str]]] = {}
    for each in cautions:
        details = merged.setdefault(each.text, {}).setdefault(each.collection, [])
        if each.detail and each.detail not in details:
            details.append(each.detail)
    return [
        {
            "text": text,
            "where": [
                name + (f" ({'; '.join(details)})" if details else "")
                for name, details in places.items()
            ],
        }
        for text, places in merged.items()
    ]


def _trials(result: xr.Dataset) -> Iterable[tuple[str, str]]:
    """Yield the levels near which p-values are uncertain by more than the level, as there are too few trials."""
    trials = int(result.attrs.get("trials", 0))
    if names.ALPHA not in result.coords or not trials or "p_value" not in result:
        return
    for alpha in result[names.ALPHA].values.tolist():
        error = Z * math.sqrt(alpha * (1 - alpha) / trials)
        if error > alpha:
            needed = math.ceil(Z**2 * (1 - alpha) / alpha)
            yield (
                f"Too few trials for alpha {alpha:g}: a p-value near alpha is uncertain by more than alpha; {needed:,} trials or more are needed.",
                f"{result.attrs['analysis']}, {trials:,} trials: {alpha:g} +- {error:.3f}",
            )
