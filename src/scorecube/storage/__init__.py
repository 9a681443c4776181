"""Studies on disk and in object stores; no other room imports zarr."""

from scorecube.storage.archives import BlockStore as BlockStore
from scorecube.storage.archives import gaps as gaps
from scorecube.storage.archives import select_disjoint as select_disjoint
from scorecube.storage.collection import Collection
from scorecube.storage.heads import check_collection_name as check_collection_name
from scorecube.storage.study import Study, exists, open_study
from scorecube.storage.upkeep import clean as clean
from scorecube.storage.upkeep import find_rest as find_rest
from scorecube.storage.upkeep import find_unclaimed as find_unclaimed
from scorecube.storage.upkeep import merge as merge
from scorecube.storage.upkeep import take_files as take_files
from scorecube.storage.upkeep import verify_study as verify_study

__all__ = ["Collection", "Study", "exists", "open_study"]
