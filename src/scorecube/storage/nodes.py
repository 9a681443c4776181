"""Typed access to the nodes of a zarr hierarchy.

zarr takes long to import, and small groups are read and written without it (`small_groups.py`): it is imported by what needs it.
"""

from __future__ import annotations

import warnings
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


def child_group(group: zarr.Group, path: str) -> zarr.Group | None:
    """Return the group at a path, None if there is none."""
    import zarr

    node = group[path] if path in group else None  # noqa: SIM401 - a group has no get for nested paths
    return node if isinstance(node, zarr.Group) else None


def child_array(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """Return the array of a name; KeyError if there is none."""
    import zarr

    node = group[name]
    if not isinstance(node, zarr.Array):
        raise KeyError(name)
    return node


def child_groups(group: zarr.Group) -> dict[str, zarr.Group]:
    """Return the groups of a group by name, without what a killed deletion left of one."""
    from zarr.errors import ZarrUserWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Object at .* is not recognized", ZarrUserWarning)
        return dict(group.groups())
