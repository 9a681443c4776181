"""Battles of pairs of systems: arenas, tables, AlpacaEval and arena-hard.

AlpacaEval's annotations.json, FastChat's and Kaggle's battles, and arena-hard-auto's judgments of
0.1 and 2.0, read 2026-11-29.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from scorecube.errors import BadInput, option
from scorecube.ingest.battles import Battle, checked, frame_of_battles, wins_of
from scorecube.ingest.delimited import read_delimited
from scorecube.ingest.formats import File, Row, reader

ALPACA = frozenset({"generator_1", "generator_2", "preference"})
SIDES = (("model_a", "model_b"), ("run_a", "run_b"), ("system_a", "system_b"))
PROMPTS = ("prompt_id", "prompt", "question_id", "instruction", "topic", "item", "question", "id")
"""Columns of pairs, and of prompts, the first that there is."""
OF_KAGGLE = ("winner_model_a", "winner_model_b", "winner_tie")
VERDICTS = {"A>>B": 1.0, "A>B": 1.0, "A=B": 0.5, "B=A": 0.5, "B>A": 0.0, "B>>A": 0.0}
VERDICTS |= {"A<B": 0.0, "A<<B": 0.0}


def _headings(file: File) -> set[str]:
    """Return the names of columns or fields."""
    if file.is_json:
        return file.names
    return set(file.rows[0]) if file.rows else set()


def _is_of_battles(file: File) -> bool:
    found = _headings(file)
    has_winner = "winner" in found or found.issuperset(OF_KAGGLE)
    return has_winner and any(found.issuperset(sides) for sides in SIDES)


@reader("battles", "battles: two systems, the winner or a tie, perhaps a prompt", _is_of_battles)
def read_battles(file: File) -> pd.DataFrame:
    """Return battles of model_a and model_b, or run_a and run_b; ties are half a win for each."""
    if file.is_json:
        rows: list[tuple[int, Mapping[str, Any]]] = list(file.records)
    else:
        table = read_delimited(file.text, file.path).frame.astype(str)
        rows = list(zip(table.index.tolist(), _records(table), strict=True))
    fields = {*rows[0][1]} if rows else set()
    first, second = next(sides for sides in SIDES if fields.issuperset(sides))
    prompt = next((name for name in PROMPTS if name in fields), "")
    if not prompt:
        file.notes.append("no column names the prompt: each battle counts by itself")
    battles = []
    for line, row in rows:
        run_a = str(row.get(first, "")).strip()
        run_b = str(row.get(second, "")).strip()
        winner = _winner(row)
        wins = wins_of(winner, run_a, run_b)
        if wins is None:
            expected = f"{first}, {second}, the name of one, tie, or bothbad"
            raise BadInput(f"winner {winner!r}: expected {expected}", file.path, line)
        label = str(row.get(prompt, line))
        battles.append(checked(Battle(line, run_a, run_b, label, wins), file.path))
    return frame_of_battles(battles)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table by heading."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.to_numpy().tolist()]


def _winner(row: Mapping[str, Any]) -> object:
    """Return who has won, in words."""
    if "winner" in row:
        return row["winner"]
    flags = [str(row.get(name)) in ("1", "1.0", "True", "true") for name in OF_KAGGLE]
    words = [
        word for word, is_so in zip(("model_a", "model_b", "tie"), flags, strict=True) if is_so
    ]
    return words[0] if len(words) == 1 else None


@reader(
    "arena_hard",
    "model_judgment of arena-hard-auto: two games of a model and the baseline",
    lambda file: file.names >= {"model", "games"},
)
def read_arena_hard(file: File) -> pd.DataFrame:
    """Return battles of a model with the baseline, which is A in the first game and B in the other.

    A verdict counts once, whether it is > or >>; games without one are left out, and counted.
    """
    battles = []
    failed = 0
    for line, row in file.records:
        model = str(row["model"])
        baseline = str(row.get("baseline") or "baseline")
        prompt = str(row.get("uid") or row.get("question_id") or line)
        for place, game in enumerate(row["games"]):
            wins = VERDICTS.get(str((game or {}).get("score")))
            if wins is None:
                failed += 1
                continue
            of_model = 1 - wins if place == 0 else wins
            battles.append(checked(Battle(line, model, baseline, prompt, of_model), file.path))
    if "baseline" not in file.first:
        file.notes.append("the file does not name its baseline, which is called baseline here")
    if failed:
        file.notes.append(f"{failed} games without a verdict are left out")
    return frame_of_battles(battles)


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
def read_alpaca_battles(file: File) -> pd.DataFrame:
    """Return battles of generator_2 with generator_1: a preference of 1 to 2 is 0 to 1 win."""
    battles = []
    for line, row in file.records:
        wins = _preference(row, line, file)
        sides = str(row.get("generator_2")), str(row.get("generator_1"))
        prompt = str(row.get("instruction", line))
        if not math.isnan(wins):
            battles.append(checked(Battle(line, *sides, prompt, wins), file.path))
    if lost := len(file.records) - len(battles):
        file.notes.append(f"{lost} annotations without a preference are left out")
    return frame_of_battles(battles)


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
    metric = f"win over {baselines.pop()}"
    file.notes.append(f"read as scores against one baseline; {battles} reads battles")
    for line, row in file.records:
        score = _preference(row, line, file)
        yield Row(line, row.get("generator_2"), row.get("instruction", line), score, metric)


def _preference(row: Mapping[str, Any], line: int, file: File) -> float:
    """Return what generator_2 has won, from 0 to 1; NaN for an annotation that failed."""
    preference = row.get("preference")
    if preference is None or preference != preference:
        return math.nan
    is_known = isinstance(preference, int | float)
    if not is_known or not (preference == 0 or 1 <= preference <= 2):
        found = f"row {line}: preference {preference!r}"
        raise BadInput(f"{found} is not from 1 to 2", file.path)
    return 0.5 if preference == 0 else preference - 1
