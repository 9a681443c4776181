"""Replacing groups: a killed process leaves the old or the new one, never a mixture.

In a directory the new group is written beside the old one and renamed. Object stores cannot rename: there the new group is written under the
other of the two names ``name`` and ``name.new``, and the attribute `CURRENT_NAMES` of the parent group, a single object, records the current
name.
"""

from __future__ import annotations

from collections.abc import Callable

import zarr

from scorecube.storage.encoding import ZARR_FORMAT
from scorecube.storage.location import Location
from scorecube.storage.nodes import child_groups

COMPLETE = "complete"
"""Attribute of a complete group, written last."""
CURRENT_NAMES = "places"
"""Attribute of a parent group: name of a member -> name under which its content is stored, if they differ."""
STAGING, OLD = ".new", ".old"
"""Suffixes of groups that are being replaced; names of collections cannot end in them."""


def current_name(group: zarr.Group, name: str) -> str:
    """Return the name under which the content of a group's member is stored."""
    return _current_names(group).get(name, name)


def _current_names(group: zarr.Group) -> dict[str, str]:
    stored = group.attrs.get(CURRENT_NAMES)
    return (
        {str(key): str(value) for key, value in stored.items()} if isinstance(stored, dict) else {}
    )


def complete_members(root: zarr.Group) -> dict[str, str]:
    """Return the complete groups: name -> name under which the content is stored."""
    complete = {name for name, group in child_groups(root).items() if group.attrs.get(COMPLETE)}
    candidates = {name for name in complete if not name.endswith((STAGING, OLD))} | set(
        _current_names(root)
    )
    return {
        name: current_name(root, name)
        for name in sorted(candidates)
        if current_name(root, name) in complete
    }


def replace_group(location: Location, parent: str, name: str, write: Callable[[str], None]) -> None:
    """Write a group to a staging name and let it replace the old one.

    Parameters
    ----------
    location
        Of the store.
    parent
        Path of the parent group, empty for the root.
    name
        Of the group.
    write
        Called with the path to write to.
    """
    group = zarr.open_group(location.store, path=parent, mode="a", zarr_format=ZARR_FORMAT)
    current = current_name(group, name)
    renaming = location.can_rename and current == name
    exists = current in group
    # An incomplete collection was left by a killed process.
    complete = exists and (bool(parent) or bool(group[current].attrs.get(COMPLETE)))
    target = name + STAGING if current == name and (renaming or complete) else name
    path = f"{parent}/{name}".lstrip("/")
    # A killed process may have left parts of them, which are no groups any more.
    for stale in {target, name + OLD}:
        location.remove(f"{parent}/{stale}".lstrip("/"))
    write(f"{parent}/{target}".lstrip("/"))
    if renaming:
        _rename(location, path, exists)
    elif target != current:
        group.attrs[CURRENT_NAMES] = {
            key: at for key, at in _current_names(group).items() if key != name
        } | ({} if target == name else {name: target})
        if exists:
            location.remove(f"{parent}/{current}".lstrip("/"))


def _rename(location: Location, path: str, exists: bool) -> None:
    if exists:
        location.rename(path, path + OLD)
    location.rename(path + STAGING, path)
    location.remove(path + OLD)


def unfinished_replacements(root: zarr.Group) -> list[str]:
    """Return the names of groups that a killed process wrote but did not rename."""
    return [
        name.removesuffix(STAGING)
        for name, group in child_groups(root).items()
        if name.endswith(STAGING)
        and group.attrs.get(COMPLETE)
        and name.removesuffix(STAGING) not in root
        and current_name(root, name.removesuffix(STAGING)) != name
    ]


def finish_replacement(location: Location, root: zarr.Group, name: str) -> None:
    """Do the last step of a replacement that a killed process left unfinished."""
    if location.can_rename:
        location.rename(name + STAGING, name)
    else:
        root.attrs[CURRENT_NAMES] = _current_names(root) | {name: name + STAGING}
