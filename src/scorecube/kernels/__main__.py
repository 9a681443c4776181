"""``python -m scorecube.kernels``: compile the kernels of readers, metrics and analyses, for images and before tests."""

import logging
import tempfile
from contextlib import suppress
from pathlib import Path

from scorecube.analyses import registry
from scorecube.collection.judgement_sets import judgement_sets
from scorecube.collection.rankings import with_rankings
from scorecube.errors import ScorecubeError
from scorecube.metrics import DEFINITIONS
from scorecube.testing import simulate_rankings
from scorecube.workflow import api

RUNS = (12, 110, 250)
"""Numbers of runs that take different kernels."""

logging.disable()  # remarks on small collections
with tempfile.TemporaryDirectory() as folder:
    run, qrels = Path(folder, "run.txt"), Path(folder, "qrels.txt")
    run.write_text("1 Q0 a 1 2.5 r\n1 Q0 b 2 1.5 r\n")
    qrels.write_text("1 0 a 2\n1 0 b 1\n1 0 c 0\n")
    rankings = api.read_rankings([run], qrels, workers=1)
for name, definition in DEFINITIONS.items():
    with suppress(ScorecubeError):
        api.evaluate(rankings, [name + "@10" * (definition.cutoff == "required")])
for n_runs in RUNS:
    rankings = simulate_rankings(((15, 10, 4),) * 12, n_runs=n_runs, depth=50)
    cube = with_rankings(api.evaluate(rankings, ["AP", "nDCG@10"], ["3:2:1"]), rankings)
    for collection in (cube, judgement_sets({"truth": cube, "judge": cube})):
        for name in registry.names():
            for options in ({}, {"sampling": "replacement"}):
                with suppress(ScorecubeError, TypeError):
                    api.analyse(collection, registry.load(name)(**options), trials=20, seed=1)
