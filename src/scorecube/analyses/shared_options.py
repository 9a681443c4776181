"""Options of all analyses: parts of the cube, trials, computing resources."""

from dataclasses import dataclass
from pathlib import Path

from scorecube.analyses.described import Described
from scorecube.analyses.options import option_field, options_of


@dataclass(frozen=True, kw_only=True)
class SharedOptions(Described):
    """Declarations of the shared options; the values are passed on by name.

    Those from `metrics` to `by_topic` are described by `scorecube.collection.selection.select`, `trials` and `seed` by
    `scorecube.analyse`, `until_width` and `most_trials` by `scorecube.workflow.tasks.Until`.

    """

    collection: tuple[str, ...] | None = option_field(
        None,
        "Collections, separated by commas; all by default.",
        flags=("--collection", "--collections"),
    )
    metrics: tuple[str, ...] | None = option_field(
        None, "Metrics, separated by commas; all by default.", flags=("--metrics", "--metric")
    )
    gains: tuple[str, ...] | None = option_field(None, "Gain settings; all by default.")
    runs: tuple[str, ...] | None = option_field(None, "Runs; all by default.")
    topics: tuple[str, ...] | None = option_field(None, "Topics; all by default.")
    top_runs: int | None = option_field(
        None, "Only the N best runs by mean.", minimum=2, unit="runs"
    )
    by: str | None = option_field(None, "Metric that chooses the best runs; the first by default.")
    drop_missing: bool = option_field(False, "Leave out topics with missing scores.")
    by_topic: bool = option_field(
        False, "Take topics as independent, also those that come in groups."
    )
    trials: int = option_field(
        1000, "Resampling trials; more trials later extend a result.", minimum=1
    )
    seed: int | None = option_field(
        None,
        "Seed of the random streams; drawn and reported by default.",
        minimum=0,
        maximum=2**64 - 1,
    )
    until_width: float | None = option_field(
        None,
        "Double the trials until the widest Monte Carlo interval is this narrow, e.g. 0.01: of a swap rate, or of the share of "
        "significant pairs.",
        above=0,
        below=1,
    )
    most_trials: int = option_field(
        1_000_000,
        "Largest number of trials when trials are doubled until a width is reached.",
        minimum=1,
    )
    workers: int | None = option_field(None, "Cores to use; all by default.", minimum=1)
    cluster: Path | None = option_field(None, "Cluster profile, e.g. cluster/processes.yaml.")  # noqa: RUF009
    scheduler: str | None = option_field(None, "Address of a running dask scheduler.")
    memory: str | None = option_field(
        None,
        "Limit of the resident memory, e.g. 4GB; four fifths of that of the machine, container or job by default.",
    )
    block_units: int | None = option_field(
        None,
        "Trials, or pairs of runs, per task; changes no result.",
        flag="--block-size",
        minimum=1,
    )
    replay: str | None = option_field(None, "Use the samples in this file instead of drawing.")
    save_samples: str | None = option_field(None, "Write the samples that are drawn to this file.")
    out: str | None = option_field(None, "Write results into this study instead.")
    dry_run: bool = option_field(False, "Only report what would be done.")


SHARED = options_of(SharedOptions)
"""Name -> declaration."""
SELECTION = ("metrics", "gains", "runs", "topics", "top_runs", "by", "drop_missing", "by_topic")
"""Options that select a part of a collection."""
