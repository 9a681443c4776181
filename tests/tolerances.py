"""The table of all tolerances: ``python -m tests.tolerances > docs/reference/tolerances.md``.

Values and reasons stand in the source, in the room that uses them: a constant, and the text below it.
"""

from __future__ import annotations

import ast
import math
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/scorecube"
CONSTANTS: dict[str, tuple[tuple[str, str], ...]] = {
    "Scores as integers": (
        ("statistics.integer_scores", "ROOM"),
        ("statistics.integer_scores", "SNAP"),
        ("statistics.integer_scores", "BLIND"),
        ("statistics.integer_scores", "ALIKE"),
        ("statistics.integer_scores", "DIGITS"),
        ("statistics.integer_scores", "LEAST_USUAL"),
        ("statistics.integer_scores", "SMALLEST"),
        ("statistics.integer_scores", "MANTISSA_BITS"),
        ("statistics.integer_scores", "ROOM_BITS"),
        ("statistics.integer_scores", "MAX_BITS"),
        ("statistics.integer_scores", "FINEST_BITS"),
        ("statistics.integer_scores", "ROUNDING"),
        ("analyses.topic_samples.base", "LOG_UNITS"),
        ("analyses.topic_samples.swap_result", "DECIMALS"),
        ("analyses.topic_samples.swap_result", "LEAST_DIFFERENCE"),
        ("analyses.topic_samples.swap_limits", "SHARE_FLOOR"),
        ("analyses.topic_samples.swap_options", "SMALLEST_WIDTH"),
    ),
    "Tests of pairs of runs": (
        ("kernels.pairs.tail_counts", "EQUAL"),
        ("kernels.pairs.tail_counts", "INFINITE"),
        ("analyses.pair_tests.base", "TIED_ROUNDINGS"),
        ("analyses.pair_tests.moderated", "NEAR"),
        ("analyses.pair_tests.gaussian", "SINGULAR"),
        ("analyses.rank_sets.estimates", "SYMMETRIC"),
        ("analyses.rank_sets.leaderboard", "CANCELLED"),
        ("analyses.pair_tests.bootstrap", "GUARDED_STEPS"),
    ),
    "Leaving teams out": (
        ("analyses.leave_out.kernel", "UNITS"),
        ("analyses.leave_out.kernel", "TIE"),
        ("analyses.leave_out.rescored_runs", "MISSED"),
        ("analyses.leave_out.rescored_runs", "TOLERANCE"),
    ),
    "Simulated scores": (
        ("analyses.simulation.decisions", "LEVEL_ROUNDING"),
        ("analyses.simulation.pair_models", "SAME_SCORE"),
        ("kernels.experiments.pair_copulas", "NOT_ZERO"),
        ("statistics.margin_fits", "EDGE"),
        ("statistics.margins", "STEEPEST"),
        ("statistics.margin_fits", "FIT_STEPS"),
        ("statistics.margins", "MOMENT_STEPS"),
        ("statistics.margin_fits", "SHAPE_STEP"),
        ("statistics.margins", "SLOPE_STEP"),
        ("statistics.margins", "MOMENTS_REACHED"),
        ("statistics.margins", "EXPONENT_STEP"),
        ("statistics.margins", "MOMENT_TOLERANCE"),
        ("analyses.simulation.claims", "EQUAL_MEANS"),
        ("analyses.simulation.families", "NO_SPREAD"),
    ),
    "Gates": (("workflow.gate", "LEAST_MARGIN"),),
    "Judges": (
        ("statistics.corrected_means", "NO_SPREAD"),
        ("statistics.corrected_means", "CANCELLED"),
    ),
    "Rank correlation": (
        ("statistics.effect_posterior", "SMALLEST_RATIO"),
        ("statistics.effect_posterior", "SETTLED"),
        ("statistics.effect_posterior", "SMALLEST_VARIANCE"),
    ),
    "Means of bounded scores": (("statistics.bounded_means", "SMALLEST"),),
    "Reliability": (("statistics.variance_components", "LEAST_LEFT"),),
    "Searches and fits": (
        ("kernels.linalg.selection", "FLAT"),
        ("kernels.linalg.selection", "LEAST_STEP"),
        ("statistics.decay_curve", "SLOWEST"),
        ("statistics.decay_curve", "FASTEST"),
        ("statistics.decay_curve", "STEPS"),
        ("statistics.proportion_intervals", "T_RANGE"),
    ),
    "Preferences of people": (("ingest.preferences", "EQUAL"),),
    "Metrics": (
        ("collection.topic_means", "GEOMETRIC_FLOOR"),
        ("metrics.gain_settings", "SMALLEST_GAIN"),
        ("metrics.incomplete", "SMOOTHING"),
        ("collection.score_range", "SMALLEST_MAXIMUM"),
    ),
    "Topic set size design": (
        ("design.search", "HALVINGS"),
        ("design.search", "TOLERANCE"),
        ("design.inputs", "LEAST_RATE"),
        ("design.inputs", "ROUNDED"),
        ("design.power", "SAME_RATE"),
        ("design.power", "DECIMALS"),
        ("design.power", "MAX_NONCENTRALITY"),
        ("design.interval", "SERIES_FROM"),
    ),
    "Report": (
        ("analyses.rank_agreement.correlation_quantities", "EQUAL"),
        ("report.swap", "SAME_LEVEL"),
        ("analyses.rank_sets.other_numbers", "ROUNDING"),
        ("analyses.rank_sets.other_numbers", "SMALLEST_TAIL"),
        ("analyses.rank_sets.other_numbers", "ABOVE"),
        ("report.agreement", "LEAST_SPAN"),
        ("report.text_formats", "LEAST_P"),
        ("analyses.designs", "SMALLEST"),
    ),
}
"""Modules below `scorecube`, and names, by subject."""


def reasons(module: str) -> dict[str, str]:
    """Return the texts below the constants of a module."""
    body = ast.parse((SOURCE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")).body
    found: dict[str, str] = {}
    for statement, following in pairwise(body):
        if not (isinstance(statement, ast.Assign) and isinstance(following, ast.Expr)):
            continue
        text = following.value.value if isinstance(following.value, ast.Constant) else None
        for target in statement.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            if isinstance(text, str):
                found |= {
                    name.id: " ".join(text.split()) for name in names if isinstance(name, ast.Name)
                }
    return found


def shown(value: object) -> str:
    """Return a value as it is written in the table."""
    if isinstance(value, float) and value >= 2**20 and math.frexp(value)[0] == 0.5:
        return f"2**{math.frexp(value)[1] - 1}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def page() -> str:
    """Return the page."""
    lines = [
        "# Tolerances",
        "",
        "Where numbers are compared, rounded or bounded, the tolerance is one constant in the source. This page is made from these constants and the texts below",
        "them by `python -m tests.tolerances`; `tests/test_tolerances.py` fails if it is out of date, or if a small number stands anywhere else.",
        "",
        "Sums over resamples are exact, so most comparisons need no tolerance at all: scores that are decimals of up to nine digits, or multiples of common",
        "fractions, become integers without loss, and tolerances of scores that had to be rounded (`SNAP`, `ROUNDING`) are then 0 or smaller than any difference.",
    ]
    for subject, constants in CONSTANTS.items():
        lines += ["", f"## {subject}", "", "| constant | value | reason |", "|---|---|---|"]
        for module, name in constants:
            value = getattr(import_module(f"scorecube.{module}"), name)
            lines.append(f"| `{module}.{name}` | {shown(value)} | {reasons(module)[name]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
