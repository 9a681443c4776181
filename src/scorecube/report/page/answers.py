"""The answers that a study gives to what people ask first, each with its conditions and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from scorecube import names
from scorecube.report.page.sections import Section
from scorecube.report.tables import COLLECTION
from scorecube.report.text_formats import ANY_GAIN, merge_gains

Lines = Iterator[tuple[str, str]]
"""Sentences with the conditions under which they hold."""
POWER = ("bootstrap", "randomisation", "tukey", "unpaired", "paired")
"""Tests, the first that was made answers."""
MOST_NAMED = 4
"""Metrics that a sentence names."""


@dataclass(frozen=True)
class Answer:
    """One question.

    Parameters
    ----------
    question
        As people ask it.
    lines
        What is known: sentence, conditions, anchor of the section that tells more.
    missing
        What is missing, empty if nothing is; the command that gives it.
    """

    question: str
    lines: list[tuple[str, str, str]]
    missing: tuple[str, str] | None = None


def answers(sections: Sequence[Section], collections: Sequence[Mapping[str, Any]], study: str) -> list[Answer]:
    """Return the answers to five questions, made from the results that exist.

    Parameters
    ----------
    sections
        Of a page.
    collections
        What `overview` tells of them.
    study
        Path, for the commands that give what is missing.
    """
    by_kind: dict[str, list[Section]] = {}
    for section in sections:
        if len(section.first_table):
            by_kind.setdefault(section.kind, []).append(section)
    # Of several ways to run an analysis the one that most collections have speaks, of equal ones the first.
    chosen = {kind: max(found, key=lambda section: len(section.parts)) for kind, found in by_kind.items()}
    made = []
    for question, kinds, tell, missing in QUESTIONS:
        lines = [
            (line, conditions, chosen[kind].anchor) for kind in kinds if kind in chosen for line, conditions in tell.get(kind, _nothing)(chosen[kind])
        ]  # fmt: skip
        command = f"scorecube {missing} {study}"
        if missing == "teams" and not any(each["rankings"] for each in collections):
            lack = "It needs run files and judgements: imported scores do not tell which team found which document."
            made.append(Answer(question, lines, None if lines else (lack, "")))
        else:
            made.append(Answer(question, lines, None if lines else ("Not asked yet:", command)))
    return made


def _nothing(_: Section) -> Lines:
    yield from ()


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the column label: the metric, with its gain setting where the collection has several that matter."""
    merged = merge_gains(frame)
    if names.GAIN not in merged:
        return merged.assign(label=merged["metric"])
    several = merged.groupby(COLLECTION)[names.GAIN].transform("nunique") > 1
    told = several & (merged[names.GAIN] != ANY_GAIN)
    return merged.assign(label=merged["metric"].where(~told, merged["metric"] + " (" + merged[names.GAIN] + ")"))


def _counted(labels: Iterable[str]) -> str:
    """Say how often each label occurs, the most frequent first.

    Examples
    --------
    >>> _counted(["Q", "AP", "Q"])
    'Q in 2, AP in 1'
    """
    counts = pd.Series(list(labels)).value_counts(sort=False).sort_values(ascending=False, kind="stable")
    return ", ".join(f"{name} in {count}" for name, count in counts[:MOST_NAMED].items())


def _contest(frame: pd.DataFrame) -> str:
    """Say which metrics come first by share, and how often; collections with one metric have no say.

    Examples
    --------
    >>> _contest(pd.DataFrame({"collection": ["a", "a", "b"], "label": ["Q", "AP", "AP"], "share": [0.4, 0.3, 0.9]}))
    'Q in 1 of 1 collections with several metrics'
    """
    several = frame[frame.groupby(COLLECTION)["label"].transform("nunique") > 1]
    found = several.dropna(subset="share").sort_values("share", ascending=False, kind="stable")
    best = found.groupby(COLLECTION, sort=False).first()
    some = " with several metrics" if len(best) < frame[COLLECTION].nunique() else ""
    return f"{_counted(best['label'])} of {len(best)} collections{some}" if len(best) else ""


