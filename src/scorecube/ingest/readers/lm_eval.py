"""Samples of lm-evaluation-harness: a folder for each model, a file for each task.

evaluation_tracker.py of lm-eval 0.4.13, read 2026-11-25; before 0.4.7, samples do not name their
metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scorecube.ingest.formats import File, Row, reader, summary
from scorecube.ingest.input_files import name_in

OLD_FIELDS = frozenset({"doc_id", "doc", "target", "resps"})
"""Fields of samples before 0.4.7."""
FIELDS = frozenset({"doc_id", "filter", "metrics"})
NO_METRICS = OLD_FIELDS | {"arguments", "filtered_resps", "doc_hash", "prompt_hash", "target_hash"}
DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.-]+$")


summary(
    "results of lm-evaluation-harness, means of tasks",
    "import the files samples_*.jsonl beside them, which --log_samples writes",
    lambda file: {"results", "configs", "versions"} <= file.names,
)


@reader(
    "lm_eval",
    "samples_TASK_DATE.jsonl of lm-evaluation-harness, in a folder each model",
    lambda file: file.names >= FIELDS or file.names >= OLD_FIELDS,
)
def read_lm_eval(file: File) -> Iterator[Row]:
    """Yield scores by folder, doc_id and TASK; a filter of answers stands behind the metric."""
    name = name_in(file.path, r"\.(jsonl|json)$").removeprefix("samples_")
    task = DATE.sub("", name)
    run = Path(file.path).absolute().parent.name
    lists: dict[str, None] = {}
    for line, sample in file.records:
        metrics = sample.get("metrics")
        if not isinstance(metrics, list):
            numbers = [name for name, value in sample.items() if isinstance(value, int | float)]
            metrics = [name for name in numbers if name not in NO_METRICS]
        filtered = sample.get("filter")
        end = "" if filtered in (None, "none") else f":{filtered}"
        for metric in map(str, metrics):
            value = sample.get(metric)
            if metric == "bypass":  # a placeholder of tasks that are only generated
                continue
            if isinstance(value, list | dict):
                # What the tool needs for a score of all samples, such as BLEU or F1.
                lists[metric] = None
                continue
            # The perplexity of a sample is its log-likelihood, which the tool averages.
            is_log = metric == "perplexity" and isinstance(value, int | float) and value <= 0
            shown = "loglikelihood" if is_log else metric
            yield Row(line, run, sample.get("doc_id"), value, shown + end, task)
    if lists:
        file.notes.append(
            f"not read: {', '.join(lists)}, of which samples of {task} have lists: the tool "
            "computes one score of all samples"
        )
