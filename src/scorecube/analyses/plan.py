"""Plans: an analysis of a cube with a seed and a number of trials; their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from reprlib import repr as shown
from typing import Any

import xarray as xr

from scorecube import names
from scorecube.analyses.protocol import Analysis, Part, block_parts
from scorecube.analyses.reading import CubeDigest, given_back, with_digest
from scorecube.analyses.shared_options import SHARED
from scorecube.collection import schema
from scorecube.collection.arguments import as_cube
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.philox import STREAM_VERSION


@dataclass(frozen=True, eq=False)
class Plan:
    """All that determines a result: plans of equal digests have equal results, bit for bit.

    cube: Scores that are analysed; `table` is computed from them.
    warnings: What is to be said of the result, one sentence each.
    """

    analysis: Analysis
    cube: xr.Dataset
    table: Any
    trials: int
    seed: int
    cube_digest: str
    warnings: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "analysis": self.analysis.name,
            "options": self.analysis.options(),
            "trials": self.trials,
            "seed": str(self.seed),
            "cube": self.cube_digest,
        }

    @property
    def digest(self) -> str:
        """Digest that identifies the plan's result."""
        return digest_of(self.record())

    @property
    def work_digest(self) -> str:
        """Digest of the plan's blocks: without trials where they are units of blocks."""
        record = self.record()
        if self.analysis.unit == "trials":
            del record["trials"]
        return digest_of(record)

    @property
    def n_units(self) -> int:
        """Number of units: trials, or pairs of runs."""
        return self.analysis.n_units(self.table)

    @cached_property
    def declared(self) -> dict[str, Part]:
        """The parts of an empty block: shapes and dtypes of all blocks."""
        return block_parts(self.analysis, self.table, 0, 0)


def make_plan(
    cube: xr.Dataset,
    analysis: Analysis,
    *,
    trials: int | None = None,
    seed: int = 1,
    said: Sequence[str] = (),
) -> Plan:
    """Check options against a cube and return the plan.

    trials: None for the default of the analysis.
    said: What is to be said of the choice of cube and options.
    Raises BadPlan: Options that are impossible for the cube, or out of range.
    """
    check_analysis(analysis)
    cube = as_cube(cube)
    schema.check(cube, schema.CUBE, "the cube")
    trials = SHARED["trials"].checked(analysis.default_trials if trials is None else trials)
    seed = SHARED["seed"].checked(seed)
    if not analysis.resamples:
        trials = 1
        seed = 0
    with given_back(cube):
        read, digest = with_digest(cube)
        table = replace(analysis.table(read), trials=trials, seed=seed)
    about_topics = [cube.attrs[names.LEFT_OUT]] if names.LEFT_OUT in cube.attrs else []
    warnings = (*said, *about_topics, *analysis.notes(table))
    return Plan(analysis, cube, table, trials, seed, digest.hex(), warnings)


def check_analysis(analysis: object) -> Analysis:
    """Return an analysis; refuse what is none with its options (BadPlan), such as its class."""
    if isinstance(analysis, Analysis):
        return analysis
    expected = "expected an analysis with its options, such as Swap()"
    raise BadPlan(f"{option('analysis')}: {expected}; found {shown(analysis)}", option="analysis")


def cube_digest(cube: xr.Dataset) -> str:
    """Return the digest of a cube, see `CubeDigest`, as hex."""
    return CubeDigest(cube).hex()


def digest_of(record: dict[str, Any]) -> str:
    """Return the digest of what determines plans and their random words, as JSON values."""
    text = json.dumps({**record, "stream_version": STREAM_VERSION}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
