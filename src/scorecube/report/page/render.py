"""The page of a report: HTML without network access, complete without its script."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from scorecube.report.cautions import cautions_of_collection, merge_cautions
from scorecube.report.page.answers import answers
from scorecube.report.page.comparisons import comparisons, headline_columns
from scorecube.report.page.heading import Heading
from scorecube.report.page.heat_maps import heat_maps
from scorecube.report.page.html import embedded_json
from scorecube.report.page.methods import methods
from scorecube.report.page.script_data import within
from scorecube.report.page.sections import Part, Section
from scorecube.report.page.templates import page_file, script_and_hash, template
from scorecube.report.tables.rows import COLLECTION
from scorecube.storage import Study
from scorecube.storage.fact_types import plan_of

MANY = 8
"""With more collections the figures of each are folded."""
ABREAST = 4
"""Columns of headline figures of a table across collections; more do not fit beside each other."""
MOST_LINES = 6
"""Lines of a headline, and tables, that are shown; those of further metrics are folded together."""
MOST_PLACES = 4
"""Collections that a warning names."""
MOST_VALUES = 34_000
"""Bytes of what the script reads the values of figures from; further figures have none."""


def render(
    study: Study,
    collections: Sequence[Mapping[str, Any]],
    sections: Sequence[Section],
    *,
    links: Mapping[str, str] | None = None,
    up: str | None = None,
    heading: Heading | None = None,
    ordered_map: Callable[..., Iterable[Any]] = map,
) -> str:
    """Return a page.

    Parameters
    ----------
    study
        The study.
    collections
        Facts of the collections on the page, as from `overview`.
    sections
        Their results.
    links
        File of each collection's own page: this one is the summary, without figures of single collections.
    up
        File of the summary, if this page is about one collection of several.
    heading
        Title, authors and date; the name of the study by default.
    ordered_map
        Function like `map`, which may call the function in other processes.
    """
    heading = heading or Heading()
    cautions = [caution for each in collections for caution in cautions_of_collection(each)]
    cautions += [
        caution for section in sections for part in section.parts for caution in part.cautions
    ]
    several = len(collections) > 1
    name = heading.name(study)
    chapter = partial(Section.chapter, curves=links is None, overview=several or links is None)
    text = template().render(
        name=name,
        study=study.path,
        study_word=shlex.quote(study.path),
        version=version("scorecube"),
        collections=collections,
        several=several,
        many=len(collections) > MANY,
        title=name if up is None else f"{collections[0]['name']}, {name}",
        up=up,
        links=links or {},
        plans=[_plan(section) for section in sections],
        answers=answers(sections, collections, study.path),
        cautions=merge_cautions(cautions),
        columns=headline_columns(sections) if several else [],
        comparisons=comparisons(sections) if several else [],
        chapters=list(ordered_map(chapter, sections)),
        heat_maps=heat_maps(study, collections, ordered_map) if links is None else [],
        provenance=_provenance(sections),
        teams_known=any(each["teams"] < each["runs"] for each in collections),
        gains_differ=len({tuple(each["gains"]) for each in collections}) > 1,
        columns_abreast=ABREAST,
        most_lines=MOST_LINES,
        most_places=MOST_PLACES,
        missing="none yet",
        authors=heading.authors,
        date=heading.date,
        methods=methods(collections, sections),
        data=_script_data(sections if links is None else ()),
        **script_and_hash(page_file("page.js")),
    )
    return without_values(str(text))


def _script_data(sections: Sequence[Section]) -> Markup:
    """Return what the script of a page computes with, by the anchors of chapters."""
    found: dict[str, list[dict[str, Any]]] = {}
    for section in sections:
        used = len(json.dumps(found))
        kept = within(section.live, used)
        if kept:
            found[section.anchor] = kept
    return Markup(embedded_json(found))  # noqa: S704 - escaped there


def without_values(page: str) -> str:
    """Return a page with the values of its figures, for the script, up to `MOST_VALUES` bytes."""
    used = 0

    def keep(found: re.Match[str]) -> str:
        nonlocal used
        used += len(found[0])
        return found[0] if used <= MOST_VALUES else ""

    return re.sub(r" data-values='p[0-9a-f]{8}- [^']*'", keep, page)


def _plan(section: Section) -> dict[str, Any]:
    """Return the plan of a section."""

    def values(name: str) -> str:
        found = sorted(
            {part.facts[name] for part in section.parts if part.facts.get(name) is not None}
        )
        return ", ".join(f"{int(value):,}" if name == "trials" else str(value) for value in found)

    resampled = any(part.facts.get("trials") for part in section.parts)
    return {
        "name": section.name,
        "title": section.title,
        "anchor": section.anchor,
        "collections": section.collections,
        "trials": values("trials") if resampled else "-",
        "seed": values("seed") if resampled else "-",
    }


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


def _facts_of_result(part: Part) -> dict[str, Any]:
    facts = part.facts
    plan = plan_of(facts)
    options = ", ".join(
        f"{key}={value}" for key, value in plan["options"].items() if value is not None
    )
    versions = ", ".join(
        f"{name} {number}" for name, number in json.loads(facts["versions"]).items()
    )
    facts_shown = {
        name: str(facts[name])
        for name in (
            COLLECTION,
            "analysis",
            "seed",
            "digest",
            "started",
            "finished",
            "python",
            "machine",
        )
    }
    return facts_shown | {
        "options": options,
        "trials": f"{plan['trials']:,}",
        "versions": versions,
        "scores": plan["cube"][:16],
        "samples": plan["samples"][:16],
    }
