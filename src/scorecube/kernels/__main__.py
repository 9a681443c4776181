"""``python -m scorecube.kernels``: compile the kernels of readers, metrics and analyses, for images and before tests."""

import logging
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

from scorecube.analyses import registry
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.collection.rankings import with_rankings
from scorecube.errors import ScorecubeError
from scorecube.metrics import DEFINITIONS
from scorecube.testing import simulate_rankings
from scorecube.workflow import api

JUDGED = ((15, 10, 4),) * 12
"""Numbers of relevant documents by level of each topic."""
RUNS = (12, 110, 250)
"""Numbers of runs that take different kernels."""
OPTIONS = {"swap": ({"sampling": "replacement"}, {"sampling": "independent"})}
"""Options that take other kernels than the defaults."""


def read() -> None:
    """Read a run and judgements, and score the run with every metric."""
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = Path(folder, "run.txt"), Path(folder, "qrels.txt")
        run.write_text("1 Q0 a 1 2.5 r\n1 Q0 b 2 1.5 r\n")
        qrels.write_text("1 0 a 2\n1 0 b 1\n1 0 c 0\n")
        for precision in ("single", "double"):
            rankings = api.read_rankings([run], qrels, precision=precision, workers=1)
    for name, definition in DEFINITIONS.items():
        with suppress(ScorecubeError):
            api.evaluate(rankings, [name + "@10" * (definition.cutoff == "required")])


def analyse(name: str) -> None:
    """Run an analysis of small collections."""
    for n_runs in RUNS:
        rankings = simulate_rankings(JUDGED, n_runs=n_runs, depth=50)
        cube = with_rankings(api.evaluate(rankings, ["AP", "nDCG@10"], ["3:2:1"]), rankings)
        for collection in (cube, judgement_sets(cube, cube)):
            for options in ({}, *OPTIONS.get(name, ())):
                with suppress(ScorecubeError):
                    api.analyse(collection, registry.load(name)(**options), trials=20, seed=1)


if __name__ == "__main__":
    logging.disable()  # remarks on small collections
    with ProcessPoolExecutor() as pool:
        done = [pool.submit(read), *(pool.submit(analyse, name) for name in registry.names())]
    for each in done:
        each.result()
