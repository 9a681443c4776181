"""To go: see `draws`."""

from scorecube.kernels.random.draws import bootstrap_samples, multiplicity_columns, sign_columns

__all__ = ["bootstrap_samples", "multiplicity_columns", "sign_columns"]
