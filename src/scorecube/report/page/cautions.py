"""What to be careful about: conditions under which the numbers of a study say less than they seem to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables.rows import COLLECTION
from scorecube.report.views.registry import view_of

FEW_TOPICS = 25
"""Fewer than the smallest set that is usually held sufficient (Buckley and Voorhees 2000)."""
FEW_RUNS = 10
Z = 1.96


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
    made = [*_trials(result), *view_of(kind).cautions(result, frames)]
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
