"""The view of an analysis: one record from which tables, figures and the report are made.

A view needs a name, a heading and tables; everything else has a default, so that a new analysis can be shown before anything is
written about it. Modules of views import matplotlib inside of functions, as it takes long to load.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import declared_variables
from scorecube.collection.schema import COORDINATES
from scorecube.errors import BadName, did_you_mean
from scorecube.report.columns import describe_columns
from scorecube.report.figures.labels import with_figure_labels
from scorecube.report.figures.style import Figure
from scorecube.report.findings import Finding
from scorecube.report.tables import COLLECTION, LIMITS, Table, number_of_values, values

if TYPE_CHECKING:
    from scorecube.report.figures.canvas import Canvas as Canvas
else:
    Canvas = Any  # for annotations of views: matplotlib takes long to load


@dataclass(frozen=True)
class Question:
    """A question about a study.

    Parameters
    ----------
    text
        As a page shows it.
    analysis
        To run if no result answers the question yet; its answer comes first.
    short
        In few words, for cards.
    contents
        In one to three words, for the contents of a page.
    card
        Analyses of whose findings a card is made first.
    """

    text: str
    analysis: str
    short: str = ""
    contents: str = ""
    card: tuple[str, ...] = ()


LEADERBOARD = Question("Which systems lead, and what is a rank worth?", "leaderboard", "Who leads?")
DISCRIMINATION = Question(
    "Which metrics discriminate best?",
    "bootstrap",
    "Which metric separates runs best?",
    "Which metric",
    ("swap", "maxt"),
)
DIFFERENCE = Question("How large must a difference be?", "swap", contents="Differences")
TOPICS = Question("How many topics are needed?", "design", "How many topics next time?", "Topics")
AGREEMENT = Question(
    "Do metrics and gain settings agree?", "correlate", "Do metrics agree?", "Agreement"
)
JUDGES = Question("Can a judge stand in for the truth?", *("judges", "Which judge?", "Judges"))
TEAMS = Question(
    "Does leaving teams out change the results?", "teams", "And new teams?", "New teams"
)
QUESTIONS = (LEADERBOARD, DISCRIMINATION, DIFFERENCE, TOPICS, AGREEMENT, TEAMS)
ONLY_ANSWERED = (JUDGES,)
"""Questions that most studies do not have: shown if a result answers them."""


Frames = Mapping[str, pd.DataFrame]
"""Tables of an analysis by name, each over all collections; without those that are too long for a page."""
FEW = 30
"""Rows of a short table."""
Remarks = Iterator[tuple[str, str]]
"""What limits the meaning of a result: what it is and what follows, and the numbers of this result."""
HeadedTables = list[tuple[str, pd.DataFrame]]
"""Tables with their headings."""


@dataclass(frozen=True)
class Summary:
    """What a terminal shows of a table first.

    Parameters
    ----------
    columns
        As words of `headed`, or by heading: a column of the table; two that are a range; or an estimate, its lower and its upper limit, separated
        by spaces. Those that a table does not have are left out. The column ``label`` is the metric with its gain setting.
    table
        Name of the table; the first by default.
    most
        Rows of one collection.
    at
        Rows whose columns are nearest to these numbers, e.g. infinity for the largest, or have these texts, if any has.
    first_metric
        Rows of the first metric and gain setting only.
    near
        Column of p-values; those nearest to the largest significance level come first.
    bar
        Heading of the estimate whose limits are drawn, too, where there is room.
    title
        Line above the table, of a table behind another.
    """

    columns: str | Mapping[str, str]
    table: str = ""
    most: int = 10
    at: Mapping[str, float | str] = field(default_factory=dict)
    first_metric: bool = False
    near: str = ""
    bar: str = ""
    title: str = ""

    @property
    def by_heading(self) -> Mapping[str, str]:
        """Names of columns by heading."""
        return headed(self.columns) if isinstance(self.columns, str) else self.columns


def headed(words: str) -> dict[str, str]:
    """Return columns by heading: a name, or a heading with ``_`` for spaces and names joined by commas; ``~`` stands for limits.

    Parameters
    ----------
    words
        Separated by spaces.

    Returns
    -------
    columns
        Names by heading.

    Examples
    --------
    >>> headed("topics same_best_run=share_same_best over_trials=tau_5,tau_95 bias~")
    {'topics': 'topics', 'same best run': 'share_same_best', 'over trials': 'tau_5 tau_95', 'bias': 'bias bias_low bias_high'}
    """
    found = {}
    for word in words.split():
        heading, _, names_of = word.partition("=")
        columns = names_of or heading
        limited = [columns.replace("~", end) for end in LIMITS[: 3 if "~" in word else 1]]
        plain = heading.replace("_", " ") if names_of else heading.removesuffix("~")
        found[plain] = " ".join(limited).replace(",", " ")
    return found


@dataclass(frozen=True)
class ResultGroup:
    """Results of one analysis with equal options, of one collection or several: what answers are made from.

    Parameters
    ----------
    heading, title
        Of the section that shows the results.
    frames
        Their tables; the first is not empty.
    results
        One of each collection; without its large arrays on a page.
    """

    heading: str
    title: str
    frames: Frames
    results: Sequence[xr.Dataset]

    @property
    def attrs(self) -> list[Mapping[Any, Any]]:
        """Attributes of each result."""
        return [each.attrs for each in self.results]

    @property
    def first_table(self) -> pd.DataFrame:
        """The first table of the analysis."""
        return next(iter(self.frames.values()))

    @property
    def several(self) -> bool:
        """Whether there are several collections."""
        return len(self.results) > 1

    @property
    def conditions(self) -> str:
        """What was computed, and with how many trials, in words."""
        trials = int(self.attrs[0].get("trials") or 0)
        words = [self.heading, self.title, f"{trials:,} trials" if trials else ""]
        return ", ".join(filter(None, words))

    def each(self) -> Iterator[tuple[str, ResultGroup]]:
        """Yield the name of each of several collections, and its part."""
        for result in self.results:
            name = str(result.attrs[COLLECTION])
            own = {key: frame[frame[COLLECTION] == name] for key, frame in self.frames.items()}
            yield name, replace(self, frames=own, results=[result])


Answer = Callable[[ResultGroup], Iterable[Finding]]


def by_collection(answer: Answer) -> Answer:
    """Return an answer that says of each of several collections what another one says of one."""

    def of_each(group: ResultGroup) -> Iterator[Finding]:
        if not group.several:
            yield from answer(group)
            return
        for name, own in group.each():
            for found in answer(own):
                subject = found.subject and f"{found.subject}, {name}"
                yield replace(found, sentence=f"{name}: {found.sentence}", subject=subject)

    return of_each


def title_of_options(options: Mapping[str, Any]) -> str:
    """Return all options that have a value.

    Examples
    --------
    >>> title_of_options({"size": 20, "top": None})
    'size 20'
    """
    return (
        ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)
        or "default options"
    )


def caption_of_sizes(result: xr.Dataset) -> str:
    """Return the lengths of all dims and the number of trials."""
    sizes = [f"{dim} {size:,}" for dim, size in result.sizes.items()]
    trials = [f"trials {result.attrs['trials']:,}"] if result.attrs.get("trials") else []
    return f"{', '.join([*sizes, *trials])}."


def names_of_variables(result: xr.Dataset) -> list[Finding]:
    """Return one line that names the variables of a result with their dims, and its notes."""
    variables = [
        f"{name}[{', '.join(map(str, array.dims))}]" for name, array in result.data_vars.items()
    ]
    line = f"{result.attrs.get('analysis', 'result')}: {', '.join(variables)}"
    return [Finding(line), *notes_of(result)]


def notes_of(result: xr.Dataset) -> list[Finding]:
    """Return what an analysis notes in its result."""
    return [Finding(note) for note in result.attrs.get("notes", ())]


def first_table_only(frames: Frames) -> HeadedTables:
    """Return the first table under its name."""
    name, frame = next(iter(frames.items()))
    return [(name.replace("_", " ").capitalize(), frame)]


@dataclass(frozen=True)
class View:
    """Everything that is shown of one analysis.

    Parameters
    ----------
    name
        Of the analysis.
    heading
        Of its sections in the report.
    tables
        Its tables by name; the first is the default. Without any there is one with all values of a result.
    summary
        What a terminal shows first: one table or two; by default the beginning of the first table.
    if_few
        Name of the table that is shown before the first one where it has at most `FEW` rows.
    about
        What was done and how to read the results, with the conditions; a paragraph.
    title
        Makes of the options what distinguishes a section from others of the same analysis.
    caption
        Describes the figure of a result.
    findings
        Makes what a result says beside answers, the most important first.
    page_tables
        Makes the tables that a page shows from all tables; all but the first are folded. The first table is among the given ones.
    figure
        Draws one result, of which it gets the part at one gain setting, on a canvas; None if there is no figure.
    in_axes
        Draws the panel of a figure of several that axes of the caller get; None for no such panel, or a figure of one.
    by_metric
        Whether the figure has a panel for each metric: then it is drawn of the first, or of those that are asked for.
    overview
        Draws the results of several collections; None if they are drawn one by one.
    answers
        For each question that the analysis answers, a function that makes findings of the results of one collection or several.
    chapter
        Question in whose chapter a page shows an analysis that answers none.
    cautions
        Makes of a result and its tables remarks on its limits: what it is and what follows, and the numbers of this result.
    compute
        Makes the result from a cube, for an analysis whose results are not stored.
    page_result
        Makes the result that the report shows from a cube and the name of its collection, for an analysis whose results are not stored;
        None if there is none.
    """

    name: str
    heading: str
    tables: Mapping[str, Table] = field(
        default_factory=lambda: {"values": Table(values, number_of_values)}
    )
    summary: Sequence[Summary] = ()
    if_few: str = ""
    about: str = ""
    title: Callable[[Mapping[str, Any]], str] = title_of_options
    caption: Callable[[xr.Dataset], str] = caption_of_sizes
    findings: Callable[[xr.Dataset], Iterable[Finding]] = names_of_variables
    page_tables: Callable[[Frames], HeadedTables] = first_table_only
    figure: Callable[[Canvas, xr.Dataset], None] | None = None
    in_axes: Callable[[Canvas, xr.Dataset], None] | None = None
    by_metric: bool = False
    overview: Callable[[Canvas, Sequence[xr.Dataset]], None] | None = None
    answers: Mapping[Question, Answer] = field(default_factory=dict)
    chapter: Question | None = None
    cautions: Callable[[xr.Dataset, Frames], Iterable[tuple[str, str]]] = lambda _result, _frames: []
    compute: Callable[[xr.Dataset], xr.Dataset] | None = None
    page_result: Callable[[xr.Dataset, str], xr.Dataset | None] | None = None

    def found(self, group: ResultGroup) -> Iterator[Finding]:
        """Yield what results say, answers first."""
        for question in self.answers:
            yield from self.answered(question, group)
        for each in by_collection(self._others)(group):
            yield replace(each, conditions=each.conditions or group.conditions)

    def _others(self, group: ResultGroup) -> Iterator[Finding]:
        """Yield what one result says beside answers, and which topics are grouped or left out."""
        (result,) = group.results
        yield from self.findings(result)
        yield from (Finding(result.attrs[key]) for key in names.ABOUT_TOPICS if key in result.attrs)

    def answered(self, question: Question, group: ResultGroup) -> Iterator[Finding]:
        """Yield what results say on a question that they answer."""
        for each in self.answers[question](group):
            conditions = each.conditions or group.conditions
            yield replace(each, question=question.text, conditions=conditions)

    def draw(
        self, result: xr.Dataset, gain: str | None = None, axes: Any = None, n_parts: int = 1
    ) -> Figure:
        """Return the figure of a result at one gain setting, with labels as of `with_figure_labels`.

        Into axes of the caller, where it has one panel; it is refused there otherwise (BadPlan). Or into one of so many parts of a figure.
        """
        from scorecube.report.figures.canvas import drawn

        assert self.figure is not None
        (shown,), setting = with_figure_labels([result], gain)
        if names.GAIN in shown.dims:
            shown = shown.isel(gain=[0]) if setting is None else shown.sel(gain=[setting])
        given = self.in_axes is not None and hasattr(axes, "get_xlim")
        figure = self.in_axes if given and self.in_axes is not None else self.figure
        return drawn(figure, shown, axes=axes, analysis=self.name, n_parts=n_parts)

    def draw_overview(self, results: Sequence[xr.Dataset]) -> Figure:
        """Return the figure of the results of several collections, with labels as of `with_figure_labels`."""
        from scorecube.report.figures.canvas import drawn

        assert self.overview is not None
        return drawn(self.overview, with_figure_labels(results)[0])

    def computed(self, cube: xr.Dataset) -> xr.Dataset:
        """Return the result of a cube; tables and figures show what its warnings are about."""
        assert self.compute is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return self.compute(cube)

    @property
    def first_table(self) -> str:
        """Name of the default table."""
        return next(iter(self.tables))

    def frame(self, table: Table, source: xr.Dataset) -> pd.DataFrame:
        """Return a table of a result, a cube or rankings, whose columns say what they are."""
        return self.described(table, table.make(source))

    def described(self, table: Table, frame: pd.DataFrame) -> pd.DataFrame:
        """Note in a table what its columns are, see `report.columns`."""
        known = {each.name: each for each in (*COORDINATES, *table.variables)}
        known.update(declared_variables(self.name))
        return describe_columns(frame, known, table.columns)

    def find_table(self, name: str | None, results: Sequence[xr.Dataset] = ()) -> tuple[str, Table]:
        """Return a table with its name; for no name the first, or `if_few` where it is short for all of some results.

        Raises
        ------
        BadName
            A table that does not exist.
        """
        few = self.tables.get(self.if_few)
        if name is None and results and few and all(few.rows(each) <= FEW for each in results):
            name = self.if_few
        chosen = name or self.first_table
        if chosen not in self.tables:
            raise BadName(
                f"no table {chosen!r} of {self.name}; it has: {', '.join(self.tables)}{did_you_mean(chosen, list(self.tables))}"
            )
        return chosen, self.tables[chosen]


def on_page(
    headings: Mapping[str, str], without: Sequence[str] = (), *, empty: bool = False
) -> Callable[[Frames], HeadedTables]:
    """Return what makes the tables of a page: those that exist and have rows, and the first, without some columns.

    Parameters
    ----------
    headings
        Heading -> name of a table, in the order of the page.
    without
        Columns to leave out.
    empty
        Whether tables without rows are shown, too.

    Returns
    -------
    page_tables
        Of a `View`.
    """

    def page_tables(frames: Frames) -> HeadedTables:
        return [
            (heading, frames[name].drop(columns=list(without), errors="ignore"))
            for k, (heading, name) in enumerate(headings.items())
            if name in frames and (len(frames[name]) or empty or not k)
        ]

    return page_tables
