"""Calculations: methods that take a moment, whose results are made when they are asked for."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import xarray as xr

from scorecube.analyses.protocol import Method
from scorecube.collection.arguments import CubeLike
from scorecube.errors import BadPlan, option


@dataclass(frozen=True, kw_only=True)
class Calculation(Method):
    """Base of methods without trials; nothing of them is stored, so a study may be read-only.

    Their fields are their options. Options of a name that analyses share, such as ``metrics``, may
    be declared with another meaning.
    """

    stored: ClassVar[bool] = False
    selects: ClassVar[tuple[str, ...]] = ()
    """Shared options that choose scores of a collection."""
    instead: ClassVar[str] = ""
    """Option that may take the place of scores."""

    @abstractmethod
    def made_of(self, cubes: Mapping[str, CubeLike]) -> xr.Dataset:
        """Return the result of one collection, or of all together if it `joins` them.

        cubes: By the name of the collection; empty for a cube without one.
        """

    def needs_scores(self) -> bool:
        """Whether the options alone give no result."""
        return True

    def without_scores(self) -> xr.Dataset:
        """Return the result of options that need no scores."""
        raise BadPlan(f"{self.name} needs scores")

    def status(self, result: xr.Dataset) -> int:
        """Return the exit status of a command."""
        return 0

    def document(self, result: xr.Dataset) -> dict[str, Any] | None:
        """Return the result as one JSON object; None where JSON is a table."""
        return None


def check_scores(record: Calculation, *, given: bool) -> None:
    """Refuse scores that are lacking, or that the options take the place of (BadPlan)."""
    if record.needs_scores() != given:
        instead = f" or {option(record.instead)}" if record.instead else ""
        found = "both" if given else "neither"
        text = f"{record.name} takes the scores of a STUDY{instead}; found {found}"
        raise BadPlan(text, option=record.instead or None)


def calculate(record: Calculation, cubes: Mapping[str, CubeLike]) -> xr.Dataset:
    """Return the result of a calculation, which names what was asked for.

    cubes: By the name of the collection; none for options that need no scores.
    Raises BadPlan: As `check_scores`.
    """
    check_scores(record, given=bool(cubes))
    result = record.made_of(cubes) if cubes else record.without_scores()
    asked = {"analysis": record.name, "plan": json.dumps({"options": record.options()})}
    about = {} if record.joins or not cubes else {"collection": next(iter(cubes))}
    return result.assign_attrs(asked | about | result.attrs)
