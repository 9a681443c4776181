"""What analyses that are not on the table yet check of pairs of runs."""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pairs import alphas_field
from scorecube.collection.rows import score_blocks
from scorecube.collection.topic_means import refuse_other_summaries
from scorecube.errors import BadPlan, counted, option

__all__ = ["alphas_field", "check_runs", "n_pairs"]


def n_pairs(cube: xr.Dataset) -> int:
    """Return the number of pairs of runs."""
    n_runs = cube.sizes[names.RUN]
    return n_runs * (n_runs - 1) // 2


def check_runs(
    cube: xr.Dataset, subject: str, *, means_only: bool = True, finite: bool = False
) -> None:
    """Refuse a cube that a test of pairs of runs cannot use.

    subject: Name of the analysis in messages.
    means_only: Whether all metrics must be summarised by their mean.
    finite: Whether all scores are known to be there.
    """
    n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
    if n_runs < 2 or n_topics < 2:
        raise BadPlan(
            f"{subject} needs 2 runs and 2 topics; found {counted(n_runs, 'run')} and {counted(n_topics, 'topic')}"
        )
    lost = 0 if finite else sum(int((~np.isfinite(each)).sum()) for each in score_blocks(cube))
    if lost:
        raise BadPlan(
            f"{lost} scores are missing or infinite; leave their topics out with {option('drop_missing', True)}, "
            "or choose other runs, topics or metrics"
        )
    if means_only:
        refuse_other_summaries(cube, subject)
