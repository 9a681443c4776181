"""Results of promptfoo: `-o results.json` (version 2 or 3), or lines of results.

site/docs/configuration/outputs.md and `EvaluateResult` of promptfoo 0.12x, read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scorecube.ingest.formats import File, Row, reader
from scorecube.ingest.json_rows import at

PLACES = ("results.results", "results")
"""Where a file holds its list of results."""
FACTS = frozenset({"success", "score", "namedScores", "gradingResult"})


def _results(file: File) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the results of a file with their numbers."""
    for place in PLACES:
        found = at(file.first, place)
        if isinstance(found, list) and found and all(isinstance(one, Mapping) for one in found):
            return list(enumerate(found, 1))
    return [*file.records]


def _is_promptfoo(file: File) -> bool:
    results = _results(file)[:1]
    return any("provider" in one and len(FACTS & {*one}) > 1 for _, one in results)


@reader("promptfoo", "results of promptfoo, in JSON or JSON lines", _is_promptfoo)
def read_promptfoo(file: File) -> Iterator[Row]:
    """Yield the scores of tests: provider, and prompt where there are several, are the run."""
    results = _results(file)
    prompts = {str(_prompt_of(one)) for _, one in results}
    seen: dict[tuple[str, str], int] = {}
    for line, one in results:
        provider = one.get("provider")
        if isinstance(provider, Mapping):
            provider = provider.get("label") or provider.get("id")
        run = f"{provider} {_prompt_of(one)}" if len(prompts) > 1 else provider
        topic = one.get("testIdx")
        if topic is None:  # before promptfoo 0.80, tests are told by their variables
            topic = str(one.get("description") or one.get("vars"))
        again = seen[str(run), str(topic)] = seen.get((str(run), str(topic)), 0) + 1
        seed = again if again > 1 else ""
        yield Row(line, run, topic, one.get("score", one.get("success")), "score", "", seed)
        named = one.get("namedScores")
        for name, value in (named if isinstance(named, Mapping) else {}).items():
            yield Row(line, run, topic, value, name, "", seed)


def _prompt_of(one: Mapping[str, Any]) -> object:
    """Return what tells the prompt of a result."""
    index = one.get("promptIdx")
    return f"prompt {index}" if index is not None else at(one, "prompt.label")