def _extent(values: pd.Series[Any], form: str) -> str:
    """Return the range of numbers in words."""
    low, high = (format(value, form) for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def power_lines(section: Section) -> Lines:
    """Name the metrics that tell most pairs of runs apart by a test."""
    frame = labelled(section.first_table)
    if "adjustment" in frame:
        frame = frame[(frame["adjustment"] == "none") & (frame["test"] == frame["test"].iloc[0])]
    frame = frame[frame["alpha"] == frame["alpha"].max()].dropna(subset="share")
    frame = frame.sort_values("share", ascending=False, kind="stable")
    if frame.empty:
        return
    how = "for all pairs together" if section.kind == "tukey" else "for each pair by itself"
    trials = f", {int(section.parts[0].facts['trials']):,} trials" if section.parts[0].facts.get("trials") else ""
    where = f"{section.name}, p < {frame['alpha'].iloc[0]:g} {how}{trials}"
    n = frame[COLLECTION].nunique()
    if n == 1:
        ranked = [f"{row['label']} {row['share']:.1%}" for row in frame.to_dict("records")]
        if frame["significant"].max() == 0:
            yield f"No metric tells any of {frame['pairs'].iloc[0]:,} pairs of runs apart.", where
            return
        last = f"; fewest by {ranked[-1]}" if len(ranked) > MOST_NAMED else ""
        yield f"Pairs of runs told apart, of {frame['pairs'].iloc[0]:,}: {', '.join(ranked[:MOST_NAMED])}{last}.", where
        return
    contest = _contest(frame)
    means = frame.groupby("label", sort=False)["share"].agg(["mean", "count"])
    everywhere = means[means["count"] == n].sort_values("mean", ascending=False)
    shares = [f"{name} {row['mean']:.1%}" for name, row in everywhere.iterrows()]
    told = f" Mean share, of the metrics that all have: {', '.join(shares[:MOST_NAMED])}." if shares else ""
    if contest:
        yield f"Most pairs of runs are told apart by {contest}.{told}", where
    else:
        yield (
            f"Of each collection one metric is known, which tells {_extent(frame['share'], '.1%')} of the pairs of runs apart.",
            where,
        )


def swap_sensitive(section: Section) -> Lines:
    """Name the metrics whose required difference most comparisons have."""
    frame = _strictest(section)
    found = frame.dropna(subset="share").sort_values("share", ascending=False, kind="stable")
    if found.empty:
        return
    where = (
        f"swap method, {found['confidence'].iloc[0]:.0%} confidence, samples of {_extent(found['size'], 'd')} topics"
    )
    if found[COLLECTION].nunique() == 1:
        row = found.iloc[0]
        yield (
            f"Most sensitive is {row['label']}: {row['share']:.1%} of the comparisons have the difference it requires.",
            where,
        )
    elif contest := _contest(frame):  # a metric without any required difference has lost
        yield f"Most sensitive is {contest}.", where
    else:
        yield (
            f"Of each collection one metric is known: {_extent(found['share'], '.1%')} of the comparisons have the difference it requires.",
            where,
        )


def swap_differences(section: Section) -> Lines:
    """Say what difference the swap method requires, for the most sensitive metrics."""
    frame = _strictest(section)
    found = frame.dropna(subset="required_difference")
    where = f"swap method, at most {1 - frame['confidence'].iloc[0]:.0%} of the comparisons swapped, {section.parts[0].facts['sampling']} samples of {_extent(frame['size'], 'd')} topics"
    if found.empty:
        yield "No difference is large enough, for any metric.", where
        return
    order = found.groupby("label", sort=False)["share"].mean().sort_values(ascending=False, kind="stable")
    needs = [
        f"{name} {_extent(found.loc[found['label'] == name, 'required_difference'], '.2f')}" for name in order.index
    ]
    more = f", and {len(needs) - MOST_NAMED} more in the table" if len(needs) > MOST_NAMED else ""
    span = f" over {found[COLLECTION].nunique()} collections" if found[COLLECTION].nunique() > 1 else ""
    yield (
        f"A difference in mean score from here on would be confirmed by another topic set: {', '.join(needs[:MOST_NAMED])}{more}{span}. More topics need less.",
        where,
    )


def _strictest(section: Section) -> pd.DataFrame:
    frame = labelled(section.first_table)
    frame = frame[frame["confidence"] == frame["confidence"].max()]
    strictest: pd.DataFrame = frame[frame["size"] == frame.groupby(COLLECTION)["size"].transform("max")]
    return strictest


def estimated_differences(section: Section) -> Lines:
    """Say from which difference on the bootstrap test finds every pair significant."""
    frame = labelled(section.first_table)
    frame = frame[frame["alpha"] == frame["alpha"].max()].dropna(subset="estimated_difference")
    if frame.empty:
        return
    order = frame.groupby("label", sort=False)["share"].mean().sort_values(ascending=False, kind="stable").index
    needs = [f"{name} {_extent(frame.loc[frame['label'] == name, 'estimated_difference'], '.2f')}" for name in order]
    topics = pd.Series([int(part.facts["n_topics"]) for part in section.parts])
    yield (
        f"With all {_extent(topics, 'd')} topics, differences that suffice for p < {frame['alpha'].iloc[0]:g}: {', '.join(needs[:MOST_NAMED])}.",
        f"{section.name}, each pair by itself, {int(section.parts[0].facts['trials']):,} trials",
    )


def design_lines(section: Section) -> Lines:
    """Say how many topics the metrics ask for."""
    frame = labelled(section.first_table).sort_values("topics", kind="stable")
    first, last = frame.iloc[0], frame.iloc[-1]
    at_hand = {part.collection: int(part.facts["topics_at_hand"]) for part in section.parts}
    several = len(at_hand) > 1
    least, most = (
        f"{row['topics']:,} topics by {row['label']}{f' on {row[COLLECTION]}' if several else ''}"
        for row in (first, last)
    )
    enough = sum(row["topics"] <= at_hand[row[COLLECTION]] for row in frame.to_dict("records"))
    hand = _extent(pd.Series(list(at_hand.values())), "d")
    what = "metrics" if not several else "cases (metric and collection)"
    yield (
        f"From {least} to {most}; the {hand} at hand are enough for {enough} of {len(frame)} {what}.",
        f"to detect a difference of {first['min_diff']:g} between the best and the worst of {first['systems']:g} systems, alpha {first['alpha']:g}, "
        f"power {1 - first['beta']:.0%}, with variances like those of these runs and topics",
    )


def correlation_lines(section: Section) -> Lines:
    """Name the metrics that order runs most and least alike, and the gain settings that do."""
    frames = section.frames()
    for name, (first, second), link in (
        ("metrics", ("metric_a", "metric_b"), " and "),
        ("gains", ("metric", "gain"), " with gains "),
    ):
        frame = merge_gains(frames[name]) if name in frames and len(frames[name]) else pd.DataFrame()
        frame = frame.dropna(subset="tau").sort_values("tau", kind="stable") if len(frame) else frame
        if frame.empty:
            continue
        n = frame[COLLECTION].nunique()
        least, most = (
            f"{row[first]}{link}{row[second]}{f' on {row[COLLECTION]}' if n > 1 else ''} (tau {row['tau']:.2f}, {(1 - row['tau']) / 2:.0%} of the pairs)"
            for row in (frame.iloc[0], frame.iloc[-1])
        )
        what = "Metrics" if name == "metrics" else f"Gain settings, against {frame['default'].iloc[0]}"
        median = f"; the median tau is {frame['tau'].median():.2f}" if len(frame) > 2 else ""
        where = f"Kendall's tau, {_extent(pd.Series([int(part.facts['n_runs']) for part in section.parts]), 'd')} runs"
        only = f"{what} disagree on which of two runs is better most for {least}"
        yield f"{only}, and least for {most}{median}." if len(frame) > 1 else f"{only}.", where


def team_lines(section: Section) -> Lines:
    """Say what leaving the fewest teams out does to the order of the other runs, and when the variance changes."""
    frames = section.frames()
    where = f"{section.title}, {int(section.parts[0].facts['trials']):,} trials for each number of teams"
    if "reusability" in frames:
        frame = frames["reusability"].dropna(subset="tau_mean")
        fewest = frame[frame["left_out"] == frame.loc[frame["left_out"] > 0, "left_out"].min()]
        for name, rows in fewest.groupby(COLLECTION, sort=False):
            worst = rows.sort_values("tau_mean", kind="stable").iloc[0]
            k = int(worst["left_out"])
            yield (
                f"{name}: without {k} team{'s' if k > 1 else ''} the other runs keep their order with tau {_extent(rows['tau_mean'], '.3f')} on average, least by "
                f"{worst['metric']}; no run loses more than {int(rows['rank_drop_largest'].max())} ranks.",
                where,
            )
    if "first_miss" in frames:
        frame = frames["first_miss"]
        missed = pd.to_numeric(frame["first_miss"]).dropna()
        at = f"from {_extent(missed, '.0f')} teams left out on" if len(missed) else "never"
        yield (
            f"The variance that topic set size design builds on leaves its interval over trials {at}, by metric.",
            where,
        )


KINDS: Mapping[str, Callable[[Section], Lines]] = dict.fromkeys(POWER, power_lines)
QUESTIONS: tuple[tuple[str, tuple[str, ...], Mapping[str, Callable[[Section], Lines]], str], ...] = (
    ("Which metrics discriminate best?", (*POWER, "swap"), {**KINDS, "swap": swap_sensitive}, "bootstrap"),
    (
        "How large a difference to trust?",
        ("swap", "bootstrap"),
        {"swap": swap_differences, "bootstrap": estimated_differences},
        "swap",
    ),
    ("How many topics next time?", ("design",), {"design": design_lines}, "design"),
    ("Do metrics and gain settings agree?", ("correlate",), {"correlate": correlation_lines}, "correlate"),
    ("Does leaving teams out matter?", ("teams",), {"teams": team_lines}, "teams"),
)
"""Question, analyses that answer, what each says, the analysis to run if none was."""
