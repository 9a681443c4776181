"""An analysis: a record whose fields are its options, and its view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.base import Analysis, Arrays, Combine, Cost, Output, Prepared
from scorecube.analyses.options import option_field
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import cells, n_cells
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.draws import Sampling, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.report.tables.rows import parts, where
from scorecube.report.views.registry import register_view
from scorecube.report.views.view import Table, View


@dataclass(frozen=True, kw_only=True)
class Winner(Analysis):
    """Winners: how often is each run the best on a random sample of the topics?

    Parameters
    ----------
    n_drawn
        Topics in a sample.
    ties
        Several best runs all win, or only the first of them.
    """

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

    def replay(self, prepared: Prepared, samples: xr.Dataset, trials: int) -> Arrays:
        """See `Analysis.replay`."""
        raise BadPlan("winners are counted on samples that are drawn")

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
        variables = {"wins": ((names.METRIC, names.GAIN, names.RUN), wins)}
        return xr.Dataset(variables, coords, {"trials": trials, "n_runs": cube.sizes[names.RUN]})

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        """See `Analysis.cost`."""
        return Cost(
            seconds=1e-8 * prepared.cube.sizes[names.RUN] * self.n_drawn, bytes=0.0, fixed_bytes=1e6
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """See `Analysis.samples`."""
        raise BadPlan("samples of winners are not saved")


def wins(result: xr.Dataset) -> pd.DataFrame:
    """Every run with the share of samples on which it is the best."""
    rows = [
        where(result) | cell | {"run": run, "share": float(count) / result.attrs["trials"]}
        for cell, data in parts(result)
        for run, count in zip(labels_of(result, names.RUN), data["wins"].values, strict=True)
    ]
    return pd.DataFrame(rows).sort_values(
        "share", ascending=False, kind="stable", ignore_index=True
    )


registry.register(Winner)
register_view(
    View(
        "winner",
        "Winners",
        {"wins": Table(wins)},
        headline=lambda result: [f"{wins(result)['run'][0]} wins most often"],
    )
)
