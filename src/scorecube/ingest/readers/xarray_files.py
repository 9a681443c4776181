"""Files of xarray: a DataArray or a Dataset with the dims run and topic, as netCDF or zarr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorecube.errors import BadInput
from scorecube.ingest.formats import File, reader
from scorecube.ingest.kinds import NETCDF, ZARR

if TYPE_CHECKING:
    from scorecube.ingest.scores import ScorePart


@reader(
    "xarray",
    "netCDF or zarr of xarray, with dims run, topic and perhaps metric",
    lambda file: file.kind in (NETCDF, ZARR),
)
def read_xarray(file: File) -> ScorePart:
    """Return scores by the dims of a file, or of a folder of zarr."""
    import xarray as xr

    from scorecube.ingest.objects import read_objects

    try:
        if file.kind == ZARR:
            loaded = xr.open_zarr(file.path, consolidated=False).load()
        else:
            loaded = xr.load_dataset(file.path)
    except Exception as error:  # of many types, of many libraries
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(f"xarray cannot read the {file.kind}: {text}", file.path) from None
    part = read_objects(loaded, file.asked.metric)
    return part._replace(path=file.path)
