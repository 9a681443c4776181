"""The pools of a cube: the depth that is stated or estimated, and notes on them."""

from __future__ import annotations

import xarray as xr

from scorecube import names
from scorecube.collection.pools import TOLERATED, Pools, build_pools, estimate_pool_depth
from scorecube.collection.schema import labels_of
from scorecube.errors import option


def pools_of(
    cube: xr.Dataset, depth: int | None, keep_unpooled: bool
) -> tuple[Pools, bool, list[str]]:
    """Return the documents that each team contributed, what becomes of others, and notes.

    The notes name runs without a team, judgements that are thrown away, and an estimated depth.

    depth: First ranks of a run that contribute; None for an estimate.
    keep_unpooled: Whether documents that no team contributed stay judged when a team is left out.
    """
    estimate = None if depth is not None else estimate_pool_depth(cube)
    pools, notes = build_pools(cube, estimate.depth if estimate else int(depth or 0)), list[str]()
    runs = labels_of(cube, names.RUN)
    n_alone = sum(map(str.__eq__, runs, labels_of(cube, names.TEAM)))
    if n_alone:
        notes.append(f"{n_alone} of {len(runs)} runs have no team: each is its own team")
    judged, unpooled = int((pools.levels >= 0).sum()), int(pools.unpooled.sum())
    if unpooled:
        lost = f"so {unpooled / judged:.0%} of the judgements are thrown away"
        fate = f"become unjudged when a team is left out, {lost}"
        notes.append(
            f"{unpooled:,} of {judged:,} judged documents are in no team's pool of depth "
            f"{pools.depth}: they {'stay judged' if keep_unpooled else fate}"
        )
    if estimate is not None:
        reached = (
            f"{estimate.n_teams} of {len(pools.teams)} teams have a run of which at most "
            f"{TOLERATED:.0%} of the documents down to there are not judged"
        )
        notes.append(
            f"the pool has an estimated depth of {pools.depth}: "
            f"{reached if estimate.found else 'no depth is judged for half of the teams'}; "
            f"state {option('pool_depth')} if it is known"
        )
    return pools, keep_unpooled, notes
