"""What results of `Paired` hold."""

from scorecube.analyses.pair_quantities import OPTIONAL, PAIRED

VARIABLES = PAIRED
__all__ = ["OPTIONAL", "VARIABLES"]
