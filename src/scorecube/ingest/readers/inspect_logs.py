"""Logs of Inspect: JSON, and packed ones (.eval) where `inspect_ai` is installed.

EvalLog version 2 of inspect-ai 0.3.285, read 2026-11-25.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scorecube.errors import BadInput
from scorecube.ingest.formats import File, Row, reader, summary
from scorecube.ingest.kinds import EVAL, EVAL_LOG, way_of

FIELDS = frozenset({"version", "status", "eval", "plan"})
WORTH = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partially correct, incorrect and no answer, as `value_to_float` of the tool."""


def _is_index(file: File) -> bool:
    # logs.json of a folder, or eval-set.json: facts of logs, without their samples.
    logs = [value for value in file.first.values() if isinstance(value, Mapping)]
    is_index = len(file.records) == 1 and bool(logs) and all({*log} >= FIELDS for log in logs)
    return is_index and not any(log.get("samples") for log in logs)


summary("an index of logs of Inspect", "import the logs themselves", _is_index)


@reader(
    "inspect",
    "log of Inspect, in JSON, or packed (.eval) with inspect_ai",
    lambda file: file.kind == EVAL or file.names >= FIELDS,
)
def read_inspect(file: File) -> Iterator[Row]:
    """Yield scores by eval.model, id and eval.task; epochs repeat; C, P, I, N are 1, .5, 0, 0."""
    log = _unpacked(file) if file.kind == EVAL else file.first
    of = _mapping(log.get("eval"))
    run = of.get("model")
    task = str(of.get("task") or "").replace("/", "-")
    samples = log.get("samples")
    scored = (
        [one for one in samples if isinstance(one, Mapping)] if isinstance(samples, list) else []
    )
    if not scored:
        text = f"the log of Inspect has no samples (status {log.get('status')})"
        raise BadInput(f"{text}; it may be a header, or an evaluation that failed", file.path)
    scorers = dict.fromkeys(name for one in scored for name in _mapping(one.get("scores")))
    if not scorers:
        text = "no sample of the log has a score: inspect score FILE adds scores"
        raise BadInput(text, file.path)
    for number, sample in enumerate(scored, 1):
        # A sample without scores ended with an error.
        scores = _mapping(sample.get("scores")) or dict.fromkeys(scorers)
        for scorer, score in scores.items():
            value = score.get("value") if isinstance(score, Mapping) else score
            for name, part in (value if isinstance(value, Mapping) else {"": value}).items():
                metric = f"{scorer}_{name}" if name else str(scorer)
                worth = WORTH.get(part, part) if isinstance(part, str) else part
                yield Row(number, run, sample.get("id"), worth, metric, task, sample.get("epoch"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _unpacked(file: File) -> Mapping[str, Any]:
    """Return the content of a packed log, as the tool reads it."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        way = f"{way_of(EVAL_LOG, file.path)}; or install inspect_ai beside scorecube"
        raise BadInput(f"{EVAL_LOG.what}; {way}", file.path) from None
    try:
        log: Mapping[str, Any] = read_eval_log(str(file.path)).model_dump(mode="json")
    except Exception as error:  # of many types
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(f"{EVAL_LOG.what} that inspect_ai cannot read: {text}", file.path) from None
    return log
