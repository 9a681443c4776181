"""Studies on disk: the only place that knows zarr."""

from scorecube.storage.study import Collection, Study, open_study

__all__ = ["Collection", "Study", "open_study"]
