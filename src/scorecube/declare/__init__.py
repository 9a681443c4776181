"""Declarations that methods are made of: variables, options, tables, answers, views.

Records without computations. What makes frames of them is in `analyses`, what prints in `report`.
"""

from scorecube.declare.answers import (
    AGREEMENT,
    DIFFERENCE,
    DISCRIMINATION,
    JUDGES,
    LEADERBOARD,
    QUESTIONS,
    TEAMS,
    TOPICS,
    Answer,
    Question,
)
from scorecube.declare.numbers import Marked, is_known, limited, number_range, p_text, with_limits
from scorecube.declare.options import option_field
from scorecube.declare.presets import BEST_RUNS, OF_2007, Preset
from scorecube.declare.tables import Column, Down, Table, estimate, interval, maybe, shown
from scorecube.declare.variables import Variable, along, limits_of
from scorecube.declare.views import Canvas, View

__all__ = [
    "AGREEMENT",
    "BEST_RUNS",
    "DIFFERENCE",
    "DISCRIMINATION",
    "JUDGES",
    "LEADERBOARD",
    "OF_2007",
    "QUESTIONS",
    "TEAMS",
    "TOPICS",
    "Answer",
    "Canvas",
    "Column",
    "Down",
    "Marked",
    "Preset",
    "Question",
    "Table",
    "Variable",
    "View",
    "along",
    "estimate",
    "interval",
    "is_known",
    "limited",
    "limits_of",
    "maybe",
    "number_range",
    "option_field",
    "p_text",
    "shown",
    "with_limits",
]
