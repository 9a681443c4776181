"""Options of the command line: types, names and help, in one place."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import typer

from scorecube import names
from scorecube.cli.completion import metric_names, one_of

StudyPath = Annotated[
    str, typer.Argument(metavar="STUDY", help="Study: a directory (zarr store), or s3://bucket/prefix.")
]
Name = Annotated[str, typer.Option("--name", help="Name of the collection in the study.")]
Teams = Annotated[Optional[Path], typer.Option("--teams", help="CSV file with the columns run,team.")]
Replace = Annotated[bool, typer.Option("--replace", help="Start the collection over.")]

RunFiles = Annotated[
    list[str],
    typer.Option(
        "--runs",
        help="Run files, directories or globs, plain or gzip; several may follow. Also NTCIREVAL's ranked lists "
        "<topic>/<topic>.<run>.res (or .lab), by the directory above them.",
    ),
]
QrelsFile = Annotated[
    Path, typer.Option("--qrels", help="Judgements: a file, or the directory of NTCIREVAL's <topic>.rel files.")
]
DEFAULT_METRICS = ",".join(names.DEFAULT_METRICS)
Metrics = Annotated[
    str, typer.Option("--metrics", help="Metric names, separated by commas.", autocompletion=metric_names)
]
Gains = Annotated[str, typer.Option("--gains", help="Gain settings, highest level first, e.g. 3:2:1,1:1:1.")]
Order = Annotated[
    Literal["score", "score-docno-desc", "score-docno-asc", "score-stable", "file", "rank"],
    typer.Option("--order", help="Order of documents; score is trec_eval's, file NTCIREVAL's."),
]
Precision = Annotated[
    Literal["single", "double"],
    typer.Option(
        "--score-precision", help="Compare scores as 32-bit (trec_eval up to 9) or 64-bit floats (trec_eval 10)."
    ),
]
Depth = Annotated[Optional[int], typer.Option("--depth", min=1, help="Ranks kept per topic.")]
RunName = Annotated[Literal["tag", "file"], typer.Option("--run-name", help="Name runs by last column or by file.")]
Duplicates = Annotated[
    Literal["error", "first", "ntcireval"],
    typer.Option("--duplicates", help="A document twice in a topic: an error, the first counts, or both."),
]
QrelsFormat = Annotated[
    Literal["auto", "trec", "ntcir", "ntcir-grades", "trec-intents", "trec-classes"],
    typer.Option(
        "--qrels-format",
        help="Lines of the judgements: ntcir is 'topic doc L2', ntcir-grades has S, A, B, C; the second column of "
        "trec-intents is an intent, that of trec-classes a class of answers that say the same.",
    ),
]
Intents = Annotated[
    Optional[Path],
    typer.Option("--intents", help="CSV file with the columns topic,intent,probability; equally likely by default."),
]
Levels = Annotated[
    Optional[str],
    typer.Option(
        "--levels",
        help="Change levels of the judgements, e.g. 2:3,1:1, or make levels of real numbers, e.g. '>=0.5:1,>=0.8:2'.",
    ),
]
NoRelevant = Annotated[
    Literal["exclude", "zero"],
    typer.Option("--no-relevant", help="Topics without a relevant document are left out, or score 0 (as trec_eval)."),
]
MissingTopic = Annotated[
    Literal["zero", "nan"], typer.Option("--missing-topic", help="Score of a judged topic that a run lacks.")
]
Unjudged = Annotated[
    Literal["nonrelevant", "condense"],
    typer.Option(
        "--unjudged",
        help="Unjudged documents are not relevant, or taken out of the lists (judged_only=True for all metrics).",
    ),
]

TopicSampling = Annotated[
    str,
    typer.Option(
        "--sampling", help="disjoint, replacement or independent.",
        autocompletion=one_of("disjoint", "replacement", "independent"),
    ),
]  # fmt: skip
SampleSizes = Annotated[
    Optional[str],
    typer.Option(
        "--size",
        help="Topics in each sample, e.g. 25, or 5,10,25, or 5..25:5; half of them, with replacement all, by default.",
    ),
]

Format = Annotated[
    str,
    typer.Option(
        "--format", help="text, csv, json, markdown or latex.", autocompletion=one_of("text", "csv", "json", "markdown", "latex")
    ),
]  # fmt: skip

Workers = Annotated[Optional[int], typer.Option("--workers", min=1, help="Cores to use; all by default.")]
Cluster = Annotated[Optional[Path], typer.Option("--cluster", help="Cluster profile, e.g. cluster/processes.yaml.")]
Scheduler = Annotated[Optional[str], typer.Option("--scheduler", help="Address of a running dask scheduler.")]

COMMON: dict[str, tuple[Any, Any]] = {
    "study": (StudyPath, inspect.Parameter.empty),
    "collection": (
        Annotated[
            Optional[str],
            typer.Option("--collection", "--collections", help="Collections, separated by commas; all by default."),
        ],
        None,
    ),
    "metrics": (
        Annotated[
            Optional[str],
            typer.Option(
                "--metrics", help="Metrics, separated by commas; all by default.", autocompletion=metric_names
            ),
        ],
        None,
    ),
    "gains": (Annotated[Optional[str], typer.Option("--gains", help="Gain settings; all by default.")], None),
    "runs": (Annotated[Optional[str], typer.Option("--runs", help="Runs; all by default.")], None),
    "topics": (Annotated[Optional[str], typer.Option("--topics", help="Topics; all by default.")], None),
    "top_runs": (
        Annotated[Optional[int], typer.Option("--top-runs", min=2, help="Only the N best runs by mean.")],
        None,
    ),
    "by": (Annotated[Optional[str], typer.Option("--by", help="Metric for --top-runs; the first by default.")], None),
    "drop_missing": (
        Annotated[bool, typer.Option("--drop-missing", help="Leave out topics with missing scores.")],
        False,
    ),
    "trials": (
        Annotated[int, typer.Option("--trials", min=1, help="Resampling trials; more trials later extend a result.")],
        1000,
    ),
    "seed": (
        Annotated[
            Optional[int],
            typer.Option("--seed", min=0, help="Seed of the random streams; drawn and shown if not given."),
        ],
        None,
    ),
    "until_width": (
        Annotated[
            Optional[float],
            typer.Option(
                "--until-width",
                help="Double the trials until the widest Monte Carlo interval is this narrow, e.g. 0.01: of a swap rate, or of the share of significant pairs.",
            ),
        ],
        None,
    ),
    "most_trials": (
        Annotated[int, typer.Option("--most-trials", min=1, help="Where --until-width ends at the latest.")],
        1_000_000,
    ),
    "workers": (Workers, None),
    "cluster": (Cluster, None),
    "scheduler": (Scheduler, None),
    "memory": (
        Annotated[
            Optional[str],
            typer.Option("--memory", help="Most memory to use, e.g. 4GB; four fifths of the machine's by default."),
        ],
        None,
    ),
    "block_units": (
        Annotated[
            Optional[int],
            typer.Option("--block-size", min=1, help="Trials, or pairs of runs, per task; changes no result."),
        ],
        None,
    ),
    "replay": (
        Annotated[Optional[str], typer.Option("--replay", help="Use the samples in this file instead of drawing.")],
        None,
    ),
    "save_samples": (
        Annotated[Optional[str], typer.Option("--save-samples", help="Write the samples that are drawn.")],
        None,
    ),
    "out": (Annotated[Optional[str], typer.Option("--out", help="Write results into this study instead.")], None),
    "dry_run": (Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")], False),
}
"""Options that all analyses take: name -> (type, default)."""
