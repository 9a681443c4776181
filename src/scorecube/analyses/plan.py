"""Plans: an analysis of a cube with a seed and a number of trials; their digests."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.base import Analysis, Array, Prepared
from scorecube.analyses.options import shown
from scorecube.analyses.shared_options import SHARED
from scorecube.collection import schema
from scorecube.collection.arguments import as_cube
from scorecube.collection.rows import score_blocks
from scorecube.collection.selection import uses_gains
from scorecube.collection.topic_groups import has_groups
from scorecube.errors import BadPlan, option
from scorecube.kernels.random.philox import STREAM_VERSION

DIGEST_LENGTH = 16
TRIALS, SEED = replace(SHARED["trials"], type=int), SHARED["seed"]


@dataclass(frozen=True)
class Plan:
    """All that determines a result: equal plans have equal results, bit for bit.

    Parameters
    ----------
    analysis
        Analysis with its options.
    trials
        Number of trials, at least 1.
    seed
        Seed, 0 .. 2**64 - 1.
    cube_digest
        Digest of the cube.
    teams_digest
        Digest of the teams of the runs, "" if the cube's digest contains them, or the result does not depend on them.
    systems_digest
        Digest of the systems of the runs, "" if the result does not depend on them.
    groups_digest
        Digest of the groups of the topics, "" if topics come in no groups.
    """

    analysis: Analysis
    trials: int
    seed: int
    cube_digest: str
    teams_digest: str = ""
    systems_digest: str = ""
    groups_digest: str = ""

    def record(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        nesting = {
            "teams": self.teams_digest,
            "systems": self.systems_digest,
            "topic_groups": self.groups_digest,
        }
        return {
            "analysis": self.analysis.name,
            "options": self.analysis.options(),
            "trials": self.trials,
            "seed": str(self.seed),
            "cube": self.cube_digest,
            "stream_version": STREAM_VERSION,
        } | {name: digest for name, digest in nesting.items() if digest}

    @property
    def digest(self) -> str:
        """Digest that identifies the plan's result."""
        return _digest(self.record())

    @property
    def work_digest(self) -> str:
        """Digest of the plan's blocks; of no option of `finalize`, nor of trials as units."""
        record, excluded = self.record(), self.analysis.finalize_options()
        record["options"] = {
            name: value for name, value in record["options"].items() if name not in excluded
        }
        if self.analysis.unit == "trials":
            del record["trials"]
        return _digest(record)


@dataclass(frozen=True, eq=False)
class PreparedPlan:
    """A plan with the prepared cube, from `make_plan`.

    Parameters
    ----------
    plan
        Analysis, trials, seed and digests.
    prepared
        Cube with what the analysis computed from it.
    warnings
        Warnings about the options, for the user.
    """

    plan: Plan
    prepared: Prepared
    warnings: tuple[str, ...] = ()

    @property
    def n_units(self) -> int:
        """Number of units: trials, or pairs of runs."""
        return self.plan.analysis.units(self.prepared, self.plan.trials)


def make_plan(
    cube: xr.Dataset, analysis: Analysis, *, trials: int | None = None, seed: int = 1
) -> PreparedPlan:
    """Check options against a cube and return the prepared plan.

    Parameters
    ----------
    cube
        Scores (metric, gain, run, topic).
    analysis
        Analysis with its options.
    trials
        Number of trials, at least 1; None for the default of the analysis.
    seed
        Seed, 0 .. 2**64 - 1.

    Returns
    -------
    plan
        Plan with warnings and the prepared cube.

    Raises
    ------
    BadPlan
        No analysis, options that are impossible for the cube, a seed or a number of trials out of range.
    """
    check_analysis(analysis)
    cube = as_cube(cube)
    schema.check(cube, schema.CUBE, "the cube")
    trials = TRIALS.checked(analysis.default_trials if trials is None else trials)
    seed = SEED.checked(seed)
    if not analysis.resamples:
        trials, seed = 1, 0
    analysis, chosen = analysis.of_cube(cube)
    prepared, warnings = analysis.prepare_checked(cube)
    warnings = [
        *chosen,
        *(cube.attrs[key] for key in names.ABOUT_TOPICS if key in cube.attrs),
        *warnings,
    ]
    nesting = teams_digest(analysis, cube), systems_digest(analysis, cube), groups_digest(cube)
    plan = Plan(analysis, trials, seed, cube_digest(cube), *nesting)
    return PreparedPlan(plan, prepared, tuple(warnings))


