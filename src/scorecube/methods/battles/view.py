"""What is shown of battles: systems by strength, pairs, and their figure."""

from __future__ import annotations

from collections.abc import Iterator

import xarray as xr

from scorecube import names
from scorecube.analyses.drawn import draw_ranked
from scorecube.analyses.frames import frame_of
from scorecube.collection.schema import CELL
from scorecube.declare import (
    LEADERBOARD,
    Answer,
    Canvas,
    Column,
    Table,
    View,
    interval,
    shown,
    with_limits,
)
from scorecube.errors import counted

SYSTEMS = Table(
    (*CELL, "run"),
    (
        *("rank", "run", *interval("strength"), "rank_low", "rank_high"),
        *(Column("win_rate", of="won"), "n_battles", Column("n_prompts", optional=True)),
        *("connected", *CELL, "scale"),
    ),
    sort=("rank",),
    within=2,
    whole=("rank",),
    brief=(
        *("rank", "run", shown("strength", *interval("strength"))),
        shown("could be rank", "rank_low", "rank_high"),
        *(shown("won", "win_rate"), shown("battles", "n_battles")),
    ),
)
"""Systems, the strongest first, with limits and rank sets."""
PAIRS = Table(
    (*CELL, "pair"),
    (
        *("run_a", "run_b", *interval("win_probability"), "share_won", "n_met", "p_value"),
        *("p_value_holm", "p_value_bh", *CELL),
    ),
)
"""Each pair: how often the first wins, as strengths say and as it was."""


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield which system leads, and how many could be the best."""
    attrs = result.attrs
    frame = frame_of(SYSTEMS, result)
    ranked = frame[frame["connected"]]
    if not len(ranked):
        return
    first = ranked[:1].to_dict("records")[0]
    could = int((frame["rank_low"] == 1).sum())
    nouns = names.nouns(attrs)
    best = f"{could} of {len(frame)} {nouns.runs}" if could > 1 else f"no other {nouns.run}"
    percent = f"{100 * (1 - float(attrs['alpha'])):g}%"
    scale = "Elo" if attrs["scale"] == "elo" else f"log odds against the mean of {nouns.runs}"
    clause = f"{scale}{_of_next(result, ranked[names.RUN].tolist())}; {best} could be the best"
    clause += f" [{percent}, simultaneous rank sets]"
    clause += f"; {counted(attrs['battles'], 'battle')} on {counted(attrs['prompts'], 'prompt')}"
    limits = first["strength_low"], first["strength_high"]
    words = clause, "strength", first["run"], "leads with"
    yield Answer("strength", first["strength"], *limits, ".2f", *words)


def _of_next(result: xr.Dataset, ranked: list[str]) -> str:
    """Return how often the first of ranked systems wins against the second."""
    pairs = frame_of(PAIRS, result)
    at = pairs[pairs["run_a"].isin(ranked[:2]) & pairs["run_b"].isin(ranked[:2])]
    (pair,) = at.to_dict("records")
    ends = [pair["win_probability_low"], pair["win_probability_high"]]
    chance = pair["win_probability"]
    if pair["run_a"] != ranked[0]:
        chance = 1 - chance
        ends = [1 - end for end in reversed(ends)]
    wins = with_limits(chance, ends[0], ends[1], ".1%")
    return f"; it wins {wins} of battles with {ranked[1]}"


def figure(canvas: Canvas, result: xr.Dataset) -> None:
    """Systems, best first: strengths with limits, and rank sets."""
    is_elo = result.attrs["scale"] == "elo"
    draw_ranked(canvas, result, "strength", "strength (Elo)" if is_elo else "strength (log odds)")


VIEW = View(
    name="battles",
    heading="Battles",
    tables={"systems": SYSTEMS, "pairs": PAIRS},
    about="Strengths by Bradley and Terry (1952), by maximum likelihood: the log odds that a "
    "system wins against the mean of systems; ties, and battles that both lose, are a half for "
    "each. Limits and rank sets are about new prompts and the same match-ups (sandwich covariance "
    "over prompts). Systems that only win, or only lose, against the rest have no strength. Elo "
    "ratings that are updated after each battle depend on the order of battles; these do not.",
    answers={LEADERBOARD: answers},
    card=4,
    conditions=("alpha",),
    figure=figure,
    by_metric=True,
)
