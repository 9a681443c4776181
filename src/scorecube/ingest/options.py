"""Options of what is read into a collection, of commands and of sweep files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scorecube import names
from scorecube.declare import option_field
from scorecube.declare.options import options_of
from scorecube.ingest.formats import AUTO


@dataclass(frozen=True, kw_only=True)
class CollectionOptions:
    """Options of collections of run files and of scores."""

    teams: Path | None = option_field(  # noqa: RUF009
        None, "CSV file with the columns run, and team or system (whose repetition the run is)."
    )
    topic_groups: Path | None = option_field(  # noqa: RUF009
        None, "CSV file with the columns topic and topic_group."
    )
    replace: bool = option_field(
        False,
        "Replace the scores that are given, or all where topics or judgements differ; results of "
        "other scores become outdated.",
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of run files and judgements, as of `read_rankings` and `evaluate`."""

    metrics: tuple[str, ...] = option_field(
        names.DEFAULT_METRICS, "Metrics, separated by commas: see scorecube list metrics."
    )
    gains: tuple[str, ...] = option_field(
        (names.AUTO,), "Gains of levels, highest first, e.g. 3:2:1,1:1:1: scorecube list gains."
    )
    order: Literal["score", "score-docno-asc", "score-stable", "file", "rank"] = option_field(
        "score", "Order of documents: score as in trec_eval, file as in NTCIREVAL."
    )
    depth: int | None = option_field(None, "Ranks kept per topic.", minimum=1)
    ignore_identical: bool = option_field(
        False, "Leave out of each topic's ranking the document with the topic's id, as BEIR does."
    )
    run_name: Literal["tag", "file"] = option_field(
        "tag", "Name runs by their last column or by file name."
    )
    intents: Path | None = option_field(  # noqa: RUF009
        None,
        "Judgements by intent, for I-rec, D-nDCG, D#-nDCG: lines of topic, intent, document, level "
        "(NTCIREVAL's Dqrels); as judgements, too, documents have their highest level.",
    )
    intent_probabilities: Path | None = option_field(  # noqa: RUF009
        None, "Lines of topic, intent, probability (NTCIREVAL's Iprob); equal without."
    )
    qrels_format: Literal["auto", "trec-classes"] = option_field(
        "auto",
        "Judgements: auto finds the format; the second column of trec-classes is a class of "
        "equivalent answers, or - for none.",
    )


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Options of files of scores; see `scorecube.import_scores`."""

    metric: str | None = option_field(None, "Metric that files do not name, or the only one.")
    layout: str = option_field(AUTO, "auto, by the content, or a name of scorecube list layouts.")
    run_column: str | None = option_field(None, "Column of runs, or file; several between commas.")
    topic_column: str | None = option_field(None, "Column of topics, such as question_id.")
    score_column: str | None = option_field(
        None, "Column of scores; dots reach nested fields of JSON."
    )
    items: Path | None = option_field(  # noqa: RUF009
        None, "File of all ids, for lists of what a run has solved."
    )
    collection_column: str | None = option_field(None, "Column of collections, such as benchmark.")
    seed_column: str | None = option_field(None, "Column of repetitions, such as epoch.")
    group_column: str | None = option_field(None, "Column of groups of topics, such as passage_id.")
    no_score: tuple[str, ...] = option_field((), "Codes for no score, such as -1 or -999.")
    words: tuple[str, ...] = option_field(
        (),
        "What runs, topics, collections and repetitions are called, such as "
        "model,item,benchmark,seed.",
    )
    lower_is_better: tuple[str, ...] = option_field(
        (), "Metrics that are better when smaller, such as wer."
    )
    ranges: str | tuple[str, ...] = option_field(
        (),
        "Least and greatest score that there can be, such as f1=0,100; several between semicolons.",
        flag="--ranges --range",
    )


COLLECTION = options_of(CollectionOptions)
EVALUATE = {**options_of(EvaluateOptions), **COLLECTION}
IMPORT = {**options_of(ImportOptions), **COLLECTION}
"""Name -> declaration."""
