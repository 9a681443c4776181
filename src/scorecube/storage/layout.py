"""Names and versions of the layout of a study, without any library."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from scorecube.errors import CorruptStudy

FORMAT_VERSION: Final = 2
"""Version of the layout of a study, in the attributes of its root."""
METADATA: Final = "zarr.json"
"""Name of the file or object with the metadata of a group or array."""
VERSION: Final = "scorecube_format"
"""Attribute of the root: the version."""
UNSETTLED: Final = "being written"
"""Stamp of a manifest that may change, see `Location.stamps`; a row of the index with it is not stored."""
PART_OF: Final = re.compile(r"\.part-0*([0-9]+)-of-([0-9]+)(?:\.[^./]*)?$")
"""End of the path of the study of a part of a sweep."""


def above(paths: Iterable[str]) -> list[str]:
    """Return the paths of all groups around groups, each once, those above first.

    Examples
    --------
    >>> above(["results/swap/01", "results/tukey/02", "cube"])
    ['results', 'results/swap', 'results/tukey']
    """
    parts = {tuple(path.split("/")[:-1]) for path in paths}
    return sorted({"/".join(each[: count + 1]) for each in parts for count in range(len(each))})


def inside(path: object, where: str, *, parts: int | None = None) -> str:
    """Return a path that a study holds as text; CorruptStudy if it could lead out of the group that it is relative to.

    Every path of stored text passes here before it is used: a study may come from anybody. `parts` is its number of names, if known.
    """
    names = path.split("/") if isinstance(path, str) else []
    forbidden = {"", ".", ".."} & set(names) or {"\\", "\0"} & set("".join(names))
    if not names or forbidden or parts not in (None, len(names)):
        raise CorruptStudy(
            f"{where}: it names {path!r} as a place in the study, which no scorecube writes; somebody changed this study: remove it, or "
            "restore it from a copy"
        )
    return "/".join(names)


def all_inside(paths: Iterable[object], where: str) -> list[str]:
    """Return paths of which each is `inside`."""
    return [inside(path, where) for path in paths]
