"""The page of a report: one file of HTML without network access, complete without its script."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import xarray as xr
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from scorecube import names
from scorecube.analyses.frames import place_of
from scorecube.collection.schema import labels_of
from scorecube.declare import LEADERBOARD, QUESTIONS, Answer, number_range
from scorecube.errors import BadStudy, UnknownName, counted, visible
from scorecube.files import check_target, write_file
from scorecube.report import page_parts as parts
from scorecube.report.contents import overview, warnings_of
from scorecube.report.papers import references, software
from scorecube.report.result_parts import notes_of
from scorecube.report.sections import Section, section_part
from scorecube.report.study_tables import showing
from scorecube.report.views import joins_collections, view_names, view_of
from scorecube.storage import Collection, Study

MOST_NAMED = 4
"""Collections that a sentence names."""
Facts = Mapping[str, Any]


def write_page(
    study: Study,
    path: str | os.PathLike[str],
    *,
    collections: Sequence[str] | None = None,
    title: str = "",
    primary: str = "",
    design: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Write the report of a study as one file, written atomically; see `scorecube.report`.

    design: Options of the design that the page shows, by name.
    progress: Called with (results drawn, results in total).
    Raises BadStudy: A study without collections, or without one of those.
    Raises UnknownName: A primary metric that no collection has.
    Raises BadOutput: A path that cannot be written.
    """
    check_target(Path(path))
    for name in collections or ():
        study[name]  # raises that there is none
    chosen = [name for name in study if collections is None or name in collections]
    if not chosen:
        raise BadStudy(
            f"{study.path}: nothing to report yet; add a collection with scorecube evaluate or "
            "scorecube import"
        )
    facts = [row for row in overview(study)["collections"] if row["name"] in chosen]
    gains_of = {row["name"]: row["gains"] for row in facts}
    known = list(dict.fromkeys(chain.from_iterable(row["metrics"] for row in facts)))
    if primary and primary not in known:
        raise UnknownName(
            f"no metric {primary!r} in the study; it has: {', '.join(known)}", option="primary"
        )
    sections: dict[tuple[str, str], Section] = {}
    results = []
    for name in chosen:
        results += [(name, *found) for found in _results(study, name, design or {}, primary)]
    for done, (name, kind, make) in enumerate(results, 1):
        with showing(study, name, kind):
            if (result := make()) is not None:
                key, part = section_part(name, kind, result, primary, gains_of[name])
                sections.setdefault(key, Section(*key)).parts.append(part)
        progress(done, len(results))
    order = {kind: place for place, kind in enumerate(view_names())}
    ordered = sorted(sections.values(), key=lambda section: order.get(section.kind, len(order)))
    of_study = Path(study.path.rstrip("/")).name.removesuffix(".zarr")
    only = chosen[0] if len(chosen) == 1 else ""
    heading = title or only or of_study or study.path
    known.sort(key=primary.__ne__)  # the primary metric first
    write_file(Path(path), render(study.path, heading, facts, ordered, known))


def _results(
    study: Study, name: str, design: Mapping[str, Any], primary: str
) -> Iterator[tuple[str, Callable[[], xr.Dataset | None]]]:
    """Yield analyses with what loads their newest result, or computes one.

    primary: A metric that results have, if one has it; empty for none.
    """
    collection = study[name]
    for kind, count in collection.contents()["results"].items():
        if primary and count > 1:
            yield kind, partial(_newest_with, primary, partial(collection.results, kind))
        else:
            yield kind, partial(collection.result, kind)
    for kind in view_names():
        if (compute := view_of(kind).page_result) is not None:
            yield kind, partial(_computed, compute, collection, design)


def _computed(
    compute: Callable[..., xr.Dataset | None], collection: Collection, design: Mapping[str, Any]
) -> xr.Dataset | None:
    """Return what is computed for the page, not stored."""
    return compute(collection.cube, collection.name, **design)


def _newest_with(metric: str, load: Callable[[], list[xr.Dataset]]) -> xr.Dataset:
    """Return the newest result that has a metric, or the newest of all."""
    results = load()
    having = [of for of in results if metric in labels_of(of, names.METRIC)]
    return (having or results)[-1]


def render(
    study: str,
    title: str,
    collections: Sequence[Facts],
    sections: Sequence[Section],
    metrics: Sequence[str],
) -> str:
    """Return a page, given facts of its collections as from `overview` and their results."""
    ranked = [section for section in sections if section.view.as_leaderboard]
    board = next(iter(ranked), None)
    joined = next((section for section in ranked if joins_collections(section.kind)), None)
    several = len(collections) > 1
    leaderboards = list[dict[str, Any]]()
    matrices = []
    if several and joined is not None:
        matrices = parts.matrices(joined.frame("collections"), joined.frame())
    if board is not None:
        baseline = str(json.loads(board.options).get("baseline") or "")
        leaderboards = parts.boards(board.frame(), baseline, len(collections))
    on_boards = [each["label"] for each in leaderboards]
    labels = list(dict.fromkeys([*on_boards, *_labels_of_answers(sections, metrics)]))
    chapters = _chapters([section for section in sections if section is not board])
    ids = {LEADERBOARD.text: "runs"} | {each["heading"]: each["id"] for each in chapters}
    cited = dict.fromkeys(chain.from_iterable(section.references for section in sections))
    script = asset("page.js")
    text = (
        _environment(names.nouns(collections[0]))
        .get_template("page.html")
        .render(
            name=title,
            study=study,
            version=version("scorecube"),
            collections=collections,
            several=several,
            labels=labels,
            words=json.dumps([visible(label) for label in labels]),
            cards=_cards(sections, labels, several, ids),
            board=board and board.content(),
            boards=leaderboards,
            matrices=matrices,
            chapters=chapters,
            runs=_runs_of(collections),
            measures=([], []) if several else _measures(sections, labels),
            warnings=_warnings(collections, sections),
            sections=sections,
            bibtex="\n".join([*(references()[key] for key in cited), software()]),
            style=Markup(asset("page.css")),  # noqa: S704 - files of this package
            script=Markup(script),  # noqa: S704
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )
    return str(text)


@cache  # with the templates it has compiled
def _environment(nouns: names.Nouns) -> Environment:
    """Return what templates of a page use, with the nouns of its study."""
    environment = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names may hold characters that turn the direction of the text behind them.
        finalize=lambda value: visible(value, keep="\n") if type(value) is str else value,
    )
    environment.filters |= {of.__name__: of for of in (counted, names.plural, brief, parts.dashed)}
    environment.filters["noun"] = nouns.write
    environment.globals |= {"zip": zip, "most_shown": parts.MOST_SHOWN, "nouns": nouns}
    return environment


