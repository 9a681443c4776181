"""An analysis: a record whose fields are its options, and its view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.base import Analysis, Arrays, Combine, Cost, Output, Prepared
from scorecube.analyses.options import option_field
from scorecube.collection.schema import Derived, Variable, variables
from scorecube.collection.selection import cells, n_cells
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import Sampling, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.report.findings import OF_THESE_TOPICS, Finding
from scorecube.report.tables import declared
from scorecube.report.view import View
from scorecube.report.views import register_view


@dataclass(frozen=True, kw_only=True)
class Winner(Analysis):
    """Winners: how often is each run the best on a random sample of the topics?"""

    name: ClassVar[str] = "winner"

    n_drawn: int = option_field(10, "Topics in a sample.", unit="topics")
    ties: str = option_field(
        "all", "Several best runs all win, or the first.", choices=("all", "first")
    )

    def check(self, prepared: Prepared) -> list[str]:
        """See `Analysis.check`."""
        n_topics = prepared.cube.sizes[names.TOPIC]
        if not 1 <= self.n_drawn <= n_topics:
            raise BadPlan(
                f"samples of {self.n_drawn} topics: the cube has {n_topics}; use {option('n_drawn', n_topics)}"
            )
        return []

    def inputs(
        self, prepared: Prepared, trials: int, seed: int, samples: Arrays | None = None
    ) -> Arrays:
        """See `Analysis.inputs`."""
        scores, _ = cells(prepared.cube)
        grid = np.rint(scores * 2**30).astype(np.int64)
        return {"scores": grid, "key": stream_key(seed, names.Purpose.SWAP_TOPICS)}

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        """See `Analysis.outputs`."""
        return (
            Output("wins", (n_cells(prepared.cube), prepared.cube.sizes[names.RUN]), Combine.ADD),
        )

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`."""
        scores = inputs["scores"]
        wins = np.zeros(scores.shape[:2], np.int64)
        drawn = topic_samples(
            inputs["key"], int(Sampling.INDEPENDENT), scores.shape[2], self.n_drawn, start, stop
        )
        for sample in drawn[:, 0]:
            sums = scores[:, :, sample].sum(axis=-1)
            if self.ties == "all":
                wins += sums == sums.max(axis=-1, keepdims=True)
            else:
                wins[np.arange(len(wins)), sums.argmax(axis=-1)] += 1
        return {"wins": wins}

    def finalize(
        self, prepared: Prepared, totals: Mapping[str, np.ndarray[Any, Any]], trials: int
    ) -> xr.Dataset:
        """See `Analysis.finalize`."""
        cube = prepared.cube
        wins = totals["wins"][cells(cube)[1]]
        coords = {name: cube[name] for name in (names.METRIC, names.GAIN, names.RUN)}
        attrs = {"trials": trials, "n_runs": cube.sizes[names.RUN]}
        return xr.Dataset({"wins": (RUNS, wins)}, coords, attrs)

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """See `Analysis.cost`."""
        return Cost(
            seconds=1e-8 * prepared.cube.sizes[names.RUN] * self.n_drawn, bytes=0.0, fixed_bytes=1e6
        )


RUNS = (names.METRIC, names.GAIN, names.RUN)
VARIABLES = variables(RUNS, "count", "trials", "i", wins="samples on which a run is the best")
DERIVED = (
    Derived(
        Variable(
            "share",
            RUNS,
            "f",
            "1",
            "share of the samples on which it is the best",
            role="share",
            form=".1%",
        ),
        lambda result: result["wins"] / result.attrs["trials"],
    ),
)
WINS = declared("metric gain run", "metric gain run share", sort="-share")
"""Every run with the share of samples on which it is the best."""


def findings(result: xr.Dataset) -> list[Finding]:
    """Return the run that is best most often."""
    first = WINS.make(result).iloc[0]
    return [
        Finding(
            f"{first['run']} wins most often",
            subject=f"share of samples on which {first['run']} is the best, {first['metric']}",
            estimate=first["share"],
            unit="1",
            cautions=(OF_THESE_TOPICS,),
            table="wins",
        )
    ]


registry.register(Winner)
register_view(View("winner", "Winners", {"wins": WINS}, findings=findings))
