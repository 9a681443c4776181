"""What listings show without opening arrays: JSON values in heads, and beside each result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from scorecube import names
from scorecube.errors import CorruptStudy
from scorecube.storage.heads import CUBE, RANKINGS, Head

if TYPE_CHECKING:
    import xarray as xr

ATTRIBUTES: Final = "attributes"
"""Fact of a result: its attributes."""
COMMIT: Final = "commit"
"""Fact of a result: one more than others of its analysis had when it was stored."""
VERSION: Final = "cube"
"""Fact of a result: version of the scores that it is of."""
ORIGIN: Final = ("source", "licence", "cite", "note")
"""Attributes of a cube that was fetched: origin of the scores."""


@dataclass(frozen=True)
class Row:
    """What a listing says of a collection.

    facts: JSON values: `facts` of the collection, `cube` and `rankings` (None without rankings),
        numbers of `results` and of `outdated` results by analysis.
    current: Facts of the results of the stored scores, by analysis and digest.
    """

    collection: str
    facts: Mapping[str, Any]
    current: Mapping[str, Mapping[str, dict[str, Any]]] = field(default_factory=dict)

    def results(self, analysis: str) -> dict[str, dict[str, Any]]:
        """Return the facts of an analysis' results of the stored scores by digest."""
        return dict(self.current.get(analysis, {}))

    def contents(self) -> dict[str, Any]:
        """Return what the collection holds, for `info`."""
        return {
            "rankings": self.facts[RANKINGS] is not None,
            "results": dict(self.facts["results"]),
            "outdated": dict(self.facts["outdated"]),
        }


def row_of(head: Head, results: Mapping[str, Mapping[str, dict[str, Any]]]) -> Row:
    """Return the row of a collection with the facts of all its results, by analysis and digest."""
    current, outdated = dict[str, dict[str, dict[str, Any]]](), dict[str, int]()
    for analysis, found in results.items():
        fresh = {digest: facts for digest, facts in found.items() if is_current(facts, head)}
        if fresh:
            current[analysis] = fresh
        if len(found) > len(fresh):
            outdated[analysis] = len(found) - len(fresh)
    facts = {
        "facts": dict(head.facts.get("facts", {})),
        CUBE: dict(head.facts[CUBE]),
        RANKINGS: head.facts.get(RANKINGS),
        "results": {analysis: len(found) for analysis, found in current.items()},
        "outdated": outdated,
    }
    return Row(head.name, facts, current)


def is_current(facts: Mapping[str, Any], head: Head) -> bool:
    """Whether a result is of scores that are stored now."""
    return facts.get(VERSION) in head.contains


def in_order(results: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return facts of results, with their digest, in the order of storing, latest last."""
    return sorted(
        ({**facts, "digest": digest} for digest, facts in results.items()),
        key=lambda facts: (
            int(facts.get(COMMIT, 0)),
            str(facts.get("finished", "")),
            facts["digest"],
        ),
    )


def facts_of_cube(cube: xr.Dataset, *, made_on_use: bool = False) -> dict[str, Any]:
    """Return the facts of a cube; doubts about scores that are made on use are not looked for."""
    from scorecube.collection.doubts import doubts_of
    from scorecube.collection.rows import score_blocks
    from scorecube.collection.schema import labels_of

    doubts = [] if made_on_use else doubts_of(cube)
    facts = {
        **({names.DOUBTS: doubts} if doubts else {}),
        "runs": cube.sizes[names.RUN],
        "teams": len(set(map(str, cube[names.TEAM].values))),
        "topics": cube.sizes[names.TOPIC],
        "metrics": labels_of(cube, names.METRIC),
        "gains": labels_of(cube, names.GAIN),
        "missing_scores": sum(int((scores != scores).sum()) for scores in score_blocks(cube)),
        "origin": {key: str(cube.attrs[key]) for key in ORIGIN if key in cube.attrs},
    }
    if names.SYSTEM in cube.coords:  # runs are repetitions
        counts = Counter(labels_of(cube, names.SYSTEM)).values()
        facts |= {"systems": len(counts), "fewest_runs": min(counts), "most_runs": max(counts)}
    return facts


def plan_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of a result, with its options, from its attributes (CorruptStudy for none).

    Examples
    --------
    >>> plan_of({"plan": '{"options": {"size": 5}, "trials": 9}'})["options"]
    {'size': 5}
    """
    try:
        plan: dict[str, Any] = json.loads(attributes["plan"])
        dict(plan["options"])
    except (ValueError, KeyError, TypeError) as error:
        name = attributes.get("analysis", "a result")
        raise CorruptStudy(
            f"the plan of {name} cannot be read: {error!r}; run scorecube verify"
        ) from None
    return plan


def plan_options(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what distinguishes a result's plan from others, whatever its scores."""
    left_out = ("cube", "teams", "systems", "seed", "trials")
    return {key: value for key, value in plan_of(attributes).items() if key not in left_out}
