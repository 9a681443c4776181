"""Options of all analyses: parts of the cube, trials, computing resources."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scorecube import names
from scorecube.analyses.described import Described
from scorecube.analyses.options import option_field, options_of


@dataclass(frozen=True, kw_only=True)
class SharedOptions(Described):
    """Declarations of the shared options; the values are passed on by name.

    Those from `metrics` to `bags` are described by `scorecube.collection.selection.select`,
    `trials` and `seed` by `scorecube.analyse`.
    """

    collection: tuple[str, ...] | None = option_field(
        None,
        "Collections, separated by commas; all by default.",
        flags=("--collection", "--collections"),
    )
    metrics: tuple[str, ...] | None = option_field(
        None, "Metrics, separated by commas; all by default."
    )
    gains: tuple[str, ...] | None = option_field(None, "Gain settings; all by default.")
    runs: tuple[str, ...] | None = option_field(None, "Runs; all by default.")
    topics: tuple[str, ...] | None = option_field(None, "Topics; all by default.")
    top_runs: int | None = option_field(None, "Only the N best runs by mean.", minimum=2)
    by: str | None = option_field(None, "Metric that chooses the best runs; the first by default.")
    missing: Literal["refuse", "drop"] = option_field(
        "refuse", "Refuse missing scores, or drop their topics."
    )
    by_topic: bool = option_field(
        False, "Take topics as independent, also those that come in groups."
    )
    bags: Literal["none"] | int = option_field(
        names.N_BAGS,
        "Random bags of more than 1,400 topics, which are resampled; none draws each topic.",
        minimum=100,
        maximum=1_400,
    )
    trials: int | None = option_field(
        None, "Resampling trials; more trials later extend a result.", minimum=1
    )
    seed: int = option_field(1, "Seed of the random streams.", minimum=0, maximum=2**64 - 1)
    workers: int | None = option_field(None, "Cores to use; all by default.", minimum=1)
    cluster: Path | None = option_field(None, "Cluster file, e.g. cluster/processes.yaml.")  # noqa: RUF009
    scheduler: str | None = option_field(None, "Address of a running dask scheduler, or its file.")
    memory: str | None = option_field(
        None,
        "Limit of the resident memory, e.g. 4GB; four fifths of that of the machine, container "
        "or job by default.",
    )
    dry_run: bool = option_field(False, "Only report what would be done.")


SHARED = options_of(SharedOptions)
"""Name -> declaration."""
SELECTION = ("metrics", "gains", "runs", "topics", "top_runs", "by", "missing", "by_topic", "bags")
"""Options that select a part of a collection."""
