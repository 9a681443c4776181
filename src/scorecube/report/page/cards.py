"""What a page opens with: a card for each question that was analysed, and the table that joins what is known of each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorecube.report.design import COUNT
from scorecube.report.findings import Finding, Short
from scorecube.report.page.board import JOINED, bar, limited
from scorecube.report.page.sections import Section
from scorecube.report.tables import LIMITS, as_records
from scorecube.report.text_formats import with_labels
from scorecube.report.view import LEADERBOARD, ONLY_ANSWERED, QUESTIONS, Question

Rows = Mapping[str, dict[str, Any]]
"""A row of a table by the label of its metric."""


@dataclass(frozen=True)
class Says:
    """What a card says of one metric, or of all.

    label: The metric; empty for all.
    big, limits: The answer, and its limits.
    clause: What it is.
    bars: Of several metrics: label, bar and number.
    """

    label: str
    big: str
    limits: str = ""
    clause: str = ""
    bars: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True)
class Card:
    """The answers to one question."""

    question: Question
    says: list[Says]


def cards(sections: Sequence[Section], several: bool, labels: Sequence[str] = ()) -> list[Card]:
    """Return a card for each question that a result answers, from findings in few words, in the order of metrics; of several collections the board's leaders."""
    made, place = [], {label: k for k, label in enumerate(labels)}
    for question in (*QUESTIONS, *ONLY_ANSWERED):
        own = answering(sections, question)
        if several and question == LEADERBOARD:
            own.sort(key=lambda section: section.kind != JOINED)
        # On a page of several collections findings of one would be taken for those of all.
        found = (
            _shorts(section.answered(question), whole=not several or section.kind == JOINED)
            for section in own
        )
        if says := [_says(each) for each in next(filter(None, found), ())]:
            says.sort(key=lambda each: place.get(each.label, -1))
            made.append(Card(question, says))
    return made


def answering(sections: Sequence[Section], question: Question) -> list[Section]:
    """Return the sections that answer a question, those of its card first; of several plans of an analysis the one with most collections."""
    by_analysis: dict[str, list[Section]] = {}
    for section in sections:
        if question in section.view.answers and len(section.first_table):
            by_analysis.setdefault(section.kind, []).append(section)
    chosen = [max(each, key=lambda one: len(one.parts)) for each in by_analysis.values()]
    first = (*question.card, question.analysis)
    order = {kind: k for k, kind in enumerate(first)}
    return sorted(chosen, key=lambda section: order.get(section.kind, len(first)))


def _shorts(found: Sequence[Finding], *, whole: bool) -> list[Short]:
    """Return findings in few words, metric by metric; where they have none, or if not the whole is asked for, the first estimate."""
    numbers = [short_of(each) for each in found if each.estimate is not None]
    return [own for each in found for own in each.short if whole] or numbers[:1]


def short_of(found: Finding) -> Short:
    """Return the number of a finding as a card shows it, counts without decimals.

    Examples
    --------
    >>> short_of(Finding("x", estimate=39.0, unit="runs", cautions=("of these topics",))).form
    ',.0f'
    >>> short_of(Finding("x", estimate=0.0, low=0.0, high=0.0, confidence=0.95)).name
    'none'
    """
    value, ends = found.estimate, (found.low, found.high)
    if ends == (value, value):  # limits that say nothing more
        if not value:
            return Short(name="none", words=found.subject)
        ends = (None, None)
    counts = float(value or 0).is_integer() and found.unit not in ("1", "score")
    return Short(number=(value, *ends), form=COUNT if counts else "", words=found.subject)


def _says(short: Short) -> Says:
    """Return the texts of a finding in few words."""
    shown = [short.name] if short.name else []
    if short.number:
        value, low, high = short.number
        shown += limited(value, low, high, short.form)
    bars = []
    for label, share, low, high in short.shares:
        ends = (share, share) if low is None or high is None else (low, high)
        bars.append((label, bar(*ends, share, (0.0, 1.0)), f"{share:.0%}"))
    return Says(short.label, " ".join(shown[:1]), " ".join(shown[1:]), short.words, bars)


