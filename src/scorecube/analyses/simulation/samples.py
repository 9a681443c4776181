"""Simulated samples as cubes, and analyses of them within a block of another analysis."""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Accumulator, Analysis, Array
from scorecube.collection import schema
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.uniforms import uniforms

SEEDS = 2.0**53
"""Number of seeds that samples can have."""


def seeds_of(seed: int, start: int, stop: int) -> list[int]:
    """Return the seeds of the analyses of the samples start .. stop-1."""
    key = stream_key(seed, names.Purpose.CHECKED_SAMPLES)
    return (uniforms(key, 1, start, stop)[:, 0] * SEEDS).astype(np.int64).tolist()  # type: ignore[no-any-return]


def sample_cube(scores: Array, teams: Array) -> xr.Dataset:
    """Return scores (cell, run, topic) as a cube with one metric for each cell; teams are numbers of runs."""
    n_cells, n_runs, n_topics = scores.shape
    coords = {
        names.METRIC: schema.label_array(f"m{k:03d}" for k in range(n_cells)),
        names.GAIN: schema.label_array(["all"]),
        names.RUN: schema.label_array(f"r{k:05d}" for k in range(n_runs)),
        names.TOPIC: schema.label_array(f"t{k:07d}" for k in range(n_topics)),
        names.TEAM: (names.RUN, schema.label_array(f"g{k:05d}" for k in teams)),
    }
    cube = xr.Dataset({names.SCORE: (schema.CUBE[0].dims, scores[:, np.newaxis])}, coords)
    return schema.annotate(cube, schema.CUBE)


def result_of(analysis: Analysis, cube: xr.Dataset, trials: int, seed: int) -> xr.Dataset:
    """Return the result of an analysis, computed as one block; for one gain setting, without its dim."""
    prepared, _ = analysis.prepare_checked(cube)
    units = analysis.units(prepared, trials)
    inputs = analysis.inputs(prepared, trials, seed)
    total = Accumulator(analysis.outputs(prepared), units, analysis.output_positions(prepared))
    total.add(0, units, analysis.block(inputs, 0, units))
    result = analysis.finalize(prepared, total.arrays, trials)
    return result.isel({names.GAIN: 0}) if names.GAIN in result.dims else result
