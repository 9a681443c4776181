"""Draw the README's figure from the systems of the demo: ``python -m tests.readme_figure`` writes docs/_static/leaderboard.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

import scorecube as sc
from scorecube.cli import demo

FILE = Path(__file__).parents[1] / "docs" / "_static" / "leaderboard.svg"


def draw(path: Path) -> None:
    """Write the figure: mean scores and rank sets of the systems."""
    cube = sc.evaluate(demo.simulated(), metrics=demo.METRICS[:1], gains=demo.GAINS)
    result = sc.analyse(cube, sc.Leaderboard(), trials=demo.TRIALS, seed=demo.SEED)
    with mpl.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "scorecube", "font.family": "sans-serif"}
    ):
        sc.figure(result).savefig(
            path, metadata={"Date": None}, bbox_inches="tight", facecolor="white"
        )


if __name__ == "__main__":
    draw(FILE)