def _rows(section: Section | None) -> Rows:
    """Return the rows of the first table at the largest of each condition, by the labels of metrics."""
    if section is None:
        return {}
    frame = with_labels(section.first_table)
    for name in ("alpha", "confidence", "size", "n_topics"):
        if name in frame and frame[name].notna().any():
            frame = frame[frame[name] == frame[name].max()]
    return {str(row["label"]): row for row in as_records(frame)}


def _section(sections: Sequence[Section], *kinds: str) -> Section | None:
    """Return the first section of the first of some analyses that there is."""
    return next(
        (
            each
            for kind in kinds
            for each in sections
            if each.kind == kind and len(each.first_table)
        ),
        None,
    )


@dataclass(frozen=True)
class Measure:
    """A column of the table of metrics.

    heading: Of the column.
    kinds: Analyses that have it, the first that was run.
    column: Of their first table.
    limits: How the names of the columns with its limits begin; as its own by default.
    more: Whether more is better; False where nothing is.
    form: How it is written; with the digits that its limits allow by default.
    """

    heading: str
    kinds: tuple[str, ...]
    column: str
    limits: str = ""
    more: bool = True
    form: str = ""

    def of(self, row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """Return the number of a row and its limits."""
        value, low, high = (f"{self.limits or self.column}{end}" for end in LIMITS)
        return row.get(self.column if self.limits else value), row.get(low), row.get(high)


PAIR_TESTS = ("maxt", "tukey", "bootstrap", "randomisation", "paired")
MEASURES = (
    Measure("share of comparisons confirmed", ("swap",), "share", form=".0%"),
    Measure("required difference", ("swap",), "required_difference", "required", more=False),
    Measure("pairs of runs separated", PAIR_TESTS, "share", form=".0%"),
    Measure("E rho²", ("reliability",), "erho2"),
    # Fewer topics for a difference do not make a metric better: equal differences mean less on a wide range.
    Measure("topics needed", ("design",), "topics", more=False, form=COUNT),
)
TAU = Measure("tau with {}", ("correlate",), "tau", "topics", more=False)


def metrics_table(
    sections: Sequence[Section], order: Sequence[str]
) -> tuple[list[str], list[tuple[str, list[tuple[str, bool]]]]]:
    """Return what is known of each metric of one collection: headings, and the cells of each metric with whether it is the best and separated.

    The best of a column is marked where its interval ends before those of all others begin. Columns without limits are facts of these
    topics, and nothing in them is marked. Metrics stand in the order that is given, the primary one first.
    """
    columns = {
        each: {label: each.of(row) for label, row in _rows(_section(sections, *each.kinds)).items()}
        for each in MEASURES
    }
    known = {label for found in columns.values() for label in found if found[label][0] is not None}
    labels = [*(label for label in order if label in known), *sorted(known - {*order})]
    columns[TAU] = _taus(_section(sections, *TAU.kinds), labels)
    headings: list[str] = []
    cells: dict[str, list[tuple[str, bool]]] = {label: [] for label in labels}
    for each, found in columns.items():
        found = {label: numbers for label, numbers in found.items() if numbers[0] is not None}
        if found:
            headings.append(each.heading.format(*labels[:1]))
            best = _separated(found, each.more)
            for label in labels:
                value, ends = limited(*found.get(label, (None,) * 3), each.form)
                cells[label].append((f"{value} ({ends})" if ends else value, label == best))
    return headings, list(cells.items())


def _taus(section: Section | None, labels: Sequence[str]) -> dict[str, tuple[Any, Any, Any]]:
    """Return tau of each metric with the first."""
    if section is None or not labels or "metric_a" not in section.first_table:
        return {}
    found: dict[str, tuple[Any, Any, Any]] = {}
    for row in as_records(section.first_table):
        pair, numbers = [row["metric_a"], row["metric_b"]], TAU.of(row)
        if labels[0] in pair and numbers[0] is not None:
            found.setdefault(pair[1 - pair.index(labels[0])], numbers)
    return {label: found[label] for label in labels if label in found}


def _separated(found: Mapping[str, tuple[Any, Any, Any]], more: bool) -> str:
    """Return the label whose interval is beyond those of all others; empty where there is none."""
    if not more or len(found) < 2 or any(None in each for each in found.values()):
        return ""
    best = max(found, key=lambda label: found[label][0])
    others = [high for label, (_, _, high) in found.items() if label != best]
    return best if found[best][1] > max(others) else ""
