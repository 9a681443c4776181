"""Putting groups in place when they are whole: a process that is killed leaves the old ones or the new ones, never half.

In a directory the new group is written beside its place and renamed. Object stores cannot rename: there the new group is written under the
other one of the two names ``name`` and ``name.new``, and the attribute `PLACES` of the group around it, one object, says which one counts.
"""

from __future__ import annotations

from collections.abc import Callable

import zarr

from scorecube.storage.encoding import ZARR_FORMAT
from scorecube.storage.location import Place

COMPLETE = "complete"
"""Attribute of a group that is whole, written last."""
PLACES = "places"
"""Attribute: name of a group -> the name under which its content is found, where that is another one."""
STAGING, OLD = ".new", ".old"
"""Endings of groups that are being put in place; no collection is called so."""


def place_of(group: zarr.Group, name: str) -> str:
    """Return where the content of a group's member is."""
    return _places(group).get(name, name)


def _places(group: zarr.Group) -> dict[str, str]:
    found = group.attrs.get(PLACES)
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def complete_members(root: zarr.Group) -> dict[str, str]:
    """Return the groups that are whole: name -> where it is."""
    whole = {name for name, group in root.groups() if group.attrs.get(COMPLETE)}
    named = {name for name in whole if not name.endswith((STAGING, OLD))} | set(_places(root))
    return {name: place_of(root, name) for name in sorted(named) if place_of(root, name) in whole}


def put(place: Place, inside: str, name: str, write: Callable[[str], None]) -> None:
    """Write a group and put it in its place.

    Parameters
    ----------
    place
        Of the store.
    inside
        Path of the group around it, empty for the root.
    name
        Of the group.
    write
        Called with the path to write to.
    """
    parent = zarr.open_group(place.store, path=inside, mode="a", zarr_format=ZARR_FORMAT)
    current = place_of(parent, name)
    renaming = place.renames and current == name
    there = current in parent
    # A collection that is not complete is what a killed process left.
    whole = there and (bool(inside) or bool(parent[current].attrs.get(COMPLETE)))
    target = name + STAGING if current == name and (renaming or whole) else name
    for stale in {target, name + OLD}:
        if stale in parent:
            del parent[stale]
    write(f"{inside}/{target}".lstrip("/"))
    if renaming:
        _rename(place, parent, f"{inside}/{name}".lstrip("/"), there)
    elif target != current:
        parent.attrs[PLACES] = {key: at for key, at in _places(parent).items() if key != name} | (
            {} if target == name else {name: target}
        )
        if there:
            del parent[current]


def _rename(place: Place, parent: zarr.Group, path: str, there: bool) -> None:
    if there:
        place.rename(path, path + OLD)
    place.rename(path + STAGING, path)
    old = path.rpartition("/")[2] + OLD
    if old in parent:
        del parent[old]


def left_over(root: zarr.Group) -> list[str]:
    """Return the names of groups that a killed process had written whole and was about to rename."""
    return [
        name.removesuffix(STAGING)
        for name, group in root.groups()
        if name.endswith(STAGING) and group.attrs.get(COMPLETE) and name.removesuffix(STAGING) not in root
        and place_of(root, name.removesuffix(STAGING)) != name
    ]  # fmt: skip


def finish(place: Place, root: zarr.Group, name: str) -> None:
    """Put in place what is left over."""
    if place.renames:
        place.rename(name + STAGING, name)
    else:
        root.attrs[PLACES] = _places(root) | {name: name + STAGING}
