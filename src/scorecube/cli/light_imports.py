"""Imports of libraries without those of their parts that commands do not use.

xarray imports dask's arrays, which take a third of a second, and scipy.special all names of numpy, with its Fortran compiler and its test tools, which take a
tenth. Records of analyses name xarray in annotations only, so that the help of a command needs no xarray.
"""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

XARRAY = "xarray"
UNUSED = ("dask", "dask.array")
PARTS_OF_NUMPY = ("f2py", "testing")
"""numpy imports them when its names are listed, as scipy does."""


class _Postponed(ModuleType):
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        self.__dict__.update(vars(module))
        return getattr(module, name)


def postpone_xarray() -> None:
    """Let xarray be imported when something of it is used first: by `import_xarray`, before a command runs."""
    if XARRAY not in sys.modules:
        _postpone(XARRAY)


def _postpone(name: str, path: list[str] | None = None) -> ModuleType:
    module = sys.modules[name] = _Postponed(name)
    module.__spec__ = PathFinder.find_spec(name, path)
    return module


def import_xarray() -> None:
    """Import xarray while dask cannot be imported; xarray asks once whether it can, and remembers the answer.

    Parts of numpy are postponed. dask itself can be imported afterwards. Programs that use scorecube as a library are not affected, as they may put
    dask's arrays into datasets.
    """
    import numpy as np

    for part in PARTS_OF_NUMPY:
        if (name := f"numpy.{part}") not in sys.modules:
            setattr(np, part, _postpone(name, np.__path__))
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
