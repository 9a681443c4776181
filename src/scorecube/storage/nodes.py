"""Typed access to the nodes of a zarr hierarchy.

zarr takes long to import, and small groups are read and written without it (`small_groups.py`): it is imported by what needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from scorecube.storage.encoding import ZARR_FORMAT
from scorecube.storage.location import Location

if TYPE_CHECKING:
    import zarr


def open_group(location: Location, path: str = "", mode: Literal["r", "a"] = "r") -> zarr.Group:
    """Open a group, of format 3 only; its arrays have the metadata of their own files."""
    import zarr

    location.check_inside(path)
    return zarr.open_group(
        location.store, path=path, mode=mode, zarr_format=ZARR_FORMAT, use_consolidated=False
    )


def child_array(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """Return the array of a name; KeyError if there is none."""
    import zarr

    node = group[name]
    if not isinstance(node, zarr.Array):
        raise KeyError(name)
    return node
