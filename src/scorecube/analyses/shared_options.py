"""Options of all analyses: which scores, trials, and where they are computed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scorecube import names
from scorecube.declare import option_field
from scorecube.declare.options import options_of


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """Options of all analyses, whose values are passed on by name."""

    collection: tuple[str, ...] | None = option_field(
        None, "Collections, separated by commas; all by default.", flag="--collection --collections"
    )
    metrics: tuple[str, ...] | None = option_field(
        None, "Metrics, separated by commas; all by default."
    )
    gains: tuple[str, ...] | None = option_field(None, "Gains, e.g. 3:2:1; all by default.")
    runs: tuple[str, ...] | None = option_field(None, "Runs; all by default.")
    topics: tuple[str, ...] | None = option_field(None, "Topics; all by default.")
    top_runs: int | None = option_field(None, "Only the N best runs by mean.", minimum=1)
    by: str | None = option_field(None, "Metric that chooses the best runs; the first by default.")
    missing: Literal["refuse", "drop"] = option_field(
        "refuse", "Refuse missing scores, or drop their topics."
    )
    bags: Literal["none"] | int = option_field(
        names.N_BAGS,
        "Random groups to draw more than 1,400 topics in; or none.",
        minimum=100,
        maximum=1_400,
    )
    trials: int | None = option_field(
        None, "Resampling trials; more trials later extend a result.", minimum=1
    )
    seed: int = option_field(1, "Seed of the random numbers.", minimum=0, maximum=2**64 - 1)
    workers: int | None = option_field(None, "Cores to use; all by default.", minimum=1)
    cluster: Path | None = option_field(None, "Cluster file, e.g. cluster/processes.yaml.")
    scheduler: str | None = option_field(None, "Address of a running dask scheduler.")
    dry_run: bool = option_field(False, "Only say what it would take.")


SHARED = options_of(SharedOptions)
SELECTION = ("metrics", "gains", "runs", "topics", "top_runs", "by", "missing", "bags")
"""Options that select a part of a collection."""
