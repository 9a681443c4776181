"""What 50 topics state, and what the other topics of the same collection show: ``python -m tests.simulations.confirmation DATA``.

In each of 200 draws, 50 topics of robust2004 (249) or mq2007 (1,153) are drawn without replacement. The swap method runs as by default
(disjoint samples of 25) on them, and on all remaining topics. Then each pair of runs is compared on 25 of the 50 topics and on 25 of
the others.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from scorecube.analyses import Swap
from scorecube.ingest.in_memory import cube_from_scores
from scorecube.ingest.matrix import read_matrix
from scorecube.workflow.api import analyse

Array = np.ndarray[Any, Any]
TOPICS, SIZE = 50, 25
SOURCES = {
    ("robust2004", "AP"): "robust2004/ap_249topics.csv",
    ("robust2004", "P@10"): "robust2004/p10_249topics.csv",
    ("mq2007", "AP"): "mq2007/ap.csv",
}
STATEMENTS = (
    "limits contain the required difference of the rest",
    "limits contain the share of the rest",
    "draws with at most 5 % of the pairs with the required difference contradicted",
    "the same, at most 10 %",
)


def draw(cube: xr.Dataset, random: np.random.Generator, trials: int) -> dict[str, float]:
    """Return what one draw of topics states, and what the others show."""
    order = random.permutation(cube.sizes["topic"])
    chosen, rest = np.sort(order[:TOPICS]), np.sort(order[TOPICS:])
    stated = analyse(cube.isel(topic=chosen), Swap(size=SIZE), trials=trials, seed=1, workers=1)
    plain = Swap(size=SIZE, limits=False)
    shown = analyse(cube.isel(topic=rest), plain, trials=trials, seed=2, workers=1)
    at, other = (each.isel(metric=0, gain=0, size=0, confidence=0) for each in (stated, shown))
    scores = cube["score"].values[0, 0]
    one, two = (scores[:, random.permutation(part)[:SIZE]].mean(axis=1) for part in (chosen, rest))
    a, b = np.triu_indices(len(one), 1)
    first, second = one[a] - one[b], two[a] - two[b]
    required = float(at["required_difference"])
    reaching = np.abs(first) >= required
    contradicted = (first * second <= 0)[reaching].mean() if reaching.any() else np.nan
    lower, upper = (float(at[f"required_{end}"]) for end in ("low", "high"))
    smooth = float(other["required_difference_smooth"])
    share = float(other["share"])
    return {
        "required": required,
        "required of the rest": float(other["required_difference"]),
        "share": float(at["share"]),
        "share of the rest": share,
        "contradicted": contradicted,
        STATEMENTS[0]: lower <= smooth <= (np.inf if np.isnan(upper) else upper),
        STATEMENTS[1]: float(at["share_low"]) <= share <= float(at["share_high"]),
        STATEMENTS[2]: contradicted <= 0.05,
        STATEMENTS[3]: contradicted <= 0.10,
    }


def draws(data: Path, source: str, n: int, trials: int = 1000) -> dict[str, Array]:
    """Return the numbers of n draws of a source."""
    cube = cube_from_scores({"AP": read_matrix(data / source)})
    random = np.random.default_rng(2004)
    found = [draw(cube, random, trials) for _ in range(n)]
    return {name: np.array([each[name] for each in found], float) for name in found[0]}


def lines(data: Path, n: int) -> Iterator[str]:
    """Yield the rows of the table."""
    headings = ["", *(f"{collection} {metric}" for collection, metric in SOURCES)]
    found = [draws(data, source, n) for source in SOURCES.values()]
    yield "| " + " | ".join(headings) + " |"
    yield "|---" * len(headings) + "|"
    for name in ("required", "required of the rest"):
        yield _row(
            f"{name}: mean, standard deviation",
            [f"{np.nanmean(each[name]):.3f}, {np.nanstd(each[name]):.3f}" for each in found],
        )
    for name in ("share", "share of the rest"):
        yield _row(
            f"{name}: mean, standard deviation",
            [f"{np.nanmean(each[name]):.2f}, {np.nanstd(each[name]):.2f}" for each in found],
        )
    yield _row(
        "pairs contradicted: mean, largest of all draws",
        [
            f"{100 * np.nanmean(each['contradicted']):.1f} %, {100 * np.nanmax(each['contradicted']):.1f} %"
            for each in found
        ],
    )
    for name in STATEMENTS:
        yield _row(name, [f"{100 * each[name].mean():.0f} %" for each in found])


def _row(name: str, cells: list[str]) -> str:
    return "| " + " | ".join([name, *cells]) + " |"


def main(data: str, n: int = 200) -> None:
    """Print the table."""
    logging.disable(logging.WARNING)
    for line in lines(Path(data), n):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