def _labels_of_answers(sections: Sequence[Section], metrics: Sequence[str]) -> list[str]:
    """Return the metrics that results speak of, with their gain settings, in order."""
    answers: list[Answer] = []
    for section in sections:
        for question in section.view.answers:
            answers += section.answers(question)
    metric_of = {answer.label: answer.label.partition(" (")[0] for answer in answers}
    labels = [label for label in metric_of if metric_of[label] in metrics]
    return sorted(labels, key=lambda label: metrics.index(metric_of[label]))


def brief(clause: str) -> str:
    """Return the first part of a clause, for a card, without what stands in brackets."""
    return re.split("[;,] ", re.sub(r" (\[[^]]*\]|\([^)]* [^)]*\))", "", clause))[0]


def _cards(
    sections: Sequence[Section], labels: Sequence[str], several: bool, ids: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return a card for each question that is answered: for each metric, or the lowest number.

    ids: Ids of chapters by heading, to which cards lead.
    """
    cards = []
    for question in QUESTIONS:
        # What joins collections says nothing more of one.
        fitting = [each for each in sections if several or not joins_collections(each.kind)]
        for section in sorted(fitting, key=lambda each: each.view.card):
            if answers := section.answers(question):
                shown = [answer for answer in answers if answer.label in labels]
                shown = shown or sorted(answers, key=lambda answer: answer.value)[:1]
                place = ids.get(question.text, section.anchor)
                compared = parts.bars_of(answers) if question.compares else []
                card = {"question": question, "answers": shown, "id": place, "compared": compared}
                cards.append(card)
                break
    return cards


def _chapters(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Return the chapters: one for each question, then one for each other analysis."""
    chapters: dict[str, dict[str, Any]] = {}
    place = {question.text: k for k, question in enumerate(QUESTIONS)}
    for section in sections:
        question = section.view.chapter
        heading = section.view.heading
        text, short = (question.text, question.short) if question else (heading, heading)
        chapter = chapters.setdefault(text, {"heading": text, "short": short, "parts": []})
        chapter["id"] = "chapter-" + re.sub(r"\W+", "-", text).strip("-").lower()
        chapter["parts"].append(section.content())
    return sorted(chapters.values(), key=lambda each: place.get(each["heading"], len(place)))


def _runs_of(collections: Sequence[Facts]) -> str:
    """Return the number of runs in collections, or the smallest and the largest."""
    numbers = [row.get("systems", row["runs"]) for row in collections]
    if len({*numbers}) == 1:
        return counted(numbers[0], names.nouns(collections[0]).run)
    return f"{number_range(numbers, ',d')} {names.nouns(collections[0]).runs}"


def _measures(
    sections: Sequence[Section], labels: Sequence[str]
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return what is known of each metric: headings, and cells by metric."""
    columns: dict[str, dict[str, str]] = {}
    for section in sections:
        for question in section.view.answers:
            for answer in section.answers(question):
                value, limits = answer.number
                if answer.label in labels and question != LEADERBOARD:
                    text = f"{value} ({limits})" if limits else value
                    columns.setdefault(answer.what, {}).setdefault(answer.label, text)
    rows = [(label, [cells.get(label, "-") for cells in columns.values()]) for label in labels]
    return list(columns), rows


def _warnings(collections: Sequence[Facts], sections: Sequence[Section]) -> list[tuple[str, str]]:
    """Return what limits the numbers, each remark once with the collections it is about."""
    places: dict[str, dict[str, None]] = {}
    remarks = [(remark, row["name"]) for row in collections for remark in warnings_of(row)]
    for section in sections:
        for part in section.parts:
            about = place_of(part.attrs)
            remarks += [(remark, about) for remark in notes_of(part.attrs)]
    for remark, name in remarks:
        places.setdefault(f"{remark[:1].upper()}{remark[1:]}.", {})[name] = None
    return [
        (remark, ", ".join([*of][:MOST_NAMED]) + " and more" * (len(of) > MOST_NAMED))
        for remark, of in places.items()
    ]


def asset(name: str) -> str:
    """Return the text of a template, style sheet or script of a page."""
    folder = files("scorecube").joinpath("report/assets")
    return folder.joinpath(name).read_text(encoding="utf-8")
