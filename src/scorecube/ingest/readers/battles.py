"""Battles of pairs of systems: AlpacaEval, whose baseline is one system, and arenas.

AlpacaEval's annotations.json and FastChat's battles, read 2026-11-29.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from scorecube.errors import BadInput
from scorecube.ingest.formats import File, Row, reader, summary

ALPACA = frozenset({"generator_1", "generator_2", "preference"})

summary(
    "battles of pairs of systems",
    "against one baseline, write columns model, item and win (1, 0.5 or 0)",
    lambda file: file.names >= {"model_a", "model_b", "winner"},
    "no scores: they say which of two systems wins",
)


@reader(
    "alpaca_eval",
    "annotations.json of AlpacaEval: preferences over one baseline",
    lambda file: file.names >= ALPACA,
)
def read_alpaca_eval(file: File) -> Iterator[Row]:
    """Yield scores of generator_2 by instruction: 1 to 2 is 0 to 1; metric win over BASELINE."""
    baselines = {str(row.get("generator_1")) for _, row in file.records}
    if len(baselines) != 1:  # others are other metrics
        text = f"battles with {len(baselines)} baselines; divide the file by generator_1"
        raise BadInput(text, file.path)
    metric = f"win over {baselines.pop()}"
    for line, row in file.records:
        preference = row.get("preference")
        score = math.nan  # an annotation that failed
        if preference is not None and preference == preference:
            is_known = isinstance(preference, int | float)
            if not is_known or not (preference == 0 or 1 <= preference <= 2):
                found = f"row {line}: preference {preference!r}"
                raise BadInput(f"{found} is not from 1 to 2", file.path)
            score = 0.5 if preference == 0 else preference - 1
        yield Row(line, row.get("generator_2"), row.get("instruction", line), score, metric)
