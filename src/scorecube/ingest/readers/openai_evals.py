"""Logs of OpenAI evals, as its LocalRecorder writes them: a line an event.

evals/record.py of openai/evals, read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scorecube.ingest.formats import File, Row, reader
from scorecube.ingest.json_rows import at

SCORED = ("match", "metrics")
"""Types of events that hold scores."""


@reader(
    "openai_evals",
    "log of OpenAI evals (JSON lines)",
    lambda file: bool(at(file.first, "spec.eval_name") or at(file.first, "spec.completion_fns")),
)
def read_openai_evals(file: File) -> Iterator[Row]:
    """Yield scores of match and metrics by completion_fns, sample_id and eval_name."""
    functions = at(file.first, "spec.completion_fns")
    if not isinstance(functions, list) or not functions:
        functions = [at(file.first, "spec.model_name")]
    run = "+".join(map(str, functions))
    for line, event in file.records:
        data = event.get("data")
        if event.get("type") not in SCORED or not isinstance(data, Mapping):
            continue
        if event["type"] == "match":
            scores = {"accuracy": at(data, "correct")}
        else:
            scores = {name: one for name, one in data.items() if isinstance(one, int | float)}
        for metric, score in scores.items():
            topic = event.get("sample_id")
            yield Row(line, run, topic, score, metric, at(file.first, "spec.eval_name") or "")
