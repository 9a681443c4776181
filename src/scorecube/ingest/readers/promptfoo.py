"""Results of promptfoo: `-o results.json` (version 2 or 3), or lines of results.

site/docs/configuration/outputs.md and `EvaluateResult` of promptfoo 0.12x, read 2026-11-29.
"""

from __future__ import annotations

from collections import Counter
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
    return any("provider" in one and len(FACTS & {*one}) > 1 for _, one in _results(file)[:1])


@reader("promptfoo", "results of promptfoo, in JSON or JSON lines", _is_promptfoo)
def read_promptfoo(file: File) -> Iterator[Row]:
    """Yield scores by provider, with the prompt where there are several, and testIdx.

    Tests with equal variables are repetitions: with ``--repeat``, each has a number of its own.
    """
    results = _results(file)
    prompts = {str(_prompt_of(one)) for _, one in results}
    topics: dict[str, object] = {}
    counts: Counter[tuple[str, str]] = Counter()
    n_errors = 0
    for line, one in results:
        provider = one.get("provider")
        if isinstance(provider, Mapping):
            provider = provider.get("label") or provider.get("id")
        run = f"{provider} {_prompt_of(one)}" if len(prompts) > 1 else provider
        test = _test_of(one)
        topic = topics.setdefault(test, one.get("testIdx", test))
        counts[str(run), test] += 1
        seed = counts[str(run), test]
        n_errors += bool(one.get("error")) and not one.get("gradingResult")
        yield Row(line, run, topic, one.get("score", one.get("success")), seed=seed)
        named = one.get("namedScores")
        for name, value in (named if isinstance(named, Mapping) else {}).items():
            yield Row(line, run, topic, value, name, seed=seed)
    if n_errors:
        file.notes.append(f"{n_errors} results are errors, which promptfoo scores 0")


def _prompt_of(one: Mapping[str, Any]) -> object:
    """Return what tells the prompt of a result."""
    index = one.get("promptIdx")
    return f"prompt {index}" if index is not None else at(one, "prompt.label")


def _test_of(one: Mapping[str, Any]) -> str:
    """Return what tells a test: its description and variables, or else its number."""
    told = (at(one, "testCase.description") or one.get("description"), one.get("vars"))
    return str(told) if any(told) else str(one.get("testIdx"))
