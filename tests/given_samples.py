"""Analyses of stated samples in place of drawn ones, for exact enumerations and hand-made cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.protocol import Analysis
from scorecube.kernels.random.draws import multiplicities
from scorecube.workflow.api import analyse

DRAWS = {
    "analyses.topic_samples": ("topic_counts",),
    "analyses.step_down": ("bootstrap_samples",),
    "methods.pairs.randomisation": ("sign_columns",),
    "methods.pairs.tukey": ("null_ranges",),
    "methods.teams.record": ("random_subset",),
}
"""Functions that draw, by the module that calls them."""
SEED = 0


@contextmanager
def drawn_by(
    replacement: Callable[[str, Callable[..., Any]], Callable[..., Any]],
) -> Iterator[None]:
    """Replace all functions that draw; `replacement` has the name of one and itself."""
    with ExitStack() as stack:
        for module, functions in DRAWS.items():
            for name in functions:
                path = f"scorecube.{module}"
                draw = getattr(import_module(path), name)
                stack.enter_context(patch(f"{path}.{name}", replacement(name, draw)))
        yield


def analyse_given(cube: xr.Dataset, analysis: Analysis, samples: Any) -> xr.Dataset:
    """Return the result of given samples, one for each trial.

    samples: Positions of topics (trial, half, draw), signs (trial, topic), or positions of runs (trial, topic, run), as the analysis
        draws them.
    """
    given = np.asarray(samples, np.int32)

    def replacement(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
        def trials(start: int, stop: int) -> Any:
            return np.ascontiguousarray(given[np.arange(start, stop) % len(given)])

        def counts(key: Any, sampling: int, n_topics: int, size: int, *of: int) -> Any:
            if n_topics != cube.sizes[names.TOPIC]:
                return draw(key, sampling, n_topics, size, *of)  # for limits
            return multiplicities(np.ascontiguousarray(trials(*of[:2])[:, :, :size]), n_topics)

        def ranges(scores: Any, key: Any, start: int, stop: int) -> Any:
            places = trials(start, stop)[:, :, np.newaxis].astype(np.int64)
            of_runs = np.take_along_axis(scores[np.newaxis], places, axis=3)
            return np.ptp(of_runs.sum(axis=1), axis=-1).T

        known: dict[str, Callable[..., Any]] = {
            "topic_counts": counts,
            "null_ranges": ranges,
            "bootstrap_samples": lambda key, n, *of: trials(*of),
            "sign_columns": lambda key, n, *of: np.ascontiguousarray(trials(*of).T.astype(np.int8)),
        }
        return known.get(name, draw)

    with drawn_by(replacement):
        return analyse(cube, analysis, trials=len(given), seed=SEED, workers=1)
