"""Methods of a page: a paragraph on what was run, and the references that belong to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from scorecube.analyses import registry
from scorecube.errors import counted
from scorecube.report.page.sections import Section

COMPUTED = {"design": ("sakai2016",), "wcw": ("sakai2017",)}
"""References of what is computed from scores and is no stored analysis."""
ENTRY = re.compile(r"^@\w+\{(\w+),.*$", re.MULTILINE)
FIELD = re.compile(r"\b(author|year) = \{((?:[^{}]|\{[^{}]*\})*)\}")


@cache
def references() -> dict[str, str]:
    """Return the BibTeX entry of each key."""
    text = files("scorecube").joinpath("data/references.bib").read_text(encoding="utf-8")
    return {found[1]: found[0] for found in ENTRY.finditer(text)}


def reference_keys(kind: str) -> tuple[str, ...]:
    """Return the keys of the references of an analysis."""
    entry = next((each for each in registry.entries() if each.name == kind), None)
    return COMPUTED.get(kind, ()) if entry is None else entry.references


def short_reference(key: str) -> str:
    """Return a reference as in a text: names and year.

    Examples
    --------
    >>> short_reference("smucker2007"), short_reference("sakaishang2016")
    ('Smucker et al. 2007', 'Sakai and Shang 2016')
    """
    fields: dict[str, str] = dict(FIELD.findall(references()[key]))
    names = [re.sub(r"[{}\\']", "", each).split()[-1] for each in fields["author"].split(" and ")]
    who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{who} {fields['year']}"


def methods(
    collections: Sequence[Mapping[str, Any]], sections: Sequence[Section]
) -> dict[str, Any]:
    """Return the methods of a page: sentences on collections and analyses, and BibTeX of all that they cite.

    collections: Facts of the collections, as from `overview`.
    sections: Results on the page.
    """
    sentences = [_scores(each) for each in collections[:5]]
    if len(collections) > len(sentences):
        sentences.append(f"{counted(len(collections) - len(sentences), 'further collection')}.")
    keys: list[str] = []
    for section in sections:
        sentences.append(_run(section))
        keys += [key for key in reference_keys(section.kind) if key not in keys]
    sentences.append(f"All numbers were computed with scorecube {version('scorecube')}.")
    software = (
        f"@software{{scorecube, title = {{scorecube}}, version = {{{version('scorecube')}}}}}"
    )
    return {
        "sentences": sentences,
        "bibtex": "\n".join([*(references()[key] for key in keys), software]),
        "cited": "; ".join(map(short_reference, keys)),
    }


def _scores(facts: Mapping[str, Any]) -> str:
    teams = f" of {counted(facts['teams'], 'team')}" if facts["teams"] < facts["runs"] else ""
    source = "runs were scored against judgements" if facts["rankings"] else "scores were imported"
    gains = facts["gains"]
    settings = f" at the gain settings {', '.join(gains)}" if len(gains) > 1 else ""
    return (
        f"{facts['name']}: {counted(facts['runs'], 'run')}{teams} on {counted(facts['topics'], 'topic')}; {source} "
        f"({', '.join(facts['metrics'])}{settings})."
    )


def _run(section: Section) -> str:
    facts = section.parts[0].facts
    words = [section.title]
    if facts.get("trials"):
        words.append(counted(int(facts["trials"]), "trial"))
        words.append(f"seed {facts['seed']}" if facts.get("seed") is not None else "")
    cited = "; ".join(map(short_reference, reference_keys(section.kind)))
    return f"{section.name}{f' ({cited})' if cited else ''}: {', '.join(filter(None, words))}."
