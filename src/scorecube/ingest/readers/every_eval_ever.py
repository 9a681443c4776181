"""Samples of Every Eval Ever: instance_level_eval.schema.json 0.3.0, read 2026-11-25."""

from __future__ import annotations

from collections.abc import Iterator

from scorecube.ingest.formats import File, Row, reader
from scorecube.ingest.json_rows import at

FIELDS = frozenset({"evaluation_id", "evaluation_name", "sample_id", "evaluation"})


@reader(
    "every_eval_ever", "samples of Every Eval Ever (JSON lines)", lambda file: file.names >= FIELDS
)
def read_every_eval_ever(file: File) -> Iterator[Row]:
    """Yield scores by model_id and sample_id; evaluation_name is the collection."""
    for line, sample in file.records:
        score = at(sample, "evaluation.score")
        task = str(sample.get("evaluation_name") or "").replace("/", "-")
        metric = str(sample.get("evaluation_result_id") or "score")
        yield Row(line, sample.get("model_id"), sample.get("sample_id"), score, metric, task)
