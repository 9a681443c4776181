"""Views: what is shown of a method, its tables, its answers and its figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from scorecube.declare.answers import Answers, Question
from scorecube.declare.tables import Table
from scorecube.errors import UnknownName

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Canvas(Protocol):
    """What a figure is drawn on: it knows style, sizes and titles."""

    colours: tuple[str, ...]
    """In the order of curves."""
    most_rows: int
    """Rows with names that a page has room for."""
    size: tuple[float, float]
    """Width and height of a figure of one panel, in inches."""
    in_axes: bool
    """Whether it is drawn into axes of the caller."""
    drawn: Figure | None
    """The figure, once it is made."""

    def figure(self, size: tuple[float, float]) -> Figure:
        """Return a new figure of several panels, width and height in inches."""

    def panel(self, size: tuple[float, float] = ...) -> Axes:
        """Return the axes of a figure of one panel."""

    def curve(self, k: int, size: float = 0.0, width: float = 1.2) -> dict[str, Any]:
        """Return the style of the curve of a metric by its number, with a marker of some size."""

    def name(self, result: xr.Dataset, *words: str) -> None:
        """Write collection and conditions above all panels, or above the axes of the caller."""

    def title_of(self, result: xr.Dataset, *words: str) -> str:
        """Return collection, conditions and gain setting of a result."""

    def legend_outside(self, axes: Axes, place: str, columns: int = 1) -> None:
        """Add a legend outside of the axes."""

    def shares(self, frame: pd.DataFrame, results: Sequence[xr.Dataset], label: str) -> None:
        """Draw the share of each metric in each collection as bars."""


@dataclass(frozen=True)
class View:
    """Everything that is shown of one method.

    Parameters
    ----------
    name, heading
        Of the method, and of its chapter.
    tables
        By name; the first is the default. Without any there is one of all values.
    about
        What was done and how to read it.
    answers
        By question: the first one's are sentences of terminals, all are on pages.
    lines
        Below its table on a terminal, the answer last; by default the answer of the first question.
    of_several
        The same of the results of several collections, above the median of answers.
    joined_by
        Method with the same options whose one result is about all collections together.
    card
        Place among the methods whose answers stand on the card of a question, the lowest first.
    chapter
        Question of its chapter; by default the one that it answers.
    conditions
        Options that are always said; others are where they are not the default.
    figure, by_metric
        Draws one result at one gain setting on a canvas; whether it is about one metric.
    as_leaderboard
        Whether a page draws its first table as the leaderboard, in place of the figure.
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
    lines: Callable[[xr.Dataset], Sequence[str]] | None = None
    of_several: Callable[[Sequence[xr.Dataset]], Sequence[str]] = lambda _: ()
    joined_by: str = ""
    card: int = 9
    chapter: Question | None = None
    conditions: Sequence[str] = ()
    figure: Callable[[Any, xr.Dataset], None] | None = None
    by_metric: bool = False
    as_leaderboard: bool = False
    overview: Callable[..., None] | None = None
    shown: Sequence[str] = ()
    compute: Callable[[xr.Dataset], xr.Dataset] | None = None
    page_result: Callable[..., xr.Dataset | None] | None = None

    def __post_init__(self) -> None:
        """Set what follows from the rest."""
        object.__setattr__(self, "shown", self.shown or tuple(self.tables)[:1])
        object.__setattr__(self, "chapter", self.chapter or next(iter(self.answers), None))

    @property
    def first_table(self) -> str:
        """Name of the default table."""
        return next(iter(self.tables))

    def find_table(
        self, name: str | None, results: Sequence[xr.Dataset] = (), *, printed: bool = False
    ) -> Table:
        """Return a table; for no name that of the paper whose settings a result has, or the first.

        printed: For people, who are shown the first of `shown`.
        Raises UnknownName: A table that does not exist.
        """
        chosen = name or (self.shown[0] if printed else self.first_table)
        if name is None and results and results[0].attrs.get("preset") in self.tables:
            chosen = str(results[0].attrs["preset"])
        if chosen not in self.tables:
            raise UnknownName(
                f"no table {chosen!r} of {self.name}; it has: {', '.join(self.tables)}"
            )
        return self.tables[chosen]
