"""View of worst-case confidence interval widths."""

from __future__ import annotations

import xarray as xr

from scorecube.design import design_variances, wcw
from scorecube.report.tables.design import widths
from scorecube.report.views.view import Table, View, on_demand


def compute(cube: xr.Dataset) -> xr.Dataset:
    """Return the widths for the variances of a cube, with all defaults."""
    return wcw(design_variances(cube))


VIEW = View(
    name="wcw",
    heading="Worst-case confidence interval widths",
    tables={"widths": Table(widths)},
    figure=on_demand("figures.design:wcw_curves"),
    overview=on_demand("figures.design:wcw_of_collections"),
    compute=compute,
)
