"""What is shown of an analysis: its tables, its answers and its figure.

The view of an analysis is ``VIEW`` of `report/<analysis>.py`, or ``VIEWS[analysis]`` of a module
of several; a plugin may declare one beside its class. Modules are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import xarray as xr

from scorecube.analyses import registry
from scorecube.errors import BadName
from scorecube.report.readable import NONE, limited
from scorecube.report.tables import Table, values


@dataclass(frozen=True)
class Question:
    """A question about a study.

    Parameters
    ----------
    text, short
        As a page shows it, and in few words.
    analyses
        That answer it, that of a card first.
    """

    text: str
    short: str
    analyses: tuple[str, ...]


LEADERBOARD = Question(
    "Which systems lead, and what is a rank worth?", "Who leads?", ("board", "leaderboard")
)
DISCRIMINATION = Question(
    "Which metrics discriminate best?", "Which metric?", ("swap", "maxt", "bootstrap")
)
DIFFERENCE = Question("How large must a difference be?", "Which difference?", ("swap",))
TOPICS = Question("How many topics are needed?", "How many topics?", ("design",))
AGREEMENT = Question("Do metrics and gain settings agree?", "Do metrics agree?", ("correlate",))
TEAMS = Question("Does leaving teams out change the results?", "And new teams?", ("teams",))
JUDGES = Question("Can a judge stand in for the truth?", "Which judge?", ("judges",))
QUESTIONS = (LEADERBOARD, DISCRIMINATION, DIFFERENCE, TOPICS, AGREEMENT, TEAMS, JUDGES)


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

    @property
    def number(self) -> tuple[str, str]:
        """The number and its limits as text."""
        text, limits = limited(self.value, self.low, self.high, self.form)
        return ("none" if text == NONE else text), limits

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        value, limits = self.number
        number = f"{value} ({limits})" if limits else value
        subject = " ".join(filter(None, [self.name or self.what, self.verb]))
        return f"{self.label}: {subject} {number}, {self.clause}."


Answers = Callable[[xr.Dataset], Iterable[Answer]]


@dataclass(frozen=True)
class View:
    """Everything that is shown of one analysis.

    Parameters
    ----------
    name, heading
        Of the analysis, and of its chapter.
    tables
        By name; the first is the default. Without any there is one of all values.
    about
        What was done and how to read it.
    answers
        By question: the first one's are sentences of terminals, all are on pages.
    chapter
        Question of its chapter; by default the one that it answers.
    conditions
        Options that are always said; others are where they are not the default.
    figure, by_metric
        Draws one result at one gain setting on a canvas; whether it is about one metric.
    overview
        Draws the results of several collections.
    shown
        Tables that pages and terminals show; the first by default.
    compute, page_result
        Make the result from a cube, for what is not stored; for pages from a cube, the name of its
        collection and perhaps options, None for none.
    """

    name: str
    heading: str
    tables: Mapping[str, Table] = field(default_factory=dict)
    about: str = ""
    answers: Mapping[Question, Answers] = field(default_factory=dict)
    chapter: Question | None = None
    conditions: str = ""
    figure: Callable[[Any, xr.Dataset], None] | None = None
    by_metric: bool = False
    overview: Callable[..., None] | None = None
    shown: Sequence[str] = ()
    compute: Callable[[xr.Dataset], xr.Dataset] | None = None
    page_result: Callable[..., xr.Dataset | None] | None = None

    def __post_init__(self) -> None:
        """Set what follows from the rest."""
        if not self.tables:
            object.__setattr__(self, "tables", {"values": Table("", "", make=values)})
        object.__setattr__(self, "shown", self.shown or (self.first_table,))
        object.__setattr__(self, "chapter", self.chapter or next(iter(self.answers), None))

    @property
    def first_table(self) -> str:
        """Name of the default table."""
        return next(iter(self.tables))

    def find_table(self, name: str | None, results: Sequence[xr.Dataset] = ()) -> Table:
        """Return a table; for no name that of the paper whose settings a result has, or the first.

        Raises BadName: A table that does not exist.
        """
        chosen = name or self.first_table
        if name is None and results and results[0].attrs.get("preset") in self.tables:
            chosen = str(results[0].attrs["preset"])
        if chosen not in self.tables:
            raise BadName(f"no table {chosen!r} of {self.name}; it has: {', '.join(self.tables)}")
        return self.tables[chosen]


PAIR_TESTS = ("bootstrap", "randomisation", "tukey", "maxt", "paired")
MODULES = {
    "scores": "scores",
    **{entry.name: entry.name for entry in registry.BUILT_IN},
    **dict.fromkeys(PAIR_TESTS, "pair_tests"),
    "board": "leaderboard",
    "stability": "swap",
    "design": "design",
    "wcw": "design",
}
"""Modules by names of views."""


def view_names() -> list[str]:
    """Return the names of all that can be shown, in the order of the report."""
    first, *others = MODULES
    return list(dict.fromkeys([first, *registry.names(), *others]))


def view_of(analysis: str) -> View:
    """Return the view of an analysis, of ``scores``, ``design`` or ``wcw``."""
    if analysis in MODULES:
        module = import_module(f"scorecube.report.{MODULES[analysis]}")
        view: View = getattr(module, "VIEWS", {}).get(analysis) or module.VIEW
        printed = import_module("scorecube.report.papers").TABLES.get(analysis, {})
        return replace(view, tables={**view.tables, **printed})
    known = analysis in registry.names()
    home = import_module(registry.load(analysis).__module__) if known else None
    return getattr(home, "VIEW", None) or View(analysis, analysis)
