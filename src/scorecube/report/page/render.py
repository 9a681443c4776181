"""The page of a report: HTML without network access, complete without its script."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from scorecube.analyses import registry
from scorecube.errors import counted, visible
from scorecube.report.cautions import cautions_of_collection, merge_cautions
from scorecube.report.page.board import JOINED, boards, escaped, is_board, matrices
from scorecube.report.page.cards import Card, cards, metrics_table
from scorecube.report.page.html import (
    embedded_json,
    html_table,
    page_file,
    script_and_hash,
    template,
)
from scorecube.report.page.methods import methods
from scorecube.report.page.options import PageOptions
from scorecube.report.page.sections import Part, Section
from scorecube.report.tables import COLLECTION, averages
from scorecube.report.text_formats import merge_gains, with_labels
from scorecube.report.view import DISCRIMINATION, LEADERBOARD, QUESTIONS, Question
from scorecube.storage import Study, plan_of

ANYWAY = "scores"
"""Shown of every collection, and no chapter: what it computes has a section of its own."""


def render(
    study: Study,
    collections: Sequence[Mapping[str, Any]],
    sections: Sequence[Section],
    *,
    options: PageOptions | None = None,
    ordered_map: Callable[..., Iterable[Any]] = map,
) -> str:
    """Return a page.

    collections: Facts of the collections on the page, as from `overview`.
    sections: Their results.
    options: What is asked for; everything by default.
    ordered_map: Function like `map`, which may call the function in other processes.
    """
    options = options or PageOptions()
    several = len(collections) > 1
    name = options.name(study)
    board = next((each for each in sections if is_board(each.first_table)), None)
    joined = _joined(sections)
    shown = [each for each in sections if each is not board]
    contents = _contents(shown, several, ordered_map)
    cautions = merge_cautions(_cautions(collections, sections))
    _say_once(contents, cautions, board)
    leaderboards: list[dict[str, Any]] = []
    if board is not None:
        baseline = str(board.options.get("baseline") or "")
        leaderboards = boards(board.first_table, escaped, baseline, len(collections))
    labels = _labels(leaderboards, sections)
    found = cards(sections, several, labels)
    text = template().render(
        name=name,
        study=study.path,
        study_word=shlex.quote(study.path),
        version=version("scorecube"),
        facts=_facts(collections, sections),
        collections=collections,
        several=several,
        options=options,
        labels=Markup(embedded_json([visible(each) for each in labels])),  # noqa: S704 - escaped there
        cards=found,
        targets={each.question: _anchor(each, sections, bool(leaderboards)) for each in found},
        board=board,
        board_note=board.sentences() if board is not None else [],
        boards=leaderboards,
        matrices=_matrices(board, joined) if several else [],
        joined=joined is not None,
        chapters=_chapters(sections, contents, board),
        discrimination=DISCRIMINATION,
        measures=metrics_table(sections, labels) if not several else ([], []),
        cautions=cautions,
        further=[] if options.final else further(sections, collections, study.path),
        provenance=_provenance(sections),
        most_places=4,  # collections that a warning names
        methods=methods(collections, sections),
        **script_and_hash(page_file("page.js")),
    )
    return str(text)


def _contents(
    sections: Sequence[Section], several: bool, ordered_map: Callable[..., Iterable[Any]]
) -> list[dict[str, Any]]:
    """Return what the template needs of sections, with how several collections compare."""
    made = zip(sections, ordered_map(Section.content, sections), strict=True)
    return [each | {"compared": comparison(own) if several else None} for own, each in made]


def _say_once(
    contents: Sequence[dict[str, Any]], cautions: Iterable[Mapping[str, Any]], board: Section | None
) -> None:
    """Take from the contents of chapters what the page has said before."""
    once = {each["text"] for each in cautions} | set(board.sentences() if board else ())
    for each in contents:
        each["sentences"] = [line for line in each["sentences"] if line not in once]
        each["curves"] = [
            curve | {"caption": "" if curve["caption"] in once else curve["caption"]}
            for curve in each["curves"]
        ]
        each["about"] = "" if each["about"] in once else each["about"]
        once.update(
            [*each["sentences"], each["about"]], (curve["caption"] for curve in each["curves"])
        )


def _facts(collections: Sequence[Mapping[str, Any]], sections: Sequence[Section]) -> list[str]:
    confidences = {
        f"{100 * (1 - float(part.facts['alpha'])):g}% confidence"
        for section in sections
        if is_board(section.first_table)
        for part in section.parts
        if "alpha" in part.facts
    }
    if len(collections) > 1:
        return [counted(len(collections), "collection"), *sorted(confidences)]
    (facts,) = collections
    teams = f" of {counted(facts['teams'], 'team')}" if facts["teams"] < facts["runs"] else ""
    sizes = [f"{counted(facts['runs'], 'run')}{teams}", counted(facts["topics"], "topic")]
    return [*sizes, *sorted(confidences)]


def _joined(sections: Sequence[Section]) -> Section | None:
    """Return the board of several collections, if there is one: of scores as they are, if there are several."""
    found = [each for each in sections if each.kind == JOINED and PER_COLLECTION in each.frames]
    return min(
        found, key=lambda each: each.options.get("standardise", "none") != "none", default=None
    )


def _matrices(board: Section | None, joined: Section | None) -> list[dict[str, Any]]:
    if joined is not None:
        return matrices(joined.frames[PER_COLLECTION], escaped, joined.first_table)
    return [] if board is None else matrices(board.first_table, escaped)


def _labels(leaderboards: Sequence[Mapping[str, Any]], sections: Sequence[Section]) -> list[str]:
    labels = dict.fromkeys(each["label"] for each in leaderboards)
    if not labels:
        for section in sections:
            if section.kind != ANYWAY and "metric" in section.first_table:
                labels |= dict.fromkeys(map(str, with_labels(section.first_table)["label"]))
    return list(labels)


def _anchor(card: Card, sections: Sequence[Section], boards_shown: bool) -> str:
    """Return where a page says more about the question of a card."""
    if card.question == LEADERBOARD:
        return "leaderboard" if boards_shown else "collections"
    if any(section.question == card.question for section in sections):
        return _chapter_id(card.question.text)
    return next(each.anchor for each in sections if card.question in each.view.answers)


def _chapter_id(heading: str) -> str:
    return "chapter-" + re.sub(r"\W+", "-", heading).strip("-").lower()


def _chapters(
    sections: Sequence[Section], contents: Sequence[dict[str, Any]], board: Section | None
) -> list[dict[str, Any]]:
    """Return the chapters: one for each question, then one for each analysis that answers none."""
    made: dict[str, dict[str, Any]] = {}
    shown = [each for each in sections if each is not board and each.kind != ANYWAY]
    by_anchor = {each["anchor"]: each for each in contents}
    order = {each: place for place, each in enumerate(QUESTIONS)}
    for section in sorted(shown, key=lambda each: _place(each, order)):
        question = section.question
        heading = question.text if question else section.view.heading
        chapter: dict[str, Any] = {
            "heading": heading,
            "short": (question.contents or question.short) if question else heading,
            "id": _chapter_id(heading),
            "question": question,
            "parts": [],
        }
        made.setdefault(heading, chapter)["parts"].append(by_anchor[section.anchor])
    return list(made.values())


def _place(section: Section, order: Mapping[Question, int]) -> tuple[int, bool]:
    """Return where a section stands: by its question, of which the analysis that is there for it comes first."""
    question = section.question
    if question is None:
        return len(order) + 1, False
    return order.get(question, len(order)), section.kind != question.analysis


def _cautions(collections: Sequence[Mapping[str, Any]], sections: Sequence[Section]) -> list[Any]:
    return [
        *(each for facts in collections for each in cautions_of_collection(facts)),
        *(each for section in sections for part in section.parts for each in part.cautions),
    ]


def further(
    sections: Sequence[Section], collections: Sequence[Mapping[str, Any]], study: str
) -> list[tuple[str, str]]:
    """Return the questions that nothing answers yet, with the command that does, or what it lacks."""
    answered = {question for section in sections for question in section.view.answers}
    found = []
    for question in QUESTIONS:
        if question in answered:
            continue
        kind = question.analysis
        needs_files = kind in registry.names() and registry.load(kind).uses_rankings
        if needs_files and not any(each["rankings"] for each in collections):
            found.append((question.text, ""))
        else:
            found.append((question.text, f"scorecube {kind} {shlex.quote(study)}"))
    return found


def _provenance(sections: Sequence[Section]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the plans of stored results, and by each what it was computed from, collection by collection."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for section in sections:
        for part in section.parts:
            if "digest" in part.facts:
                facts = _facts_of_result(part)
                plan = f"{facts['analysis']}, {facts['options']}".removesuffix(", ")
                groups.setdefault(plan, []).append(facts)
    return list(groups.items())


PER_COLLECTION = "collections"
"""Table of a board with the means in each collection."""
PROVENANCE = (COLLECTION, "analysis", "seed", "digest", "started", "finished", "python", "machine")
"""Attributes of results that a page shows."""


def _facts_of_result(part: Part) -> dict[str, Any]:
    plan = plan_of(part.facts)
    options = (f"{key}={value}" for key, value in plan["options"].items() if value is not None)
    versions = json.loads(part.facts["versions"]).items()
    return {name: str(part.facts.get(name, "")) for name in PROVENANCE} | {
        "options": ", ".join(options),
        "trials": f"{plan['trials']:,}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions),
        "scores": plan["cube"][:16],
    }


def comparison(section: Section) -> dict[str, Any] | None:
    """Return the tables of means of several collections; None of a single one."""
    frame = section.first_table
    if not len(frame) or frame[COLLECTION].nunique() < 2:
        return None
    found = {"Means over the collections": averages(merge_gains(frame))}
    tables = [
        (heading, html_table(own, f"{section.name}: {heading.replace('the ', '').lower()}"))
        for heading, own in found.items()
        if len(own)
    ]
    return {"tables": tables}
