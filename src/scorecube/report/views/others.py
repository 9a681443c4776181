"""What the topics and runs at hand stand for: what limits and intervals about others leave out in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scorecube.storage.fact_types import plan_of


def topics_and_teams(*facts: Mapping[str, Any]) -> str:
    """Return ``topics and teams``, or ``topics and runs`` where no result has teams, or none that count together.

    Parameters
    ----------
    facts
        Attributes of the results.

    Examples
    --------
    >>> topics_and_teams({"plan": '{"teams": "d3e8", "options": {}}'}), topics_and_teams({"plan": '{"options": {}}'})
    ('topics and teams', 'topics and runs')
    """
    known = {_has_teams(each) for each in facts}
    if len(known) > 1:
        return "topics and teams (runs where no teams are known)"
    return "topics and teams" if known == {True} else "topics and runs"


def _has_teams(facts: Mapping[str, Any]) -> bool:
    plan = plan_of(facts)
    return "teams" in plan and plan["options"].get("run_groups", "teams") == "teams"
