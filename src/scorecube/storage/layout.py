"""Names and versions of the layout of a study, without any library."""

from __future__ import annotations

from typing import Final

FORMAT_VERSION: Final = 2
"""Version of the layout of a study, in the attributes of its root."""
METADATA: Final = "zarr.json"
"""Name of the file or object with the metadata of a group or array."""
VERSION: Final = "scorecube_format"
"""Attribute of the root: the version."""
UNSETTLED: Final = "being written"
"""Stamp of a manifest that may change, see `Location.stamps`; a row of the index with it is not stored."""
