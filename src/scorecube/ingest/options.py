"""Options of what is read into a collection, of commands and of sweep files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scorecube import names
from scorecube.analyses.options import option_field, options_of
from scorecube.ingest.formats import layouts
from scorecube.ingest.source import AUTO


@dataclass(frozen=True, kw_only=True)
class CollectionOptions:
    """Options of collections of run files and of scores."""

    teams: Path | None = option_field(  # noqa: RUF009
        None,
        "CSV file with the columns run, and team or system (whose repetition the run is) or both.",
    )
    topic_groups: Path | None = option_field(  # noqa: RUF009
        None,
        "CSV file with the columns topic and topic_group, such as the conversation that a turn "
        "belongs to.",
    )
    replace: bool = option_field(
        False, "Replace the scores of the collection; results of other scores become outdated."
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of run files and judgements, as of `read_rankings` and `evaluate`."""

    metrics: tuple[str, ...] = option_field(
        names.DEFAULT_METRICS, "Metric names, separated by commas."
    )
    gains: tuple[str, ...] = option_field(
        (names.AUTO,), "Gain settings, highest level first, e.g. 3:2:1,1:1:1."
    )
    order: Literal["score", "score-docno-asc", "score-stable", "file", "rank"] = option_field(
        "score", "Order of documents: score as in trec_eval, file as in NTCIREVAL."
    )
    precision: Literal["single", "double"] = option_field(
        "single",
        "Compare scores as 32-bit (trec_eval up to 9) or 64-bit floats (trec_eval 10).",
        flag="--score-precision",
    )
    depth: int | None = option_field(None, "Ranks kept per topic.", minimum=1)
    run_name: Literal["tag", "file"] = option_field(
        "tag", "Name runs by their last column or by file name."
    )
    duplicates: Literal["error", "first", "ntcireval"] = option_field(
        "error", "Document listed twice in a topic: an error, the first counts, or both."
    )
    qrels_format: Literal["auto", "trec", "ntcir", "ntcir-grades", "trec-classes"] = option_field(
        "auto",
        "Line format of the judgements: ntcir is 'topic doc L2', ntcir-grades has S, A, B, C; "
        "the second column of trec-classes is a class of equivalent answers, or - for none.",
    )
    levels: str | None = option_field(None, "Map levels of the judgements, e.g. 2:3,1:1.")
    no_relevant: Literal["exclude", "zero"] = option_field(
        "exclude", "Topics without relevant documents: excluded, or score 0 (as in trec_eval)."
    )
    missing_topic: Literal["zero", "nan"] = option_field(
        "zero", "Score of a judged topic that a run lacks."
    )
    unjudged: Literal["nonrelevant", "condense"] = option_field(
        "nonrelevant",
        "Unjudged documents: not relevant, or removed from the lists (judged_only=True for all "
        "metrics).",
    )


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Options of files of scores; see `scorecube.import_scores`."""

    metric: str | None = option_field(
        None, "Metric of files that do not name it; otherwise the only one to read."
    )
    gain: str = option_field(
        names.AUTO, "Gain setting of the scores; with a gain column, the only one to read."
    )
    layout: str = option_field(
        AUTO, "auto, or " + "; ".join(f"{name}: {about}" for name, about in layouts().items()) + "."
    )
    transpose: bool = option_field(False, "Rows of matrices are runs, columns are topics.")
    run_column: str | None = option_field(None, "Column of runs, such as model_name.")
    topic_column: str | None = option_field(None, "Column of topics, such as question_id.")
    collection_column: str | None = option_field(None, "Column of collections, such as benchmark.")
    seed_column: str | None = option_field(None, "Column of repetitions, such as epoch.")
    score_column: str | None = option_field(None, "Column of scores, such as value.")
    topic_group_column: str | None = option_field(
        None, "Column of what topics come in, such as conversation_id."
    )
    lower_is_better: tuple[str, ...] = option_field(
        (), "Metrics whose smaller values are better, such as last_rel."
    )
    ranges: str | tuple[str, ...] = option_field(
        (),
        "Least and greatest score that there can be of metrics, such as f1=0,100; of several "
        "between semicolons.",
        flags=("--range",),
    )


COLLECTION = options_of(CollectionOptions)
EVALUATE = {**options_of(EvaluateOptions), **COLLECTION}
IMPORT = {**options_of(ImportOptions), **COLLECTION}
"""Name -> declaration."""
