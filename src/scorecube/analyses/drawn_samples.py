"""Topic samples that are drawn for a seed, as labels of topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.kernels.random.draws import bootstrap_samples
from scorecube.kernels.random.philox import stream_key


def bootstrapped_topics(cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
    """Return the samples of all topics that tests of pairs and agreements draw for a seed: ``topic_sample[trial, half, draw]``, one half."""
    key = stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS)
    return labelled_samples(bootstrap_samples(key, cube.sizes[names.TOPIC], 0, trials), cube)


def labelled_samples(positions: np.ndarray[Any, Any], cube: xr.Dataset) -> xr.Dataset:
    """Return topic positions (trial, half, draw) as labels."""
    topics = cube[names.TOPIC].values.astype(object)
    dataset = xr.Dataset({names.TOPIC_SAMPLE: (schema.SAMPLES[0].dims, topics[positions])})
    return schema.annotate(dataset, schema.SAMPLES)
