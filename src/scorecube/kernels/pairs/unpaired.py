"""Area measures of topic samples."""

from __future__ import annotations

from scorecube.kernels.arrays import Float64Array1, Float64Array2, Float64Array3, Int64Array2
from scorecube.kernels.jit import compiled


@compiled
def resampled_areas(
    scores: Float64Array2,
    order: Int64Array2,
    counts: Float64Array3,
    weights: Float64Array1,
    areas: Float64Array3,
) -> None:
    """Write the weighted mean of the worst scores of every run over every sample.

    scores, order: float64 and int64 (run, topic): scores, and topics by ascending score.
    counts: float64 (half, trial, topic): of `multiplicities`, at least as many as weights in each trial.
    weights: float64 (worst,): weights of the worst, second worst, ... score of a sample.
    areas: float64 (half, run, trial), written.
    """
    for half in range(counts.shape[0]):
        for trial in range(counts.shape[1]):
            drawn = counts[half, trial]
            for run in range(scores.shape[0]):
                used, total, place = 0, 0.0, 0
                while used < weights.shape[0]:
                    topic = order[run, place]
                    for _ in range(min(int(drawn[topic]), weights.shape[0] - used)):
                        total += weights[used] * scores[run, topic]
                        used += 1
                    place += 1
                areas[half, run, trial] = total
