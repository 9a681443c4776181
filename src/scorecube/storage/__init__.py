"""Studies on disk and in object stores: the only place that knows zarr."""

from scorecube.storage.location import is_there
from scorecube.storage.study import Collection, Study, open_study

__all__ = ["Collection", "Study", "is_there", "open_study"]