def check_analysis(analysis: Any) -> None:
    """Refuse what is no analysis with its options, such as its name or its class.

    Parameters
    ----------
    analysis
        Argument of a user.

    Raises
    ------
    BadPlan
        Not an analysis; the message names the one that is probably meant.
    """
    if isinstance(analysis, Analysis):
        return
    named = (
        analysis.name if isinstance(analysis, type) and issubclass(analysis, Analysis) else analysis
    )
    known = [
        each.class_name for each in registry.entries() if named in (each.name, each.class_name)
    ]
    example = f"{known[0] if known else 'Swap'}()"
    raise BadPlan(
        f"{option('analysis')}: expected an analysis with its options, such as {example}; found {shown(analysis)}",
        option="analysis",
    )


def cube_digest(cube: xr.Dataset) -> str:
    """Return the SHA-256 of a cube's labels, scores, counts of labels and rankings, in hexadecimal."""
    hasher = hashlib.sha256()
    for dim in schema.CUBE[0].dims:
        hasher.update("\x1f".join(schema.labels_of(cube, dim)).encode() + b"\x1e")
    hasher.update(uses_gains(cube).tobytes())
    for name in names.ABOUT_METRICS:
        if name in cube.coords:
            hasher.update(f"{name} {cube[name].values.tolist()};".encode())
    # Buffers instead of bytes: arrays are not copied.
    for scores in score_blocks(cube):
        hasher.update(_buffer(scores.astype("<f8", copy=False)))
    if names.LABEL_COUNTS in cube:
        counts = cube.variables[names.LABEL_COUNTS].values.astype("<i8", copy=False)
        hasher.update(f"{names.LABEL_COUNTS} {counts.shape};".encode())
        hasher.update(_buffer(counts))
    if names.DOCUMENT_AT_RANK in cube:
        hasher.update("\x1f".join(schema.labels_of(cube, names.TEAM)).encode() + b"\x1e")
        for variable in (*schema.RANKINGS, *schema.DOCUMENTS):
            values = cube[variable.name].values
            hasher.update(f"{variable.name} {values.shape} {values.dtype.str};".encode())
            hasher.update(_buffer(values))
    return hasher.hexdigest()


def teams_digest(analysis: Analysis, cube: xr.Dataset) -> str:
    """Return the SHA-256 of the teams of the runs, in hexadecimal.

    Parameters
    ----------
    analysis
        With its options.
    cube
        Scores (metric, gain, run, topic).

    Returns
    -------
    digest
        "" if the analysis does not use teams, each run is its own team, or the cube's digest contains them.
    """
    if not analysis.uses_teams or names.TEAM not in cube.coords or names.DOCUMENT_AT_RANK in cube:
        return ""
    if schema.labels_of(cube, names.TEAM) == schema.labels_of(cube, names.RUN):
        return ""
    return _labels_digest(cube, names.TEAM)


def systems_digest(analysis: Analysis, cube: xr.Dataset) -> str:
    """Return the SHA-256 of the systems of the runs, in hexadecimal.

    Parameters
    ----------
    analysis
        With its options.
    cube
        Scores (metric, gain, run, topic).

    Returns
    -------
    digest
        "" if the analysis does not use systems.
    """
    return _labels_digest(cube, names.SYSTEM) if analysis.uses_systems else ""


def groups_digest(cube: xr.Dataset) -> str:
    """Return the SHA-256 of the groups of the topics, in hexadecimal; "" if topics come in no groups."""
    return _labels_digest(cube, names.TOPIC_GROUP) if has_groups(cube) else ""


def _labels_digest(cube: xr.Dataset, coordinate: str) -> str:
    """Return the SHA-256 of the labels of a coordinate, in hexadecimal."""
    return hashlib.sha256("\x1f".join(schema.labels_of(cube, coordinate)).encode()).hexdigest()


def _buffer(values: Array) -> Any:
    """Return the bytes of an array in C order, without a copy if it has that order."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def request_digest(request: dict[str, Any]) -> str:
    """Return the digest of what determines plans and their random words, as JSON values, without reading any scores."""
    return _digest({**request, "stream_version": STREAM_VERSION})


def _digest(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:DIGEST_LENGTH]
