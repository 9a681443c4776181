"""Draw the README's figure from simulated runs: ``python -m tests.readme_figure`` writes notebooks/swap-rates.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

import scorecube as sc
from scorecube.testing import simulate_rankings

FILE = Path(__file__).parents[1] / "notebooks" / "swap-rates.svg"
SEED = 2007


def draw(path: Path) -> None:
    """Write the figure: swap rates by difference of 30 simulated runs on 50 topics, samples of 25."""
    rankings = simulate_rankings(n_runs=30, seed=SEED)
    cube = sc.evaluate(rankings, metrics=["AP", "Q", "nDCG@10", "P+"], gains=["3:2:1"])
    result = sc.analyse(cube, sc.Swap(size=25), trials=1000, seed=1)
    with mpl.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "scorecube", "font.family": "sans-serif"}
    ):
        sc.figure(result).savefig(
            path, metadata={"Date": None}, bbox_inches="tight", facecolor="white"
        )


if __name__ == "__main__":
    draw(FILE)
