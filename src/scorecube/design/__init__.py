"""Topic set size design by analysis of variance, t test and confidence intervals."""

from scorecube.design.power import exact_noncentrality, tool_noncentrality
from scorecube.design.sizes import topic_set_size, wcw

__all__ = ["exact_noncentrality", "tool_noncentrality", "topic_set_size", "wcw"]
