"""Importing xarray without dask's arrays, which commands do not use and which take half a second to import."""

from __future__ import annotations

import sys
from contextlib import suppress

UNUSED = ("dask", "dask.array")


def import_xarray() -> None:
    """Import xarray while dask cannot be imported; xarray asks once whether it can, and remembers the answer.

    dask itself can be imported afterwards. Programs that use scorecube as a library are not affected, as they may put
    dask's arrays into datasets.
    """
    if any(name in sys.modules for name in UNUSED):
        return
    sys.modules.update(dict.fromkeys(UNUSED))  # type: ignore[arg-type]  # None: not to be imported
    try:
        import xarray as xr

        with suppress(ImportError):  # it has asked before
            _ = xr.Variable(("x",), [0]).chunks, xr.Variable(("x",), [0]).to_index()
            xr.Dataset({"x": ("x", [0])}).isel(x=[0]).load()
    finally:
        for name in UNUSED:
            del sys.modules[name]
