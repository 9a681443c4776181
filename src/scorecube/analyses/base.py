"""Names of the protocol of analyses."""

from scorecube.analyses.protocol import ALL_COLLECTIONS, ANY_NUMBER, Analysis, Arrays

__all__ = ["ALL_COLLECTIONS", "ANY_NUMBER", "Analysis", "Arrays"]
