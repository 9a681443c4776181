"""Figures of Sakai 2017 on topic set size design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scorecube.analyses.design_curves import (
    CONDITIONS,
    EXTREME_VARIANCES,
    FIVE_EIGHTY,
    noncentralities,
    tools_compared,
)
from scorecube.report.drawing import COLOURS, Canvas, plain_log_labels

ALPHA, BETA = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER BETA}"
GREY: Any = {"textcoords": "offset points", "ha": "right", "fontsize": 8, "color": "0.3"}


def noncentrality_curves(canvas: Canvas, systems: Sequence[int] = range(2, 31)) -> None:
    """Noncentrality by number of systems, 4 z^2, and where both agree (Sakai 2017, Figure 1).

    Curves are Nagata's approximation, the thin dotted ones beside them exact.
    """
    curves, axes = noncentralities(systems), canvas.panel()
    m = curves["systems"]
    for k, (alpha, beta) in enumerate(FIVE_EIGHTY):
        at, label = curves.isel(risks=k), f"{ALPHA} = {alpha:.2f}, {BETA} = {beta:.2f}"
        axes.plot(m, at["approximate"], color=COLOURS[k], linewidth=1.4, label=label)
        axes.plot(m, at["exact"], color=COLOURS[k], linewidth=0.8, linestyle=":")
    for level in curves["four_z_squared"]:
        axes.axhline(float(level), color="0.4", linewidth=0.9, linestyle="--")
        words = f"4 z\N{SUPERSCRIPT TWO}, {ALPHA} = {float(level['alpha']):.2f}: {float(level):.2f}"
        axes.annotate(words, (float(m[-1]), float(level)), (0, -10), **GREY)
    for name, (alpha, _, number) in CONDITIONS.items():
        height = float(curves["at_condition"].sel(condition=name))
        axes.plot([number], [height], marker="o", markersize=4, color="black")
        place = (-4, 5) if alpha < 0.05 else (4, -11)  # clear of the other curves
        axes.annotate(f"({name})", (number, height), place, textcoords="offset points", fontsize=8)
    axes.set(xlabel="number of systems m", ylim=(0.0, None))
    axes.set_ylabel("noncentrality \N{GREEK SMALL LETTER LAMDA}")
    axes.legend()


def tool_curves(
    canvas: Canvas, variances: Sequence[float] = EXTREME_VARIANCES, mode: str = "sakai"
) -> None:
    """Topics by interval width, and by difference to be detected (Sakai 2017, Figure 2).

    The ANOVA curve is at alpha 0.05, beta 0.20 and 10 systems.
    """
    curves = tools_compared(variances, mode)
    styles: dict[str, Any] = {
        "interval_topics": {"linewidth": 2.4, "alpha": 0.5, "label": "CI"},
        "anova_topics": {"linewidth": 1.0, "linestyle": "--", "label": f"ANOVA, {mode}"},
    }
    figure = canvas.figure((2.6 * len(variances), 2.9))
    panels = figure.subplots(1, len(variances), squeeze=False, sharey=True)[0]
    for k, (axes, variance) in enumerate(zip(panels, variances, strict=True)):
        for colour, (name, style) in zip(COLOURS, styles.items(), strict=False):
            axes.plot(curves["difference"], curves[name][k], color=colour, **style)
        axes.set_yscale("log")
        plain_log_labels(axes.yaxis)
        axes.set(title=f"variance {variance:.4f}", xlabel="width, or difference")
    panels[0].set_ylabel("number of topics")
    panels[-1].legend()
