"""Studies on disk and in object stores; no other room imports zarr.

Names are imported when they are first used: listings of a study need neither xarray nor zarr.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorecube.storage.blocks import BlockStore as BlockStore
    from scorecube.storage.blocks import Segment as Segment
    from scorecube.storage.blocks import gaps as gaps
    from scorecube.storage.blocks import select_disjoint as select_disjoint
    from scorecube.storage.catalogue import ATTRIBUTES as ATTRIBUTES
    from scorecube.storage.catalogue import Catalogue, open_catalogue
    from scorecube.storage.catalogue import check_collection_name as check_collection_name
    from scorecube.storage.catalogue import in_order as in_order
    from scorecube.storage.collection import Collection
    from scorecube.storage.encoding import pairs_as_labels as pairs_as_labels
    from scorecube.storage.fact_types import plan_of as plan_of
    from scorecube.storage.fact_types import unreadable as unreadable
    from scorecube.storage.index import VERSIONS as VERSIONS
    from scorecube.storage.index import Row as Row
    from scorecube.storage.location import below as below
    from scorecube.storage.location import exists
    from scorecube.storage.merge import Merged as Merged
    from scorecube.storage.study import Study, open_study
    from scorecube.storage.verify import verify_study as verify_study
    from scorecube.storage.writer import NewResult, Writer

_NAMES = {
    "blocks": ("BlockStore", "Segment", "gaps", "select_disjoint"),
    "catalogue": ("ATTRIBUTES", "Catalogue", "check_collection_name", "in_order", "open_catalogue"),
    "collection": ("Collection",),
    "encoding": ("pairs_as_labels",),
    "fact_types": ("plan_of", "unreadable"),
    "index": ("VERSIONS", "Row"),
    "location": ("below", "exists"),
    "merge": ("Merged",),
    "study": ("Study", "open_study"),
    "verify": ("verify_study",),
    "writer": ("NewResult", "Writer"),
}
"""Names by module."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


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
