"""Battles of pairs of systems: AlpacaEval and Arena.

Until a command analyses battles, such files are refused with what they are; `battles_of` gives
their rows. AlpacaEval's annotations.json and FastChat's battles, read 2026-11-29.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from scorecube.errors import BadInput
from scorecube.ingest.formats import File, Row, reader

ALPACA = frozenset({"generator_1", "generator_2", "preference"})
ARENA = frozenset({"model_a", "model_b", "winner"})
SIDES = {"model_a": 1.0, "a": 1.0, "model_b": 0.0, "b": 0.0}


class Battle(NamedTuple):
    """A battle of two runs on a prompt: 1 where run_a wins, 0 where run_b does, 0.5 for a tie."""

    line: int
    run_a: str
    run_b: str
    winner: float
    prompt: str


def battles_of(file: File) -> Iterator[Battle]:
    """Yield the battles of a file (BadInput for a line that is none)."""
    for line, row in file.records:
        if {*row} >= ALPACA:
            yield _of_alpaca(file, line, row)
        elif {*row} >= ARENA:
            word = str(row["winner"]).lower()
            winner = 0.5 if word.startswith("tie") else SIDES.get(word)
            if winner is None:
                text = f"winner {row['winner']!r} is none of model_a, model_b and tie"
                raise BadInput(text, file.path, line)
            prompt = row.get("question_id", line)
            yield Battle(line, str(row["model_a"]), str(row["model_b"]), winner, str(prompt))
        else:
            raise BadInput("a battle has two systems and a winner", file.path, line)


def _of_alpaca(file: File, line: int, row: Mapping[str, object]) -> Battle:
    """Return the battle of an annotation: a preference of 1 is for generator_1, 2 for the other."""
    preference = row["preference"]
    winner = math.nan  # an annotation that failed
    if preference is not None and preference == preference:
        if not isinstance(preference, int | float) or not (preference == 0 or 1 <= preference <= 2):
            raise BadInput(f"preference {preference!r} is not from 1 to 2", file.path, line)
        winner = 0.5 if preference == 0 else 2 - preference
    prompt = str(row.get("instruction", line))
    return Battle(line, str(row["generator_1"]), str(row["generator_2"]), winner, prompt)


@reader(
    "alpaca_eval",
    "annotations.json of AlpacaEval: preferences over one baseline",
    lambda file: file.names >= ALPACA,
)
def read_alpaca_eval(file: File) -> Iterator[Row]:
    """Yield scores of generator_2 by instruction: 1 to 2 is 0 to 1; metric win over BASELINE."""
    battles = list(battles_of(file))
    baselines = {battle.run_a for battle in battles}
    if len(baselines) != 1:
        raise _no_scores(file, battles)
    # Preferences over other baselines are other metrics.
    metric = f"win over {baselines.pop()}"
    for battle in battles:
        yield Row(battle.line, battle.run_b, battle.prompt, 1 - battle.winner, metric)


@reader("battles", "battles of pairs of systems of an arena", lambda file: file.names >= ARENA)
def read_battles(file: File) -> Iterator[Row]:
    """Refuse battles: their systems have no score each."""
    raise _no_scores(file, list(battles_of(file)))


def _no_scores(file: File, battles: list[Battle]) -> BadInput:
    """Return the error about battles."""
    n_runs = len({run for battle in battles for run in battle[1:3]})
    return BadInput(
        f"{len(battles)} battles of {n_runs} systems, not scores: they say which of two wins, and "
        "import needs a score of each system on each item; against one baseline, write columns "
        "model, item and win (1, 0.5 or 0)",
        file.path,
    )
