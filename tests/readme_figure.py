"""Draw the README's figure from a public collection: ``python -m tests.readme_figure`` writes docs/_static/leaderboard.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import xarray as xr

import scorecube as sc

FILE = Path(__file__).parents[1] / "docs" / "_static" / "leaderboard.svg"
COLLECTION, METRIC = "web2013", "nDCG@20"


def draw(cube: xr.Dataset, path: Path) -> None:
    """Write the figure: mean scores and rank sets of all runs of a collection."""
    result = sc.analyse(cube.sel(metric=[METRIC]), sc.Leaderboard(), trials=10_000, seed=1)
    with mpl.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "scorecube", "font.family": "sans-serif"}
    ):
        sc.figure(result).savefig(
            path, metadata={"Date": None}, bbox_inches="tight", facecolor="white"
        )


if __name__ == "__main__":
    draw(sc.fetch(COLLECTION), FILE)
