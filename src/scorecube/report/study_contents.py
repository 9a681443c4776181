"""The contents of a study as the index has them; imports no arrays."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scorecube import names
from scorecube.errors import counted, visible

if TYPE_CHECKING:
    from scorecube.storage import Catalogue, Row, Study

CUBE = (
    *("runs", "teams", "systems", "fewest_runs", "most_runs", "topics", "metrics", "gains"),
    *("missing_scores", names.DOUBTS, "origin"),
)
"""Facts of a cube that are listed."""


def overview(study: Study | Catalogue) -> dict[str, Any]:
    """Return sizes, labels and number of results of all collections, as JSON values."""
    collections = [contents_of(name, row) for name, row in study.rows().items()]
    return {"study": study.path, "collections": collections}


def contents_of(name: str, row: Row) -> dict[str, Any]:
    """Return sizes, labels and number of results of one collection, as JSON values."""
    cube = row.facts["cube"]
    return {"name": name} | {fact: cube[fact] for fact in CUBE if fact in cube} | row.contents()


def overview_text(facts: dict[str, Any]) -> str:
    """Return an overview as lines, without other control characters."""
    lines = [f"{facts['study']}: {counted(len(facts['collections']), 'collection')}"]
    for each in facts["collections"]:
        lines.append(
            f"{each['name']}: {counted(each['runs'], 'run')} of {counted(each['teams'], 'team')}, {counted(each['topics'], 'topic')}"
        )
        if "systems" in each:
            few, most = each["fewest_runs"], each["most_runs"]
            runs = counted(few, "run") if few == most else f"{few} to {most} runs"
            lines.append(
                f"  systems  {each['systems']:,} of {runs} each; compare them by system: scorecube leaderboard {shlex.quote(facts['study'])} --by-system"
            )
        lines.append(f"  metrics  {', '.join(each['metrics'])}")
        lines.append(f"  gains    {', '.join(each['gains'])}")
        kept = [f"{name} ({count})" for name, count in each["results"].items()]
        lines.append(f"  results  {', '.join(kept) or 'none yet'}")
        if outdated := each["outdated"]:
            lines.append(f"  outdated {outdated_text(outdated)}: the scores were replaced since")
        lines += [f"  {key:<8} {value}" for key, value in each["origin"].items()]
        if each["missing_scores"]:
            lines.append(f"  missing  {each['missing_scores']} scores")
        lines += [f"  warning  {doubt}" for doubt in each.get(names.DOUBTS, ())]
        if not each["rankings"]:
            lines.append("  imported scores, no rankings")
    if facts["collections"]:
        words, first = ", with rank sets", f"leaderboard {facts['study']}"
        if any("leaderboard" in each["results"] for each in facts["collections"]):
            words, first = "", f"show {facts['study']} leaderboard"
        lines.append(f"runs, best first{words}: scorecube {first}")
    return "\n".join(map(visible, lines))


def outdated_text(outdated: Mapping[str, int]) -> str:
    """Return numbers of outdated results by analysis as text."""
    return ", ".join(f"{name} ({count})" for name, count in outdated.items())
