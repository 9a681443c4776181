"""Answers: what a result says in one sentence, and the questions that are answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorecube.declare.numbers import NONE, UNKNOWN, limited

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Question:
    """A question about a study.

    Parameters
    ----------
    text, short
        As a page shows it, and in few words.
    compares
        Whether its card shows all metrics side by side.
    """

    text: str
    short: str
    compares: bool = False


LEADERBOARD = Question("Which systems lead, and what is a rank worth?", "Who leads?")
DISCRIMINATION = Question("Which metrics discriminate best?", "Which metric?", compares=True)
DIFFERENCE = Question("How large must a difference be?", "Which difference?")
TOPICS = Question("How many topics are needed?", "How many topics?")
AGREEMENT = Question("Do metrics and gain settings agree?", "Do metrics agree?")
TEAMS = Question("Does leaving teams out change the results?", "And new teams?")
JUDGES = Question("Can a judge stand in for the truth?", "Which judge?")
QUESTIONS = (LEADERBOARD, DISCRIMINATION, DIFFERENCE, TOPICS, AGREEMENT, TEAMS, JUDGES)
"""Those with a card, in the order of pages."""


@dataclass(frozen=True)
class Answer:
    """What a result says of one metric.

    Parameters
    ----------
    label
        The metric, with its gain setting where there are several.
    value, low, high
        The number, and its limits, which may be missing.
    form
        How the number is written without digits that follow from limits.
    clause, what
        What follows the number in a sentence, and what it is, as a heading.
    places
        Decimals of the number, of one among others; by default those that its limits allow.
    name, verb
        A run that the number is of, and what it does: ``leads with``.
    """

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    form: str = ".3f"
    clause: str = ""
    what: str = ""
    name: str = ""
    verb: str = ""
    places: int = UNKNOWN

    @property
    def number(self) -> tuple[str, str]:
        """The number and its limits as text."""
        text, limits = limited(self.value, self.low, self.high, self.form, self.places)
        return ("none" if text == NONE else text), limits

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        value, limits = self.number
        number = f"{value} ({limits})" if limits else value
        subject = " ".join(filter(None, [self.name or self.what, self.verb]))
        return f"{self.label}: {subject} {number}, {self.clause}."


Answers = Callable[["xr.Dataset"], Iterable[Answer]]
