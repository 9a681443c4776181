"""Topic set size design by analysis of variance, t test and confidence intervals."""

from scorecube.design.sizes import topic_set_size, wcw

__all__ = ["topic_set_size", "wcw"]
