"""Replayed topic samples: topic labels to positions in a cube, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import BadPlan
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import bootstrap_samples


def sample_positions(
    samples: xr.Dataset, cube: xr.Dataset, size: int, halves: int
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return replayed topic samples as positions in the cube, int32 (trial, half, draw).

    samples: ``topic_sample[trial, half, draw]``: topic labels.
    size, halves: Number of topics in a sample, and of samples in a trial.
    Raises BadPlan: Samples of another shape, or of topics that are not in the cube.
    """
    schema.check(samples, schema.SAMPLES, "the samples")
    labels = samples[names.TOPIC_SAMPLE].values
    if labels.shape[1:] != (halves, size):
        raise BadPlan(
            f"the samples have {labels.shape[1]} halves of {labels.shape[2]} topics, the plan needs {halves} "
            f"halves of {size}"
        )
    position_of = {topic: k for k, topic in enumerate(schema.labels_of(cube, names.TOPIC))}
    unknown = {str(label) for label in np.unique(labels.astype(object))} - position_of.keys()
    if unknown:
        raise BadPlan(
            f"the samples hold topics that are not in the cube: {', '.join(sorted(unknown)[:5])}"
        )
    positions = np.fromiter(
        (position_of[str(label)] for label in labels.ravel()), np.int32, labels.size
    )
    return positions.reshape(labels.shape)


def bootstrapped_topics(cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
    """Return the samples of all topics that tests of pairs and agreements draw for a seed: ``topic_sample[trial, half, draw]``, one half."""
    key = stream_key(seed, names.Purpose.BOOTSTRAP_TOPICS)
    return labelled_samples(bootstrap_samples(key, cube.sizes[names.TOPIC], 0, trials), cube)


def labelled_samples(positions: np.ndarray[Any, Any], cube: xr.Dataset) -> xr.Dataset:
    """Return topic positions (trial, half, draw) as labels, to be saved and replayed."""
    topics = cube[names.TOPIC].values.astype(object)
    dataset = xr.Dataset({names.TOPIC_SAMPLE: (schema.SAMPLES[0].dims, topics[positions])})
    return schema.annotate(dataset, schema.SAMPLES)
