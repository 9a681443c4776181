"""To go: see `philox`."""

from scorecube.kernels.random.philox import uniforms

__all__ = ["uniforms"]
