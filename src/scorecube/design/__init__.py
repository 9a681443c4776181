"""Topic set size design by ANOVA, t test and confidence intervals."""

from scorecube.design.power import exact_noncentrality, tool_noncentrality
from scorecube.design.sizes import (
    METHODS,
    MODES,
    detectable_difference,
    expected_width,
    topic_set_size,
)
from scorecube.design.uncertainty import topic_set_size_of_cube, variance_intervals
from scorecube.design.variance import (
    design_variances,
    residual_variance,
    variances,
    within_system_variance,
)
from scorecube.design.widths import ROUTES, wcw

__all__ = [
    "METHODS",
    "MODES",
    "ROUTES",
    "design_variances",
    "detectable_difference",
    "exact_noncentrality",
    "expected_width",
    "residual_variance",
    "tool_noncentrality",
    "topic_set_size",
    "topic_set_size_of_cube",
    "variance_intervals",
    "variances",
    "wcw",
    "within_system_variance",
]
