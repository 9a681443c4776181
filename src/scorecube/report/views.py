"""What is shown of an analysis: its tables, its answers and its figure.

The view of an analysis is ``VIEW`` of `report/<analysis>.py`, or ``VIEWS[analysis]`` of a module
of several; a plugin may declare one beside its class. Modules are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scorecube.analyses import registry
from scorecube.errors import BadName, did_you_mean

if TYPE_CHECKING:
    import xarray as xr

    from scorecube.report.tables import Table

FEW = 30
"""Rows of a short table."""


@dataclass(frozen=True)
class Question:
    """A question about a study.

    Parameters
    ----------
    text, short
        As a page shows it, and in few words.
    analysis
        That answers it.
    """

    text: str
    analysis: str
    short: str


LEADERBOARD = Question("Which systems lead, and what is a rank worth?", "leaderboard", "Who leads?")
DISCRIMINATION = Question("Which metrics discriminate best?", "bootstrap", "Which metric?")
DIFFERENCE = Question("How large must a difference be?", "swap", "Which difference?")
TOPICS = Question("How many topics are needed?", "design", "How many topics?")
AGREEMENT = Question("Do metrics and gain settings agree?", "correlate", "Do metrics agree?")
JUDGES = Question("Can a judge stand in for the truth?", "judges", "Which judge?")
TEAMS = Question("Does leaving teams out change the results?", "teams", "And new teams?")
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
    what
        What the number is, as a heading.
    clause
        What follows the number in a sentence.
    name
        A run that the number is of.
    """

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    form: str = ".3f"
    clause: str = ""
    what: str = ""
    name: str = ""

    @property
    def number(self) -> tuple[str, str]:
        """The number and its limits as text."""
        from scorecube.report.readable import NONE, limited

        text, limits = limited(self.value, self.low, self.high, self.form)
        return ("none" if text == NONE else text), limits

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        value, limits = self.number
        number = f"{value} ({limits})" if limits else value
        return f"{self.label}: {self.name or self.what} {number}, {self.clause}."


Answers = Callable[["xr.Dataset"], Iterable[Answer]]


def title_of_options(options: Mapping[str, Any]) -> str:
    """Return all options that have a value.

    Examples
    --------
    >>> title_of_options({"size": 20, "top": None})
    'size 20'
    """
    return ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)


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
        What was done, and how to read it.
    answers
        By question: the first one's answers are sentences of terminals, all are on pages.
    chapter
        Question of its chapter, where it answers none.
    title
        Makes of the options what distinguishes two results.
    figure, reads
        Draws one result at one gain setting on a canvas; and how the figure is read.
    in_axes
        Draws the part of a figure of panels that has room in axes of the caller.
    by_metric
        Whether the figure is about one metric.
    overview
        Draws the results of several collections.
    if_few
        Table that is the default where it has at most `FEW` rows.
    shown
        Tables that pages and terminals show; the first by default.
    compute
        Makes the result from a cube, for what is not stored.
    page_result
        The same for pages, from a cube and the name of its collection; None for none.
    """

    name: str
    heading: str
    tables: Mapping[str, Table] = field(default_factory=dict)
    about: str = ""
    answers: Mapping[Question, Answers] = field(default_factory=dict)
    chapter: Question | None = None
    title: Callable[[Mapping[str, Any]], str] = title_of_options
    figure: Callable[[Any, xr.Dataset], None] | None = None
    reads: str = ""
    in_axes: Callable[[Any, xr.Dataset], None] | None = None
    by_metric: bool = False
    overview: Callable[..., None] | None = None
    if_few: str = ""
    shown: Sequence[str] = ()
    compute: Callable[[xr.Dataset], xr.Dataset] | None = None
    page_result: Callable[[xr.Dataset, str], xr.Dataset | None] | None = None

    def __post_init__(self) -> None:
        """Give a view without tables one of all values."""
        if not self.tables:
            from scorecube.report.tables import Table, values

            object.__setattr__(self, "tables", {"values": Table("", "", make=values)})
        if not self.shown:
            object.__setattr__(self, "shown", (self.first_table,))

    @property
    def first_table(self) -> str:
        """Name of the default table."""
        return next(iter(self.tables))

    @property
    def question(self) -> Question | None:
        """The question of its chapter."""
        questions = [*self.answers, *filter(None, [self.chapter])]
        own = (question for question in questions if question.analysis == self.name)
        return next(own, questions[0] if questions else None)

    def find_table(self, name: str | None, results: Sequence[xr.Dataset] = ()) -> tuple[str, Table]:
        """Return a table with its name; for no name the first, or `if_few` where it is short.

        Of results that have the settings of a paper it is the paper's table.

        Raises
        ------
        BadName
            A table that does not exist.
        """
        preset = results[0].attrs.get("preset") if results else None
        if name is None and preset in self.tables:
            name = str(preset)
        few = self.tables.get(self.if_few)
        if name is None and results and few and all(few.rows(each) <= FEW for each in results):
            name = self.if_few
        chosen = name or self.first_table
        if chosen not in self.tables:
            raise BadName(
                f"no table {chosen!r} of {self.name}; it has: {', '.join(self.tables)}"
                f"{did_you_mean(chosen, list(self.tables))}"
            )
        return chosen, self.tables[chosen]


PAIR_TESTS = ("bootstrap", "randomisation", "tukey", "maxt", "unpaired", "paired")
MODULES = {
    "scores": "scores",
    **{entry.name: entry.name for entry in registry.BUILT_IN},
    **dict.fromkeys(PAIR_TESTS, "pair_tests"),
    "board": "leaderboard",
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
        printed = import_module("scorecube.report.printed").TABLES.get(analysis, {})
        return replace(view, tables={**view.tables, **printed})
    known = analysis in registry.names()
    home = import_module(registry.load(analysis).__module__) if known else None
    return getattr(home, "VIEW", None) or View(analysis, analysis)
