"""Battles of pairs of systems: arenas, tables, AlpacaEval and arena-hard.

AlpacaEval's annotations.json, FastChat's and Kaggle's battles, and arena-hard-auto's judgments of
0.1 and 2.0, read 2026-11-29.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from scorecube.errors import BadInput, option
from scorecube.ingest.battles import Battle, wins_of
from scorecube.ingest.formats import File, Row, reader

ALPACA = frozenset({"generator_1", "generator_2", "preference"})
SIDES = (("model_a", "model_b"), ("run_a", "run_b"), ("system_a", "system_b"))
PROMPTS = ("prompt_id", "prompt", "question_id", "instruction", "topic", "item", "question", "id")
"""Columns of pairs, and of prompts, the first that there is."""
OF_KAGGLE = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
"""Flags of who has won."""
VERDICTS = {"A>>B": 1.0, "A>B": 1.0, "A=B": 0.5, "B=A": 0.5, "B>A": 0.0, "B>>A": 0.0}
VERDICTS |= {"A<B": 0.0, "A<<B": 0.0}


def _is_of_battles(file: File) -> bool:
    found = file.names.union(*file.rows[:1])
    has_winner = "winner" in found or found >= OF_KAGGLE.keys()
    return has_winner and any(found.issuperset(sides) for sides in SIDES)


@reader("battles", "battles: two systems, the winner or a tie, perhaps a prompt", _is_of_battles)
def read_battles(file: File) -> Iterator[Battle]:
    """Yield battles of model_a and model_b, or run_a and run_b; ties are half a win for each."""
    rows: list[tuple[int, Any]] = [*file.records]
    if not file.is_json:
        table = file.table.frame.astype(str)
        rows = [*zip(table.index.tolist(), table.to_dict("records"), strict=True)]
    fields = {*rows[0][1]} if rows else set()
    sides = next(sides for sides in SIDES if fields.issuperset(sides))
    prompt = next((name for name in PROMPTS if name in fields), "")
    if not prompt:
        file.notes.append("no column names the prompt: each battle counts by itself")
    for line, row in rows:
        first, second = (str(row.get(side, "")).strip() for side in sides)
        winner = _winner(row)
        wins = wins_of(winner, first, second)
        if wins is None:
            expected = f"{', '.join(sides)}, the name of one, tie, or bothbad"
            raise BadInput(f"winner {winner!r}: expected {expected}", file.path, line)
        yield Battle(line, first, second, str(row.get(prompt, line)), wins)


def _winner(row: Mapping[str, Any]) -> object:
    """Return who has won, in words."""
    if "winner" in row:
        return row["winner"]
    words = [OF_KAGGLE[name] for name in OF_KAGGLE if str(row.get(name)) in ("1", "1.0", "True")]
    return words[0] if len(words) == 1 else None


@reader(
    "arena_hard",
    "model_judgment of arena-hard-auto: two games of a model and the baseline",
    lambda file: file.names >= {"model", "games"},
)
def read_arena_hard(file: File) -> Iterator[Battle]:
    """Yield battles of a model with the baseline, which is A in the first game and B in the other.

    A verdict counts once, whether it is > or >>; games without one are left out, and counted.
    """
    failed = 0
    for line, row in file.records:
        baseline = str(row.get("baseline") or "baseline")
        prompt = str(row.get("uid") or row.get("question_id") or line)
        for place, game in enumerate(row["games"]):
            wins = VERDICTS.get(str((game or {}).get("score")))
            if wins is None:
                failed += 1
            else:
                of_model = 1 - wins if place == 0 else wins
                yield Battle(line, str(row["model"]), baseline, prompt, of_model)
    if "baseline" not in file.first:
        file.notes.append("the file does not name its baseline, which is called baseline here")
    if failed:
        file.notes.append(f"{failed} games without a verdict are left out")


def _baselines(file: File) -> set[str]:
    """Return the systems that others fight in a file of AlpacaEval; none of another file."""
    if not file.names >= ALPACA:
        return set()
    return {str(row.get("generator_1")) for _, row in file.records}


@reader(
    "alpaca_battles",
    "annotations.json of AlpacaEval as battles: preferences from 1 to 2",
    lambda file: len(_baselines(file)) > 1,
)
def read_alpaca_battles(file: File) -> Iterator[Battle]:
    """Yield battles of generator_2 with generator_1: a preference of 1 to 2 is 0 to 1 win."""
    n_failed = 0
    for one in _preferences(file):
        if math.isnan(one.wins):
            n_failed += 1
        else:
            yield one
    if n_failed:
        file.notes.append(f"{n_failed} annotations without a preference are left out")


@reader(
    "alpaca_eval",
    "annotations.json of AlpacaEval: preferences over one baseline",
    lambda file: len(_baselines(file)) == 1,
)
def read_alpaca_eval(file: File) -> Iterator[Row]:
    """Yield scores of generator_2 by instruction: 1 to 2 is 0 to 1; metric win over BASELINE."""
    baselines = _baselines(file)
    battles = option("layout", "alpaca_battles")
    if len(baselines) != 1:  # others are other metrics
        text = f"battles with {len(baselines)} baselines; {battles}, or divide by generator_1"
        raise BadInput(text, file.path)
    file.notes.append(f"read as scores against one baseline; {battles} reads battles")
    for one in _preferences(file):
        yield Row(one.line, one.run_a, one.prompt, one.wins, f"win over {one.run_b}")


def _preferences(file: File) -> Iterator[Battle]:
    """Yield what generator_2 has won, from 0 to 1; NaN of annotations that failed."""
    for line, row in file.records:
        preference: Any = row.get("preference")
        is_missing = preference is None or preference != preference
        is_known = isinstance(preference, int | float)
        if not is_missing and not (is_known and (preference == 0 or 1 <= preference <= 2)):
            found = f"row {line}: preference {preference!r}"
            raise BadInput(f"{found} is not from 1 to 2", file.path)
        wins = math.nan if is_missing else (preference or 1.5) - 1
        sides = str(row.get("generator_2") or ""), str(row.get("generator_1") or "")
        yield Battle(line, *sides, str(row.get("instruction", line)), wins)
