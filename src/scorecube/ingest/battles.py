"""Battles of pairs of systems in files: who fought whom on which prompt, and who has won."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import xarray as xr

from scorecube.collection.battles import cube_of_battles
from scorecube.errors import BadInput, counted
from scorecube.ingest.input_files import PathLike, refuse_unprintable

if TYPE_CHECKING:
    from scorecube.ingest.scores import ScorePart

FIRST = frozenset(["a", "model_a", "run_a", "system_a", "left"])
SECOND = frozenset(["b", "model_b", "run_b", "system_b", "right"])
TIED = frozenset(
    ["tie", "draw", "both", "neither", "tie (bothbad)", "tie (both bad)", "bothbad", "both bad"]
)
"""Words for who has won, in lower case, with blanks for underscores in those of ties."""


class Battle(NamedTuple):
    """A battle of a file: its line, both systems, the prompt, and what the first has won."""

    line: int
    run_a: str
    run_b: str
    prompt: str
    wins: float


def frame_of_battles(battles: Iterable[Battle], path: PathLike) -> pd.DataFrame:
    """Return battles as a frame, whose index is the line.

    Raises BadInput: A system without a name, or against itself.
    """
    rows = list(battles)
    for battle in rows:
        for run in (battle.run_a, battle.run_b):
            if not run:
                raise BadInput("a system of the battle is missing", path, battle.line)
            refuse_unprintable(run, "system")
        if battle.run_a == battle.run_b:
            raise BadInput(f"a battle of {battle.run_a!r} with itself", path, battle.line)
    return pd.DataFrame(rows, columns=pd.Index(Battle._fields)).set_index("line")


def is_of_battles(frame: pd.DataFrame) -> bool:
    """Return whether a reader has returned battles."""
    return {*Battle._fields[1:]} <= {*frame.columns}


def wins_of(winner: object, run_a: str, run_b: str) -> float | None:
    """Return what the first system has won: 1, 0, or 0.5 of ties; None for no known word.

    Examples
    --------
    >>> [wins_of(word, "x", "y") for word in ("model_a", "y", "tie (bothbad)", "both_bad", "z")]
    [1.0, 0.0, 0.5, 0.5, None]
    """
    text = str(winner).strip()
    word = text.lower()
    if text in (run_a, run_b):
        return float(text == run_a)
    if word in FIRST or word in SECOND:
        return float(word in FIRST)
    return 0.5 if word.replace("_", " ") in TIED else None


def cube_of_parts(parts: Sequence[ScorePart], notify: Callable[[str], None]) -> xr.Dataset:
    """Return the cube of the battles of all files (BadInput for files of scores among them)."""
    for part in parts:
        if not is_of_battles(part.frame):
            raise BadInput("scores, beside files of battles: import them apart", part.path)
        for line in part.notes:
            notify(line)
    frame = pd.concat([part.frame for part in parts])
    prompts = frame["prompt"].nunique()
    notify(f"read as battles: {counted(len(frame), 'battle')} on {counted(prompts, 'prompt')}")
    return cube_of_battles(frame["run_a"], frame["run_b"], frame["prompt"], frame["wins"])
