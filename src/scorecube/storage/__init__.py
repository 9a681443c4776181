"""Studies on disk and in object stores; no other room imports zarr.

Names in `__all__` are imported when they are first used: the catalogue of a study needs neither xarray nor zarr.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorecube.storage.catalogue import Catalogue, open_catalogue
    from scorecube.storage.collection import Collection
    from scorecube.storage.location import exists
    from scorecube.storage.study import Study, open_study
    from scorecube.storage.writer import NewResult, Writer

_MODULES = {
    "Catalogue": "catalogue",
    "Collection": "collection",
    "NewResult": "writer",
    "Study": "study",
    "Writer": "writer",
    "exists": "location",
    "open_catalogue": "catalogue",
    "open_study": "study",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = [
    "Catalogue",
    "Collection",
    "NewResult",
    "Study",
    "Writer",
    "exists",
    "open_catalogue",
    "open_study",
]
