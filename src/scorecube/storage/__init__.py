"""Studies on disk and in object stores; no other room imports zarr.

Names are imported when they are first used: listings of a study need neither xarray nor zarr.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorecube.storage.blocks import BlockStore as BlockStore
    from scorecube.storage.blocks import gaps as gaps
    from scorecube.storage.blocks import select_disjoint as select_disjoint
    from scorecube.storage.codec import pairs_as_labels as pairs_as_labels
    from scorecube.storage.collection import Collection, NewResult
    from scorecube.storage.facts import ATTRIBUTES as ATTRIBUTES
    from scorecube.storage.facts import Row as Row
    from scorecube.storage.facts import plan_of as plan_of
    from scorecube.storage.heads import check_collection_name as check_collection_name
    from scorecube.storage.place import below as below
    from scorecube.storage.study import Study, exists, open_study
    from scorecube.storage.verify import clean as clean
    from scorecube.storage.verify import find_rest as find_rest
    from scorecube.storage.verify import verify_study as verify_study

_NAMES = {
    "blocks": ("BlockStore", "gaps", "select_disjoint"),
    "codec": ("pairs_as_labels",),
    "collection": ("Collection", "NewResult"),
    "facts": ("ATTRIBUTES", "Row", "plan_of"),
    "heads": ("check_collection_name",),
    "place": ("below",),
    "study": ("Study", "exists", "open_study"),
    "verify": ("clean", "find_rest", "verify_study"),
}
"""Names by module."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = ["Collection", "NewResult", "Study", "exists", "open_study"]
