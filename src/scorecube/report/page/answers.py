"""Answers to the questions that a report starts with, each with its conditions and the section it comes from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorecube.analyses import registry
from scorecube.report.page.sections import Section, sentence
from scorecube.report.views.questions import ONLY_ANSWERED, QUESTIONS, Question


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Parameters
    ----------
    question
        As a page shows it.
    lines
        Sentence, conditions, and anchor of the section with more about it.
    missing
        What is missing, and the command that computes it; None if nothing is.
    """

    question: str
    lines: list[tuple[str, str, str]]
    missing: tuple[str, str] | None = None


def answers(
    sections: Sequence[Section], collections: Sequence[Mapping[str, Any]], study: str
) -> list[Answer]:
    """Return the answers to all questions, made from the results that exist.

    Parameters
    ----------
    sections
        Of a page.
    collections
        Facts of the collections, as from `overview`.
    study
        Path, for the commands that compute what is missing.
    """
    by_analysis: dict[str, list[Section]] = {}
    for section in sections:
        if len(section.first_table):
            by_analysis.setdefault(section.kind, []).append(section)
    # Of several plans of an analysis the one with most collections answers, of equal ones the first.
    chosen = [
        max(several, key=lambda section: len(section.parts)) for several in by_analysis.values()
    ]
    all_answers = []
    for question in (*QUESTIONS, *ONLY_ANSWERED):
        lines = [
            (sentence(found.sentence), found.conditions, section.anchor)
            for section in sorted(chosen, key=lambda section: section.kind != question.analysis)
            if question in section.view.answers
            for found in section.view.answered(question, section.group())
        ]
        if not lines and question in ONLY_ANSWERED:
            continue
        all_answers.append(
            Answer(question.text, lines, None if lines else _missing(question, collections, study))
        )
    return all_answers


def _missing(
    question: Question, collections: Sequence[Mapping[str, Any]], study: str
) -> tuple[str, str]:
    """Return what an answer lacks, and the command that computes it."""
    from_rankings = (
        question.analysis in registry.names() and registry.load(question.analysis).uses_rankings
    )
    if from_rankings and not any(each["rankings"] for each in collections):
        return "The analysis needs run files and judgements; imported scores are not enough.", ""
    return "Not computed yet; run:", f"scorecube {question.analysis} {shlex.quote(study)}"
