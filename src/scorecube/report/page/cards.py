"""What a page opens with: a card for each question that was analysed, and the table that joins what is known of each metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scorecube import names
from scorecube.report.findings import Finding
from scorecube.report.leaderboard import leader_limits
from scorecube.report.page.board import JOINED, bar, limited
from scorecube.report.page.sections import Section
from scorecube.report.tables import LIMITS, as_records
from scorecube.report.text_formats import with_labels
from scorecube.report.view import (
    DIFFERENCE,
    DISCRIMINATION,
    LEADERBOARD,
    ONLY_ANSWERED,
    QUESTIONS,
    TOPICS,
    Question,
)

COUNT = ",.0f"
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
    says: list[Says] = field(default_factory=list)

    def in_order(self, labels: Sequence[str]) -> Card:
        """Return it with its metrics in an order."""
        place = {label: k for k, label in enumerate(labels)}
        return Card(self.question, sorted(self.says, key=lambda each: place.get(each.label, -1)))


def cards(sections: Sequence[Section], several: bool) -> list[Card]:
    """Return a card for each question that a result answers; of several collections their findings, of one each metric's answer."""
    made = []
    for question in (*QUESTIONS, *ONLY_ANSWERED):
        own = answering(sections, question)
        joined = [each for each in own if each.kind == JOINED] if question == LEADERBOARD else []
        if several and joined:
            made.append(Card(question, _leads(joined)))
            continue
        says = _BY_METRIC[question](own) if question in _BY_METRIC and not several else []
        says = (
            says
            or [
                Says("", *numbers(each), each.subject)
                for section in own[:1]
                for each in section.answered(question)
                if each.estimate is not None
            ][:1]
        )
        if says:
            made.append(Card(question, says))
    return made


def answering(sections: Sequence[Section], question: Question) -> list[Section]:
    """Return the sections that answer a question, that of its own analysis first; of several plans of an analysis the one with most collections."""
    by_analysis: dict[str, list[Section]] = {}
    for section in sections:
        if question in section.view.answers and len(section.first_table):
            by_analysis.setdefault(section.kind, []).append(section)
    chosen = [max(each, key=lambda one: len(one.parts)) for each in by_analysis.values()]
    return sorted(chosen, key=lambda section: section.kind != question.analysis)


def numbers(found: Finding) -> tuple[str, str]:
    """Return the number of a finding and its limits as text: shares as percentages, counts without decimals.

    Examples
    --------
    >>> numbers(Finding("x", estimate=39.0, unit="runs", cautions=("of these topics",)))
    ('39', '')
    >>> numbers(Finding("x", estimate=0.0, low=0.0, high=0.0, confidence=0.95))
    ('none', '')
    """
    assert found.estimate is not None
    ends = (found.low, found.high)
    if found.low == found.high == found.estimate:  # limits that say nothing more
        if not found.estimate:
            return "none", ""
        ends = (None, None)
    counts = found.estimate.is_integer() and found.unit not in ("1", "score")
    return limited(found.estimate, *ends, COUNT if counts else "")


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


def _leads(own: Sequence[Section]) -> list[Says]:
    found = []
    for label, rows in with_labels(own[0].first_table).groupby("label", sort=False) if own else ():
        first, *_ = as_records(rows)
        # Those of the table's row are for a run that was named beforehand.
        as_leader = leader_limits(own[0].parts[0].small, first)
        ends = as_leader or (first.get("mean_low"), first.get("mean_high"))
        mean, limits = limited(first["mean"], *ends)
        alone = int((rows["rank_low"] == 1).sum())
        words = (
            f"{alone} of {len(rows)} may be the best" if alone > 1 else "no other may be the best"
        )
        leaders = int((rows["rank"] == 1).sum())
        with_it = f" and {leaders - 1} more" if leaders > 1 else ""
        words = f"as leader; {words}" if as_leader else words
        found.append(Says(str(label), f"{first[names.RUN]}{with_it}", f"{mean} {limits}", words))
    return found


def _separates(own: Sequence[Section]) -> list[Says]:
    section = _section(own, "swap", "maxt", *(each.kind for each in own))
    known = {label: row for label, row in _rows(section).items() if row.get("share") is not None}
    if section is None or not known:
        return []
    ordered = sorted(known, key=lambda label: -known[label]["share"])
    limits = {label: (row.get("share_low"), row.get("share_high")) for label, row in known.items()}
    bars = []
    for label in ordered[:4]:  # metrics that a card draws
        share, (low, high) = known[label]["share"], limits[label]
        ends = (low, high) if low is not None and high is not None else (share, share)
        bars.append((label, bar(*ends, share, (0.0, 1.0)), f"{share:.0%}"))
    behind = [label for label in ordered if not known[label].get("share_behind_low")]
    if section.kind != "swap":
        clause = f"of the pairs of runs are separated ({section.name})"
    elif len(behind) > 1:
        named = f"{', '.join(behind[:-1])} and {behind[-1]}"
        clause = (
            f"{'these' if behind == [label for label, *_ in bars] else named} are not separated"
        )
    else:
        clause = f"{behind[0]} is separated from all others"
    return [Says("", "", clause=clause, bars=bars)]


def _differences(own: Sequence[Section]) -> list[Says]:
    found = []
    for label, row in _rows(_section(own, "swap")).items():
        if row["required_difference"] is None:
            found.append(
                Says(label, "none", clause=f"that {row['confidence']:.0%} of comparisons confirm")
            )
            continue
        big, limits = limited(row["required_difference"], row["required_low"], row["required_high"])
        words = f"in {label}, confirmed by {row['size']} other topics in {row['confidence']:.0%} of cases"
        found.append(Says(label, big, limits, words))
    return found


def _topics(own: Sequence[Section]) -> list[Says]:
    found = []
    section = _section(own, "design")
    if section is None:
        return []
    (facts,) = (part.facts for part in section.parts[:1])
    at_hand = int(facts["topics_at_hand"])
    for label, row in _rows(section).items():
        column = "paired_topics" if row.get("paired_topics") else "topics"
        needed, low, high = (row.get(name) for name in (column, f"{column}_low", f"{column}_high"))
        big, limits = limited(needed, low, high, COUNT)
        enough = "may be enough"
        if high is not None and high <= at_hand:
            enough = "are enough"
        elif low is not None and low > at_hand:
            enough = "are too few"
        shared = " on the same topics" if column == "paired_topics" else ""
        words = f"for {row['min_diff']:g} between best and worst of {row['systems']:g} systems{shared}; {at_hand} today {enough}"
        found.append(Says(label, big, limits, words))
    return found


_BY_METRIC: Mapping[Question, Callable[[Sequence[Section]], list[Says]]] = {
    LEADERBOARD: _leads,
    DISCRIMINATION: _separates,
    DIFFERENCE: _differences,
    TOPICS: _topics,
}


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
    Measure(
        "topics needed, on the same topics", ("design",), "paired_topics", more=False, form=COUNT
    ),
)
TAU = Measure("tau with {}, over many topics", ("correlate",), "tau_population", more=False)


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
    """Return tau of each metric with the first, over infinitely many topics."""
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
