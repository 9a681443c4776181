"""To go: see `draws`."""

from scorecube.kernels.random.draws import (
    bootstrap_samples,
    count_draws,
    multiplicity_columns,
    sign_columns,
)

__all__ = ["bootstrap_samples", "count_draws", "multiplicity_columns", "sign_columns"]
