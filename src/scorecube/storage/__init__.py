"""Studies on disk and in object stores; no other room imports zarr."""

from scorecube.storage.collection import Collection
from scorecube.storage.location import exists
from scorecube.storage.study import Study, open_study

__all__ = ["Collection", "Study", "exists", "open_study"]
