"""The contents of a study, and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scorecube import names
from scorecube.errors import counted, visible
from scorecube.methods import index
from scorecube.storage import Collection, Study, find_unclaimed

CUBE = (
    *("runs", "teams", "systems", "fewest_runs", "most_runs", "topics", "metrics", "gains"),
    *("missing_scores", names.DOUBTS, names.WORDS, "origin"),
)
"""Facts of a cube that are listed."""


def overview(study: Study) -> dict[str, Any]:
    """Return sizes, labels, results and doubts about them of all collections, as JSON values."""
    opened = study.collections()
    rows = list(study.place.map(_facts_of, opened))
    return {"study": study.path, "collections": rows, "headless": find_unclaimed(study)}


def _facts_of(collection: Collection) -> dict[str, Any]:
    """Return the facts of a collection, with the doubts about its results, each once."""
    cube = collection.head.facts["cube"]
    contents = collection.contents()
    doubts = {
        f"{kind}: {doubt}"
        for kind in contents["results"]
        for attributes in collection.result_attributes(kind)
        for doubt in attributes.get(names.DOUBTS, ())
    }
    facts = {fact: cube[fact] for fact in CUBE if fact in cube}
    words = {"name": collection.name, names.WORDS: names.USUAL_WORDS}
    return words | facts | contents | {"remarks": sorted(doubts)}


def overview_text(facts: Mapping[str, Any]) -> str:
    """Return an overview as lines, without other control characters."""
    lines = [f"{facts['study']}: {counted(len(facts['collections']), 'collection')}"]
    for row in facts["collections"]:
        run, topic, *_ = row[names.WORDS]
        runs = counted(row["runs"], run)
        if "systems" in row:  # runs are repetitions
            system = "system" if run == names.RUN else run
            runs = f"{counted(row['systems'], system)} in {counted(row['runs'], names.RUN)}"
        of_teams = ""
        if row.get("teams", row["runs"]) < row["runs"]:
            of_teams = f" of {counted(row['teams'], 'team')}"
        lines.append(f"{row['name']}: {runs}{of_teams}, {counted(row['topics'], topic)}")
        results, outdated = (
            ", ".join(f"{name} ({count})" for name, count in row[key].items())
            for key in ("results", "outdated")
        )
        facts_of = {
            "metrics": ", ".join(row["metrics"]),
            "gains": ", ".join(row["gains"]) if row["gains"] != [names.AUTO] else "",
            "results": results or "none yet",
            "outdated": outdated,
            **row["origin"],
            "missing": f"{row['missing_scores']} scores" if row["missing_scores"] else "",
        }
        lines += [f"  {key:<8} {text}" for key, text in facts_of.items() if text]
        lines += [f"  warning  {doubt}" for doubt in row.get(names.DOUBTS, ())]
        lines += [] if row["rankings"] else ["  imported scores, no rankings"]
    lines += [f"{path}: no head: deleted, or begun and killed" for path in facts["headless"]]
    if facts["collections"]:
        system, topic, *_ = facts["collections"][0][names.WORDS]
        first = "battles" if topic == "opponent" else index.names()[0]
        done = any(first in row["results"] for row in facts["collections"])
        command = f"show {facts['study']} {first}" if done else f"{first} {facts['study']}"
        lines.append(f"{names.plural(system)}, best first: scorecube {command}")
    return "\n".join(map(visible, lines))


def warnings_of(facts: Mapping[str, Any]) -> list[str]:
    """Return what limits or may spoil the numbers of a collection, given its facts."""
    remarks = [str(doubt).rstrip(".") for doubt in facts.get(names.DOUBTS, ())]
    remarks += facts["remarks"]
    if facts["missing_scores"]:
        remarks.append(f"{facts['missing_scores']:,} scores are missing")
    return remarks


def as_json(value: object) -> str:
    """Return JSON in ASCII, in which control characters stand as escapes."""
    return json.dumps(value, indent=1, allow_nan=False).replace("\x7f", "\\u007f")
