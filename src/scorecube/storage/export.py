"""Datasets and tables as files of other tools: netCDF, zarr, Parquet."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scorecube.errors import BadPlan, option
from scorecube.storage.encoding import ZARR_FORMAT, encoding

if TYPE_CHECKING:
    import xarray as xr

NETCDF, ZARR, PARQUET = ".nc", ".zarr", ".parquet"
ENDINGS = (NETCDF, ZARR, PARQUET)
ENGINES = {"h5netcdf": "h5netcdf", "netCDF4": "netcdf4", "scipy": "scipy"}
"""Packages that write netCDF, and their engines in xarray, the best first; the last writes netCDF 3."""


def check_export(path: Path) -> None:
    """Raise BadPlan for a path of another ending, that exists, or that no installed package writes."""
    if path.suffix not in ENDINGS:
        raise BadPlan(
            f"{path}: expected a name that ends in {', '.join(ENDINGS)}; other files of tables: scorecube show --out",
            option="out",
        )
    if path.exists():
        raise BadPlan(f"{path} exists; choose another {option('out')}, or remove it", option="out")
    if path.suffix == PARQUET and find_spec("pyarrow") is None:
        raise BadPlan(
            f'{path}: Parquet needs another package; install it: pip install "scorecube[parquet]"',
            option="out",
        )


def export_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write a dataset as one zarr group, or as netCDF; attributes that netCDF has no type for are JSON texts there.

    dataset: Cube, rankings or result.
    path: Ends in ``.zarr`` or ``.nc``.
    """
    if path.suffix == ZARR:
        plain = dataset.drop_encoding()
        how: Any = {"encoding": encoding(plain), "zarr_format": ZARR_FORMAT, "consolidated": False}
        plain.to_zarr(path, mode="w-", **how)
        return
    engine: Any = next(ENGINES[name] for name in ENGINES if find_spec(name))
    plain = dataset.drop_encoding().copy()
    holders: list[Any] = [plain, *plain.variables.values()]
    for each in holders:
        each.attrs = {str(key): _attribute(value) for key, value in each.attrs.items()}
    plain.to_netcdf(path, engine=engine)


def _attribute(value: Any) -> Any:
    """Return an attribute in a type of netCDF."""
    if isinstance(value, np.generic):
        value = value.item()
    fits = isinstance(value, str | float) or (type(value) is int and abs(value) < 2**31)
    return value if fits else json.dumps(value, default=lambda each: np.asarray(each).tolist())
