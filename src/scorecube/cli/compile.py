"""``python -m scorecube.cli.compile``: compile all kernels, for images and before tests."""

import logging
import tempfile
from contextlib import suppress
from pathlib import Path

from scorecube.collection.rankings import with_rankings
from scorecube.errors import ScorecubeError
from scorecube.methods import index
from scorecube.methods.swap.record import Swap
from scorecube.metrics import DEFINITIONS
from scorecube.testing import simulate_rankings
from scorecube.workflow import api


def main() -> None:
    """Evaluate every metric, and run every analysis, of a few made-up runs."""
    logging.getLogger("scorecube").setLevel(logging.ERROR)  # no remarks on small collections
    logging.getLogger("scorecube.kernels").setLevel(logging.WARNING)  # who keeps it waiting
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run.txt")
        qrels = Path(folder, "qrels.txt")
        run.write_text("1 Q0 a 1 2.5 r\n1 Q0 b 2 1.5 r\n")
        qrels.write_text("1 0 a 2\n1 0 b 1\n1 0 c 0\n")
        rankings = api.read_rankings([run], qrels, workers=1)
    compiled = [metric for metric in DEFINITIONS.values() if not metric.by_intent]
    at_10 = [metric.name + "@10" * (metric.cutoff == "required") for metric in compiled]
    api.evaluate(rankings, at_10)
    rankings = simulate_rankings(((15, 10, 4),) * 12, n_runs=12, depth=50)
    cube = with_rankings(api.evaluate(rankings, ["AP", "nDCG@10"], ["3:2:1"]), rankings)
    for analysis in (*(index.load(name)() for name in index.names()), Swap(sampling="replacement")):
        with suppress(ScorecubeError):
            api.analyse(cube, analysis, trials=20, seed=1)


if __name__ == "__main__":
    main()
